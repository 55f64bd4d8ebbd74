package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"mrlocal/errs"
)

// allocBytes is the number of allocated bytes between two samples.
const allocBytes = 64 << 10

// SampleNoAllocations keeps the runtime from sampling allocations. main calls it first.
func SampleNoAllocations() { runtime.MemProfileRate = 0 }

// ProfileNames returns the names of the files that Profile writes.
func ProfileNames() []string { return []string{"cpu.pprof", "heap.pprof", "allocs.pprof", "trace.out"} }

// recording writes the profiles of one run into a directory.
type recording struct {
	dir        string
	made       bool     // the recording made the directory
	cpu, trace *os.File // written during the run, under temporary names
}

// CheckProfile checks that Profile can record into dir, and leaves no trace. The
// directory must lie outside of what the command reads and writes. An empty dir
// is fine: then nothing is recorded.
func CheckProfile(dir string, beside Work) error {
	if dir == "" {
		return nil
	}
	if dir == stdout {
		return errs.Optionf("--profile", "-: standard output cannot hold a profile, which is four files; name a directory")
	}
	if err := beside.CheckDirectory("profile", dir); err != nil {
		return err
	}
	r := &recording{dir: dir}
	err := r.open()
	r.drop()
	return refused(dir, err)
}

// Profile calls run and records it into dir, which it makes if necessary. With an
// empty dir it only calls run. It passes on whether it records. A process can
// record one run at a time.
func Profile(dir string, beside Work, run func(on bool) error) error {
	if dir == "" {
		return run(false)
	}
	if err := CheckProfile(dir, beside); err != nil {
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
		defer func() { stopped = r.stop(errs.IsUsage(err)) }() // even if run panics
		err = run(true)
	}()
	return errors.Join(err, stopped)
}

// refused returns the error for a directory that cannot be written.
func refused(dir string, err error) error {
	if err == nil {
		return nil
	}
	return errs.Optionf("--profile", "%s: %v", dir, errs.Cause(err))
}

// open makes the directory and the files that are written during the run.
func (r *recording) open() error {
	// Only a directory that was made here is removed afterwards.
	err := os.Mkdir(r.dir, 0o777)
	if r.made = err == nil; err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if r.cpu, err = r.create("cpu.pprof"); err == nil {
		r.trace, err = r.create("trace.out")
	}
	return err
}

// begin starts the profilers of the runtime.
func (r *recording) begin() error {
	if err := pprof.StartCPUProfile(r.cpu); err != nil {
		return err
	}
	if err := trace.Start(r.trace); err != nil {
		pprof.StopCPUProfile()
		return err
	}
	// From here on allocations are sampled. Those before the run are left out.
	runtime.MemProfileRate = allocBytes
	return nil
}

// create makes a file under a temporary name.
func (r *recording) create(name string) (*os.File, error) {
	return os.CreateTemp(r.dir, "."+name+"-*")
}

// stop ends the recording and gives the files their names. A run that was refused
// before it started leaves no files.
func (r *recording) stop(refused bool) error {
	// The profilers stop before their files are closed and renamed.
	trace.Stop()
	pprof.StopCPUProfile()
	runtime.GC() // the heap profile shows the state after the last collection
	runtime.MemProfileRate = 0
	if refused {
		r.drop()
		return nil
	}
	return errors.Join(
		r.place("cpu.pprof", r.cpu, nil), r.place("trace.out", r.trace, nil),
		r.lookup("heap"), r.lookup("allocs"))
}

// lookup writes a profile that the runtime keeps itself.
func (r *recording) lookup(name string) error {
	f, err := r.create(name + ".pprof")
	if err != nil {
		return err
	}
	return r.place(name+".pprof", f, func(w io.Writer) error { return pprof.Lookup(name).WriteTo(w, 0) })
}

// place calls write if it is not nil, and then gives f its name.
func (r *recording) place(name string, f *os.File, write func(io.Writer) error) (err error) {
	if write != nil {
		err = write(f)
	}
	// CreateTemp makes files that only their owner can read.
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(r.dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// drop removes all files, and the directory if the recording made it.
func (r *recording) drop() {
	for _, f := range []*os.File{r.cpu, r.trace} {
		if f != nil {
			f.Close()
			_ = os.Remove(f.Name())
		}
	}
	// Remove fails if the user has put something into the directory meanwhile, and that stays.
	if r.made {
		_ = os.Remove(r.dir)
	}
}
