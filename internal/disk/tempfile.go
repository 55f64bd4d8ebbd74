package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// TempFile is a temporary file of a run. One goroutine writes to it; Name and Open may be called
// from any goroutine. If its directory gets full, the file moves to another one.
//
// Lock order: TempFile.mu before TempRoot.mu.
type TempFile struct {
	root *TempRoot

	mu struct {
		sync.Mutex
		f       *File // nil: closed
		name    string
		in      int   // index of the directory, or stays
		at      int64 // where the next Write goes
		charged int64 // bytes of the TempRoot's bound
		back    Writeback
	}
}

// stays is the index of a directory that its files do not leave.
const stays = -1

// limitError says that the temporary files of a run would take more than the bound.
type limitError struct{ MaxBytes int64 }

func (e *limitError) Error() string {
	return fmt.Sprintf("temporary files would take more than the %d bytes of Options.MaxTempBytes", e.MaxBytes)
}

// newFile returns the File of an open file that was just made.
func newFile(r *TempRoot, f *File, in int) *TempFile {
	t := &TempFile{root: r}
	t.mu.f, t.mu.name, t.mu.in = f, f.Name(), in
	t.mu.back.Lazy = true // a thread that does not write it syncs what a journal names
	return t
}

// Name returns the path of the file, which changes if the file moves.
func (t *TempFile) Name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.name
}

// Write writes behind what was written before. It fails with a *limitError if the file would
// exceed the bound of the TempRoot. A directory that is full is left for another one.
func (t *TempFile) Write(p []byte) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.f == nil {
		return 0, fmt.Errorf("write %s: %w", t.mu.name, fs.ErrClosed)
	}
	if err := t.charge(t.mu.at + int64(len(p))); err != nil {
		return 0, err
	}
	for {
		// A write may end in the middle of p. The rest goes behind it, here or in the new file.
		m, err := t.mu.f.Write(p[n:])
		n += m
		t.mu.at += int64(m)
		t.mu.back.Wrote(t.mu.f, t.mu.at)
		if err == nil || !isFull(err) || t.mu.in == stays || len(t.root.dirs) == 1 {
			return n, err
		}
		if moveErr := t.move(int64(len(p) - n)); moveErr != nil {
			return n, fmt.Errorf("%w; %w", err, moveErr)
		}
	}
}

// charge counts the file with so many bytes. t.mu is held.
func (t *TempFile) charge(bytes int64) error {
	// After Append the same bytes may be written once more. They are charged already.
	if bytes <= t.mu.charged {
		return nil
	}
	if err := t.root.take(bytes - t.mu.charged); err != nil {
		return err
	}
	t.mu.charged = bytes
	return nil
}

// move copies what was written to a new file in another directory, and goes on there. Those
// who read the old file keep it open. t.mu is held.
func (t *TempFile) move(moreBytes int64) error {
	r := t.root
	// The file at hand is open for writing only.
	old, err := OpenRead(t.mu.name)
	if err != nil {
		return err
	}
	defer old.Close()
	for {
		// From now on no other file of the run begins there either.
		r.isFull(t.mu.in)
		f, in, err := r.makeElsewhere(t.mu.at+moreBytes, filepath.Base(t.mu.name)+"-*")
		if err != nil {
			return err
		}
		// What a failed write has left behind the place at is not copied.
		_, err = io.Copy(f, io.NewSectionReader(old, 0, t.mu.at))
		if err == nil {
			before, name := t.mu.f, t.mu.name
			t.mu.f, t.mu.name, t.mu.in = f, f.Name(), in
			_ = before.Close() // the copy is what counts
			_ = Remove(name)
			return nil
		}
		err = errors.Join(err, f.Close(), Remove(f.Name()))
		if !isFull(err) {
			return err
		}
		r.isFull(in)
	}
}

// Append opens a file that was closed, to write on from offset at.
func (t *TempFile) Append(at int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := OpenFile(t.mu.name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return errors.Join(err, f.Close())
	}
	// Bytes behind at may stay in the file. Readers know how long their text is.
	t.mu.f, t.mu.at, t.mu.back.From = f, at, at
	return nil
}

// Open opens the file for reading. The caller closes what it returns.
func (t *TempFile) Open() (*File, error) {
	for {
		name := t.Name()
		f, err := OpenRead(name)
		// A move changes the name before it removes the old file, so the new name is there by now.
		if errors.Is(err, fs.ErrNotExist) && t.Name() != name {
			continue // it moved meanwhile
		}
		return f, err
	}
}

// Close closes the file for writing. It stays until Remove, or until the TempRoot is closed.
// It may be called again.
func (t *TempFile) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.f == nil {
		return nil
	}
	err := t.mu.f.Close()
	t.mu.f = nil
	return err
}

// Remove closes and removes the file. Its bytes no longer count.
func (t *TempFile) Remove() error {
	err := t.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	err = errors.Join(err, Remove(t.mu.name))
	t.root.giveBack(t.mu.charged)
	t.mu.charged = 0
	return err
}

// take counts bytes against the bound.
func (r *TempRoot) take(bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.maxBytes > 0 && r.mu.used+bytes > r.maxBytes {
		return &limitError{MaxBytes: r.maxBytes}
	}
	r.mu.used += bytes
	return nil
}

// giveBack takes back what take has counted.
func (r *TempRoot) giveBack(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.used -= bytes
}

// UsedBytes returns the bytes of all files together.
func (r *TempRoot) UsedBytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.used
}

// isFull keeps new files out of a directory. A quota does not show in the free space.
func (r *TempRoot) isFull(dir int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.full[dir] = true
}

// leastFreeBytes is how little room makes a directory the last choice.
const leastFreeBytes = 8 << 20

// order returns the directories in the order in which a new file tries them. Files are shared
// out in proportion to the free space; a directory without room comes last. r.mu is held.
func (r *TempRoot) order() []int {
	type place struct {
		dir  int
		full bool
		fill float64 // files there, by its free space
	}
	places := make([]place, len(r.dirs))
	for i, dir := range r.dirs {
		free, known := freeBytes(dir)
		if !known {
			// A system that reports nothing must not look full.
			free = math.MaxInt64
		}
		places[i] = place{i, r.mu.full[i] || free < leastFreeBytes, float64(r.mu.made[i]+1) / float64(max(free, 1))}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		if a.full != b.full {
			if a.full {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.fill, b.fill)
	})
	order := make([]int, len(places))
	for i, p := range places {
		order[i] = p.dir
	}
	return order
}

// makeElsewhere makes a file in a directory that is not full and has room for so many bytes.
func (r *TempRoot) makeElsewhere(bytes int64, pattern string) (*File, int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.order() {
		if free, known := freeBytes(r.dirs[i]); r.mu.full[i] || known && free < bytes {
			continue
		}
		if f, err := r.createIn(i, pattern); err == nil {
			return f, i, nil
		}
	}
	return nil, 0, errors.New("no other temporary directory has room")
}

// RoomBytes returns how much the run may write: what the bound allows, or what is free, if that
// is less. Directories of one file system count once. It reports false if neither is known.
func (r *TempRoot) RoomBytes() (bytes int64, known bool) {
	seen := map[uint64]bool{}
	for _, dir := range r.dirs {
		info, err := os.Stat(dir)
		if err != nil {
			continue
		}
		device, ok := deviceOf(info)
		if ok && seen[device] {
			continue
		}
		// A device of 0 stands for "not known", and may count several times.
		seen[device] = true
		free, ok := freeBytes(dir)
		if !ok {
			return r.maxBytes, r.maxBytes > 0
		}
		bytes += free
	}
	if r.maxBytes > 0 {
		bytes = min(bytes, r.maxBytes)
	}
	return bytes, true
}
