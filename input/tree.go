package input

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

// tree reads the directories below a path. Each name costs one or two system
// calls, so several goroutines list directories and take attributes. The
// results are then put into the order of the paths' bytes, so they do not
// depend on the goroutines. The attributes of a directory with many names are
// taken by several goroutines.
//
//	todo:  list a folder [──► take attributes of its names] ──► list its folders …
type tree struct {
	w    *walker
	root *folder

	mu struct {
		sync.Mutex
		wake    sync.Cond
		todo    []workItem
		running int // items that goroutines work on
		entries int // found so far, in all folders
	}
}

// folder is a directory of the tree. One goroutine at a time changes it, except that several take
// attributes of different entries.
type folder struct {
	path, prefix string  // prefix is path and a separator
	above        *folder // nil: the root of the tree
	dir          directory
	id           identity
	entries      []entry
	folders      []*folder // of the entries that are directories
	batches      int       // batches of entries still without attributes; guarded by tree.mu
	hidden       int       // names left out because of their first letter
	leadsBack    bool      // it is one of the folders above it, by a link
	err          error     // why it cannot be read
}

// entry is a name in a directory.
type entry struct {
	path string
	stat
	*below // nil for a file
}

// below has the fields of an entry that only few entries need.
type below struct {
	folder *folder // if it is a directory
	err    error   // of taking its attributes
}

// scratch is the memory of one goroutine that lists folders. It is used again for each folder.
type scratch struct {
	buf   []byte   // for getdents
	text  []byte   // of all names of a folder
	names []nameAt // in any order until sort
}

// nameAt is a name in a directory: text[from:to] of a scratch. If the name is known to be a
// directory, it ends with a slash, so that it sorts as the paths below it do.
type nameAt struct {
	first    uint64 // first eight bytes, as a big-endian number
	from, to int32
	isDir    bool
}

// add appends a name.
func (s *scratch) add(name []byte, isDir bool) {
	// The names of one directory are taken to be shorter than 2 GiB together.
	from := int32(len(s.text))
	s.text = append(s.text, name...)
	if isDir {
		s.text = append(s.text, '/')
	}
	var first [8]byte
	// Big-endian numbers compare as their bytes do. Short names are padded with 0: no name has a
	// byte 0.
	copy(first[:], s.text[from:])
	s.names = append(s.names, nameAt{binary.BigEndian.Uint64(first[:]), from, int32(len(s.text)), isDir})
}

// sort sorts the names by their bytes. first decides most comparisons, so that few read text.
func (s *scratch) sort() {
	slices.SortFunc(s.names, func(a, b nameAt) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		return bytes.Compare(s.text[a.from:a.to], s.text[b.from:b.to])
	})
}

// workItem is a folder to be listed. If list is false, the attributes of its entries from:to are
// to be taken.
type workItem struct {
	f        *folder
	from, to int
	list     bool
}

const (
	batchNames  = 512      // names of a work item: a few tenths of a millisecond
	mostWalkers = 8        // goroutines
	direntBytes = 32 << 10 // for one call of getdents
)

// newTree makes a tree whose only work item is the directory path.
func newTree(w *walker, path string) *tree {
	t := &tree{w: w, root: newFolder(path, nil)}
	t.mu.wake.L = &t.mu
	t.mu.todo = []workItem{{f: t.root, list: true}}
	return t
}

// newFolder makes a folder that is not listed yet. above is nil for the root of a tree.
func newFolder(path string, above *folder) *folder {
	prefix := path
	// The root of the file system ends with a separator already.
	if !strings.HasSuffix(prefix, "/") && !os.IsPathSeparator(prefix[len(prefix)-1]) {
		prefix += string(filepath.Separator)
	}
	return &folder{path: path, prefix: prefix, above: above}
}

// read reads the whole tree. The caller works alone until there is more than one work item. It
// then starts goroutines, and waits for them in the end.
func (t *tree) read() {
	var helpers sync.WaitGroup
	scratch := scratch{buf: make([]byte, direntBytes)}
	alone := true
	for {
		e, more := t.next()
		if e.f == nil {
			break
		}
		if alone && more > 0 {
			alone = false
			for range min(runtime.GOMAXPROCS(0), mostWalkers) - 1 {
				helpers.Go(t.help)
			}
		}
		t.do(e, &scratch)
	}
	helpers.Wait()
}

// help works until the whole tree has been read.
func (t *tree) help() {
	scratch := scratch{buf: make([]byte, direntBytes)}
	for e, _ := t.next(); e.f != nil; e, _ = t.next() {
		t.do(e, &scratch)
	}
}

// next waits for a work item. It also returns how many more there are. An item without a folder
// means that the whole tree has been read.
func (t *tree) next() (e workItem, more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.mu.todo) == 0 {
		// Only items that are being worked on add new ones.
		if t.mu.running == 0 {
			return workItem{}, 0
		}
		t.mu.wake.Wait()
	}
	// The newest item goes first, so that few folders are open or half read at a time.
	last := len(t.mu.todo) - 1
	e = t.mu.todo[last]
	t.mu.todo = t.mu.todo[:last]
	t.mu.running++
	return e, last
}

// do works on one item, and adds the items that follow from it. For a folder with many names these
// are first the batches of its names. When all attributes are taken, they are the folders below
// it. t.mu is held only while items are added.
func (t *tree) do(e workItem, s *scratch) {
	f := e.f
	open := false // entries of f are still without attributes
	if e.list {
		open = t.list(f, s)
	} else {
		t.stat(f, f.entries[e.from:e.to])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.list {
		// With the sum, gather makes room in the plan for all files at once.
		t.mu.entries += len(f.entries)
	} else if f.batches--; f.batches > 0 {
		open = true
	} else {
		// f.complete may sort, so it runs without the lock. No goroutine ends meanwhile, because
		// running counts this item.
		t.mu.Unlock()
		f.complete()
		t.mu.Lock()
	}
	t.mu.running--
	switch {
	// All entries are known now, so the folders among them can be read.
	case !open:
		for _, b := range f.folders {
			t.mu.todo = append(t.mu.todo, workItem{f: b, list: true})
		}
	// The goroutine that ends the last of these batches completes the folder.
	case e.list:
		for from := 0; from < len(f.entries); from += batchNames {
			t.mu.todo = append(t.mu.todo, workItem{f: f, from: from, to: min(from+batchNames, len(f.entries))})
			f.batches++
		}
	}
	// Without any item left or worked on, the goroutines that wait wake up and end.
	if len(t.mu.todo) > 0 || t.mu.running == 0 {
		t.mu.wake.Broadcast()
	}
}

// list opens a folder and reads its names, without hidden ones. It also takes their attributes, and
// closes the folder. If there are too many names, it leaves both to other items and returns true.
func (t *tree) list(f *folder, s *scratch) (open bool) {
	if f.dir, f.err = openDirectory(f.path); f.err != nil {
		f.err = errs.Inputf(shown(f.path), "%w", errs.Cause(f.err))
		return false
	}
	// The identity is that of the open directory, because the path may be replaced.
	if f.id, f.err = f.dir.id(); f.err == nil {
		for up := f.above; up != nil && !f.leadsBack; up = up.above {
			f.leadsBack = f.id.same(up.id)
		}
		if !f.leadsBack {
			f.err = t.names(f, s)
		}
	}
	if f.err != nil {
		f.err = errs.Inputf(shown(f.path), "reading the directory: %w", errs.Cause(f.err))
	}
	if f.err == nil && len(f.entries) > batchNames {
		return true
	}
	t.stat(f, f.entries)
	f.complete()
	return false
}

// names makes an entry of each name of the folder. It sorts the names and not the entries, because
// names are smaller. The order is final unless a link turns out to lead to a directory (complete).
func (t *tree) names(f *folder, s *scratch) error {
	s.text, s.names = s.text[:0], s.names[:0]
	err := f.dir.each(s.buf, func(name []byte, mode fs.FileMode) {
		if !t.w.o.All && (name[0] == '.' || name[0] == '_') {
			f.hidden++
			return
		}
		s.add(name, mode == fs.ModeDir)
	})
	if err != nil {
		return err
	}
	s.sort()
	// All paths of the folder lie in one string. They live as long as the plan.
	var paths strings.Builder
	paths.Grow(len(s.text) + len(s.names)*len(f.prefix))
	f.entries = make([]entry, 0, len(s.names))
	for _, n := range s.names {
		from := paths.Len()
		paths.WriteString(f.prefix)
		name := s.text[n.from:n.to]
		if n.isDir {
			// The slash was only for the order.
			name = name[:len(name)-1]
		}
		paths.Write(name)
		e := entry{path: paths.String()[from:]}
		if n.isDir {
			e.mode = fs.ModeDir
		}
		f.entries = append(f.entries, e)
	}
	return nil
}

// stat takes the attributes of entries. It asks the system for the right to read only if the mode
// and the owner of the file do not show it.
func (t *tree) stat(f *folder, entries []entry) {
	for i := range entries {
		e := &entries[i]
		// Only the identity of a directory is needed, and list takes that.
		if e.mode.IsDir() {
			continue
		}
		name := e.path[len(f.prefix):]
		var err error
		if e.stat, err = f.dir.stat(name); err != nil {
			e.below = &below{err: err}
		} else if e.mode == 0 && (!e.ownerReads || e.owner != t.w.euid) {
			e.readable = f.dir.readable(name)
		}
	}
}

// complete closes a folder after all attributes were taken. It sorts the entries, and makes the
// folders below.
func (f *folder) complete() {
	f.dir.close()
	inOrder := func(a, b entry) int { return byPath(&a, &b) }
	if !slices.IsSortedFunc(f.entries, inOrder) { // some links turned out to be directories
		slices.SortFunc(f.entries, inOrder)
	}
	for i := range f.entries {
		if e := &f.entries[i]; e.mode.IsDir() {
			e.below = &below{folder: newFolder(e.path, f)}
			f.folders = append(f.folders, e.folder)
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

// gather reads a tree and adds its files to the plan, in order. named reports whether the user
// named its root.
func (w *walker) gather(t *tree, named bool) error {
	t.read()
	before, hidden := len(w.plan.Files), w.hidden
	w.plan.Files = slices.Grow(w.plan.Files, t.mu.entries)
	if err := w.folder(t.root); err != nil {
		return err
	}
	// Only a directory that the user named gets a note if it is empty.
	if named && len(w.plan.Files) == before {
		w.noFiles(t.root.path, w.hidden-hidden)
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
	case e.below == nil:
		return w.visit(e.path, e.stat, false)
	case e.folder != nil:
		return w.folder(e.folder)
	case isLinkLoop(e.err):
		w.loops = append(w.loops, e.path)
		return nil
	}
	if _, err := disk.Lstat(e.path); errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed after the directory was read
	}
	return dangling(e.path, e.err)
}
