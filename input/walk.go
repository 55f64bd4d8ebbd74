package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mrlocal/internal/usage"
)

// walker finds files. Everything it refuses is a usage error.
type walker struct {
	plan   *Plan
	o      Options
	above  []identity // directories that are being read, outermost first
	hidden int        // names left out because of their first letter
	pipes  int        // FIFOs found in directories
	loops  []string
	empty  []string // named directories without a file
}

// stat is what the walk needs to know of a path.
type stat struct {
	mode  fs.FileMode
	bytes int64
	id    identity
}

// named takes one path of the command line.
func (w *walker) named(path string) error {
	switch path {
	case "":
		return usage.Errorf("", "an empty path names no input")
	case "-":
		return w.stdin()
	}
	st, err := statPath(path)
	if err == nil {
		return w.take(path, st, true)
	}
	if _, lerr := os.Lstat(path); lerr == nil {
		return dangling(path, err)
	}
	if errors.Is(err, fs.ErrNotExist) && hasMeta(path) {
		return w.glob(path)
	}
	return usage.Errorf(shown(path), "%v", cause(err))
}

// stdin takes standard input: as a file that can be split where it is a
// regular one that nobody has read from, else as a stream.
func (w *walker) stdin() error {
	if w.o.Stdin == nil {
		return usage.Errorf("-", "there is no standard input")
	}
	f := File{Path: "(standard input)", Stream: true, kind: stdin}
	if file, ok := w.o.Stdin.(*os.File); ok {
		fi, err := file.Stat()
		if err != nil {
			return usage.Errorf("-", "standard input: %v", cause(err))
		}
		if fi.IsDir() {
			return usage.Errorf("-", "standard input is a directory")
		}
		if fi.Mode().IsRegular() {
			f.id = identityOf(fi)
			// The size of a file of /proc says nothing.
			if at, err := file.Seek(0, io.SeekCurrent); err == nil && at == 0 && fi.Size() > 0 {
				f.Bytes, f.Stream, f.Rereadable, f.kind = fi.Size(), false, true, regularStdin
			}
		}
	}
	w.plan.Files = append(w.plan.Files, f)
	return nil
}

// take takes a path that exists. named: the user wrote it, it was not found
// in a directory.
func (w *walker) take(path string, st stat, named bool) error {
	switch st.mode.Type() {
	case fs.ModeDir:
		return w.dir(path, st, named)
	case 0:
		w.plan.Files = append(w.plan.Files, File{Path: path, Bytes: st.bytes, id: st.id, Rereadable: true})
		return nil
	case fs.ModeNamedPipe:
		if !named {
			w.pipes++
			return nil
		}
		if err := readable(path); err != nil {
			return usage.Errorf(shown(path), "%v", cause(err))
		}
		w.plan.Files = append(w.plan.Files, File{Path: path, id: st.id, Stream: true, kind: fifo})
		return nil
	case fs.ModeSocket:
		return usage.Errorf(shown(path), "is a socket, not a file")
	}
	if st.mode&fs.ModeDevice != 0 {
		return usage.Errorf(shown(path), "is a device, not a file; use - for standard input")
	}
	return usage.Errorf(shown(path), "is neither a file nor a directory")
}

// entry is a name in a directory.
type entry struct {
	name string // a directory's ends with /, so that names sort as the paths below them do
	stat
}

// dir takes the files in a directory, in the order of their paths' bytes.
func (w *walker) dir(path string, st stat, named bool) error {
	for _, id := range w.above {
		if st.id.same(id) {
			w.loops = append(w.loops, path)
			return nil
		}
	}
	before := len(w.plan.Files)
	w.plan.dirs = append(w.plan.dirs, st.id)
	if st.id.ino == 0 {
		w.plan.roots = append(w.plan.roots, path)
	}
	w.above = append(w.above, st.id)
	defer func() { w.above = w.above[:len(w.above)-1] }()

	prefix := path
	if !strings.HasSuffix(prefix, "/") && !os.IsPathSeparator(prefix[len(prefix)-1]) {
		prefix += string(filepath.Separator)
	}
	entries, err := w.list(path, prefix)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.take(prefix+strings.TrimSuffix(e.name, "/"), e.stat, false); err != nil {
			return err
		}
	}
	if named && len(w.plan.Files) == before {
		w.empty = append(w.empty, path)
	}
	return nil
}

// list reads a directory: everything but hidden and excluded names, sorted.
func (w *walker) list(path, prefix string) ([]entry, error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, usage.Errorf(shown(path), "%v", cause(err))
	}
	names, err := d.Readdirnames(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, usage.Errorf(shown(path), "reading the directory: %v", cause(err))
	}
	entries := make([]entry, 0, len(names))
	for _, name := range names {
		if !w.o.All && (name[0] == '.' || name[0] == '_') {
			w.hidden++
			continue
		}
		full := prefix + name
		if w.o.Exclude != nil && w.o.Exclude(full) {
			continue
		}
		st, err := statPath(full)
		if err != nil {
			if _, lerr := os.Lstat(full); errors.Is(lerr, fs.ErrNotExist) {
				continue // removed since the directory was read
			}
			if isLinkLoop(err) {
				w.loops = append(w.loops, full)
				continue
			}
			return nil, dangling(full, err)
		}
		if st.mode.IsDir() {
			name += "/"
		}
		entries = append(entries, entry{name, st})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, nil
}

// glob takes what matches a pattern, in the order of the paths' bytes.
func (w *walker) glob(pattern string) error {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return usage.Errorf(shown(pattern), "no such file, and as a glob: %v", err)
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
		if st.mode.IsDir() {
			path += "/"
		}
		entries = append(entries, entry{path, st})
	}
	if len(entries) == 0 {
		return usage.Errorf(shown(pattern), "no such file, and no file matches it as a glob")
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	for _, e := range entries {
		if err := w.take(strings.TrimSuffix(e.name, "/"), e.stat, false); err != nil {
			return err
		}
	}
	return nil
}

// notes writes down what was left out.
func (w *walker) notes() {
	note := func(format string, args ...any) { w.plan.Notes = append(w.plan.Notes, fmt.Sprintf(format, args...)) }
	if w.hidden > 0 {
		note("skipped %s starting with . or _ (--all takes them)", count(w.hidden, "name", "names"))
	}
	if w.pipes > 0 {
		note("skipped %s found in directories; name one to read it", count(w.pipes, "FIFO", "FIFOs"))
	}
	for i, path := range w.loops {
		if i == 3 && len(w.loops) > 4 {
			note("skipped %d more loops of links", len(w.loops)-i)
			break
		}
		note("skipped %s: a link that leads back to itself", shown(path))
	}
	for _, path := range w.empty {
		note("no files in %s", shown(path))
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// dangling explains a path that is there and cannot be followed.
func dangling(path string, err error) error {
	switch {
	case isLinkLoop(err):
		return usage.Errorf(shown(path), "a link that leads back to itself")
	case errors.Is(err, fs.ErrNotExist):
		target, _ := os.Readlink(path)
		return usage.Errorf(shown(path), "dangling link to %s", shown(target))
	}
	return usage.Errorf(shown(path), "%v", cause(err))
}

func isLinkLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// cause is an error without operation and path, which the message already has.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// hasMeta reports whether path has letters that mean something in a glob.
func hasMeta(path string) bool {
	return strings.ContainsAny(path, `*?[`) || filepath.Separator == '/' && strings.Contains(path, `\`)
}

// Root is where a path of the command line leads: the path itself where it
// exists or means nothing as a glob, else the directory that its first
// wildcard is in, and true.
func Root(path string) (root string, glob bool) {
	if _, err := os.Lstat(path); err == nil || !hasMeta(path) {
		return path, false
	}
	for hasMeta(path) {
		path = filepath.Dir(path)
	}
	return path, true
}

// hiddenMatch reports whether a wildcard at the start of a name matched a dot,
// which in a shell it does not.
func hiddenMatch(pattern, path string) bool {
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
