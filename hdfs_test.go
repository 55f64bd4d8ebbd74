package mrlocal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/hdfs/hdfstest"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
)

// onHDFS returns options of a run with its input and output on a cluster.
func onHDFS(t *testing.T, c *hdfstest.Cluster, output string, inputs ...string) mrlocal.Options {
	o := mrlocal.Options{JobOptions: mrlocal.JobOptions{HDFS: hdfs.Options{Web: c.Serve(t)}, OutputDir: "hdfs://h:9000" + output}}
	o.NoPin, o.MapSlots, o.ReduceSlots, o.MemoryBytes = true, 2, 1, 64<<20
	for _, in := range inputs {
		o.Inputs = append(o.Inputs, "hdfs://h:9000"+in)
	}
	return o
}

func chainOf(t *testing.T, chain jobs.Chain, err error) jobs.Chain {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

// TestARunOnHDFSGivesTheBytesOfALocalOne reads blocks of 64 KiB, a compressed file and
// directories. It writes parts in both ways in which they can be written.
func TestARunOnHDFSGivesTheBytesOfALocalOne(t *testing.T) {
	dir := t.TempDir()
	c := &hdfstest.Cluster{BlockBytes: 64 << 10}
	var text bytes.Buffer
	for i := range 30_000 {
		fmt.Fprintf(&text, "line %d of %d\tw%d\n", i*7919%30_000, i%10, i%997)
	}
	for name, data := range map[string]string{"a/x.txt": text.String(), "a.txt": "first\nlast without newline", "b": "", "_hidden": "no\n"} {
		c.Put("/in/"+name, []byte(data))
		path := filepath.Join(dir, "in", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(data), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	words, err := wordcount.New(wordcount.Options{})
	count := chainOf(t, words, err)
	keys, err := sort.New(sort.Options{Keys: []string{"2,2n", "1,1"}})
	lines, err2 := grep.New(grep.Options{Patterns: []string{"9"}, LineNumbers: true, Names: grep.NamesNever})
	for name, chain := range map[string]jobs.Chain{"wordcount": count, "sort": chainOf(t, keys, err), "grep": chainOf(t, lines, err2)} {
		t.Run(name, func(t *testing.T) {
			o := onHDFS(t, c, "/out/"+name, "/in")
			if name == "wordcount" {
				o.Reducers = 3
			}
			report, err := mrlocal.RunChain(context.Background(), chain, o)
			if err != nil {
				t.Fatal(err)
			}
			if name == "wordcount" && report.Jobs[0].Maps < text.Len()/(64<<10) {
				t.Errorf("%d maps: splits do not follow the blocks", report.Jobs[0].Maps)
			}
			local := mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: []string{filepath.Join(dir, "in")}, OutputFile: filepath.Join(dir, name)}}
			local.NoPin, local.MemoryBytes = true, 64<<20
			again := chain
			if name == "grep" { // a grep that selects lines runs once
				again, err = grep.New(grep.Options{Patterns: []string{"9"}, LineNumbers: true, Names: grep.NamesNever})
				again = chainOf(t, again, err)
			}
			if _, err := mrlocal.RunChain(context.Background(), again, local); err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(local.OutputFile)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			files := c.Files("/out/" + name)
			for _, part := range slices.Sorted(maps.Keys(files)) {
				if strings.HasPrefix(part, "part-") {
					got.WriteString(files[part])
				}
			}
			if got.String() != string(want) {
				t.Errorf("%d bytes on HDFS, %d here", got.Len(), len(want))
			}
			if _, ok := files["_SUCCESS"]; !ok || len(files) != 1+len(slices.Collect(partsOf(files))) {
				t.Errorf("files %v", slices.Sorted(maps.Keys(files)))
			}
		})
	}
}

// TestARunOnHDFSEndsWithItsContext has servers that are silent, drip, or list without end, for each way
// in which a run uses HDFS. The run returns within two seconds after its context.
func TestARunOnHDFSEndsWithItsContext(t *testing.T) {
	words, err := wordcount.New(wordcount.Options{})
	count := chainOf(t, words, err)
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}
	const listing = `{"FileStatuses":{"FileStatus":[{"pathSuffix":"d","type":"DIRECTORY"}]}}`
	servers := map[string]func(op, path string, w http.ResponseWriter, r *http.Request) bool{}
	for name, answer := range map[string]http.HandlerFunc{"silence": hang, "drip": drip} {
		for _, op := range []string{"GETFILESTATUS", "LISTSTATUS", "GETFILEBLOCKLOCATIONS", "OPEN", "CREATE", "RENAME", "DELETE"} {
			servers[name+" "+op] = func(got, _ string, w http.ResponseWriter, r *http.Request) bool {
				if got == op {
					_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
					answer(w, r)
				}
				return got == op
			}
		}
	}
	servers["loop LISTSTATUS"] = func(op, _ string, w http.ResponseWriter, _ *http.Request) bool {
		if op == "LISTSTATUS" {
			time.Sleep(20 * time.Millisecond)
			fmt.Fprint(w, listing)
		}
		return op == "LISTSTATUS"
	}
	var all sync.WaitGroup
	for name, fault := range servers {
		for _, batch := range []bool{false, true} {
			c := &hdfstest.Cluster{BlockBytes: 64 << 10, Fault: fault}
			c.Put("/in/x", bytes.Repeat([]byte("some words\n"), 20_000))
			o := onHDFS(t, c, "/out", "/in")
			o.Trackers = 2
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				var ended atomic.Pointer[time.Time] // of ctx, which a busy machine ends late
				context.AfterFunc(ctx, func() { ended.Store(new(time.Now())) })
				var err error
				if batch {
					work := []mrlocal.BatchJob{{Chain: count, JobOptions: o.JobOptions}}
					work[0].Name = "job"
					o.Inputs, o.OutputDir = nil, ""
					_, err = mrlocal.RunBatch(ctx, work, o)
				} else {
					_, err = mrlocal.RunChain(ctx, count, o)
				}
				if at := ended.Load(); at != nil && time.Since(*at) > 2*time.Second || !errors.Is(err, mrlocal.ErrInterrupted) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s, batch %v: %v, returns at %v, the context ended at %v", name, batch, err, time.Now(), at)
				}
			})
		}
	}
	all.Wait()
}

// TestMapsRunWhereTheirBlocksAre has blocks on three hosts in turn. A policy that waits for local
// slots runs each map on the tracker with its block. A replay decides the same.
func TestMapsRunWhereTheirBlocksAre(t *testing.T) {
	c := &hdfstest.Cluster{BlockBytes: 64 << 10, Hosts: []string{"h3", "h1", "h2"}}
	const blocks = 9
	c.Put("/in", []byte(strings.Repeat("a line of some words that fill a block\n", blocks*64<<10/39)))
	words, err := wordcount.New(wordcount.Options{})
	count := chainOf(t, words, err)
	o := onHDFS(t, c, "/out", "/in")
	var events bytes.Buffer
	var notes []string
	o.Events, o.Note = &events, func(text string) { notes = append(notes, text) }
	o.Trackers, o.MapSlots, o.LocalityDelay = 3, 1, new(time.Minute)
	o.Policy, err = registry.New("delay", policy.Options{LocalityDelay: o.LocalityDelay})
	if err != nil {
		t.Fatal(err)
	}
	report, err := mrlocal.RunChain(context.Background(), count, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Jobs[0].Counters.DataLocalMaps; got != blocks || report.Jobs[0].Maps != blocks {
		t.Errorf("%d of %d maps are local", got, report.Jobs[0].Maps)
	}
	// h1, h2 and h3 are trackers 0, 1 and 2.
	for i := range blocks {
		if place := fmt.Sprintf(`"op":"place","job":0,"kind":"map","task":%d,"tracker":%d`, i, (i+2)%3); !strings.Contains(events.String(), place) {
			t.Errorf("no event %s in\n%s", place, events.String())
		}
	}
	if want := "blocks of the input are on h1 (tracker 0), h2 (tracker 1), h3 (tracker 2)"; !slices.Contains(notes, want) {
		t.Errorf("notes %q", notes)
	}
	d, err := explain.Replay(&events, registry.ForReplay, explain.ReplayOptions{})
	if d != nil || err != nil {
		t.Error(d, err)
	}
}

func partsOf(files map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range files {
			if strings.HasPrefix(name, "part-") && !yield(name) {
				return
			}
		}
	}
}

// TestWhatGoesWrongOnHDFSLeavesNothing has faults before and during a run.
func TestWhatGoesWrongOnHDFSLeavesNothing(t *testing.T) {
	fail := func(op string, exception string) func(string, string, http.ResponseWriter, *http.Request) bool {
		return func(got, path string, w http.ResponseWriter, _ *http.Request) bool {
			if got != op || strings.HasSuffix(path, ".mrlocal") {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"RemoteException":{"exception":%q,"message":"the disk is full"}}`, exception)
			return true
		}
	}
	for name, c := range map[string]struct {
		cluster *hdfstest.Cluster
		input   string
		output  string
		kind    error
		want    string
	}{
		"missing input":     {&hdfstest.Cluster{}, "/none", "/out", mrlocal.ErrBadInput, "hdfs://h:9000/none: no such file or directory"},
		"glob":              {&hdfstest.Cluster{}, "/in/*", "/out", mrlocal.ErrBadInput, "globs are not expanded on HDFS"},
		"existing output":   {&hdfstest.Cluster{}, "/in/x", "/in", mrlocal.ErrBadOptions, "exists already"},
		"output in input":   {&hdfstest.Cluster{}, "/in", "/in/out", mrlocal.ErrBadOptions, "lies inside the input"},
		"lost connection":   {&hdfstest.Cluster{CutReads: 70_000}, "/in", "/out", mrlocal.ErrJobFailed, "the connection was lost"},
		"short read":        {&hdfstest.Cluster{CutReads: 70_000, ShortReads: true}, "/in", "/out", mrlocal.ErrJobFailed, "the connection was lost at byte"},
		"no room":           {&hdfstest.Cluster{Fault: fail("CREATE", "DSQuotaExceededException")}, "/in", "/out", mrlocal.ErrJobFailed, "DSQuotaExceededException: the disk is full"},
		"rename is refused": {&hdfstest.Cluster{Fault: fail("RENAME", "IOException")}, "/in", "/out", mrlocal.ErrJobFailed, "the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			c.cluster.Put("/in/x", bytes.Repeat([]byte("some words\n"), 20_000))
			words, err := wordcount.New(wordcount.Options{})
			o := onHDFS(t, c.cluster, c.output, c.input)
			o.Attempts = 1
			_, err = mrlocal.RunChain(context.Background(), chainOf(t, words, err), o)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s (%v)", err, c.want, c.kind)
			}
			if left := c.cluster.Files("/out"); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if !errors.Is(err, fs.ErrNotExist) && c.cluster.Files("/in")["x"] == "" {
				t.Error("the input is gone")
			}
		})
	}
}

func TestCutsDivideTheKeysOfAJob(t *testing.T) {
	c := &hdfstest.Cluster{}
	var text bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&text, "%04d\n", i*7%5000)
	}
	c.Put("/in", text.Bytes())
	chain, err := sort.New(sort.Options{})
	o := onHDFS(t, c, "", "/in")
	cuts, err := mrlocal.Cuts(context.Background(), chainOf(t, chain, err)[0], 4, o.JobOptions)
	if err != nil || len(cuts) != 3 || !slices.IsSortedFunc(cuts, bytes.Compare) || string(cuts[1]) < "2000" || string(cuts[1]) > "3000" {
		t.Errorf("%q, %v", cuts, err)
	}
}
