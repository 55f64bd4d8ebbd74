package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

// allocBytes is the mean number of allocated bytes between two samples during a recording.
const allocBytes = 64 << 10

// SampleNoAllocations turns the sampling of allocations off, which the runtime does by default.
// Profile turns it on for its run. main calls SampleNoAllocations first.
func SampleNoAllocations() { runtime.MemProfileRate = 0 }

// ProfileNames returns the names of the files that Profile writes.
func ProfileNames() []string { return []string{"cpu.pprof", "heap.pprof", "allocs.pprof", "trace.out"} }

// recording writes the profiles of one run into a directory.
type recording struct {
	dir        string
	made       bool     // open has created the directory
	cpu, trace *os.File // files under temporary names, which the runtime writes during the run
}

// CheckProfile checks that Profile can record into dir. It leaves no file behind. dir must not be
// an input or an output of the command, or lie within one. If dir is "", there is nothing to check.
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

// Profile calls run and records it into dir, which it creates if necessary. If dir is "", it only
// calls run. on reports whether the run is recorded. Profile returns the error of run joined with
// its own. A process can record only one run at a time.
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
		// The deferred call stops the profilers even if run panics. After a usage error nothing has
		// run.
		defer func() { stopped = r.stop(errs.IsUsage(err)) }()
		err = run(true)
	}()
	return errors.Join(err, stopped)
}

// refused returns an options error for err, the reason why dir cannot be written. It returns nil if
// err is nil.
func refused(dir string, err error) error {
	if err == nil {
		return nil
	}
	return errs.Optionf("--profile", "%s: %v", dir, errs.Cause(err))
}

// open creates the directory, unless it exists, and the files that the runtime writes during the
// run. After an error the caller must call drop.
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

// begin starts the profilers of the runtime.
func (r *recording) begin() error {
	if err := pprof.StartCPUProfile(r.cpu); err != nil {
		return err
	}
	if err := trace.Start(r.trace); err != nil {
		pprof.StopCPUProfile()
		return err
	}
	// Allocations are sampled only during the run.
	runtime.MemProfileRate = allocBytes
	return nil
}

// create creates a file with a temporary name in the directory.
func (r *recording) create(name string) (*os.File, error) {
	return disk.Beside(filepath.Join(r.dir, name))
}

// stop ends the recording and gives the files their names. If the run was refused before it
// started, stop removes them instead.
func (r *recording) stop(refused bool) error {
	trace.Stop()
	pprof.StopCPUProfile()
	runtime.GC() // the heap profile shows the state after the last collection, so this is one at the end of the run
	runtime.MemProfileRate = 0
	if refused {
		r.drop()
		return nil
	}
	return errors.Join(
		r.place("cpu.pprof", r.cpu, nil), r.place("trace.out", r.trace, nil),
		r.lookup("heap"), r.lookup("allocs"))
}

// lookup writes a profile that the runtime keeps in memory, such as heap.
func (r *recording) lookup(name string) error {
	f, err := r.create(name + ".pprof")
	if err != nil {
		return err
	}
	return r.place(name+".pprof", f, func(w io.Writer) error { return pprof.Lookup(name).WriteTo(w, 0) })
}

// place calls write, unless it is nil, closes f and gives it its name. After an error it removes f.
func (r *recording) place(name string, f *os.File, write func(io.Writer) error) (err error) {
	if write != nil {
		err = write(f)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return disk.Publish(disk.Of(f), filepath.Join(r.dir, name))
}

// drop closes and removes all files, and removes the directory if open has created it.
func (r *recording) drop() {
	for _, f := range []*os.File{r.cpu, r.trace} {
		if f != nil {
			f.Close()
			_ = os.Remove(f.Name())
		}
	}
	// Remove fails if the directory is not empty. Then it has files of the user, and must stay.
	if r.made {
		_ = os.Remove(r.dir)
	}
}
