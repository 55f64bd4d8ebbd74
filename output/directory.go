package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
	"mrlocal/internal/paths"
)

// Hadoop uses the first two names, so its tools recognize a finished directory.
const (
	tempName    = "_temporary"
	successName = "_SUCCESS"

	// markName is a file in `_temporary`. It says that mrlocal made that directory.
	markName = ".mrlocal"
)

// directory is a place with part files. The result is built in a directory called the stage.
// The stage has the final name if that name is free and Spec.Kept is not set. Otherwise it lies
// beside the final name.
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
	path     string // absolute, without links
	replaces bool   // a directory of that name exists and will be replaced
	kept     string // Spec.Kept
	suffix   string // of part files
	style    DirStyle

	mu struct {
		sync.Mutex
		state  state
		stage  string // "": not made, or removed
		lock   *disk.File
		tasks  map[int][]string // by task: the files of the attempt that has won, with paths below the stage
		merged *attemptFile     // the single file of parts in order; nil: each attempt has a file
		old    string           // where replace has put the old directory; "": nothing was replaced
	}
}

// start implements place. It makes, locks and marks the stage.
func (d *directory) start() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.tasks = make(map[int][]string)
	if d.beside() {
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

// makeStage makes and locks the stage. If two runs start at once, mkdir succeeds for only one
// of them.
func (d *directory) makeStage(stage string) error {
	if err := disk.MakeDir(stage, disk.NoMore(d.path, 0o777)); err != nil {
		return err
	}
	f, err := disk.OpenRead(stage)
	switch {
	case d.beside() && errors.Is(err, fs.ErrNotExist): // another run has removed it as a leftover
		return disk.ErrLocked
	case err != nil:
		return errors.Join(err, disk.Remove(stage))
	}
	// With its final name the stage cannot be taken for a leftover, so a failed lock does no
	// harm.
	if err := lockMade(f, stage); err != nil && d.beside() {
		return errors.Join(err, f.Close())
	}
	d.mu.stage, d.mu.lock = stage, f
	invariant.Move(&d.mu.state, started)
	return nil
}

// unlock releases the lock of the stage. The lock belongs to the open directory, so a rename
// does not affect it. The caller holds d.mu.
func (d *directory) unlock() {
	if d.mu.lock != nil {
		_ = d.mu.lock.Close()
		d.mu.lock = nil
	}
}

// errExists returns the options error for a directory that exists and may not be replaced.
func errExists(path string) error {
	return wrong(path, "exists already; give another name, or set Options.Overwrite to replace what mrlocal made")
}

// attempt implements attempted: it makes the part file of attempt n of a task. It overwrites a
// file that an attempt with the same number has left.
func (d *directory) attempt(task, n int, mapOnly bool) (partWriter, error) {
	return d.begin(task, n, mapOnly)
}

// begin makes the directory and the part file of an attempt. The names are those of Hadoop's
// FileOutputCommitter, so that its tools find them. It returns ErrAborted if the output has
// ended. Paths are kept relative to the stage, because publish may rename the stage.
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
	if d.mu.state != started {
		return nil, ErrAborted
	}
	dir := filepath.Join(d.mu.stage, a.path)
	if err := disk.MakeDir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("output part %d: %w", task, err)
	}
	mode := disk.NoMore(filepath.Join(d.path, a.name), 0o666) // as private as the part that it replaces
	f, err := disk.OpenFile(filepath.Join(dir, a.name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return nil, fmt.Errorf("output part %d: %w", task, err)
	}
	a.mu.f = f
	a.besidePath = func(name string) string {
		return filepath.Join(dir, fmt.Sprintf("%s-%s-%05d%s", name, kind, task, d.suffix))
	}
	return a, nil
}

// sink implements place: it makes a single part file, to which all parts are written in order.
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

// sync implements place. It commits the single part file. Part files of attempts are durable
// since their commit.
func (d *directory) sync() error {
	d.mu.Lock()
	a := d.mu.merged
	d.mu.Unlock()
	if a == nil {
		return nil
	}
	return a.commit(0)
}

// publish implements place. It moves the parts up, writes `_SUCCESS`, and makes each step
// durable before the next one begins. If it replaces a directory, it exchanges the two at the
// very end. It has to be quick, because abort waits for d.mu.
func (d *directory) publish(parts int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.state != started {
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
	// `_temporary` with its mark goes last. If a crash comes before that, the mark allows a
	// later run to replace the directory.
	temp := filepath.Join(d.mu.stage, tempName)
	if err := emptyTemp(temp); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	// The parts must be durable before `_SUCCESS` says that they are complete.
	if err := syncDir(d.mu.stage); err != nil {
		return err
	}
	if !d.style.NoSuccess {
		if err := d.writeSuccess(); err != nil {
			return err
		}
	}
	// The result is complete. If this fails, `_temporary` stays, and no program reads it.
	_ = removeTemp(temp)
	if d.beside() {
		return d.replace()
	}
	return nil
}

// beside reports whether the stage lies beside the final name.
func (d *directory) beside() bool { return d.replaces || d.kept != "" }

// replace gives the stage its name, in the place of the old directory if there is one. It checks
// again that the old directory has only files of mrlocal, because the run may have taken hours. The
// caller holds d.mu.
func (d *directory) replace() error {
	old, err := "", disk.NotePublished(d.kept, d.mu.stage, d.path)
	switch {
	case err != nil:
	case !d.replaces: // a directory that another program has made meanwhile stays, unless it is empty
		err = disk.Move(d.mu.stage, d.path)
	default:
		if err = replaceable(d.path); err == nil {
			old, err = swap(d.mu.stage, d.path)
		}
	}
	if err != nil {
		return err
	}
	d.mu.stage = d.path
	d.mu.old = old
	return nil
}

// swap gives stage the name path, and returns the new name of the directory that had it. On
// Linux the exchange is atomic. Elsewhere the name is free for a moment. If swap fails, the old
// directory has its name again, unless the error also reports a failed rename back.
func swap(stage, path string) (old string, err error) {
	if disk.Exchange(stage, path) == nil {
		return stage, nil
	}
	// This file system cannot exchange names.
	old = paths.Beside(path)
	if err := disk.Move(path, old); err != nil {
		return "", fmt.Errorf("output: %w", err)
	}
	if err := disk.Move(stage, path); err != nil {
		return "", errors.Join(fmt.Errorf("output: %w", err), disk.Move(old, path))
	}
	return old, nil
}

// settle implements place. It makes the name durable and then removes the directory that was
// replaced. In this order a crash leaves at least one of the two.
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

// takeBack removes the result, because cause prevents that it becomes durable. If the result
// has replaced a directory, that directory gets its name back. takeBack always returns an
// error. The caller holds d.mu.
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

// abort implements place. It removes the stage: `_temporary` with the files of attempts, and
// parts that publish may have moved up. Files of other programs stay. It may be called again.
func (d *directory) abort() error {
	d.mu.Lock()
	invariant.Reach(&d.mu.state, aborted)
	merged := d.mu.merged
	d.mu.Unlock()
	if merged != nil {
		merged.abort() // without d.mu: lock order
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

// writeSuccess makes an empty `_SUCCESS`, whose data and name are durable when it returns. The
// caller holds d.mu.
func (d *directory) writeSuccess() error {
	f, err := disk.Create(filepath.Join(d.mu.stage, successName))
	if err == nil {
		err = errors.Join(disk.SyncFile(f), f.Close())
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return syncDir(d.mu.stage)
}

// attemptFile is the part file of one attempt. One goroutine writes and commits. abort may be
// called by any goroutine and does not wait for a write or a sync. It only sets aborted,
// without the lock. The goroutine that holds the lock checks aborted when it unlocks, and then
// cleans up.
type attemptFile struct {
	dir             *directory
	task            int
	path, won, name string // directories below the stage before and after the commit; the name of the file

	aborted atomic.Bool
	mu      struct {
		sync.Mutex
		f       *disk.File // nil: the attempt has ended
		besides []*besideFile
	}
	written                             // under mu
	besidePath func(name string) string // path of the file of a named output, before publish
}

// written counts the bytes of a file, and starts their way to the disk.
type written struct {
	bytes int64
	disk  disk.Writeback
}

// append writes p at the end of the file. It starts write-back to the disk when enough bytes
// are dirty.
func (w *written) append(f *disk.File, p []byte) error {
	n, err := f.Write(p)
	if err != nil {
		return fmt.Errorf("write: %w", errs.Cause(err))
	}
	w.bytes += int64(n)
	w.disk.Wrote(f, w.bytes)
	return nil
}

// besideFile is the file of a named output. It commits and aborts with its attempt, and uses
// the attempt's lock.
type besideFile struct {
	attempt *attemptFile
	name    string
	f       *disk.File
	written // guarded by mu
}

// beside implements besides. It makes the file of the output called name.
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

// write implements partWriter. It returns ErrAborted if the attempt has ended.
func (b *besideFile) write(p []byte) error {
	a := b.attempt
	a.mu.Lock()
	defer a.unlock()
	if a.mu.f == nil || a.aborted.Load() {
		return ErrAborted
	}
	return b.append(b.f, p)
}

// commit and abort do nothing, because the attempt commits and aborts its files.
func (*besideFile) commit(int64) error { return nil }
func (*besideFile) abort()             {}

// write implements partWriter. It returns ErrAborted if the attempt has ended or was aborted.
func (a *attemptFile) write(p []byte) error {
	a.mu.Lock()
	defer a.unlock()
	if a.mu.f == nil || a.aborted.Load() {
		return ErrAborted
	}
	// The write may take long; abort does not wait for a.mu.
	return a.append(a.mu.f, p)
}

// commit makes the files of the attempt durable, and then makes the attempt the winner of its
// task. It ignores the number of bytes, because the file has its own length.
func (a *attemptFile) commit(int64) error {
	a.mu.Lock()
	defer a.unlock()
	if a.mu.f == nil || a.aborted.Load() {
		return ErrAborted
	}
	for _, b := range a.mu.besides {
		if err := errors.Join(disk.SyncFile(b.f), b.f.Close()); err != nil {
			return fmt.Errorf("output: %w", errs.Cause(err))
		}
	}
	if err := disk.SyncFile(a.mu.f); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	f := a.mu.f
	a.mu.f = nil
	if err := f.Close(); err != nil {
		return errors.Join(fmt.Errorf("output: %w", errs.Cause(err)), a.remove())
	}
	return a.win()
}

// win renames the directory of the attempt to that of its task. If another attempt has won, it
// removes the directory and returns ErrLost. The caller holds a.mu; win also takes d.mu.
func (a *attemptFile) win() error {
	d := a.dir
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.state != started {
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

// abort aborts the attempt. It may be called at any time and several times.
func (a *attemptFile) abort() {
	a.aborted.Store(true)
	if a.mu.TryLock() {
		a.unlock()
	}
}

// unlock releases a.mu. If the attempt was aborted meanwhile, it cleans up.
func (a *attemptFile) unlock() {
	if a.aborted.Load() {
		a.end()
	}
	a.mu.Unlock()
	if a.aborted.Load() && a.mu.TryLock() { // abort came before Unlock and found a.mu locked
		a.end()
		a.mu.Unlock()
	}
}

// end closes the files of the attempt and removes them. The caller holds a.mu.
func (a *attemptFile) end() {
	if a.mu.f == nil {
		return
	}
	_ = a.mu.f.Close() // the content is discarded
	a.mu.f = nil
	for _, b := range a.mu.besides {
		_ = b.f.Close() // may be closed already, by a commit that failed later
	}
	_ = a.remove() // if this fails, removing _temporary removes it
}

// remove removes the directory of the attempt. It is not an error if the directory is gone.
func (a *attemptFile) remove() error {
	a.dir.mu.Lock()
	defer a.dir.mu.Unlock()
	if a.dir.mu.stage == "" {
		return nil
	}
	return disk.RemoveAll(filepath.Join(a.dir.mu.stage, a.path))
}
