// Package profile records what a run does: where its CPU time goes, what lies
// on its heap and what was allocated, for go tool pprof, and an execution trace
// for go tool trace. The engine labels what it records with slots and phases.
//
//	cpu.pprof     go tool pprof -tagfocus slot=s0 DIR/cpu.pprof; -tags lists the labels
//	heap.pprof    what is alive at the end
//	allocs.pprof  all that was allocated
//	trace.out     go tool trace DIR/trace.out
//
// The files get their names when they are whole, also where the run failed or
// was interrupted. Large buffers are no part of the heap: they are mapped by
// internal/membudget. Nothing here costs anything before a run is recorded.
//
// Neighbours: cmd/mrlocal runs inside Around; side checks where the directory
// may be.
package profile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"mrlocal/cmd/mrlocal/internal/auxiliary"
	"mrlocal/errs"
)

// allocBytes is how many bytes of allocations there are between two samples.
const allocBytes = 64 << 10

// Off keeps the runtime from sampling allocations for nobody. It is called
// once, before anything else.
func Off() { runtime.MemProfileRate = 0 }

// recording writes the profiles of one run into a directory.
type recording struct {
	dir        string
	made       bool
	cpu, trace *os.File
}

// Check finds out whether Around could record, and leaves nothing; an empty dir
// is none. The directory may not be one that the command reads or writes.
func Check(dir string, beside auxiliary.Work) error {
	if dir == "" {
		return nil
	}
	if err := beside.CheckDirectory("profile", dir); err != nil {
		return err
	}
	r := &recording{dir: dir}
	err := r.open()
	r.drop()
	return refused(dir, err)
}

// Around records what run does into dir, which is made where it is not there;
// with an empty dir it only runs. on: somebody records. A process records one
// run at a time.
func Around(dir string, beside auxiliary.Work, run func(on bool) error) error {
	if dir == "" {
		return run(false)
	}
	if err := Check(dir, beside); err != nil {
		return err
	}
	r := &recording{dir: dir}
	err := r.open()
	if err == nil {
		err = r.begin()
	}
	if err != nil {
		r.drop()
		return refused(dir, err)
	}
	var stopped error
	func() {
		defer func() { stopped = r.stop(errs.IsUsage(err)) }() // also when run panics
		err = run(true)
	}()
	return errors.Join(err, stopped)
}

func refused(dir string, err error) error {
	if err == nil {
		return nil
	}
	return errs.Optionf("--profile", "%s: %v", dir, auxiliary.Cause(err))
}

// open makes the directory and the files that are written meanwhile.
func (r *recording) open() error {
	err := os.Mkdir(r.dir, 0o777)
	if r.made = err == nil; err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if r.cpu, err = r.create("cpu.pprof"); err == nil {
		r.trace, err = r.create("trace.out")
	}
	return err
}

func (r *recording) begin() error {
	if err := pprof.StartCPUProfile(r.cpu); err != nil {
		return err
	}
	if err := trace.Start(r.trace); err != nil {
		pprof.StopCPUProfile()
		return err
	}
	runtime.MemProfileRate = allocBytes
	return nil
}

// create makes a file that has not got its name yet.
func (r *recording) create(name string) (*os.File, error) {
	return os.CreateTemp(r.dir, "."+name+"-*")
}

// stop ends the recording and puts the files in place. Of a run that was
// refused before it started nothing is kept.
func (r *recording) stop(refused bool) error {
	trace.Stop()
	pprof.StopCPUProfile()
	runtime.GC() // the heap profile is as of the last collection
	runtime.MemProfileRate = 0
	if refused {
		r.drop()
		return nil
	}
	return errors.Join(
		r.place("cpu.pprof", r.cpu, nil), r.place("trace.out", r.trace, nil),
		r.lookup("heap"), r.lookup("allocs"))
}

// lookup writes a profile that the runtime keeps.
func (r *recording) lookup(name string) error {
	f, err := r.create(name + ".pprof")
	if err != nil {
		return err
	}
	return r.place(name+".pprof", f, func(w io.Writer) error { return pprof.Lookup(name).WriteTo(w, 0) })
}

// place gives f, after write if that is not nil, its name.
func (r *recording) place(name string, f *os.File, write func(io.Writer) error) (err error) {
	if write != nil {
		err = write(f)
	}
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(r.dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// drop takes away what was begun.
func (r *recording) drop() {
	for _, f := range []*os.File{r.cpu, r.trace} {
		if f != nil {
			f.Close()
			_ = os.Remove(f.Name())
		}
	}
	if r.made {
		_ = os.Remove(r.dir)
	}
}
