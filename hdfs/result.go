package hdfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
)

// Names below the directory: those of Hadoop, and the mark that only mrlocal makes.
const (
	tempBelow    = "/_temporary"
	markBelow    = tempBelow + "/.mrlocal"
	successBelow = "/_SUCCESS"
)

// Errors to compare with errors.Is: the result or the attempt was given up; another attempt of
// the task was first; another run has made the directory.
var (
	ErrAborted = errors.New("aborted")
	ErrLost    = errors.New("another attempt has committed")
	ErrTaken   = errors.New("another run writes there")
)

// Result is a result of a job: part files and _SUCCESS in a directory of HDFS. As package output does
// on local disks, it is written whole or not at all. Hadoop makes each step durable. Methods may be
// called from any goroutine.
//
//	name/_temporary/attempt_r_000003_0/part-r-00003     written by an attempt
//	name/_temporary/task_r_000003/part-r-00003          its attempt has won
//	name/part-r-00003, name/_SUCCESS                    published
type Result struct {
	name string // without slashes at its end
	fs   *FS

	mu struct {
		sync.Mutex
		made    bool
		aborted bool
		tasks   map[int]string // by task: the part file of the attempt that has won
		open    map[*ResultPart]struct{}
	}
}

// NewResult returns a result for which nothing is done yet. Publish and Abort close the idle
// connections of f.
func NewResult(name string, f *FS) *Result {
	d := &Result{name: strings.TrimRight(name, "/"), fs: f}
	d.mu.tasks, d.mu.open = map[int]string{}, map[*ResultPart]struct{}{}
	return d
}

// Inside reports whether the result is path, or lies below it.
func (d *Result) Inside(path string) bool {
	return strings.HasPrefix(d.name+"/", strings.TrimRight(path, "/")+"/")
}

// Free fails with fs.ErrExist if the name is taken.
func (d *Result) Free() error {
	switch _, err := d.fs.Stat(d.name); {
	case err == nil:
		return fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// Start makes what attempts write to. Of two runs that start at once only one makes the mark; the
// other one gets ErrTaken.
func (d *Result) Start() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.Free(); err != nil {
		return err
	}
	if err := d.touch(d.name + markBelow); errors.Is(err, fs.ErrExist) {
		return ErrTaken
	} else if err != nil {
		return err
	}
	d.mu.made = true
	return nil
}

// touch makes an empty file. It fails with fs.ErrExist if there is one: on HDFS only one of
// several clients makes a file.
func (d *Result) touch(name string) error {
	w, err := d.fs.Create(name)
	if err != nil {
		return err
	}
	return w.Close()
}

// Attempt makes the part file name of attempt n of a task, whose kind is m or r.
func (d *Result) Attempt(kind string, task, n int, name string) (*ResultPart, error) {
	p := &ResultPart{
		dir:  d,
		task: task,
		path: fmt.Sprintf("%s%s/attempt_%s_%06d_%d", d.name, tempBelow, kind, task, n),
		won:  fmt.Sprintf("%s%s/task_%s_%06d", d.name, tempBelow, kind, task),
		name: name,
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.aborted || !d.mu.made {
		return nil, ErrAborted
	}
	var err error
	if p.w, err = d.fs.Create(p.path + "/" + p.name); err != nil {
		return nil, err
	}
	d.mu.open[p] = struct{}{}
	return p, nil
}

// Publish moves the parts of all tasks up. `_SUCCESS` comes last: without it no reader takes the
// result for complete.
func (d *Result) Publish(tasks int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.mu.aborted:
		return ErrAborted
	case len(d.mu.tasks) != tasks:
		return fmt.Errorf("%d of %d parts were written", len(d.mu.tasks), tasks)
	}
	// A rename is atomic, but all of them together are not. So _SUCCESS tells readers that they
	// are complete.
	for _, won := range d.mu.tasks {
		if err := d.fs.Rename(won, d.name+won[strings.LastIndexByte(won, '/'):]); err != nil {
			return err
		}
	}
	if err := d.fs.Remove(d.name + tempBelow); err != nil {
		return err
	}
	if err := d.touch(d.name + successBelow); err != nil {
		return err
	}
	d.fs.Close()
	return nil
}

// Abort removes the directory, if this run has made it. It may be called again.
func (d *Result) Abort() error {
	d.mu.Lock()
	made := d.mu.made
	d.mu.aborted, d.mu.made = true, false
	var open []*ResultPart
	for p := range d.mu.open {
		open = append(open, p)
	}
	d.mu.Unlock()
	for _, p := range open { // outside of the lock, which Commit takes too
		p.Abort()
	}
	if !made {
		return nil
	}
	defer d.fs.Close()
	return d.fs.Remove(d.name)
}

// ResultPart is the part file of one attempt. One goroutine uses it; Abort may be called from any.
type ResultPart struct {
	dir             *Result
	task            int
	path, won, name string // directories, and the file in them
	w               *Writer
	aborted         atomic.Bool
	ended           bool // by Commit
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

// Commit ends the file and makes this attempt the winner of its task, or fails with ErrLost.
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
	case d.mu.aborted || p.aborted.Load():
		return ErrAborted
	case err != nil:
		return err
	// The attempt that came second is removed, since its directory would be left otherwise.
	case taken:
		return errors.Join(ErrLost, d.fs.Remove(p.path))
	}
	if err := d.fs.Rename(p.path, p.won); err != nil {
		return err
	}
	d.mu.tasks[p.task] = p.won + "/" + p.name
	return nil
}

// Abort ends the attempt without a result. What it has written is removed later, with all of
// _temporary.
func (p *ResultPart) Abort() {
	p.aborted.Store(true)
	p.w.Abort()
}
