package tools

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mrlocal/errs"
)

// The files that mrlocal grep searches. Paths that the user names are taken as they
// are; directories are walked in the order of their names. Ignore files, globs and
// types choose among the files of directories, as in ripgrep; --include, --exclude and
// --exclude-dir choose among all, as in GNU grep.
//
// Each directory is read once and each file is statted once, by one goroutine.

// findOptions say which files are listed.
type findOptions struct {
	Hidden     bool     // files and directories whose names begin with a dot too
	NoIgnore   bool     // read no ignore files
	Globs      []string // -g: a file must match one of them; one with a leading ! leaves files out
	Types      []string // -t: names of types, of which a file must have one
	Include    []string // GNU: globs of names, one of which a file must match
	Exclude    []string // GNU: globs of names that are left out
	ExcludeDir []string // GNU: globs of names of directories that are left out

	Sort   string      // "path", or a time: "modified"
	Output fs.FileInfo // standard output, which is never searched; may be nil
	// Missing is told of each path that cannot be read; it must be set. The walk goes on.
	Missing func(path string, cause error)
}

// findFiles returns the files below roots, in order. An empty root is the working
// directory, whose files have paths without "./". below reports whether one of the
// roots is a directory. It calls o.Missing for each path that cannot be read, and
// goes on. It fails if a glob or a type is wrong.
func findFiles(roots []string, o findOptions) (files []string, below bool, err error) {
	w := &walker{findOptions: o}
	if err := w.compile(); err != nil {
		return nil, false, err
	}
	for _, root := range roots {
		// The times order the files of one root. The roots stay in the order of the command
		// line.
		from := len(w.found)
		below = w.root(root) || below
		if o.Sort == "modified" {
			slices.SortStableFunc(w.found[from:], func(a, b file) int { return a.modified.Compare(b.modified) })
		}
	}
	for _, f := range w.found {
		files = append(files, f.path)
	}
	return files, below, nil
}

// walker collects files.
type walker struct {
	findOptions
	globs rules // Globs
	types []rule
	found []file
}

// file is a file to search. modified is the zero time for standard input.
type file struct {
	path     string
	modified time.Time
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

// root adds a path that the user named. It reports whether it is a directory.
func (w *walker) root(name string) bool {
	// This path means standard input, which is no file to look at.
	if name == "-" {
		w.found = append(w.found, file{path: "-"})
		return false
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
			w.directory(name, "", w.parents(name))
		}
		return true
	case w.admits(name, path.Base(filepath.ToSlash(name))):
		w.add(name, info)
	}
	return false
}

// admits applies the flags of GNU grep to a file.
func (w *walker) admits(name, base string) bool {
	if anyGlob(w.Exclude, base, name) {
		return false
	}
	// Without --include every file is admitted.
	return len(w.Include) == 0 || anyGlob(w.Include, base, name)
}

// add adds a file that can be read.
func (w *walker) add(name string, info fs.FileInfo) {
	// Only a regular file grows by its own search; a terminal or pipe may be input and output.
	if w.Output != nil && os.SameFile(info, w.Output) && info.Mode().IsRegular() {
		w.Missing(name, errOutput)
		return
	}
	// A file that all may read needs no look. Others are opened once, because the engine would
	// fail the whole run at a file that it cannot open.
	if info.Mode().IsRegular() && info.Mode()&0o444 != 0o444 {
		f, err := os.Open(name)
		if err != nil {
			w.Missing(name, err)
			return
		}
		_ = f.Close() // nothing was written
	}
	w.found = append(w.found, file{name, info.ModTime()})
}

// errOutput is the message of GNU grep for a file that is the output too.
var errOutput = errors.New("input file is also the output")

// directory adds what lies below a directory. within is its path below the root,
// with slashes; ignored has the ignore rules of the directories above.
func (w *walker) directory(name, within string, ignored *ignores) {
	entries, err := os.ReadDir(cmp.Or(name, "."))
	if err != nil {
		// ReadDir may return entries with the error. They are searched all the same.
		w.Missing(name, err)
	}
	if !w.NoIgnore {
		// The ignore files of a directory apply to its entries and to all below.
		ignored = ignored.enter(name, entries)
	}
	// The order is that of the paths' bytes: a slash stands behind the name of a directory.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(sortName(a), sortName(b)) })
	for _, e := range entries {
		base := e.Name()
		// full is the path that the user sees. inner is the path from the root, for globs of GNU
		// grep.
		full, inner := name+"/"+base, path.Join(within, base)
		if strings.HasSuffix(name, "/") {
			full = name + base
		} else if name == "" && base != "-" { // that path means standard input
			full = base
		} else if name == "" {
			full = "./" + base
		}
		// Links, pipes and devices inside directories are not searched.
		isDir := e.IsDir()
		if !isDir && !e.Type().IsRegular() || !w.takes(base, full, inner, isDir, ignored) {
			continue
		}
		if isDir {
			w.directory(full, inner, ignored)
			continue
		}
		// The file may have gone since the directory was read.
		info, err := e.Info()
		if err != nil {
			w.Missing(full, err)
			continue
		}
		w.add(full, info)
	}
}

// sortName returns the name as it stands in paths below the directory.
func sortName(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

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
