package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mrlocal/internal/usage"
)

// sideFile is an --events or --report file. It is checked before the run and
// made at the first write, so that a run that never starts leaves none.
type sideFile struct {
	flag, path string
	f          *os.File
}

// openSide checks path without making the file; nil where the flag is absent.
func openSide(flag, path string, inputs []string) (*sideFile, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, usage.Errorf("--"+flag, "%s: is a directory; name a file", path)
	case err == nil:
		for _, in := range inputs {
			if other, err := os.Stat(in); err == nil && os.SameFile(info, other) {
				return nil, usage.Errorf("--"+flag, "%s: is an input of the run", path)
			}
		}
		if err := writable(path); err != nil {
			return nil, usage.Errorf("--"+flag, "%s: %v", path, cause(err))
		}
	case errors.Is(err, fs.ErrNotExist):
		parent := filepath.Dir(path)
		if info, err := os.Stat(parent); err != nil {
			return nil, usage.Errorf("--"+flag, "%s: %v", parent, cause(err))
		} else if !info.IsDir() {
			return nil, usage.Errorf("--"+flag, "%s: not a directory", parent)
		}
		if err := writable(parent); err != nil {
			return nil, usage.Errorf("--"+flag, "%s: %v", parent, cause(err))
		}
	default:
		return nil, usage.Errorf("--"+flag, "%s: %v", path, cause(err))
	}
	return &sideFile{flag: flag, path: path}, nil
}

// Write makes the file at its first call.
func (s *sideFile) Write(p []byte) (int, error) {
	if s.f == nil {
		f, err := os.Create(s.path)
		if err != nil {
			return 0, err
		}
		s.f = f
	}
	return s.f.Write(p)
}

// Close is nil-safe.
func (s *sideFile) Close() error {
	if s == nil || s.f == nil {
		return nil
	}
	return s.f.Close()
}

// cause is err without the operation and path that os puts in front.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
