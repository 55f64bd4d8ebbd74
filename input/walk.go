package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/paths"
)

// walker finds files and adds them to a plan. All its errors are of kind errs.BadInput.
type walker struct {
	plan   *Plan
	o      Options
	euid   int32    // effective user of the process
	hidden int      // names left out because of their first letter
	pipes  int      // FIFOs found in directories, and left out
	loops  []string // links and directories that lead back to a directory above them, and are left out
	empty  []string // notes on directories that the user named and that have no file

	stdinNamed bool // standard input is among the files
}

// stat holds the attributes of a path that the walk needs.
type stat struct {
	bytes      int64
	id         identity
	ctimeNanos int64       // of the last change of content or attributes; 0 if it is not known
	mode       fs.FileMode // only the type
	owner      int32       // user number; -1 if it is not known
	ownerReads bool        // the mode lets the owner read
	readable   bool        // the system was asked, and the process may read it
}

// named adds the files of one path that the user named.
func (w *walker) named(path string) error {
	switch path {
	case "":
		return errs.Inputf("", "an empty path names no input")
	case "-":
		return w.stdin()
	}
	if hdfs.Is(path) {
		return w.remote(path)
	}
	st, err := statPath(path)
	if err == nil {
		return w.visit(path, st, true)
	}
	// A link whose target is missing is a mistake, and no glob.
	if _, lerr := disk.Lstat(path); lerr == nil {
		return dangling(path, err)
	}
	if errors.Is(err, fs.ErrNotExist) && paths.HasWildcard(path) {
		return w.glob(path)
	}
	return errs.Inputf(shown(path), "%w", errs.Cause(err))
}

// stdin adds standard input. If it is a regular file, what lies behind its offset can be divided.
// Otherwise it is a stream.
func (w *walker) stdin() error {
	if w.o.Stdin == nil {
		return errs.Inputf("-", "there is no standard input")
	}
	f := File{Path: "(standard input)", Stream: true, kind: stdin, named: true, spent: w.stdinNamed}
	// If the user names it again, it counts as read to its end, even if it is a regular file. Other
	// readers, terminals, pipes and sockets stay streams.
	if file, ok := w.o.Stdin.(*os.File); ok && !w.stdinNamed {
		fi, err := file.Stat()
		if err != nil {
			return errs.Inputf("-", "standard input: %w", errs.Cause(err))
		}
		if fi.IsDir() {
			return errs.Inputf("-", "standard input is a directory")
		}
		if fi.Mode().IsRegular() {
			f.id, f.ctimeNanos = identityOf(fi), ctimeNanos(fi)
			// A size of 0 means nothing in /proc, so such a file stays a stream.
			if at, err := file.Seek(0, io.SeekCurrent); err == nil && at < fi.Size() {
				f.Bytes = fi.Size() - at
				f.Stream = false
				f.Rereadable = true
				f.kind = regularStdin
				w.plan.stdinAt = at
				if w.o.OnStdin != nil {
					w.o.OnStdin(file, at, f.Bytes, w.plan.first+int32(len(w.plan.Files)))
				}
			}
		}
	}
	w.stdinNamed = true
	w.plan.Files = append(w.plan.Files, f)
	return nil
}

// visit adds the files of a path that exists. named reports whether the user named it; if not, it
// was found in a directory or by a glob. visit may also only count a file that is left out.
func (w *walker) visit(path string, st stat, named bool) error {
	switch st.mode.Type() {
	case fs.ModeDir:
		return w.gather(path, named)
	case 0:
		// If mayRead is false, the plan asks the system later, which knows groups and ACLs.
		mayRead := st.readable || st.ownerReads && st.owner == w.euid
		w.plan.Files = append(w.plan.Files, File{Path: path, Bytes: st.bytes, id: st.id, ctimeNanos: st.ctimeNanos, Rereadable: true, mayRead: mayRead, named: named})
		return nil
	case fs.ModeNamedPipe:
		// A FIFO without a writer would block the run. So only one that the user names is read.
		if !named {
			w.pipes++
			return nil
		}
		if err := disk.MayRead(path); err != nil {
			return errs.Inputf(shown(path), "%w", errs.Cause(err))
		}
		w.plan.Files = append(w.plan.Files, File{Path: path, id: st.id, Stream: true, kind: fifo})
		return nil
	case fs.ModeSocket:
		return errs.Inputf(shown(path), "is a socket, not a file")
	}
	if st.mode&fs.ModeDevice != 0 {
		// /dev/zero has no end, and reading a device may change it.
		return errs.Inputf(shown(path), "is a device, not a file; use - for standard input")
	}
	return errs.Inputf(shown(path), "is neither a file nor a directory")
}

// glob adds the files that match a pattern, in the order of byPath, as for directories.
func (w *walker) glob(pattern string) error {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return errs.Inputf(shown(pattern), "no such file, and as a glob: %w", err)
	}
	var entries []entry
	for _, path := range matches {
		if !w.o.All && hiddenMatch(pattern, path) {
			w.hidden++
			continue
		}
		st, err := statPath(path)
		if err != nil {
			return dangling(path, err)
		}
		entries = append(entries, entry{path: path, stat: st})
	}
	if len(entries) == 0 {
		return errs.Inputf(shown(pattern), "no such file, and no file matches it as a glob")
	}
	slices.SortFunc(entries, func(a, b entry) int { return byPath(&a, &b) })
	for _, e := range entries {
		if err := w.visit(e.path, e.stat, false); err != nil {
			return err
		}
	}
	return nil
}

// notes adds to the plan a note for each kind of name that was left out.
func (w *walker) notes() {
	note := func(format string, args ...any) { w.plan.Notes = append(w.plan.Notes, fmt.Sprintf(format, args...)) }
	if w.hidden > 0 {
		note("skipped %s starting with . or _ (the option all takes them)", errs.Counted(w.hidden, "name"))
	}
	if w.pipes > 0 {
		note("skipped %s found in directories; name one to read it", errs.Counted(w.pipes, "FIFO"))
	}
	for i, path := range w.loops {
		// Three loops are named. The rest is counted, if there are at least two more.
		if i == 3 && len(w.loops) > 4 {
			note("skipped %d more loops of links", len(w.loops)-i)
			break
		}
		note("skipped %s: a link that leads back to itself", shown(path))
	}
	w.plan.Notes = append(w.plan.Notes, w.empty...)
}

// noFiles notes that a named directory has no files. hidden is the number of names that were left out of it. They
// move to this note from that on all names left out.
func (w *walker) noFiles(path string, hidden int) {
	text := "no files in " + shown(path)
	if hidden > 0 {
		text += " but " + errs.Counted(hidden, "name") + " starting with . or _ (the option all takes them)"
	}
	w.hidden -= hidden
	w.empty = append(w.empty, text)
}

// dangling returns the error of a path that exists, but whose attributes cannot be taken. err is
// the error of that.
func dangling(path string, err error) error {
	switch {
	case isLinkLoop(err):
		return errs.Inputf(shown(path), "a link that leads back to itself")
	case errors.Is(err, fs.ErrNotExist):
		target, _ := os.Readlink(path)
		return errs.Inputf(shown(path), "dangling link to %s", shown(target))
	}
	return errs.Inputf(shown(path), "%w", errs.Cause(err))
}

// isLinkLoop reports whether following a link has failed because the link leads back to itself.
func isLinkLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// hiddenMatch reports whether a wildcard at the start of a name has matched a dot. In a shell it
// does not match a dot.
func hiddenMatch(pattern, path string) bool {
	// A wildcard does not match a slash, so path has as many names as the pattern.
	pats := strings.FieldsFunc(pattern, isSlash)
	names := strings.FieldsFunc(path, isSlash)
	if len(pats) != len(names) {
		return false
	}
	for i, name := range names {
		if name[0] == '.' && pats[i][0] != '.' && pats[i][0] != '\\' {
			return true
		}
	}
	return false
}

func isSlash(r rune) bool { return r == '/' || r == filepath.Separator }

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
