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

	"mrlocal/errs"
)

// tree reads the directories below a path. Each name costs one or two system
// calls, so several goroutines list directories and take attributes. The
// results are put into the order of the paths' bytes afterwards, so they do not
// depend on the goroutines. Only a directory with many names is shared by
// several of them.
//
//	todo:  list a folder [──► stat batches of its names] ──► list its folders …
type tree struct {
	w    *walker
	root *folder

	mu struct {
		sync.Mutex
		wake    sync.Cond
		todo    []errand
		running int // errands being done
		entries int // found so far
	}
}

// folder is a directory that is read.
type folder struct {
	path, prefix string // prefix is path and a separator
	above        *folder
	dir          directory
	id           identity
	entries      []entry
	folders      []*folder // those of its entries that are directories
	batches      int       // still without attributes; guarded by the lock of the tree
	hidden       int       // names left out because of their first letter
	leadsBack    bool
	err          error
}

// entry is a name in a directory.
type entry struct {
	path string
	stat
	*below // nil for a file
}

// below is what only few names have.
type below struct {
	folder *folder // if it is a directory
	err    error   // of taking its attributes
}

// scratch is the memory of one goroutine.
type scratch struct {
	buf   []byte   // of getdents
	text  []byte   // of names
	names []nameAt // in any order
}

// nameAt is a name in a directory, text[from:to] of a scratch. A name that is
// known to be a directory ends with a slash, so that it sorts like the paths
// below it.
type nameAt struct {
	first    uint64 // first eight bytes, which decide most comparisons
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
	// Big-endian order compares numbers as it compares bytes. Short names are padded with 0, which
	// no name holds.
	copy(first[:], s.text[from:])
	s.names = append(s.names, nameAt{binary.BigEndian.Uint64(first[:]), from, int32(len(s.text)), isDir})
}

// The first eight bytes stand in the element itself, so that most comparisons touch no text.
func (s *scratch) sort() {
	slices.SortFunc(s.names, func(a, b nameAt) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		return bytes.Compare(s.text[a.from:a.to], s.text[b.from:b.to])
	})
}

// errand is a folder to be listed, or the entries from:to of it whose
// attributes are to be taken.
type errand struct {
	f        *folder
	from, to int
	list     bool
}

const (
	batchNames  = 512 // work for a few tenths of a millisecond
	mostWalkers = 8
	direntBytes = 32 << 10
)

// newTree begins with the directory path as the only errand.
func newTree(w *walker, path string) *tree {
	t := &tree{w: w, root: newFolder(path, nil)}
	t.mu.wake.L = &t.mu
	t.mu.todo = []errand{{f: t.root, list: true}}
	return t
}

// newFolder makes a folder that nobody has listed yet. above is nil for the root of the
// search.
func newFolder(path string, above *folder) *folder {
	// The root of the file system ends with a separator already.
	prefix := path
	if !strings.HasSuffix(prefix, "/") && !os.IsPathSeparator(prefix[len(prefix)-1]) {
		prefix += string(filepath.Separator)
	}
	return &folder{path: path, prefix: prefix, above: above}
}

// read reads the whole tree. The caller works alone until there is work for
// others.
func (t *tree) read() {
	var helpers sync.WaitGroup
	scratch := scratch{buf: make([]byte, direntBytes)}
	// A tree of one directory needs no goroutines.
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

// help does errands until none is left and none can come. Each helper has its own buffer for
// directory entries.
func (t *tree) help() {
	scratch := scratch{buf: make([]byte, direntBytes)}
	for e, _ := t.next(); e.f != nil; e, _ = t.next() {
		t.do(e, &scratch)
	}
}

// next waits for an errand. It returns also how many more there are. An errand
// without a folder means that the whole tree has been read.
func (t *tree) next() (e errand, more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.mu.todo) == 0 {
		// Errands make other errands. Without any at work, none can come.
		if t.mu.running == 0 {
			return errand{}, 0
		}
		t.mu.wake.Wait()
	}
	// The newest errand goes first, so few folders are open or half read at a time.
	last := len(t.mu.todo) - 1
	e = t.mu.todo[last]
	t.mu.todo = t.mu.todo[:last]
	t.mu.running++
	return e, last
}

// do does one errand, and adds those that follow from it. These are first the batches of a
// folder with many names and, when all its entries are known, the folders below it. The lock
// of the tree is held only for that.
func (t *tree) do(e errand, s *scratch) {
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
		// The sum lets the plan make room for all files at once.
		t.mu.entries += len(f.entries)
	} else if f.batches--; f.batches > 0 {
		open = true
	} else {
		t.mu.Unlock() // nobody ends early meanwhile: running counts this errand
		f.complete()
		t.mu.Lock()
	}
	t.mu.running--
	switch {
	// All entries are known now, so the folders among them can be read.
	case !open:
		for _, b := range f.folders {
			t.mu.todo = append(t.mu.todo, errand{f: b, list: true})
		}
	// Whoever takes the last of these batches completes the folder.
	case e.list:
		for from := 0; from < len(f.entries); from += batchNames {
			t.mu.todo = append(t.mu.todo, errand{f: f, from: from, to: min(from+batchNames, len(f.entries))})
			f.batches++
		}
	}
	// With no errand left and none running, all wait for nothing: they wake up and end.
	if len(t.mu.todo) > 0 || t.mu.running == 0 {
		t.mu.wake.Broadcast()
	}
}

// list opens a folder and reads its names, without hidden ones. If
// there are many, it leaves their attributes to others and returns open: the
// folder stays open for them.
func (t *tree) list(f *folder, s *scratch) (open bool) {
	if f.dir, f.err = openDirectory(f.path); f.err != nil {
		f.err = errs.Inputf(shown(f.path), "%w", errs.Cause(f.err))
		return false
	}
	// The identity is taken from the open directory, which cannot be replaced any more.
	if f.id, f.err = f.dir.id(); f.err == nil {
		for up := f.above; up != nil && !f.leadsBack; up = up.above {
			// A directory above that is the same one means a loop of links.
			f.leadsBack = f.id.same(up.id)
		}
		if !f.leadsBack {
			f.err = t.names(f, s)
		}
	}
	if f.err != nil {
		f.err = errs.Inputf(shown(f.path), "reading the directory: %w", errs.Cause(f.err))
	}
	// complete follows when the last batch is done, and closes the folder.
	if f.err == nil && len(f.entries) > batchNames {
		return true
	}
	t.stat(f, f.entries)
	f.complete()
	return false
}

// names makes an entry of each name. It sorts names before it makes entries,
// because names are smaller. The order is final if all directories are known as
// such. All paths of the folder lie in one string.
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
	// One allocation holds all paths. They live as long as the plan.
	var paths strings.Builder
	paths.Grow(len(s.text) + len(s.names)*len(f.prefix))
	f.entries = make([]entry, 0, len(s.names))
	for _, n := range s.names {
		from := paths.Len()
		paths.WriteString(f.prefix)
		name := s.text[n.from:n.to]
		if n.isDir {
			// The slash was for sorting only.
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

// stat takes the attributes of entries. It asks for the right to read only if
// the mode of the file and its owner do not say.
func (t *tree) stat(f *folder, entries []entry) {
	for i := range entries {
		e := &entries[i]
		// Nothing but its identity is needed, which list takes from the open directory.
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

// complete closes a folder after all attributes were taken, sorts its entries,
// and makes the folders below it.
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

// byPath orders entries by the bytes of their paths. The path of a directory
// counts with the separator that follows it in the paths below it.
func byPath(a, b *entry) int {
	n := min(len(a.path), len(b.path))
	if c := strings.Compare(a.path[:n], b.path[:n]); c != 0 {
		return c
	}
	return a.byteAt(n) - b.byteAt(n)
}

// byteAt returns byte i of the path as the order of files sees it: a directory ends with a
// slash, so that it sorts as its files do. -1 stands for the end.
func (e *entry) byteAt(i int) int {
	switch {
	case i < len(e.path):
		return int(e.path[i])
	case e.mode.IsDir():
		return '/'
	}
	// A path that ends comes before all that go on.
	return -1
}

// gather reads a tree and adds its files to the plan, in order.
func (w *walker) gather(t *tree, named bool) error {
	t.read()
	before := len(w.plan.Files)
	w.plan.Files = slices.Grow(w.plan.Files, t.mu.entries)
	if err := w.folder(t.root); err != nil {
		return err
	}
	// Only the user's own directories are worth a note.
	if named && len(w.plan.Files) == before {
		w.empty = append(w.empty, t.root.path)
	}
	return nil
}

// folder adds the files of a tree that has been read, in the order of their paths. The
// first error in that order is returned, not the first in time.
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

// entry adds one name: a file, a folder with all below it, or the reason why it has no
// attributes.
func (w *walker) entry(e *entry) error {
	switch {
	case e.below == nil:
		return w.take(e.path, e.stat, false)
	case e.folder != nil:
		return w.folder(e.folder)
	case isLinkLoop(e.err):
		w.loops = append(w.loops, e.path)
		return nil
	}
	if _, err := os.Lstat(e.path); errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed after the directory was read
	}
	return dangling(e.path, e.err)
}
