// Package find lists the files that mrlocal grep searches. Files that the user names come in the order
// of the command line. Directories are walked in the order of the names in them.
//
// Ignore files, globs and types choose among the files of directories, as in ripgrep. Ignore files and
// the other sources of their rules mean what they mean to git. --include, --exclude and --exclude-dir
// choose among all files, as in GNU grep.
//
// Each directory is read once, and files are yielded while the walk goes on. Only an order by time
// needs the whole list and the times of all files first.
package find

import (
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

// Options says which files are listed, and in which order.
type Options struct {
	Hidden   bool     // files and directories whose names begin with a dot too
	NoIgnore bool     // read no ignore files
	Follow   bool     // search what links in directories point to
	Globs    []string // -g: a file must match one of them; one with a leading ! leaves files out
	Types    []string // -t: a file must have one of these types
	Names    []Name   // --include, --exclude and --exclude-dir, in their order

	Sort string // "modified": in the order of the last change, oldest first; else by path
	// Getenv returns variables of the environment, which say where git keeps its settings. nil: there
	// are none.
	Getenv func(name string) string
	// Missing is called with each path that cannot be read, and why. It must not be nil. The walk goes
	// on after the call.
	Missing func(path string, cause error)
	// Loop is called with each directory that the walk is in already, and which a link has led back to.
	// The walk does not enter it again. nil: as in ripgrep, only a link itself counts, and Missing is
	// called with it.
	Loop func(path string)
}

// Files returns the paths of the files below roots. A root is a file, a directory, "-" for
// standard input, or "" for the working directory. Paths below "" do not begin with "./".
//
// By path, the roots keep their order, and the names in each directory are in byte order. By time,
// all files are in one order. The sequence calls o.Missing for each path that cannot be read, and goes
// on. Files fails with an options error if a glob or a type is wrong.
func Files(roots []string, o Options) (iter.Seq[string], error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	w := &walker{Options: o, git: &gitReader{getenv: o.Getenv}, here: absolute("")}
	if err := w.compile(); err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		w := *w // a copy for each walk, because yield belongs to one walk
		w.yield = yield
		if o.Sort == "modified" {
			w.byTime(roots)
			return
		}
		for _, root := range roots {
			if !w.root(root) {
				return
			}
		}
	}, nil
}

// IsDirectory reports whether a root of Files is a directory.
func IsDirectory(root string) bool {
	if root == "-" {
		return false
	}
	info, err := disk.Stat(cmp.Or(root, "."))
	return err == nil && info.IsDir()
}

// walker yields the files of one walk. Its methods root and directory return false if yield has
// returned false, which ends the walk.
type walker struct {
	Options
	globs       rules // compiled Globs
	types       Glob  // the compiled globs of Types
	files       names // compiled Names for files
	directories names // compiled Names for directories
	git         *gitReader
	here        string // the working directory without links; "" if it is gone
	yield       func(path string) bool

	base   string        // the absolute path of the current root, with a slash at the end
	inside []fs.FileInfo // with Follow, the directories from the root to the current one
}

// byTime yields the files in the order of their last change, oldest first. Files with the same time keep
// their order by path. Standard input comes first. A file whose time is unknown goes to Missing.
func (w *walker) byTime(roots []string) {
	type file struct {
		path  string
		nanos int64
	}
	var all []file
	yield := w.yield
	// The walk first collects all files.
	w.yield = func(path string) bool {
		f := file{path: path, nanos: math.MinInt64} // standard input keeps this time, so it comes first
		if path != "-" {
			info, err := disk.Stat(path)
			if err != nil {
				w.Missing(path, err)
				return true
			}
			f.nanos = info.ModTime().UnixNano()
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

// compile compiles w.Globs, w.Types and w.Names. It returns an options error for a wrong glob or an
// unknown type.
func (w *walker) compile() error {
	for _, text := range w.Globs {
		r, some, ok := parseGlob(text)
		if !ok {
			return errs.Fieldf("Options.Globs", "%q is not a glob", text)
		}
		if some {
			w.globs = append(w.globs, r)
		}
	}
	// The globs of a type are constants of this package, so they are valid.
	for _, name := range w.Types {
		globs, ok := typeGlobs(name)
		if !ok {
			return errs.Fieldf("Options.Types", "%q: no such type", name)
		}
		for _, text := range globs {
			g, _ := RipgrepGlob(text)
			w.types = append(w.types, g...)
		}
	}
	w.files, w.directories = compileNames(w.Names)
	return nil
}

// root yields a file that the user named, or the files below a directory that the user named.
func (w *walker) root(name string) bool {
	if name == "-" {
		return w.yield(name)
	}
	// As in GNU grep -r, a link that the user names is followed. Links inside directories are not, unless
	// Follow is true.
	info, err := disk.Stat(cmp.Or(name, "."))
	switch {
	case err != nil:
		w.Missing(name, err)
	case info.IsDir():
		// As in GNU grep, --exclude-dir applies to roots too, but not to the working directory that
		// stands for a missing PATH. Ignore files, types and -g do not apply to roots.
		if name == "" || w.directories.takes(name, true) {
			return w.tree(name)
		}
	case w.files.takes(name, true):
		return w.yield(name)
	}
	return true
}

// tree yields the files below a directory that the user named.
func (w *walker) tree(name string) bool {
	// As GNU grep does, the paths of the files have one slash behind the root.
	if name != "" {
		name = cmp.Or(strings.TrimRight(name, "/"), "/")
	}
	var ignored *ignores
	full := absolute(name)
	w.base, w.inside = withSlash(full), w.inside[:0]
	if !w.NoIgnore && full != "" {
		ignored = w.parents(full)
	}
	return w.enclosed(name, false, func() bool { return w.directory(name, "", ignored) })
}

// directory yields the files below the directory name. within is its path from the root, with slashes
// between and at the end, and "" for the root itself. ignored has the ignore files of the directories
// above.
func (w *walker) directory(name, within string, ignored *ignores) bool {
	entries, err := w.list(name)
	if err != nil {
		// entries has the names that were read before the error, and they are searched.
		w.Missing(name, err)
	}
	if !w.NoIgnore {
		// The ignore files in a directory apply to all that lies below it.
		ignored = w.enter(ignored, name, w.base+within, entries)
	}
	for i := range entries {
		e := &entries[i]
		isLink := e.mode == fs.ModeSymlink
		broken := w.follow(e)
		isDir := e.mode == fs.ModeDir
		inner := e.path[len(e.path)-e.baseBytes-len(within):]
		// Pipes and devices inside directories are not searched, and links only with Follow. Their mode
		// is not 0.
		if broken == nil && !isDir && e.mode != 0 || !w.takes(e, inner, isDir, ignored) {
			continue
		}
		more := true
		switch {
		case broken != nil:
			w.Missing(e.path, broken)
		case isDir:
			more = w.enclosed(e.path, isLink, func() bool { return w.directory(e.path, inner+"/", ignored) })
		default:
			more = w.yield(e.path)
		}
		if !more {
			return false
		}
	}
	return true
}

// follow replaces the mode of a link by that of its target if w.Follow is true. It returns an error if
// the target cannot be found.
func (w *walker) follow(e *listed) error {
	if !w.Follow || e.mode != fs.ModeSymlink {
		return nil
	}
	info, err := disk.Stat(e.path)
	if err == nil {
		e.mode = info.Mode().Type()
	}
	return err
}

// enclosed calls visit, which walks the directory of that path. With w.Follow it does not if the walk is
// in this directory already. It then calls w.Loop or w.Missing.
func (w *walker) enclosed(path string, isLink bool, visit func() bool) bool {
	if !w.Follow {
		return visit()
	}
	info, err := disk.Stat(cmp.Or(path, "."))
	if err != nil {
		w.Missing(path, err)
		return true
	}
	if slices.ContainsFunc(w.inside, func(above fs.FileInfo) bool { return os.SameFile(above, info) }) {
		switch {
		case w.Loop != nil:
			w.Loop(path)
			return true
		case isLink:
			w.Missing(path, errLoop)
			return true
		}
	}
	w.inside = append(w.inside, info)
	more := visit()
	w.inside = w.inside[:len(w.inside)-1]
	return more
}

// errLoop is the cause of Missing for a link that leads back.
var errLoop = errors.New("the link leads back to a directory around it")

// listed is an entry of a directory.
type listed struct {
	path      string      // from the root as the user wrote it
	baseBytes int         // the length of the last name of path
	mode      fs.FileMode // only the bits of the type: 0 is a regular file
}

// base returns the last name of the path.
func (l *listed) base() string { return l.path[len(l.path)-l.baseBytes:] }

// list returns the entries of a directory in byte order of their names. With an error it returns the
// entries that were read before. The caller owns the slice.
func (w *walker) list(name string) ([]listed, error) {
	short, release := disk.Short(cmp.Or(name, "."))
	defer release()
	names, err := disk.ReadDir(short)
	prefix := name
	if name != "" && !strings.HasSuffix(name, "/") {
		prefix += "/"
	}
	entries := make([]listed, 0, len(names))
	for _, n := range names {
		e := listed{path: prefix + n.Name(), baseBytes: len(n.Name()), mode: n.Type()}
		if e.path == "-" { // the path "-" would mean standard input
			e.path = "./-"
		}
		entries = append(entries, e)
	}
	return entries, errs.Cause(err)
}

// takes reports whether an entry of a directory is searched. inner is its path from the root.
// --include, --exclude and --exclude-dir come first. Then, as in ripgrep, -g wins over ignore files,
// ignore files over types, and types over the rule for hidden names.
func (w *walker) takes(e *listed, inner string, isDir bool, ignored *ignores) bool {
	base := e.base()
	// As in GNU grep, entries of directories are known by their names alone. Nothing below a directory
	// that is left out is searched.
	if isDir && !w.directories.takes(base, false) || !isDir && !w.files.takes(base, false) {
		return false
	}
	if len(w.globs) > 0 {
		// If a glob of -g has no leading !, a file must match such a glob. A directory need not match,
		// because a file below it may.
		switch verdict := w.globs.judge(w.fromHere(e.path), base, isDir); {
		case verdict == leaveOut:
			return false
		case verdict == take:
			return true
		case !isDir && slices.ContainsFunc(w.globs, func(r rule) bool { return r.keeps }):
			return false
		}
	}
	if ignored != nil {
		switch ignored.judge(w.base+inner, base, isDir) {
		case leaveOut:
			return false
		case take:
			// An ignore rule with a leading ! lets hidden names through. Types still apply.
			return isDir || w.ofType(base)
		}
	}
	// A file of the right type is searched even if its name is hidden. Directories have no type.
	if !isDir && len(w.types) > 0 {
		return w.ofType(base)
	}
	return w.Hidden || !strings.HasPrefix(base, ".")
}

// fromHere returns a path as the globs of -g see it: from the working directory, if it lies there.
func (w *walker) fromHere(path string) string {
	if filepath.IsAbs(path) && w.here != "" {
		return strings.TrimPrefix(path, withSlash(w.here))
	}
	return strings.TrimPrefix(path, "./")
}

// ofType reports whether the name of a file has one of the types of -t. Without -t it returns
// true.
func (w *walker) ofType(base string) bool { return len(w.types) == 0 || w.types.Match(base) }
