//go:build unix

package puma_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
)

var (
	size  = flag.String("size", "", "measure each job against its straightforward program on inputs of that many `BYTES`, such as 67108864")
	runs  = flag.Int("runs", 3, "alternating runs of both")
	only  = flag.String("only", "", "measure one `JOB`, and what its input needs")
	judge = flag.Bool("judge", false, "fail if a job takes more than twice the time")
)

// bar is the most time that a job may take, as a multiple of the time of the straightforward program.
const bar = 2

// TestRatios compares each job with the straightforward program for it. Both read files and write
// one, in turn, in one process. It judges the least times of all runs, because noise only adds to a
// time. It compares the results as well.
func TestRatios(t *testing.T) {
	if *size == "" {
		t.Skip("-size BYTES measures")
	}
	var bytesWanted int64
	for _, c := range *size {
		bytesWanted = bytesWanted*10 + int64(c-'0')
	}
	dir := t.TempDir()
	t.Logf("%-22s %9s %9s %6s %9s %9s %6s", "job", "ours s", "its s", "ratio", "ours cpu", "its cpu", "ratio")
	for _, j := range paperJobs(10, 40) {
		if *only != "" && j.name != *only {
			if j.name != "sequence-count" && j.name != "terasort" {
				continue
			}
		}
		j.measure(t, dir, bytesWanted)
	}
}

// measure prints the row of a job.
func (j *paperJob) measure(t *testing.T, dir string, inputBytes int64) {
	paths := j.inputs(t, dir, inputBytes)
	side, sideText := "", []byte(nil)
	if j.side {
		side = centroids(t, dir, read(paths[:1])[0].data)
		sideText = read([]string{side})[0].data
	}
	chain, err := j.chain()
	if err != nil {
		t.Fatal(err)
	}
	its, ours := filepath.Join(dir, j.name+".out"), filepath.Join(dir, j.name+".ours")
	least := [4]float64{1e9, 1e9, 1e9, 1e9}
	for range *runs {
		wall, cpu := timed(func() {
			p, err := registry.New("pi-dhfs", policy.DefaultOptions())
			if err == nil {
				_, err = engine.RunChain(t.Context(), chain, engine.Options{Policy: p, JobOptions: engine.JobOptions{Inputs: paths, Side: side, OutputFile: ours}})
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		least[0], least[2] = min(least[0], wall), min(least[2], cpu)
		wall, cpu = timed(func() {
			if err := os.WriteFile(its, j.straight(read(paths), sideText), 0o600); err != nil {
				t.Fatal(err)
			}
		})
		least[1], least[3] = min(least[1], wall), min(least[3], cpu)
	}
	if a, b := read([]string{ours, its}), j.name; !bytes.Equal(a[0].data, a[1].data) {
		t.Errorf("%s: %s", b, difference(a[0].data, a[1].data))
	}
	_ = os.Remove(ours)
	t.Logf("%-22s %9.2f %9.2f %6.2f %9.2f %9.2f %6.2f", j.name, least[0], least[1], least[0]/least[1], least[2], least[3], least[2]/least[3])
	if *judge && least[0] > bar*least[1] {
		t.Errorf("%s takes %.2f times the time of the program for it alone, and the bar is %d", j.name, least[0]/least[1], bar)
	}
}

// timed returns the seconds that f takes, and those of CPU time.
func timed(f func()) (wall, cpu float64) {
	runtime.GC()
	before, begun := used(), time.Now()
	f()
	return time.Since(begun).Seconds(), (used() - before).Seconds()
}

// used returns the CPU time of the process.
func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
