package tools

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mrlocal/errs"
	"mrlocal/input"
)

// The files that mrlocal grep searches. Paths that the user names are taken as they
// are; directories are walked in the order of their names. Ignore files, globs and
// types choose among the files of directories, as in ripgrep; --include, --exclude and
// --exclude-dir choose among all, as in GNU grep.
//
// Each directory is read once, and files are yielded while others are still to be
// found. Only an order by times needs the whole list and the attributes of files.

// findOptions say which files are listed.
type findOptions struct {
	Hidden     bool     // files and directories whose names begin with a dot too
	NoIgnore   bool     // read no ignore files
	Globs      []string // -g: a file must match one of them; one with a leading ! leaves files out
	Types      []string // -t: names of types, of which a file must have one
	Include    []string // GNU: globs of names, one of which a file must match
	Exclude    []string // GNU: globs of names that are left out
	ExcludeDir []string // GNU: globs of names of directories that are left out

	Sort   string      // "modified", "accessed" or "created", oldest first; else by path
	Output fs.FileInfo // where the output goes, which standard input must not be; may be nil
	Stdin  fs.FileInfo // may be nil
	// Missing is called with each path that cannot be read; it must be set. The walk goes on.
	Missing func(path string, cause error)
}

// findFiles returns the files below roots, in order. An empty root is the working
// directory, whose files have paths without "./". The roots keep their order, and so
// do the names of a directory; an order by times is one of all files together. The
// sequence calls o.Missing for each path that cannot be read, and goes on. findFiles
// fails if a glob or a type is wrong.
func findFiles(roots []string, o findOptions) (iter.Seq[string], error) {
	w := &walker{findOptions: o}
	if err := w.compile(); err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		w := *w
		w.yield = yield
		if clock := clockOf(o.Sort); clock != nil {
			w.byTime(roots, clock)
			return
		}
		for _, root := range roots {
			if !w.root(root) {
				return
			}
		}
	}, nil
}

// isDirectory reports whether a root is a directory, below which files are listed.
func isDirectory(root string) bool {
	if root == "-" {
		return false
	}
	info, err := os.Stat(cmp.Or(root, "."))
	return err == nil && info.IsDir()
}

// walker yields files until yield returns false. So do the methods that return a
// bool: it is false if the walk has ended.
type walker struct {
	findOptions
	globs rules // Globs
	types []rule
	yield func(path string) bool

	listing listing
}

// clock returns a time of a file, such as its last change.
type clock func(path string, info fs.FileInfo) (time.Time, error)

// clockOf returns the clock of a value of --sort; nil: it is no time.
func clockOf(sort string) clock {
	switch sort {
	case "modified":
		return func(_ string, info fs.FileInfo) (time.Time, error) { return info.ModTime(), nil }
	case "accessed":
		return accessed
	case "created":
		return created
	}
	return nil
}

// errNoTime is the error of a file system or an operating system without that time.
var errNoTime = errors.New("the system does not know this time of the file")

// byTime yields the files in the order of a time, oldest first. Files of the same
// time keep the order of their paths; standard input comes first.
func (w *walker) byTime(roots []string, time clock) {
	type file struct {
		path  string
		nanos int64
	}
	var all []file
	yield := w.yield
	w.yield = func(path string) bool {
		f := file{path: path, nanos: math.MinInt64}
		if path != "-" {
			info, err := os.Stat(path)
			if err == nil {
				at, e := time(path, info)
				f.nanos, err = at.UnixNano(), e
			}
			if err != nil {
				w.Missing(path, err)
				return true
			}
		}
		all = append(all, f)
		return true
	}
	for _, root := range roots {
		w.root(root)
	}
	slices.SortStableFunc(all, func(a, b file) int { return cmp.Compare(a.nanos, b.nanos) })
	for _, f := range all {
		if !yield(f.path) {
			return
		}
	}
}

// compile compiles globs and types.
func (w *walker) compile() error {
	for _, g := range w.Globs {
		r, ok := compileRule(g, false)
		if !ok {
			return errs.Optionf("-g", "%q is not a glob", g)
		}
		w.globs = append(w.globs, r)
	}
	// The globs of a type are constants of this package, so they are valid.
	for _, name := range w.Types {
		globs, ok := typeGlobs(name)
		if !ok {
			return errs.Optionf("-t", "%q: no such type", name)
		}
		for _, g := range globs {
			r, _ := compileRule(g, false)
			w.types = append(w.types, r)
		}
	}
	// GNU grep ignores a slash at the end of these globs. The caller's slices are changed in
	// place.
	for flag, globs := range map[string][]string{"--include": w.Include, "--exclude": w.Exclude, "--exclude-dir": w.ExcludeDir} {
		for i, g := range globs {
			g = strings.TrimRight(g, "/")
			globs[i] = g
			if !validGlob(g) {
				return errs.Optionf(flag, "%q is not a glob", g)
			}
		}
	}
	return nil
}

// root yields a path that the user named, or the files below it.
func (w *walker) root(name string) bool {
	// This path means standard input, which has no name to look at.
	if name == "-" {
		if w.Output != nil && w.Stdin != nil && os.SameFile(w.Stdin, w.Output) {
			w.Missing("(standard input)", input.ErrOutput)
			return true
		}
		return w.yield(name)
	}
	// Stat follows a link that the user names. Links inside directories are left out, as in GNU
	// grep -r.
	info, err := os.Stat(cmp.Or(name, "."))
	switch {
	case err != nil:
		w.Missing(name, err)
	case info.IsDir():
		// GNU grep applies --exclude-dir to roots as well, but not to the working directory
		// without a name. Ignore files, types and -g never apply to roots.
		if base := path.Base(filepath.ToSlash(name)); name == "" || !anyGlob(w.ExcludeDir, base, name) {
			return w.directory(name, "", w.parents(name))
		}
	case w.admits(name, path.Base(filepath.ToSlash(name))):
		return w.yield(name)
	}
	return true
}

// admits applies the flags of GNU grep to a file.
func (w *walker) admits(name, base string) bool {
	if anyGlob(w.Exclude, base, name) {
		return false
	}
	// Without --include every file is admitted.
	return len(w.Include) == 0 || anyGlob(w.Include, base, name)
}

// directory yields what lies below a directory. within is its path below the root,
// with slashes; ignored has the ignore rules of the directories above.
func (w *walker) directory(name, within string, ignored *ignores) bool {
	entries, err := w.list(name)
	if err != nil {
		// What was read before the error is searched all the same.
		w.Missing(name, err)
	}
	if !w.NoIgnore {
		// The ignore files of a directory apply to its entries and to all below.
		ignored = ignored.enter(name, entries)
	}
	if within != "" {
		within += "/"
	}
	for _, e := range entries {
		// Links, pipes and devices inside directories are not searched.
		isDir := e.mode == fs.ModeDir
		// inner is the path from the root, for globs of GNU grep.
		base, inner := e.base(), e.path[len(e.path)-e.baseBytes-len(within):]
		if !isDir && e.mode != 0 || !w.takes(base, e.path, inner, isDir, ignored) {
			continue
		}
		more := true
		if isDir {
			more = w.directory(e.path, inner, ignored)
		} else {
			more = w.yield(e.path)
		}
		if !more {
			return false
		}
	}
	return true
}

// listed is an entry of a directory.
type listed struct {
	path      string // that the user sees
	baseBytes int    // of its last name
	mode      fs.FileMode
}

func (l *listed) base() string { return l.path[len(l.path)-l.baseBytes:] }

// listing is scratch memory of a walk.
type listing struct {
	buf   []byte
	text  []byte // of the names
	names []listedName
}

// listedName is the name text[from:to].
type listedName struct {
	from, to int
	mode     fs.FileMode
}

// list reads a directory, in the order of names. All paths lie in one string: an object for each
// name took a tenth of the time of the walk.
func (w *walker) list(name string) ([]listed, error) {
	l := &w.listing
	if l.buf == nil {
		l.buf = make([]byte, listBytes)
	}
	l.text, l.names = l.text[:0], l.names[:0]
	err := input.ReadNames(cmp.Or(name, "."), l.buf, func(name []byte, mode fs.FileMode) {
		from := len(l.text)
		l.text = append(l.text, name...)
		l.names = append(l.names, listedName{from, len(l.text), mode})
	})
	slices.SortFunc(l.names, func(a, b listedName) int { return bytes.Compare(l.text[a.from:a.to], l.text[b.from:b.to]) })
	prefix := name
	if name != "" && !strings.HasSuffix(name, "/") {
		prefix += "/"
	}
	var paths strings.Builder
	paths.Grow(len(l.text) + len(l.names)*len(prefix))
	entries := make([]listed, 0, len(l.names))
	for _, n := range l.names {
		from := paths.Len()
		paths.WriteString(prefix)
		paths.Write(l.text[n.from:n.to])
		e := listed{paths.String()[from:], n.to - n.from, n.mode}
		if e.path == "-" { // that path means standard input
			e.path = "./-"
		}
		if e.mode == fs.ModeIrregular {
			info, err := os.Lstat(e.path)
			if err != nil {
				continue // it was removed since
			}
			e.mode = info.Mode().Type()
		}
		entries = append(entries, e)
	}
	return entries, err
}

// listBytes are read from a directory at once.
const listBytes = 32 << 10

// takes decides about an entry of a directory. What -g says counts most, then
// ignore files, then types; hidden names come last, as in ripgrep.
func (w *walker) takes(base, full, inner string, isDir bool, ignored *ignores) bool {
	switch {
	// A directory that is left out is not read, nor anything below it.
	case isDir && anyGlob(w.ExcludeDir, base, inner):
		return false
	case !isDir && !w.admits(inner, base):
		return false
	}
	if len(w.globs) > 0 {
		// A glob that admits files turns -g into a white list. Directories need no match: a file
		// below may have one.
		switch verdict, some := w.globs.judge(strings.TrimPrefix(full, "./"), base, isDir), w.globs.admitting(); {
		case verdict == leaveOut:
			return false
		case verdict == take:
			return true
		case some && !isDir:
			return false
		}
	}
	switch verdict := ignored.judge(full, base, isDir); {
	case verdict == leaveOut:
		return false
	case verdict == take:
		// An ignore rule with a leading ! admits hidden names too. A type still applies.
		return isDir || w.ofType(base)
	}
	// A type admits hidden names too; no directory has one.
	if !isDir && len(w.types) > 0 {
		return w.ofType(base)
	}
	// Hidden names are left out unless something above has admitted them.
	return w.Hidden || !strings.HasPrefix(base, ".")
}

// ofType reports whether a name has one of the types.
func (w *walker) ofType(base string) bool {
	if len(w.types) == 0 {
		return true
	}
	return slices.ContainsFunc(w.types, func(r rule) bool { return r.matches(base, base) })
}
