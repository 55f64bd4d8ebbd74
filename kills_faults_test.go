//go:build faults && linux

package mrlocal_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mrlocal"
	"mrlocal/internal/disk"
	"mrlocal/internal/hdfs/hdfstest"
	"mrlocal/jobs"
)

// resultKinds are the places of a result with a journal. old is made before the first run.
var resultKinds = map[string]struct{ parts, overwrite, old bool }{
	"a file":                             {},
	"a file that is replaced":            {old: true},
	"a new directory":                    {parts: true},
	"a new directory, with overwrite":    {parts: true, overwrite: true},
	"a directory that is to be replaced": {parts: true, overwrite: true, old: true},
}

const killedBench = "MRLOCAL_TEST_KILLED"

// killBench makes the bench in dir of a kind of result.
func killBench(dir, kind string, chain func() jobs.Chain) *faultBench {
	k := resultKinds[kind]
	return &faultBench{
		dir: dir, input: filepath.Join(dir, "in"), temp: filepath.Join(dir, "temp"), place: filepath.Join(dir, "place"),
		kept: filepath.Join(dir, "kept"), parts: k.parts, chain: chain,
	}
}

// resumed runs the job of a bench of a kind of result. It goes on with what is kept.
func resumed(t *testing.T, b *faultBench, kind string) (*mrlocal.Report, error) {
	o := b.options(b.place)
	o.Overwrite, o.SortBufferBytes = resultKinds[kind].overwrite, 0 // without further spills there are fewer calls
	return mrlocal.RunChain(t.Context(), b.chain(), o)
}

// TestKilledProcess is the process that call n of the file system kills.
func TestKilledProcess(t *testing.T) {
	var n int64
	dir, at, ok := strings.Cut(os.Getenv(killedBench), "|")
	at, kind, _ := strings.Cut(at, "|")
	if _, err := fmt.Sscan(at, &n); !ok || err != nil {
		t.Skip("only as a child process")
	}
	b := killBench(dir, kind, faultJobs(t)["sort"])
	disk.Inject(disk.Fault{Op: disk.Change, N: n, Kill: true}, nil)
	_, err := resumed(t, b, kind)
	t.Fatalf("it was not killed: %v", err)
}

// latest returns the numbers of calls as sample does, and the last ten: a run ends with many steps.
func latest(calls int64) []int64 {
	ns := sample(calls)
	for n := max(1, calls-9); n <= calls && *sweepNth == 0; n++ {
		ns = append(ns, n)
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}

// TestEachCallMayBeTheLast: whatever change of the file system a kill comes before, the same command goes
// on to the whole result, and leaves nothing else.
func TestEachCallMayBeTheLast(t *testing.T) {
	for kind, k := range resultKinds {
		t.Run(kind, func(t *testing.T) {
			made := newFaultBench(t, k.parts, faultJobs(t)["sort"])
			b := killBench(made.dir, kind, made.chain)
			disk.Inject(disk.Fault{}, nil)
			if _, err := resumed(t, b, kind); err != nil {
				t.Fatal(err)
			}
			calls, _ := disk.Counts(disk.Change)
			want, _ := b.result(b.place)
			for _, n := range latest(calls) {
				_ = os.RemoveAll(filepath.Join(b.place, "result"))
				if k.old {
					if _, err := mrlocal.RunChain(t.Context(), b.chain(), b.oldOptions()); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%s", killedBench, b.dir, n, kind))
				if text, err := cmd.CombinedOutput(); err == nil || strings.Contains(string(text), "FAIL") {
					if n > calls*9/10 { // runs do not all make as many calls
						continue
					}
					t.Fatalf("call %d of %d: %v: %s", n, calls, err, text)
				}
				report, err := resumed(t, b, kind)
				got, _ := b.result(b.place)
				_, kept := os.Stat(b.kept)
				switch {
				case err != nil || string(got) != string(want):
					t.Errorf("call %d of %d: %v; %d bytes, want %d", n, calls, err, len(got), len(want))
				case kept == nil && report.Jobs[0].Counters.ResumedMaps > 0:
					t.Errorf("call %d of %d: what was kept is left", n, calls)
				}
				if left := b.left(t); len(left) > 0 {
					t.Errorf("call %d of %d: left behind: %q", n, calls, left)
				}
				_ = os.RemoveAll(b.kept)
				if t.Failed() {
					return
				}
			}
			t.Logf("%d kills before %d calls", len(latest(calls)), calls)
		})
	}
}

// onHDFS are options of a bench whose result is on HDFS.
func (b *faultBench) onHDFS(web string) mrlocal.Options {
	o := b.options(b.place)
	o.OutputDir, o.Overwrite, o.SortBufferBytes, o.HDFS.Web = "hdfs://h:9000/dir/result", false, 0, web
	return o
}

// TestKilledProcessOnHDFS is the process of TestEachCallOfHDFSMayBeTheLast. It kills itself before a
// call of the file system, or its server kills it.
func TestKilledProcessOnHDFS(t *testing.T) {
	fields := strings.Split(os.Getenv(killedBench), "|")
	if len(fields) != 4 || fields[3] != "hdfs" {
		t.Skip("only as a child process")
	}
	var n int64
	if _, err := fmt.Sscan(fields[1], &n); err != nil {
		t.Fatal(err)
	}
	b := killBench(fields[0], "a new directory", faultJobs(t)["sort"])
	disk.Inject(disk.Fault{Op: disk.Change, N: n, Kill: true}, nil) // 0: none
	_, err := mrlocal.RunChain(t.Context(), b.chain(), b.onHDFS(fields[2]))
	t.Fatalf("it was not killed: %v", err)
}

// TestEachCallOfHDFSMayBeTheLast: whatever request, or call of the local file system, a kill comes
// before, the same command goes on to the whole result on HDFS, and leaves nothing else there.
func TestEachCallOfHDFSMayBeTheLast(t *testing.T) {
	made := newFaultBench(t, true, faultJobs(t)["sort"])
	b := killBench(made.dir, "a new directory", made.chain)
	var requests atomic.Int64
	var atRequest atomic.Pointer[func(n int64)]
	c := &hdfstest.Cluster{Fault: func(_, _ string, _ http.ResponseWriter, _ *http.Request) bool {
		n := requests.Add(1)
		if f := atRequest.Load(); f != nil {
			(*f)(n)
		}
		return false
	}}
	web := c.Serve(t)
	disk.Inject(disk.Fault{}, nil)
	if _, err := mrlocal.RunChain(t.Context(), b.chain(), b.onHDFS(web)); err != nil {
		t.Fatal(err)
	}
	calls, _ := disk.Counts(disk.Change)
	all := map[bool]int64{true: requests.Load(), false: calls}
	want := c.Files("/dir")
	for _, remote := range []bool{true, false} {
		for _, n := range latest(all[remote]) {
			_ = os.RemoveAll(b.kept)
			for name := range c.Files("/dir") {
				c.Remove("/dir/" + name)
			}
			requests.Store(0)
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcessOnHDFS$")
			at, killed := n, false
			if remote {
				at = 0
				kill := func(i int64) {
					if i == n {
						killed = true
						_ = cmd.Process.Kill()
						panic(http.ErrAbortHandler)
					}
				}
				atRequest.Store(&kill)
			}
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%s|hdfs", killedBench, b.dir, at, web))
			text, err := cmd.CombinedOutput()
			atRequest.Store(nil)
			if err == nil || strings.Contains(string(text), "FAIL") || remote && !killed {
				if n > all[remote]*9/10 { // runs do not all make as many calls
					continue
				}
				t.Fatalf("call %d of %d, remote %v: %v: %s", n, all[remote], remote, err, text)
			}
			_, err = mrlocal.RunChain(t.Context(), b.chain(), b.onHDFS(web))
			if err != nil {
				t.Fatalf("call %d of %d, remote %v: %v", n, all[remote], remote, err)
			}
			if got := c.Files("/dir"); !maps.Equal(got, want) {
				t.Fatalf("call %d of %d, remote %v: %d files, want %d", n, all[remote], remote, len(got), len(want))
			}
		}
	}
	t.Logf("%d requests, %d calls", all[true], all[false])
}

// oldOptions are options of a run without a journal, which makes the result that is to be replaced.
func (b *faultBench) oldOptions() mrlocal.Options {
	o := b.options(b.place)
	o.ResumeDir, o.Reducers = "", 3
	return o
}
