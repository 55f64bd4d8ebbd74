package hdfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"mrlocal/internal/disk"
	"mrlocal/internal/invariant"
	"mrlocal/internal/paths"
)

// Names below the directory of a result: those of Hadoop, and a mark that only mrlocal makes.
const (
	tempBelow    = "/_temporary"
	markBelow    = tempBelow + "/.mrlocal"
	successBelow = "/_SUCCESS"
)

// Callers compare these errors with errors.Is. ErrAborted: the result or the attempt was
// aborted. ErrLost: another attempt of the task was first. ErrTaken: another run writes to the
// directory.
var (
	ErrAborted = errors.New("aborted")
	ErrLost    = errors.New("another attempt has committed")
	ErrTaken   = errors.New("another run writes there")
)

// Result is a result of a job in a directory of HDFS: part files and _SUCCESS. It is written
// whole or not at all. HDFS makes each step durable. Any goroutine may call the methods.
//
//	stage/_temporary/attempt_r_000003_0/part-r-00003     written by an attempt
//	stage/_temporary/task_r_000003/part-r-00003          its attempt has won
//	stage/part-r-00003, stage/_SUCCESS                   published
//
// The stage is the directory itself. For a run that goes on after a kill, it lies beside the
// directory under a hidden name, and gets its name at the very end.
type Result struct {
	name  string // without slashes at its end
	stage string
	kept  string // directory of disk.KeepTemp; "": the run does not go on after a kill
	fs    *FS
	last  *FS // for Abort

	mu struct {
		sync.Mutex
		state resultState
		tasks map[int]string           // by task: path of the part file of the attempt that has won
		open  map[*ResultPart]struct{} // attempts that have not ended
		id    uint64                   // of the stage, when it is about to get its name; 0: not yet, or not known
	}
}

// resultState is how far a Result has come.
type resultState uint8

const (
	resultPlanned resultState = iota // nothing is written
	resultStarted                    // Start has made the directory, or may have
	resultAborted
)

func (s resultState) String() string { return [...]string{"planned", "started", "aborted"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s resultState) Next() []resultState {
	return [...][]resultState{{resultStarted, resultAborted}, {resultAborted}, nil}[s]
}

// NewResult returns a Result in the directory name. kept is the directory of disk.KeepTemp of a
// run that goes on after a kill, else "". It makes nothing yet.
func NewResult(name, kept string, f *FS) *Result {
	d := &Result{name: strings.TrimRight(name, "/"), kept: kept, fs: f, last: f.lastly()}
	if d.stage = d.name; kept != "" {
		d.stage = d.beside(path.Base(paths.Beside(path.Base(d.name))))
	}
	d.mu.tasks, d.mu.open = map[int]string{}, map[*ResultPart]struct{}{}
	return d
}

// beside returns the path of an entry of the directory that has the result.
func (d *Result) beside(entry string) string {
	return d.name[:strings.LastIndexByte(d.name, '/')+1] + entry
}

// Inside reports whether the result has the name path or lies below it.
func (d *Result) Inside(path string) bool {
	return strings.HasPrefix(d.name+"/", strings.TrimRight(path, "/")+"/")
}

// Free returns fs.ErrExist if the name is taken, and nil if it is free. A directory that a killed
// run of the same journal has published leaves the name free.
func (d *Result) Free() error {
	switch f, err := d.fs.Stat(d.name); {
	case err == nil && f.ID != 0 && slices.Contains(disk.Noted(d.kept, d.name), strconv.FormatUint(f.ID, 10)):
		return nil
	case err == nil:
		return fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// Start makes the directory of the attempts, with the mark. If two runs start at once, only one
// of them makes the mark, and the other one gets ErrTaken.
func (d *Result) Start() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.state == resultAborted {
		return ErrAborted
	}
	err := d.Free()
	if err == nil {
		err = d.noteStage()
	}
	if err != nil {
		return err
	}
	w, err := d.fs.Create(d.stage + markBelow)
	if err == nil {
		err = w.Close()
		// HDFS may have made the mark, unless it refuses to. A broken connection leaves that open.
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission) {
			invariant.Move(&d.mu.state, resultStarted)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return ErrTaken
	}
	return err
}

// noteStage removes the stages that killed runs of the same journal have left. It then notes the one
// of this run, before anything is there. It does nothing for a run without a journal.
func (d *Result) noteStage() error {
	if d.kept == "" {
		return nil
	}
	for _, key := range disk.Noted(d.kept, d.name) {
		if key != path.Base(key) || !paths.IsBeside(key) {
			continue
		}
		if err := d.fs.Remove(d.beside(key)); err != nil {
			return err
		}
	}
	return disk.Note(d.kept, path.Base(d.stage), d.name)
}

// touch makes an empty file. It fails with fs.ErrExist if there is one: HDFS lets only one of
// several clients make a file.
func (d *Result) touch(name string) error {
	w, err := d.fs.Create(name)
	if err != nil {
		return err
	}
	return w.Close()
}

// Attempt makes the part file name of attempt n of a task. kind is "m" or "r". The caller ends
// the attempt with Commit or Abort.
func (d *Result) Attempt(kind string, task, n int, name string) (*ResultPart, error) {
	p := &ResultPart{
		dir:  d,
		task: task,
		path: fmt.Sprintf("%s%s/attempt_%s_%06d_%d", d.stage, tempBelow, kind, task, n),
		won:  fmt.Sprintf("%s%s/task_%s_%06d", d.stage, tempBelow, kind, task),
		name: name,
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.state != resultStarted {
		return nil, ErrAborted
	}
	var err error
	if p.w, err = d.fs.Create(p.path + "/" + p.name); err != nil {
		return nil, err
	}
	d.mu.open[p] = struct{}{}
	return p, nil
}

// Publish moves up the part files of all tasks, whose number must be tasks. It makes _SUCCESS
// last. Without that file, no reader takes the result as complete. The caller calls Abort after
// an error.
func (d *Result) Publish(tasks int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.mu.state == resultAborted:
		return ErrAborted
	case len(d.mu.tasks) != tasks:
		return fmt.Errorf("%d of %d parts were written", len(d.mu.tasks), tasks)
	}
	// Each rename is atomic, but all of them together are not.
	for _, won := range d.mu.tasks {
		if err := d.fs.Rename(won, d.stage+won[strings.LastIndexByte(won, '/'):]); err != nil {
			return err
		}
	}
	if err := d.fs.Remove(d.stage + tempBelow); err != nil {
		return err
	}
	if err := d.touch(d.stage + successBelow); err != nil {
		return err
	}
	if d.stage != d.name {
		if err := d.rename(); err != nil {
			return err
		}
	}
	return nil
}

// rename gives the stage the name of the result. It removes the directory that a killed run of the
// same journal has published there, and leaves any other. The caller holds d.mu.
func (d *Result) rename() error {
	st, err := d.fs.Stat(d.stage)
	if err != nil {
		return err
	}
	d.mu.id = st.ID
	// A kill may come between the rename and the end of the journal. The next run then knows the
	// directory.
	if err := disk.Note(d.kept, strconv.FormatUint(st.ID, 10), d.name); err != nil {
		return err
	}
	if err := d.Free(); err != nil {
		return err
	}
	if err := d.fs.Remove(d.name); err != nil {
		return err
	}
	if err := d.fs.Rename(d.stage, d.name); err != nil {
		return err
	}
	// If another program has made the directory since, HDFS has moved the stage into it.
	now, err := d.fs.Stat(d.name)
	if err == nil && now.ID != d.mu.id {
		err = errors.Join(fs.ErrExist, d.fs.Remove(d.name+"/"+path.Base(d.stage)))
	}
	return err
}

// Abort removes the directory, if this run has made it or may have. It may be called again.
func (d *Result) Abort() error {
	d.mu.Lock()
	started, id := d.mu.state == resultStarted, d.mu.id
	invariant.Reach(&d.mu.state, resultAborted)
	var open []*ResultPart
	for p := range d.mu.open {
		open = append(open, p)
	}
	d.mu.Unlock()
	for _, p := range open { // without the lock, which Commit takes too
		p.Abort()
	}
	if !started {
		return nil
	}
	err := d.last.Remove(d.stage)
	// The rename may have taken place although its answer is lost.
	if id != 0 {
		if st, missing := d.last.Stat(d.name); missing == nil && st.ID == id {
			err = errors.Join(err, d.last.Remove(d.name))
		}
	}
	return err
}

// ResultPart is the part file of one attempt. Only one goroutine may use it; any goroutine may
// call Abort.
type ResultPart struct {
	dir             *Result
	task            int
	path, won, name string // directories before and after the commit; the name of the file in them
	w               *Writer
	aborted         atomic.Bool
	ended           bool // Commit was called
}

// Write implements io.Writer.
func (p *ResultPart) Write(data []byte) (int, error) {
	if p.aborted.Load() {
		return 0, ErrAborted
	}
	n, err := p.w.Write(data)
	if err != nil && p.aborted.Load() {
		err = ErrAborted
	}
	return n, err
}

// Commit ends the file and makes this attempt the winner of its task. It returns ErrLost if
// another attempt has won, and ErrAborted after Abort.
func (p *ResultPart) Commit() error {
	if p.aborted.Load() || p.ended {
		return ErrAborted
	}
	p.ended = true
	d := p.dir
	err := p.w.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.mu.open, p)
	switch _, taken := d.mu.tasks[p.task]; {
	case d.mu.state == resultAborted || p.aborted.Load():
		return ErrAborted
	case err != nil:
		return err
	// Nothing else removes the directory of a second attempt before Publish.
	case taken:
		return errors.Join(ErrLost, d.fs.Remove(p.path))
	}
	if err := d.fs.Rename(p.path, p.won); err != nil {
		return err
	}
	d.mu.tasks[p.task] = p.won + "/" + p.name
	return nil
}

// Abort ends the attempt without a result. Its file is removed later, together with _temporary.
func (p *ResultPart) Abort() {
	p.aborted.Store(true)
	p.w.Abort()
}
