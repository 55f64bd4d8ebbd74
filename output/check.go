package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mrlocal/internal/tempdir"
)

// maxLinks is how many symbolic links lead to a file at most, as in Linux.
const maxLinks = 40

// openDirectory checks Dir.
func openDirectory(spec Spec) (place, error) {
	path, info, err := resolve(spec.Dir)
	switch {
	case err != nil:
		return nil, refuse(spec.Dir, err)
	case info == nil:
	case !info.IsDir():
		return nil, wrong(spec.Dir, "exists and is not a directory")
	}
	if err := checkPlace(spec, spec.Dir, path, info); err != nil {
		return nil, err
	}
	if info == nil {
		return &directory{name: spec.Dir, path: path}, nil
	}
	if err := checkReplace(spec, path, info); err != nil {
		return nil, err
	}
	return &directory{name: spec.Dir, path: path, replaces: true}, nil
}

// checkReplace refuses a directory that exists, unless it may be, and can be,
// replaced.
func checkReplace(spec Spec, path string, info fs.FileInfo) error {
	if tempdir.Locked(path) {
		return wrong(spec.Dir, "is being written by another run; give another name")
	}
	if !spec.Overwrite {
		if temp, err := os.Lstat(filepath.Join(path, tempName)); err == nil && temp.IsDir() && replaceable(path) == nil {
			return wrong(spec.Dir, "exists already, left by a run that was interrupted; --overwrite replaces it")
		}
		return errExists(spec.Dir)
	}
	if err := replaceable(path); err != nil {
		return err
	}
	if parent, err := os.Stat(filepath.Dir(path)); err == nil && isMount(info, parent) {
		return wrong(spec.Dir, "is a mount point and cannot be replaced; give another name")
	}
	if name, inside := anyInside(info, spec.Files); inside {
		return wrong(spec.Dir, "holds the input %s and would be replaced; give another name", quoteName(name))
	}
	return nil
}

// checkPlace refuses a result whose parent is missing or may not be written
// to, or that equals or lies inside an input.
func checkPlace(spec Spec, name, path string, info fs.FileInfo) error {
	parent := filepath.Dir(path)
	parentInfo, err := os.Stat(parent)
	switch {
	case err != nil:
		return refuseParent(name, parent, err)
	case !parentInfo.IsDir():
		return wrong(name, "its parent %s is not a directory", quoteName(parent))
	}
	if err := writable(parent); err != nil {
		return refuseParent(name, parent, err)
	}
	roots := expand(spec.Inputs)
	if info != nil {
		if in, same := sameAsInput(spec, info); same {
			return wrong(name, "is the input %s; give another name", quoteName(in))
		}
		if in, same := sameAsAny(info, roots); same {
			return wrong(name, "is the input %s; give another name", quoteName(in))
		}
	}
	in, inside := insideAny(parent, roots)
	if !inside && spec.Found != nil {
		in, inside = insideFound(parent, spec.Found)
	}
	if inside {
		return wrong(name, "lies inside the input %s; give a name outside", quoteName(in))
	}
	return nil
}

func refuseParent(name, parent string, err error) error {
	cause := bare(err)
	if errors.Is(cause, fs.ErrNotExist) {
		return wrong(name, "the directory %s does not exist; make it first", quoteName(parent))
	}
	return wrong(name, "the directory %s cannot be written to: %v", quoteName(parent), cause)
}

// resolve follows symbolic links, also where they lead to nothing yet, and
// returns an absolute path without any; info is nil when there is no file.
func resolve(name string) (path string, info fs.FileInfo, err error) {
	for range maxLinks {
		if path, err = resolveParent(name); err != nil {
			return "", nil, err
		}
		info, err = os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil, nil
		case err != nil:
			return "", nil, bare(err)
		case info.Mode()&fs.ModeSymlink == 0:
			return path, info, nil
		}
		link, err := os.Readlink(path)
		if err != nil {
			return "", nil, bare(err)
		}
		if !filepath.IsAbs(link) {
			link = filepath.Dir(path) + string(filepath.Separator) + link
		}
		name = link
	}
	return "", nil, syscall.ELOOP
}

// resolveParent resolves all but the last element of a name, as the system
// would: `link/..` is not where link lies.
func resolveParent(name string) (string, error) {
	name = trimSeparators(name)
	dir, base := filepath.Split(name)
	if base == "." || base == ".." {
		dir, base = name, ""
	}
	if dir == "" {
		dir = "."
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", refuseParent(name, trimSeparators(dir), err)
	}
	return filepath.Abs(filepath.Join(real, base))
}

func trimSeparators(name string) string {
	for len(name) > 1 && os.IsPathSeparator(name[len(name)-1]) {
		name = name[:len(name)-1]
	}
	return name
}

// expand lists the inputs as they are found: what exists is meant literally,
// the rest as globs. What is wrong with them is not said here.
func expand(inputs []string) (paths []string) {
	for _, in := range inputs {
		if in == "-" {
			continue
		}
		if _, err := os.Stat(in); err == nil || !strings.ContainsAny(in, `*?[`) {
			paths = append(paths, in)
			continue
		}
		matches, _ := filepath.Glob(in)
		paths = append(paths, matches...)
	}
	return paths
}

// sameAsInput finds the file to be read that is the same file.
func sameAsInput(spec Spec, info fs.FileInfo) (string, bool) {
	if f, ok := spec.Stdin.(*os.File); ok && slices.Contains(spec.Inputs, "-") {
		if in, err := f.Stat(); err == nil && os.SameFile(info, in) {
			return "(standard input)", true
		}
	}
	if spec.Found == nil {
		return "", false
	}
	return spec.Found.File(info)
}

// sameAsAny finds the input that is the same file.
func sameAsAny(info fs.FileInfo, inputs []string) (string, bool) {
	for _, in := range inputs {
		if other, err := os.Stat(in); err == nil && os.SameFile(info, other) {
			return in, true
		}
	}
	return "", false
}

// insideFound finds the directory that is at or above dir and that inputs were
// found in.
func insideFound(dir string, found Found) (string, bool) {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil {
			if in, ok := found.Directory(info); ok {
				return in, true
			}
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// insideAny finds the input that is a directory at or above dir, which is
// absolute and without links.
func insideAny(dir string, inputs []string) (string, bool) {
	var above []fs.FileInfo
	for d := dir; ; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err == nil {
			above = append(above, info)
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	for _, in := range inputs {
		info, err := os.Stat(in)
		if err != nil || !info.IsDir() {
			continue
		}
		for _, a := range above {
			if os.SameFile(a, info) {
				return in, true
			}
		}
	}
	return "", false
}

// anyInside finds the input that lies in the directory, at any depth.
func anyInside(info fs.FileInfo, inputs []string) (string, bool) {
	inside := make(map[string]bool) // by directory of inputs
	for _, in := range inputs {
		path, err := filepath.EvalSymlinks(in)
		if err != nil {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			continue
		}
		dir := filepath.Dir(path)
		found, known := inside[dir]
		if !known {
			found = lieBelow(info, dir)
			inside[dir] = found
		}
		if found {
			return in, true
		}
	}
	return "", false
}

func lieBelow(info fs.FileInfo, dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if a, err := os.Stat(dir); err == nil && os.SameFile(a, info) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
