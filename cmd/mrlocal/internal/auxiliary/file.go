// Package auxiliary writes the auxiliary files of a command: events, reports,
// tables and charts. It checks each file before the work starts and creates it
// at the first write, so a command that is refused leaves no file. No auxiliary
// file can destroy an input or an output of the command.
//
// Results are not written here but by package output.
package auxiliary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mrlocal/errs"
	"mrlocal/internal/paths"
)

// File is an auxiliary file. A nil File stands for a flag that is not set; Close
// accepts it.
type File struct {
	flag, path string
	f          *os.File
}

// Open checks that the file can be written and is neither an input nor an
// output of the run; it does not create the file. The flag is for messages. Open
// returns nil if path is empty.
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

// CheckBelow checks that path can be written once the directories above it are
// made. It makes nothing.
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

// apart refuses a path that is, or lies inside, an input or output of the run.
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

// Write creates the file at the first call.
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

// Close closes the file if it was created.
func (s *File) Close() error {
	if s == nil || s.f == nil {
		return nil
	}
	return s.f.Close()
}

// Cause returns err without the operation and the path that package os adds.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
