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
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/internal/paths"
)

// TempFile is a temporary file of a run. One goroutine writes to it. Name and Open may be called
// from any goroutine. If its directory gets full, the file moves to another one.
//
// Lock order: TempFile.mu before TempRoot.mu.
type TempFile struct {
	root *TempRoot

	mu struct {
		sync.Mutex
		f       *File // nil: closed
		name    string
		in      int   // index of the directory in TempRoot.dirs, or stays
		at      int64 // offset of the next Write
		charged int64 // bytes counted against the bound of the TempRoot
		back    Writeback
	}
}

// stays is the index of a directory whose files do not move.
const stays = -1

// newFile returns the TempFile of f, which was just made and is open. in is the index of its
// directory.
func newFile(r *TempRoot, f *File, in int) *TempFile {
	t := &TempFile{root: r}
	t.mu.f, t.mu.name, t.mu.in = f, f.Name(), in
	t.mu.back.Lazy = true // most temporary files are removed before the disk has them
	return t
}

// Name returns the path of the file, which changes if the file moves.
func (t *TempFile) Name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.name
}

// Write appends p to the file. It fails if the files would exceed the bound of
// the TempRoot. If the directory is full, Write moves the file to another one and goes on there.
func (t *TempFile) Write(p []byte) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.f == nil {
		return 0, fmt.Errorf("write %s: %w", t.mu.name, fs.ErrClosed)
	}
	// After Append, bytes that are charged already may be written again.
	if more := t.mu.at + int64(len(p)) - t.mu.charged; more > 0 {
		if err := t.root.charge(more); err != nil {
			return 0, err
		}
		t.mu.charged += more
	}
	for {
		// A write may end in the middle of p. The rest goes to the new file.
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

// move copies the file to another directory that has room for moreBytes more, and removes the old
// file. Readers that have the old file open can still read it. t.mu is held.
func (t *TempFile) move(moreBytes int64) error {
	r := t.root
	old, err := OpenRead(t.mu.name)
	if err != nil {
		return err
	}
	defer old.Close()
	for {
		r.markFull(t.mu.in)
		f, in, err := r.makeElsewhere(t.mu.at+moreBytes, filepath.Base(t.mu.name)+"-*")
		if err != nil {
			return err
		}
		// The failed write may have left bytes behind at. They are not copied.
		_, err = io.Copy(f, io.NewSectionReader(old, 0, t.mu.at))
		if err == nil {
			before, name := t.mu.f, t.mu.name
			t.mu.f, t.mu.name, t.mu.in = f, f.Name(), in
			_ = before.Close() // the copy has all bytes
			_ = Remove(name)
			return nil
		}
		err = errors.Join(err, f.Close(), Remove(f.Name()))
		if !isFull(err) {
			return err
		}
		r.markFull(in)
	}
}

// Append opens a file that was closed, so that Write goes on at offset at.
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
	// Bytes behind at may stay in the file, because readers know the length of their text.
	t.mu.f, t.mu.at, t.mu.back.From = f, at, at
	return nil
}

// Open opens the file for reading. The caller closes the result.
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

// Remove closes and removes the file. Its bytes do not count against the bound any more.
func (t *TempFile) Remove() error {
	err := t.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	err = errors.Join(err, Remove(t.mu.name))
	t.root.mu.Lock()
	defer t.root.mu.Unlock()
	t.root.mu.used -= t.mu.charged
	t.mu.charged = 0
	return err
}

// charge counts bytes against the bound. It fails if they exceed it.
func (r *TempRoot) charge(bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.maxBytes > 0 && r.mu.used+bytes > r.maxBytes {
		return errs.Errorf("temporary files would take more than the %s of %s", errs.Counted(r.maxBytes, "byte"), errs.Field("Options.MaxTempBytes"))
	}
	r.mu.used += bytes
	return nil
}

// UsedBytes returns the bytes of all files together.
func (r *TempRoot) UsedBytes() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.used
}

// markFull notes that a directory is full, so that no new file begins there. freeBytes does not
// show that, if a quota is the reason.
func (r *TempRoot) markFull(dir int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.full[dir] = true
}

// leastFreeBytes is the free space below which a directory counts as full.
const leastFreeBytes = 8 << 20

// order returns the indices of the directories in the order in which a new file tries them. It
// balances the number of files in proportion to the free space. Full directories come last. r.mu is
// held.
func (r *TempRoot) order() []int {
	type place struct {
		dir  int
		full int     // 1: yes, 0: no
		fill float64 // number of files there with the new one, divided by the free bytes
	}
	places := make([]place, len(r.dirs))
	for i, dir := range r.dirs {
		free, known := freeBytes(dir)
		if !known {
			// A directory whose free space is not known must not count as full.
			free = math.MaxInt64
		}
		places[i] = place{dir: i, fill: float64(r.mu.made[i]+1) / float64(max(free, 1))}
		if r.mu.full[i] || free < leastFreeBytes {
			places[i].full = 1
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(a.full-b.full, cmp.Compare(a.fill, b.fill)) })
	order := make([]int, len(places))
	for i, p := range places {
		order[i] = p.dir
	}
	return order
}

// makeElsewhere makes a file in a directory that is not full and has the given number of bytes free. It also
// returns the index of that directory.
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

// RoomBytes returns how many bytes the run may write at most: the bound, or the free space if that
// is less. Directories of one file system count once. known is false if there is no bound and the
// free space is not known.
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

const (
	// writebackBytes is the number of bytes after which writing to the disk is started. They make
	// one large request, and leave little for the sync at the end.
	writebackBytes = 1 << 20

	// windowBytes is half of the bytes of a file that may wait for the disk within a memory
	// control group.
	windowBytes = 4 << 20
)

// Writeback starts writing a file to the disk while the file is being made. When the file is synced
// in the end, most of it is on the disk already. Writing and syncing 1 GiB took 0.3 s less on a
// disk, and as long as without it on a tmpfs.
//
// A memory control group counts the pages of files. Within such a group, Writeback also bounds the
// pages of the file that wait for the disk. It waits for the window before the last one, and drops
// the pages of that window. Elsewhere that would only take time.
//
// Writeback makes nothing durable: only a sync does. The zero value is that of a new file.
type Writeback struct {
	From int64 // offset from which writing to the disk was not started yet
	Lazy bool  // the file may never have to reach the disk: start only within a control group

	kept  int64 // offset from which pages were not dropped yet
	begun bool  // kept is set
}

// Wrote notes that f was written up to offset end, and starts writing if there is enough.
func (w *Writeback) Wrote(f *File, end int64) {
	if !w.begun {
		w.kept, w.begun = w.From, true
	}
	if end < w.kept { // the file was cut off
		w.kept = end
	}
	if !w.Lazy && end-w.From >= writebackBytes {
		startWriteback(f, w.From, end-w.From)
		w.From = end
	}
	if end-w.kept >= 2*windowBytes {
		w.bound(f, end)
	}
}

// bound drops the pages before the last window, if a control group limits the memory.
func (w *Writeback) bound(f *File, end int64) {
	if !machine.MemoryLimited() {
		w.kept = end
		return
	}
	if w.Lazy {
		startWriteback(f, w.From, end-w.From)
		w.From = end
	}
	dropPages(f, w.kept, end-windowBytes-w.kept)
	w.kept = end - windowBytes
}

const (
	lockName     = "lock"
	namePrefix   = "mrlocal-"
	nameAttempts = 100
)

// TempRoot makes the temporary files of one run. Other users cannot read them. They are made when
// they are needed, and removed at the end. The methods may be called from any goroutine.
//
// A run that has to write makes a directory of its own in each directory that the user has named.
// Its name is `mrlocal-<pid>-<random>`, its mode is 0700, and it has a file `lock`. The file
// stays locked (flock) as long as the process lives. A run that was killed leaves its directory
// behind, with the lock free. SweepTemp of a later run removes it. KeepTemp makes such a directory
// for a run that may go on after a kill. It has a file `journal`, and SweepTemp does not remove it.
//
// With several directories, files go to each in proportion to its free space. If one gets full, its
// files move to the others. A bound limits the bytes of all files together.
//
// A TempRoot makes nothing before the first Create, so a run whose data fits in memory never writes
// to disk.
type TempRoot struct {
	dirs     []string // that the user has named
	maxBytes int64    // bound of all files together; 0: none

	mu struct {
		sync.Mutex
		own    []*own // by index of dirs; nil: not made yet
		made   []int  // number of files made, by index of dirs
		full   []bool // by index of dirs: a write has failed for lack of room
		used   int64  // bytes of all files
		closed bool
	}
}

// own is a directory that this run has made, with its lock.
type own struct {
	path string
	lock *File
}

// NewTempRoot makes a TempRoot over the given directories; none means the system's. All files
// together take at most maxBytes; 0: any number. It creates nothing.
func NewTempRoot(dirs []string, maxBytes int64) *TempRoot {
	if len(dirs) == 0 {
		dirs = []string{os.TempDir()}
	}
	r := &TempRoot{dirs: dirs, maxBytes: maxBytes}
	r.mu.own = make([]*own, len(dirs))
	r.mu.made = make([]int, len(dirs))
	r.mu.full = make([]bool, len(dirs))
	return r
}

// At returns a TempRoot over another directory. It has the same bound as r, but counts only its own
// files.
func (r *TempRoot) At(dir string) *TempRoot { return NewTempRoot([]string{dir}, r.maxBytes) }

// Check returns an options error for a directory that does not exist or is not a directory. It does
// not try to write there, because only a run that spills writes.
func (r *TempRoot) Check() error {
	for i, dir := range r.dirs {
		info, err := os.Stat(dir)
		var pathErr *fs.PathError
		switch {
		case dir == "":
			return errs.Fieldf("Options.TempDirs["+strconv.Itoa(i)+"]", "is empty; name a directory")
		case errors.As(err, &pathErr):
			return errs.Optionf("temp directory "+dir, "%v; name another", pathErr.Err)
		case err != nil:
			return errs.Optionf("temp directory "+dir, "%v", err)
		case !info.IsDir():
			return errs.Optionf("temp directory "+dir, "not a directory; name another")
		}
	}
	return nil
}

// Create makes a new file, open for writing. It chooses the directory by the free space. If it cannot
// make a file there, it tries the others. pattern is as for os.CreateTemp. The file exists until it
// is removed or the TempRoot is closed.
func (r *TempRoot) Create(pattern string) (*TempFile, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return nil, fmt.Errorf("create temp file: %w", fs.ErrClosed)
	}
	var problems []error
	for _, i := range r.order() {
		f, err := r.createIn(i, pattern)
		if err == nil {
			return newFile(r, f, i), nil
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("create temp file: %w", errors.Join(problems...))
}

// Spool copies a named pipe, or stdin if path is -, to a new file. It copies no regular file. It returns the path of
// the new file, or "" if there is nothing to copy, as for a path that is missing.
func (r *TempRoot) Spool(path string, stdin io.Reader) (copied string, err error) {
	from, info := stdin, fs.FileInfo(nil)
	if file, ok := stdin.(*os.File); ok && path == "-" {
		info, _ = file.Stat()
	} else if path != "-" {
		if info, err = Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
			return "", nil
		}
		pipe, err := OpenInput(path)
		if err != nil {
			return "", err
		}
		defer pipe.Close()
		from = pipe
	}
	if info != nil && info.Mode().IsRegular() {
		return "", nil
	}
	return r.Keep(from)
}

// Keep copies from to a new file, and returns its path.
func (r *TempRoot) Keep(from io.Reader) (path string, err error) {
	f, err := r.Create("input-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, from)
	return f.Name(), errors.Join(err, f.Close())
}

// Dir returns the run's own directory in the first of the directories. The caller may make other
// files there, such as working directories of other programs. They do not count against the bound.
// Close removes them too.
func (r *TempRoot) Dir() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return "", fmt.Errorf("make temp directory: %w", fs.ErrClosed)
	}
	if err := r.makeOwnIn(0); err != nil {
		return "", err
	}
	return r.mu.own[0].path, nil
}

// makeOwnIn makes the run's own directory in directory i, unless there is one. r.mu is held.
func (r *TempRoot) makeOwnIn(i int) (err error) {
	if r.mu.own[i] == nil {
		r.mu.own[i], err = makeOwn(r.dirs[i])
	}
	return err
}

// createIn makes a file in directory i. r.mu is held.
func (r *TempRoot) createIn(i int, pattern string) (*File, error) {
	if err := r.makeOwnIn(i); err != nil {
		return nil, err
	}
	f, err := createTemp(r.mu.own[i].path, pattern)
	if err == nil {
		r.mu.made[i]++
	}
	return f, err
}

// makeOwn makes and locks a run's own directory in dir. It tries another name if the SweepTemp of
// another run removes the directory before it is locked.
func makeOwn(dir string) (*own, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for range nameAttempts {
		path := filepath.Join(dir, fmt.Sprintf("%s%d-%s", namePrefix, os.Getpid(), paths.Random()))
		if err := MakeDir(path, 0o700); errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		lock, err := lockOwn(path)
		if err != nil {
			return nil, errors.Join(err, RemoveAll(path))
		}
		if lock != nil {
			return &own{path: path, lock: lock}, nil
		}
	}
	return nil, fmt.Errorf("%s: no free name in %d attempts", dir, nameAttempts)
}

// lockOwn makes and locks the lock file. It returns nil without an error if a SweepTemp has removed
// or locked the directory.
func lockOwn(path string) (*File, error) {
	name := filepath.Join(path, lockName)
	lock, err := OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	switch err = TryLock(lock); {
	// If the file system has no locks, the directory is used all the same. SweepTemp removes no
	// directory that it cannot lock.
	case err == nil, errors.Is(err, errors.ErrUnsupported):
		if same(lock, name) {
			return lock, nil
		}
		err = nil
	case errors.Is(err, ErrLocked):
		err = nil
	}
	return nil, errors.Join(err, lock.Close())
}

// same reports whether the file at name is still the open one.
func same(f *File, name string) bool {
	a, errA := f.Stat()
	b, errB := os.Lstat(name)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// Close removes all files and directories of the TempRoot. Create fails from then on. Close may be
// called again.
func (r *TempRoot) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.closed = true
	var problems []error
	for i, o := range r.mu.own {
		if o == nil {
			continue
		}
		r.mu.own[i] = nil
		// Go evaluates arguments in order: the lock is freed after the directory is removed.
		problems = append(problems, removeLocked(o.path), o.lock.Close())
	}
	return errs.About("remove temp files", errors.Join(problems...))
}

// removeLocked removes a directory, its lock file last. So if it fails or the process is killed, the
// directory still has its lock file, and a later SweepTemp can remove it.
func removeLocked(path string) error {
	entries, err := ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return RemoveAll(path) // this may succeed all the same
	}
	var group errgroup.Group
	group.SetLimit(removers)
	for _, e := range entries {
		if e.Name() != lockName {
			group.Go(func() error { return RemoveAll(filepath.Join(path, e.Name())) })
		}
	}
	// After an error the other entries are removed all the same.
	if err := group.Wait(); err != nil {
		return err
	}
	return RemoveAll(path)
}

// removers is the number of goroutines that remove files. Removing may wait for the disk, if the
// file system reports free blocks to it.
const removers = 4
