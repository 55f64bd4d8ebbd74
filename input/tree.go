package input

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

// tree reads the directories below a path. Each name costs one or two system calls, so several goroutines
// read directories, and take the attributes of the names in a large one. The results are then put into the
// order of the paths' bytes, so they do not depend on the goroutines.
type tree struct {
	w       *walker
	group   errgroup.Group
	entries atomic.Int64 // found so far, in all folders
}

// folder is a directory of the tree. One goroutine reads it, and others take attributes of its entries.
type folder struct {
	path      string
	above     *folder // nil: the root of the tree
	id        identity
	entries   []entry
	hidden    int   // names left out because of their first letter
	leadsBack bool  // it is one of the folders above it, by a link
	err       error // why it cannot be read
}

// entry is a name in a directory.
type entry struct {
	path string
	stat
	folder *folder // if it is a directory; else nil
	err    error   // of taking its attributes
}

const (
	batchNames  = 512 // names whose attributes a goroutine takes: a few tenths of a millisecond
	mostWalkers = 8   // goroutines
)

// read reads a folder and all folders below it. It leaves folders to other goroutines if few are at work.
func (t *tree) read(f *folder) {
	f.err = t.list(f)
	t.entries.Add(int64(len(f.entries)))
	for i := range f.entries {
		if e := &f.entries[i]; e.mode.IsDir() {
			e.folder = &folder{path: e.path, above: f}
			t.share(func() { t.read(e.folder) })
		}
	}
}

// share calls work, on another goroutine if few are at work.
func (t *tree) share(work func()) {
	if !t.group.TryGo(func() error { work(); return nil }) {
		work()
	}
}

// list makes an entry of each name of the folder, without hidden ones, in the order of byPath.
func (t *tree) list(f *folder) error {
	short, release := disk.Short(f.path)
	defer release()
	dir, err := disk.OpenFile(short, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return errs.Inputf(shown(f.path), "%w", errs.Cause(err))
	}
	defer dir.Close()
	// The identity is that of the open directory, because the path may be replaced.
	info, err := dir.Stat()
	if err == nil {
		f.id = identityOf(info)
		for up := f.above; up != nil && !f.leadsBack; up = up.above {
			f.leadsBack = f.id.same(up.id)
		}
	}
	var names []fs.DirEntry
	if err == nil && !f.leadsBack {
		names, err = dir.ReadDir(-1)
	}
	if err != nil {
		return errs.Inputf(shown(f.path), "reading the directory: %w", errs.Cause(err))
	}
	prefix := f.path
	if !os.IsPathSeparator(prefix[len(prefix)-1]) {
		prefix += string(filepath.Separator)
	}
	f.entries = make([]entry, 0, len(names))
	for _, n := range names {
		if name := n.Name(); !t.w.o.All && (name[0] == '.' || name[0] == '_') {
			f.hidden++
		} else {
			f.entries = append(f.entries, entry{path: prefix + name, stat: stat{mode: n.Type()}})
		}
	}
	var batches sync.WaitGroup
	for batch := range slices.Chunk(f.entries, batchNames) {
		batches.Add(1)
		work := func() {
			defer batches.Done()
			t.stat(dir, len(prefix), batch)
		}
		if len(batch) < batchNames {
			work()
		} else {
			t.share(work)
		}
	}
	batches.Wait()
	slices.SortFunc(f.entries, func(a, b entry) int { return byPath(&a, &b) })
	return nil
}

// stat takes the attributes of entries of a directory. Their names begin at index from of their paths. It asks
// the system for the right to read only if the mode and the owner of the file do not show it.
func (t *tree) stat(dir *disk.File, from int, entries []entry) {
	for i := range entries {
		e := &entries[i]
		// Only the identity of a directory is needed, and list takes that.
		if e.mode.IsDir() {
			continue
		}
		if e.stat, e.err = statIn(dir, e.path[from:]); e.err == nil && e.mode == 0 && (!e.ownerReads || e.owner != t.w.euid) {
			e.readable = readableIn(dir, e.path[from:])
		}
	}
}

// byPath compares entries by the bytes of their paths. The path of a directory
// counts with the separator that follows it in the paths below it.
func byPath(a, b *entry) int {
	n := min(len(a.path), len(b.path))
	if c := strings.Compare(a.path[:n], b.path[:n]); c != 0 {
		return c
	}
	return a.byteAt(n) - b.byteAt(n)
}

// byteAt returns byte i of the path for byPath, where a directory ends with a slash; -1: the path
// has ended. So a path comes before all longer ones that begin with it.
func (e *entry) byteAt(i int) int {
	switch {
	case i < len(e.path):
		return int(e.path[i])
	case e.mode.IsDir():
		return '/'
	}
	return -1
}

// gather reads the tree below path and adds its files to the plan, in order. named reports whether the user
// named path.
func (w *walker) gather(path string, named bool) error {
	t, root := tree{w: w}, &folder{path: path}
	t.group.SetLimit(min(runtime.GOMAXPROCS(0), mostWalkers) - 1)
	t.read(root)
	_ = t.group.Wait() // each folder has its own error
	before, hidden := len(w.plan.Files), w.hidden
	w.plan.Files = slices.Grow(w.plan.Files, int(t.entries.Load()))
	if err := w.folder(root); err != nil {
		return err
	}
	// Only a directory that the user named gets a note if it is empty.
	if named && len(w.plan.Files) == before {
		w.noFiles(path, w.hidden-hidden)
	}
	return nil
}

// folder adds the files of a tree that has been read, in the order of their paths. It returns the
// first error in that order, so that the message does not depend on the goroutines.
func (w *walker) folder(f *folder) error {
	switch {
	case f.leadsBack:
		w.loops = append(w.loops, f.path)
		return nil
	case f.err != nil:
		return f.err
	}
	w.hidden += f.hidden
	w.plan.dirs = append(w.plan.dirs, walked{f.path, f.id})
	for i := range f.entries {
		if err := w.entry(&f.entries[i]); err != nil {
			return err
		}
	}
	return nil
}

// entry adds the file of an entry, or all files below its folder. It fails if the attributes of the
// entry could not be taken.
func (w *walker) entry(e *entry) error {
	switch {
	case e.folder != nil:
		return w.folder(e.folder)
	case e.err == nil:
		return w.visit(e.path, e.stat, false)
	case isLinkLoop(e.err):
		w.loops = append(w.loops, e.path)
		return nil
	}
	if _, err := disk.Lstat(e.path); errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed after the directory was read
	}
	return dangling(e.path, e.err)
}
