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
	"syscall"

	"mrlocal/errs"
	"mrlocal/internal/paths"
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
		return nil, errs.Optionf("--"+flag, "%s: is a directory; name a file", path)
	}
	if err != nil || info.Mode().IsRegular() {
		if err := apart(flag, path, inputs, outputs); err != nil {
			return nil, err
		}
	}
	switch {
	case err == nil:
		if err := writable(path); err != nil {
			return nil, errs.Optionf("--"+flag, "%s: %v", path, Cause(err))
		}
	case errors.Is(err, fs.ErrNotExist):
		parent := filepath.Dir(path)
		if info, err := os.Stat(parent); err != nil {
			return nil, errs.Optionf("--"+flag, "%s: %v", parent, Cause(err))
		} else if !info.IsDir() {
			return nil, errs.Optionf("--"+flag, "%s: not a directory", parent)
		}
		if err := writable(parent); err != nil {
			return nil, errs.Optionf("--"+flag, "%s: cannot be made: %v", path, Cause(err))
		}
	default:
		return nil, errs.Optionf("--"+flag, "%s: %v", path, Cause(err))
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
		return errs.Optionf("--"+flag, "%s: %v", at, Cause(err))
	}
	return nil
}

// apart refuses a path that is, or lies inside, what the run reads or writes.
func apart(flag, path string, inputs, outputs []string) error {
	place := paths.Locate(path)
	if in, ok := paths.Enclosing(place, paths.Expand(inputs)); ok {
		if other, err := os.Stat(in); err == nil && !other.IsDir() {
			return errs.Optionf("--"+flag, "%s: is an input of the run", path)
		}
		return errs.Optionf("--"+flag, "%s: lies inside the input %s; give a name outside", path, in)
	}
	if out, ok := paths.Enclosing(place, outputs); ok {
		return errs.Optionf("--"+flag, "%s: lies inside the output %s; give a name outside", path, out)
	}
	return nil
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
