package output

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"mrlocal/errs"
	"mrlocal/internal/disk"
	"mrlocal/internal/paths"
)

// The names are those of Hadoop, so that other programs know a finished directory.
const (
	tempName    = "_temporary"
	successName = "_SUCCESS"

	// markName is a file in `_temporary` that only mrlocal makes.
	markName = ".mrlocal"
)

// directory is a place with part files. Its stage is where the result is built: under its
// own name if that is free, and else beside the directory that it will replace.
//
//	stage/_temporary/.mrlocal                           says that mrlocal made it
//	stage/_temporary/attempt_r_000003_0/part-r-00003    written by an attempt
//	stage/_temporary/task_r_000003/part-r-00003         its attempt has won
//	stage/part-r-00003, stage/_SUCCESS                  published
//
// The stage is locked (flock) while it is written, so that other runs see that it is in use.
// Lock order: attemptFile.mu before directory.mu.
type directory struct {
	name     string // as the user gave it
	path     string // absolute, no link
	replaces bool
	suffix   string // of part files
	style    DirStyle

	mu struct {
		sync.Mutex
		// Emptied by abort. Attempts see by it that nothing may be made any more.
		stage   string // "": not made
		lock    *disk.File
		tasks   map[int][]string // by task: the files of the attempt that has won, below the stage
		merged  *attemptFile     // the single file of parts in order
		aborted bool
		old     string // what replace has put aside; "": nothing
	}
}

// start implements place: it makes and locks the stage.
func (d *directory) start() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.tasks = make(map[int][]string)
	if d.replaces {
		if err := claim(d.name, d.path, d.makeStage); err != nil {
			return err
		}
	} else if err := d.makeStage(d.path); errors.Is(err, fs.ErrExist) {
		return errExists(d.name)
	} else if err != nil {
		return refuse(d.name, err)
	}
	temp := filepath.Join(d.mu.stage, tempName)
	if err := disk.MakeDir(temp, 0o777); err != nil {
		return refuse(d.name, err)
	}
	if err := mark(temp); err != nil {
		return refuse(d.name, errors.Join(err, disk.Remove(temp)))
	}
	return nil
}

// makeStage makes and locks the stage. Mkdir decides between two runs that start at once:
// only one of them makes it.
func (d *directory) makeStage(stage string) error {
	if err := disk.MakeDir(stage, 0o777); err != nil {
		return err
	}
	f, err := disk.OpenRead(stage)
	switch {
	case d.replaces && errors.Is(err, fs.ErrNotExist): // another run took it for a leftover
		return disk.ErrLocked
	case err != nil:
		return errors.Join(err, disk.Remove(stage))
	}
	// Under its own name the stage is no leftover, even if another run looks at its lock now.
	if err := lockMade(f, stage); err != nil && d.replaces {
		return errors.Join(err, f.Close())
	}
	d.mu.stage, d.mu.lock = stage, f
	return nil
}

// unlock lets other runs see that the stage is not written any more.
// The stage may be renamed meanwhile: the lock belongs to the open directory.
func (d *directory) unlock() {
	if d.mu.lock != nil {
		_ = d.mu.lock.Close()
		d.mu.lock = nil
	}
}

// errExists refuses a directory that exists and may not be replaced.
func errExists(path string) error {
	return wrong(path, "exists already; give another name, or set Options.Overwrite to replace what mrlocal made")
}

// attempt makes the part file of attempt n of a task. It writes over a file that an attempt
// with the same number has left.
// The caller ends the attempt with commit or abort. Paths are kept below the stage,
// which publish may rename.
func (d *directory) attempt(task, n int, mapOnly bool) (partWriter, error) {
	return d.begin(task, n, mapOnly)
}

// begin makes the directory and the part of an attempt: FileOutputCommitter's names, so that
// tools of Hadoop find them. It fails with ErrAborted if the output has ended.
func (d *directory) begin(task, n int, mapOnly bool) (*attemptFile, error) {
	kind := paths.KindLetter(mapOnly)
	a := &attemptFile{
		dir:  d,
		task: task,
		path: filepath.Join(tempName, fmt.Sprintf("attempt_%s_%06d_%d", kind, task, n)),
		won:  filepath.Join(tempName, fmt.Sprintf("task_%s_%06d", kind, task)),
		name: fmt.Sprintf("part-%s-%05d%s", kind, task, d.suffix),
	}
	if d.style.PlainNames {
		a.name = fmt.Sprintf("part-%05d%s", task, d.suffix)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.aborted || d.mu.stage == "" {
		return nil, ErrAborted
	}
	dir := filepath.Join(d.mu.stage, a.path)
	if err := disk.MakeDir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("output part %d: %w", task, err)
	}
	f, err := disk.Create(filepath.Join(dir, a.name))
	if err != nil {
		return nil, fmt.Errorf("output part %d: %w", task, err)
	}
	a.mu.f = f
	a.besidePath = func(name string) string {
		return filepath.Join(dir, fmt.Sprintf("%s-%s-%05d%s", name, kind, task, d.suffix))
	}
	return a, nil
}

// sink makes a single part file, for parts that come in order.
func (d *directory) sink(mapOnly bool) (*sink, error) {
	a, err := d.begin(0, 0, mapOnly)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.mu.merged = a
	d.mu.Unlock()
	return fileSink(a.mu.f), nil
}

// sync implements place. Part files of their own are durable since their commit.
func (d *directory) sync() error {
	d.mu.Lock()
	a := d.mu.merged
	d.mu.Unlock()
	if a == nil {
		return nil
	}
	return a.commit(0)
}

// publish moves the parts up and marks success, and makes each step durable before the next
// one begins. A directory that is replaced is swapped with the new one at the very end.
// It is called once and must not be slow, because d.mu keeps abort waiting.
func (d *directory) publish(parts int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.aborted {
		return ErrAborted
	}
	if d.mu.merged == nil && len(d.mu.tasks) != parts {
		return fmt.Errorf("output %s: %d of %d parts were written", quoteName(d.name), len(d.mu.tasks), parts)
	}
	// Each rename is atomic. A crash between two of them leaves no `_SUCCESS`.
	for _, files := range d.mu.tasks {
		for _, won := range files {
			from := filepath.Join(d.mu.stage, won)
			if err := disk.Move(from, filepath.Join(d.mu.stage, filepath.Base(won))); err != nil {
				return fmt.Errorf("output: %w", err)
			}
		}
	}
	// `_temporary` keeps its mark and goes last: at any crash before, it says that the
	// directory may be replaced.
	temp := filepath.Join(d.mu.stage, tempName)
	if err := emptyTemp(temp); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	// Parts are durable before `_SUCCESS` says that they are complete.
	if err := syncDir(d.mu.stage); err != nil {
		return err
	}
	if !d.style.NoSuccess {
		if err := d.writeSuccess(); err != nil {
			return err
		}
	}
	// The result is whole now. At worst a directory stays that no program reads.
	_ = removeTemp(temp)
	if d.replaces {
		return d.replace()
	}
	return nil
}

// replace puts the stage in the place of the old directory, which must still hold nothing
// but what mrlocal makes.
// The check is repeated because the run may have taken hours. d.mu is held.
func (d *directory) replace() error {
	if err := replaceable(d.path); err != nil {
		return err
	}
	// Linux exchanges the two at once. Elsewhere there is a moment without the directory.
	old, err := swap(d.mu.stage, d.path)
	if err != nil {
		return err
	}
	d.mu.stage = d.path
	d.mu.old = old
	return nil
}

// swap gives stage the name path, and returns the new name of the directory that had it.
// If it fails, the directory that was there has its name back.
func swap(stage, path string) (old string, err error) {
	if disk.Exchange(stage, path) == nil {
		return stage, nil
	}
	// There is no exchange in this file system, so the name is free for a moment.
	old = paths.Beside(path)
	if err := disk.Move(path, old); err != nil {
		return "", fmt.Errorf("output: %w", err)
	}
	if err := disk.Move(stage, path); err != nil {
		return "", errors.Join(fmt.Errorf("output: %w", err), disk.Move(old, path))
	}
	return old, nil
}

// settle implements place: it makes the name durable, then removes what was replaced.
// The old directory goes last, so that a crash leaves one of the two.
func (d *directory) settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.unlock()
	if err := syncDir(filepath.Dir(d.path)); err != nil {
		return d.takeBack(err)
	}
	if d.mu.old != "" {
		return removeMade(d.mu.old)
	}
	return nil
}

// takeBack removes the result, which cannot be made durable because of cause. A directory
// that it has replaced gets its name back. d.mu is held.
func (d *directory) takeBack(cause error) error {
	made, back := d.path, ""
	if d.mu.old != "" {
		var err error
		if made, err = swap(d.mu.old, d.path); err != nil {
			return fmt.Errorf("output %s: has replaced the directory that was there, but could not be made durable: %w",
				quoteName(d.name), errors.Join(errs.Cause(cause), err))
		}
		back = ", and the directory that was there is back"
	}
	return fmt.Errorf("output %s: was removed, because it could not be made durable%s: %w", quoteName(d.name), back, errors.Join(errs.Cause(cause), removeMade(made)))
}

// abort removes the stage: `_temporary` with everything in it and, by name, what publish may
// have moved up. A file that somebody else has put there stays.
// It may be called again.
func (d *directory) abort() error {
	d.mu.Lock()
	d.mu.aborted = true
	merged := d.mu.merged
	d.mu.Unlock()
	if merged != nil {
		merged.abort() // before the lock, see the order of locks
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.stage == "" {
		return nil
	}
	err := removeMade(d.mu.stage)
	d.mu.stage = ""
	d.unlock()
	return err
}

// writeSuccess makes an empty `_SUCCESS` and makes it durable. d.mu is held.
// Its name is durable when it returns, too.
func (d *directory) writeSuccess() error {
	f, err := disk.Create(filepath.Join(d.mu.stage, successName))
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if err := errors.Join(syncFile(f), f.Close()); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return syncDir(d.mu.stage)
}

// attemptFile is the part file of one attempt. abort does not wait for a write or a sync:
// the goroutine that holds the lock then cleans up.
// One goroutine writes and commits. aborted is set without the lock, and the holder of
// the lock looks at it.
type attemptFile struct {
	dir             *directory
	task            int
	path, won, name string // directories below the stage, and the file in them

	aborted atomic.Bool
	mu      struct {
		sync.Mutex
		f       *disk.File // nil: ended
		besides []*besideFile
	}
	written                             // under mu
	besidePath func(name string) string // of the file of a named output, until publish
}

// written is what was written to a file.
type written struct {
	bytes int64
	disk  disk.Writeback
}

// append writes p at the end of the file, and starts to write pages back to the disk when there
// are enough.
func (w *written) append(f *disk.File, p []byte) error {
	n, err := f.Write(p)
	if err != nil {
		return fmt.Errorf("write: %w", errs.Cause(err))
	}
	w.bytes += int64(n)
	w.disk.Wrote(f, w.bytes)
	return nil
}

// besideFile is the file of a named output. It lives and ends with its attempt, whose lock it
// takes.
type besideFile struct {
	attempt *attemptFile
	name    string
	f       *disk.File
	written
}

// beside implements besides.
func (a *attemptFile) beside(name string) (partWriter, error) {
	a.mu.Lock()
	defer a.unlock()
	if a.mu.f == nil || a.aborted.Load() {
		return nil, ErrAborted
	}
	f, err := disk.Create(a.besidePath(name))
	if err != nil {
		return nil, fmt.Errorf("output %s: %w", name, errs.Cause(err))
	}
	b := &besideFile{attempt: a, name: filepath.Base(a.besidePath(name)), f: f}
	a.mu.besides = append(a.mu.besides, b)
	return b, nil
}

// write appends p. It fails with ErrAborted if the attempt has ended.
func (b *besideFile) write(p []byte) error {
	a := b.attempt
	a.mu.Lock()
	defer a.unlock()
	if a.mu.f == nil || a.aborted.Load() {
		return ErrAborted
	}
	return b.append(b.f, p)
}

// commit and abort are those of the attempt.
func (*besideFile) commit(int64) error { return nil }
func (*besideFile) abort()             {}

// write appends to the part file. It fails with ErrAborted once the attempt was given
// up.
func (a *attemptFile) write(p []byte) error {
	a.mu.Lock()
	defer a.unlock()
	if a.mu.f == nil || a.aborted.Load() {
		return ErrAborted
	}
	// The write may take long. abort does not wait for it, see attemptFile.
	return a.append(a.mu.f, p)
}

// commit makes the file durable and then makes this attempt the winner of its task.
// The number of bytes is not needed here: the file has what was written.
func (a *attemptFile) commit(int64) error {
	a.mu.Lock()
	defer a.unlock()
	if a.mu.f == nil || a.aborted.Load() {
		return ErrAborted
	}
	for _, b := range a.mu.besides {
		if err := errors.Join(syncFile(b.f), b.f.Close()); err != nil {
			return fmt.Errorf("output: %w", errs.Cause(err))
		}
	}
	if err := syncFile(a.mu.f); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	f := a.mu.f
	a.mu.f = nil
	if err := f.Close(); err != nil {
		return errors.Join(fmt.Errorf("output: %w", errs.Cause(err)), a.remove())
	}
	return a.win()
}

// win renames the directory of the attempt, unless another attempt has won.
// a.mu is held, and d.mu is taken inside of it.
func (a *attemptFile) win() error {
	d := a.dir
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.aborted || d.mu.stage == "" {
		return ErrAborted
	}
	if _, taken := d.mu.tasks[a.task]; taken {
		return errors.Join(ErrLost, disk.RemoveAll(filepath.Join(d.mu.stage, a.path)))
	}
	files := []string{}
	if !d.style.OmitEmpty || a.bytes > 0 {
		files = append(files, filepath.Join(a.won, a.name))
	}
	for _, b := range a.mu.besides {
		if !d.style.OmitEmpty || b.bytes > 0 {
			files = append(files, filepath.Join(a.won, b.name))
		}
	}
	if len(files) == 0 {
		d.mu.tasks[a.task] = nil
		return disk.RemoveAll(filepath.Join(d.mu.stage, a.path))
	}
	if err := disk.Move(filepath.Join(d.mu.stage, a.path), filepath.Join(d.mu.stage, a.won)); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	d.mu.tasks[a.task] = files
	return nil
}

// abort gives the attempt up. It may be called at any time and several times.
func (a *attemptFile) abort() {
	a.aborted.Store(true)
	if a.mu.TryLock() {
		a.unlock()
	}
}

// unlock gives the lock back, and cleans up if the attempt was given up meanwhile.
func (a *attemptFile) unlock() {
	if a.aborted.Load() {
		a.end()
	}
	a.mu.Unlock()
	if a.aborted.Load() && a.mu.TryLock() { // abort came in between and found it locked
		a.end()
		a.mu.Unlock()
	}
}

// end closes and removes the file of the attempt. a.mu is held.
func (a *attemptFile) end() {
	if a.mu.f == nil {
		return
	}
	_ = a.mu.f.Close() // its content is dropped
	a.mu.f = nil
	for _, b := range a.mu.besides {
		_ = b.f.Close() // twice after a commit that failed, which does no harm
	}
	_ = a.remove() // what cannot be removed goes with the whole of _temporary
}

// remove deletes what the attempt has written.
// A directory that is gone is no error.
func (a *attemptFile) remove() error {
	a.dir.mu.Lock()
	defer a.dir.mu.Unlock()
	if a.dir.mu.stage == "" {
		return nil
	}
	return disk.RemoveAll(filepath.Join(a.dir.mu.stage, a.path))
}
