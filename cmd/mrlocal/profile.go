package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

// allocBytes is the mean number of allocated bytes between two samples during a recording.
const allocBytes = 64 << 10

// sampleNoAllocations turns the sampling of allocations off, which the runtime does by default.
// recordProfile turns it on for its run. main calls sampleNoAllocations first.
func sampleNoAllocations() { runtime.MemProfileRate = 0 }

// profileNames returns the names of the files that recordProfile writes. The runtime writes the first two during the
// run.
func profileNames() []string { return []string{"cpu.pprof", "trace.out", "heap.pprof", "allocs.pprof"} }

// recording writes the profiles of one run into a directory.
type recording struct {
	dir   string
	made  bool       // open has created the directory
	files []*os.File // under temporary names, in the order of profileNames
}

// checkProfile checks that recordProfile can record into dir. It leaves no file behind. If dir is "", there is
// nothing to check.
func checkProfile(dir string) error {
	if dir == "" {
		return nil
	}
	r := &recording{dir: dir}
	err := r.open()
	r.drop()
	return notRecorded(dir, err)
}

// recordProfile calls run and records it into dir, which it creates if necessary. If dir is "", it only
// calls run. on reports whether the run is recorded. It returns the error of run joined with
// its own. A process can record only one run at a time.
func recordProfile(dir string, run func(on bool) error) error {
	if dir == "" {
		return run(false)
	}
	r := &recording{dir: dir}
	err := r.open()
	if err == nil {
		err = r.begin()
	}
	if err != nil {
		r.drop()
		return notRecorded(dir, err)
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

// notRecorded returns an options error for err, the reason why dir cannot be written. It returns nil if
// err is nil.
func notRecorded(dir string, err error) error {
	if err == nil {
		return nil
	}
	return errs.Optionf("--profile", "%s: %v", dir, errs.Cause(err))
}

// open creates the directory, unless it exists, and the files. After an error the caller must call drop.
func (r *recording) open() error {
	if r.dir == stdout {
		return errors.New("standard output cannot hold a profile, which is four files; name a directory")
	}
	err := os.Mkdir(r.dir, 0o777)
	if r.made = err == nil; err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, name := range profileNames() {
		f, err := disk.Beside(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		r.files = append(r.files, f)
	}
	return nil
}

// begin starts the profilers of the runtime.
func (r *recording) begin() error {
	if err := pprof.StartCPUProfile(r.files[0]); err != nil {
		return err
	}
	if err := trace.Start(r.files[1]); err != nil {
		pprof.StopCPUProfile()
		return err
	}
	// Allocations are sampled only during the run.
	runtime.MemProfileRate = allocBytes
	return nil
}

// stop ends the recording and gives the files their names. If the run was refused before it
// started, stop removes them instead.
func (r *recording) stop(refused bool) (err error) {
	trace.Stop()
	pprof.StopCPUProfile()
	runtime.GC() // the heap profile shows the state after the last collection, so this is one at the end of the run
	runtime.MemProfileRate = 0
	if refused {
		r.drop()
		return nil
	}
	for i, name := range profileNames() {
		f := r.files[i]
		var wrong error
		if kept := pprof.Lookup(strings.TrimSuffix(name, ".pprof")); kept != nil { // the runtime keeps it in memory
			wrong = kept.WriteTo(f, 0)
		}
		if wrong != nil {
			wrong = errors.Join(wrong, f.Close(), os.Remove(f.Name()))
		} else {
			wrong = disk.Publish(disk.Of(f), filepath.Join(r.dir, name))
		}
		err = errors.Join(err, wrong)
	}
	return err
}

// drop closes and removes all files, and removes the directory if open has created it.
func (r *recording) drop() {
	for _, f := range r.files {
		f.Close()
		_ = os.Remove(f.Name())
	}
	// Remove fails if the directory is not empty. Then it has files of the user, and must stay.
	if r.made {
		_ = os.Remove(r.dir)
	}
}
