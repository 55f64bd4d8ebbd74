// Package paths finds out where names of files lead, and which of them
// collide. A result may overwrite what is read, a file may lie inside an
// output, or two jobs may write to one place.
//
// Two ways of comparing are needed. What exists is compared as the system sees
// it (os.SameFile), so that links and other spellings of a name do not matter.
// What does not exist yet is compared by its absolute name without links.
//
// It also has the names of what mrlocal makes for results (names.go).
//
// The package opens and makes nothing, and keeps nothing after a call. Package
// output, engine and the command word most refusals themselves, because each
// knows what the user called the file.
package paths

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links may lead to a file, as in Linux.
const maxLinks = 40

// ParentError says that the directory in which a file would lie cannot be
// found.
type ParentError struct {
	Dir string // as it stands in the name
	Err error  // of os
}

func (e *ParentError) Error() string { return fmt.Sprintf("directory %s: %v", e.Dir, e.Err) }

// Unwrap returns the error of os.
func (e *ParentError) Unwrap() error { return e.Err }

// Resolve follows the symbolic links of name, as the system would when it makes
// a file: the last link may lead to nothing yet. It returns an absolute path
// without links, and the file there; info is nil where there is none. If the
// parent does not exist or may not be searched, it fails with a *ParentError.
// If the file itself may not be looked at, it fails with the error of os.
func Resolve(name string) (path string, info fs.FileInfo, err error) {
	for range maxLinks {
		if path, err = resolveParent(name); err != nil {
			return "", nil, err
		}
		info, err = os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil, nil
		case err != nil:
			return "", nil, err
		case info.Mode()&fs.ModeSymlink == 0:
			return path, info, nil
		}
		if name, err = target(path); err != nil {
			return "", nil, err
		}
	}
	return "", nil, syscall.ELOOP
}

// target returns the name that the symbolic link at path leads to.
func target(path string) (string, error) {
	link, err := os.Readlink(path)
	// A relative link counts from the directory that it lies in.
	if err == nil && !filepath.IsAbs(link) {
		link = filepath.Dir(path) + string(filepath.Separator) + link // not Join: it would drop link/..
	}
	return link, err
}

// resolveParent resolves all but the last element of name. It does not clean
// the name first: `link/..` is the parent of what link leads to.
func resolveParent(name string) (string, error) {
	name = trimSeparators(name)
	dir, base := filepath.Split(name)
	// Such a name is a directory by itself, and has no last element that could be missing.
	if base == "." || base == ".." {
		dir, base = name, ""
	}
	dir = cmp.Or(dir, ".")
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &ParentError{trimSeparators(dir), err}
	}
	return filepath.Abs(filepath.Join(real, base))
}

// trimSeparators drops separators at the end of name.
func trimSeparators(name string) string {
	for len(name) > 1 && os.IsPathSeparator(name[len(name)-1]) {
		name = name[:len(name)-1]
	}
	return name
}

// Locate returns the absolute path that name leads to, without links as far as
// directories exist. Unlike Resolve it never fails: names that lead to the same
// place once the missing directories are made have the same path.
func Locate(name string) string {
	if path, _, err := Resolve(name); err == nil {
		return path
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return filepath.Clean(name)
	}
	// The directory above may exist, and may be reached through a link.
	if dir := filepath.Dir(abs); dir != abs {
		return filepath.Join(Locate(dir), filepath.Base(abs))
	}
	return abs
}

// Overlap reports whether two names lead to one place, or one lies inside the other. Nothing
// has to exist there.
func Overlap(a, b string) bool {
	a, b = Locate(a)+string(filepath.Separator), Locate(b)+string(filepath.Separator)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// Above returns the files that exist at path and above it, from path to the
// root. path is absolute.
func Above(path string) (files []fs.FileInfo) {
	for ; ; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err == nil {
			files = append(files, info)
		}
		if path == filepath.Dir(path) {
			return files
		}
	}
}

// Same returns the first of names that is the file info.
func Same(info fs.FileInfo, names []string) (name string, same bool) {
	return among([]fs.FileInfo{info}, names)
}

// Enclosing returns the first of names that is the file at path or a directory
// above it. path is absolute and without links.
func Enclosing(path string, names []string) (name string, encloses bool) {
	return among(Above(path), names)
}

// among returns the first of names that is one of files.
func among(files []fs.FileInfo, names []string) (string, bool) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && contains(files, info) {
			return name, true
		}
	}
	return "", false
}

// contains reports whether info is one of files.
func contains(files []fs.FileInfo, info fs.FileInfo) bool {
	return slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) })
}

// Inside returns the first of names that lies in the directory dir, at any
// depth.
func Inside(dir fs.FileInfo, names []string) (name string, inside bool) {
	known := map[string]bool{} // by parent: names are often neighbours
	for _, name := range names {
		path, err := filepath.EvalSymlinks(name)
		if err != nil {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			continue
		}
		parent := filepath.Dir(path)
		found, looked := known[parent]
		if !looked {
			found = contains(Above(parent), dir)
			known[parent] = found
		}
		if found {
			return name, true
		}
	}
	return "", false
}

// Expand returns the inputs as they are found: a name that exists is meant
// literally, another one as a glob. It leaves out standard input ("-"), and
// globs that match nothing.
func Expand(inputs []string) (names []string) {
	for _, in := range inputs {
		if in == "-" {
			continue
		}
		if _, glob := globRoot(in); !glob {
			names = append(names, in)
			continue
		}
		matches, _ := filepath.Glob(in)
		names = append(names, matches...)
	}
	return names
}

// globRoot returns where an input leads: the name itself where it exists or has no
// wildcard, else the directory that holds its first wildcard, and true.
func globRoot(name string) (root string, glob bool) {
	if _, err := os.Lstat(name); err == nil || !HasWildcard(name) {
		return name, false
	}
	// Each round drops the last element, so what is left has no wildcard in any element.
	for HasWildcard(name) {
		name = filepath.Dir(name)
	}
	return name, true
}

// HasWildcard reports whether name has letters that mean something in a glob.
func HasWildcard(name string) bool {
	return strings.ContainsAny(name, `*?[`) || filepath.Separator == '/' && strings.Contains(name, `\`)
}
