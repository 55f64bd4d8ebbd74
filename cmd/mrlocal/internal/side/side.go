// Package side is the files that a command writes beside its result: events,
// reports, tables, charts. Each is checked before the work and made at its
// first write, so that work that never starts leaves none, and none of them
// destroys what the command reads or writes.
//
// Neighbours: cmd/mrlocal names the files; package output writes results.
package side

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"mrlocal/internal/usage"
)

// File is such a file. A nil File is one that nobody asked for; it can be
// closed.
type File struct {
	flag, path string
	f          *os.File
}

// Open checks path without making the file; nil where the flag is absent.
// A run may destroy neither its input nor its output with what it tells.
func Open(flag, path string, inputs, outputs []string) (*File, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, usage.Errorf("--"+flag, "%s: is a directory; name a file", path)
	}
	if err != nil || info.Mode().IsRegular() {
		if err := apart(flag, path, inputs, outputs); err != nil {
			return nil, err
		}
	}
	switch {
	case err == nil:
		if err := writable(path); err != nil {
			return nil, usage.Errorf("--"+flag, "%s: %v", path, Cause(err))
		}
	case errors.Is(err, fs.ErrNotExist):
		parent := filepath.Dir(path)
		if info, err := os.Stat(parent); err != nil {
			return nil, usage.Errorf("--"+flag, "%s: %v", parent, Cause(err))
		} else if !info.IsDir() {
			return nil, usage.Errorf("--"+flag, "%s: not a directory", parent)
		}
		if err := writable(parent); err != nil {
			return nil, usage.Errorf("--"+flag, "%s: cannot be made: %v", path, Cause(err))
		}
	default:
		return nil, usage.Errorf("--"+flag, "%s: %v", path, Cause(err))
	}
	return &File{flag: flag, path: path}, nil
}

// CheckBelow finds out whether path could be written once the directories above
// it have been made, and makes nothing.
func CheckBelow(flag, path string) error {
	at := path
	info, err := os.Stat(at)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	switch {
	case err != nil:
	case at == path && info.IsDir():
		err = syscall.EISDIR
	case at != path && !info.IsDir():
		err = syscall.ENOTDIR
	default:
		err = writable(at)
	}
	if err != nil {
		return usage.Errorf("--"+flag, "%s: %v", at, Cause(err))
	}
	return nil
}

// apart refuses a path that is, or lies inside, what the run reads or writes.
func apart(flag, path string, inputs, outputs []string) error {
	if in, ok := among(Place(path), matches(inputs)); ok {
		if other, err := os.Stat(in); err == nil && !other.IsDir() {
			return usage.Errorf("--"+flag, "%s: is an input of the run", path)
		}
		return usage.Errorf("--"+flag, "%s: lies inside the input %s; give a name outside", path, in)
	}
	if out, ok := among(Place(path), outputs); ok {
		return usage.Errorf("--"+flag, "%s: lies inside the output %s; give a name outside", path, out)
	}
	return nil
}

// matches are the inputs as they are found: what exists is meant literally,
// the rest as globs.
func matches(inputs []string) (paths []string) {
	for _, in := range inputs {
		if _, err := os.Stat(in); err == nil {
			paths = append(paths, in)
			continue
		}
		found, _ := filepath.Glob(in)
		paths = append(paths, found...)
	}
	return paths
}

// among finds the path that is, or is a directory above, the place.
func among(place string, paths []string) (string, bool) {
	var above []os.FileInfo
	for dir := place; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil {
			above = append(above, info)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && slices.ContainsFunc(above, func(a os.FileInfo) bool { return os.SameFile(a, info) }) {
			return path, true
		}
	}
	return "", false
}

// Place is the absolute path that a name leads to, without symbolic links,
// also where they lead to nothing yet.
func Place(name string) string {
	const mostLinks = 40
	for range mostLinks {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real
			break
		}
		link, err := os.Readlink(name)
		if err != nil {
			if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
				name = filepath.Join(dir, filepath.Base(name))
			}
			break
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(name), link)
		}
		name = link
	}
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// Write makes the file at its first call.
func (s *File) Write(p []byte) (int, error) {
	if s.f == nil {
		f, err := create(s.path)
		if err != nil {
			return 0, err
		}
		s.f = f
	}
	return s.f.Write(p)
}

// Close is nil-safe.
func (s *File) Close() error {
	if s == nil || s.f == nil {
		return nil
	}
	return s.f.Close()
}

// Cause is err without the operation and path that os puts in front.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
