package output

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"mrlocal/internal/disk"
)

// filesName is the directory of an attempt, next to its part, in which user code makes files of its own.
const filesName = "_files"

// HasDir is a Part whose attempt may have a directory for files that user code makes by itself.
type HasDir interface {
	// Dir returns the absolute path of the directory. The files in it commit and abort with the part: they move
	// into the directory of the result, with the directories in which they lie. Later tasks replace files of the same
	// name, maps before reduces. The directory exists, unless the part is one of Target.Bare. The path is "" if the
	// result is not a directory on this machine.
	Dir() (string, error)
}

// Bare begins attempt n at a map whose job has reduces. It writes no part of the result, and is only for Dir.
func (t *Target) Bare(task, n int) (Part, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.place.(*committer)
	if !ok {
		return nil, errors.New("output: files of attempts need a directory")
	}
	return t.part(c.newAttempt(task, n, true), nil)
}

// Dir implements HasDir.
func (p *targetPart) Dir() (string, error) {
	if d, ok := p.Part.(HasDir); ok {
		dir, err := d.Dir()
		return dir, named(p.name, err)
	}
	return "", nil
}

// Dir implements HasDir.
func (a *fileAttempt) Dir() (string, error) {
	c := a.of
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.state != started {
		return "", ErrAborted
	}
	local, ok := c.mu.stage.files.(*localStage)
	if !ok {
		return "", nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c.mu.open[a] = struct{}{}
	if a.mu.own = local.below(path.Join(a.dir, filesName)); a.part == nil {
		return a.mu.own, nil
	}
	err := disk.MakeDir(a.mu.own, 0o777)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return a.mu.own, err
}

// syncOwn makes the files in the directory of the attempt durable.
func (a *fileAttempt) syncOwn() error {
	a.mu.Lock()
	dir := a.mu.own
	a.mu.Unlock()
	if dir == "" {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case path == dir && errors.Is(err, fs.ErrNotExist): // user code has not made it
			return nil
		case err == nil && (d.IsDir() || d.Type().IsRegular()):
			return syncAny(path)
		}
		return err
	})
}

// syncAny makes a file, or the names in a directory, durable. A file system that cannot do it is not an error.
func syncAny(path string) error {
	f, err := disk.OpenRead(path)
	if err != nil {
		return err
	}
	return errors.Join(disk.SyncFile(f), f.Close())
}

// ownExists reports whether the directory that Dir has returned exists.
func (a *fileAttempt) ownExists() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := os.Lstat(a.mu.own)
	return a.mu.own != "" && err == nil
}

// moveAll moves the entries of the directory from into the directory to, and replaces what has their names there.
// Two directories of one name become one, as in Hadoop (FileOutputCommitter.mergePaths).
func moveAll(from, to string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if err != nil {
			return err
		}
		source, target := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		info, missing := os.Lstat(target)
		if missing == nil && info.IsDir() && e.IsDir() {
			err = moveAll(source, target)
			continue
		}
		if missing == nil {
			err = disk.RemoveAll(target)
		}
		if err == nil {
			err = disk.Move(source, target)
		}
	}
	return errors.Join(err, syncAny(to))
}
