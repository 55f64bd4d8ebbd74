package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
)

// batchOf makes a job of each of kinds, in two pools in turn.
func batchOf(t testing.TB, inputs []string, kinds ...string) ([]engine.BatchJob, []*bytes.Buffer) {
	t.Helper()
	made := chains(t)
	var batch []engine.BatchJob
	var outs []*bytes.Buffer
	for i, kind := range kinds {
		out := &bytes.Buffer{}
		outs = append(outs, out)
		batch = append(batch, engine.BatchJob{
			Submission: setup.Submission{Name: fmt.Sprintf("J%02d", i), Pool: []string{"prod", "test"}[i%2]}, Chain: made[kind](),
			JobOptions: engine.JobOptions{Inputs: inputs, Stdout: out, BlockBytes: 64 << 10},
		})
	}
	return batch, outs
}

func TestEveryJobOfABatchGivesWhatItGivesAlone(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(101, 200_000)}, {Path: "b", Data: text(102, 100_000)}}
	dir := writeFiles(t, files)
	kinds := []string{"wordcount", "sort", "grep", "grep --lines", "wordcount --top", "grep -c", "sort -u"}
	for _, sched := range []string{"fifo", "fair", "pi-dhfs", "pd-dhfs"} {
		if testing.Short() && sched == "fair" {
			continue // pi-dhfs decides as fair does, and lends
		}
		t.Run(sched, func(t *testing.T) {
			batch, outs := batchOf(t, []string{dir}, kinds...)
			var events bytes.Buffer
			temp := t.TempDir()
			report, err := engine.RunBatch(t.Context(), batch, engine.Options{
				Policy: newPolicy(t, sched), Config: setup.Config{MapSlots: 2, ReduceSlots: 1, Pools: []slots.Pool{{Name: "prod", Weight: 2 * slots.One, MinMaps: 1}, {Name: "test"}}}, MemoryBytes: 64 << 20, Events: &events, TempDirs: []string{temp},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, kind := range kinds {
				want, err := jobtest.Reference(chains(t)[kind](), files)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(want, outs[i].Bytes()) {
					t.Errorf("%s: %d bytes, want %d", kind, outs[i].Len(), len(want))
				}
			}
			if report.Kind != "batch" || report.Jobs[0].Name != "J00" || report.Jobs[0].Pool != "prod" || report.MeanJobSeconds() <= 0 {
				t.Errorf("report: %+v", report.Jobs[0])
			}
			steps := 0
			for _, j := range report.Jobs {
				if j.StepOf != "" {
					steps++
				}
			}
			if steps != 2 || len(report.Jobs) != len(kinds)+2 {
				t.Errorf("%d rows, %d of them later steps of a chain, want %d and 2", len(report.Jobs), steps, len(kinds)+2)
			}
			difference, err := explain.Replay(&events, registry.ForReplay, explain.ReplayOptions{})
			if err != nil || difference != nil {
				t.Errorf("replay: %v, %v", difference, err)
			}
			empty(t, temp)
		})
	}
}

func TestMemoryIsBoundedForAllJobsTogether(t *testing.T) {
	size := 2_000_000
	if testing.Short() {
		size /= 4
	}
	files := []jobtest.File{{Path: "a", Data: text(111, size)}}
	dir := writeFiles(t, files)
	temp := t.TempDir()
	batch, outs := batchOf(t, []string{dir}, "sort", "wordcount", "sort -u", "grep", "sort", "grep --lines")
	report, err := engine.RunBatch(t.Context(), batch, engine.Options{
		Policy: newPolicy(t, "fair"), Config: setup.Config{MapSlots: 2, ReduceSlots: 2}, MemoryBytes: 32 << 20, TempDirs: []string{temp},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, kind := range []string{"sort", "wordcount", "sort -u", "grep", "sort", "grep --lines"} {
		want, err := jobtest.Reference(chains(t)[kind](), files)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, outs[i].Bytes()) {
			t.Errorf("%s: %d bytes, want %d", kind, outs[i].Len(), len(want))
		}
	}
	var spilled int64
	for _, j := range report.Jobs {
		spilled += j.Counters.SpilledBytes
	}
	t.Logf("%d bytes spilled", spilled)
	empty(t, temp)
}

func TestAJobThatFailsFailsAlone(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(121, 300_000)}}
	dir := writeFiles(t, files)
	want, err := jobtest.Reference(chains(t)["sort"](), files)
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	for name, bad := range map[string]engine.BatchJob{
		"a mapper that panics":  {Chain: failing(func(jobs.Block, jobs.Emitter) error { panic("boom") }, nil)},
		"a reducer's error":     {Chain: failing(emitLines, func() error { return boom })},
		"a writer that refuses": {Chain: chains(t)["sort"](), JobOptions: engine.JobOptions{Stdout: refusing{boom}}},
		"a mapper that hangs": {Chain: failing(func(jobs.Block, jobs.Emitter) error {
			time.Sleep(time.Hour)
			return errors.New("boom: too late to be heard")
		}, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // time passes when all goroutines wait
				temp, out := t.TempDir(), t.TempDir()
				batch, outs := batchOf(t, []string{dir}, "sort", "sort", "grep", "sort")
				bad.Name, bad.Inputs = "BAD", []string{dir}
				if bad.Stdout == nil {
					bad.OutputDir = filepath.Join(out, "bad")
				}
				batch[1] = bad
				batch[3].After = []int{1}
				report, err := engine.RunBatch(t.Context(), batch, engine.Options{
					Policy: newPolicy(t, "fair"), Config: setup.Config{MapSlots: 2, ReduceSlots: 1, Attempts: 2}, MemoryBytes: 64 << 20, TempDirs: []string{temp}, TaskTimeout: time.Minute,
				})
				if name == "a mapper that hangs" && !strings.Contains(fmt.Sprint(err), "no progress for 1m0s") {
					t.Errorf("it was heard of: %v", err)
				}
				if err == nil || errs.IsUsage(err) || !strings.HasPrefix(err.Error(), "2 of 4 jobs failed: BAD: ") || !strings.HasSuffix(err.Error(), "J03: BAD, which it waits for, failed") {
					t.Errorf("error %v", err)
				}
				if !bytes.Equal(want, outs[0].Bytes()) {
					t.Errorf("the other job: %d bytes, want %d", outs[0].Len(), len(want))
				}
				if outs[3].Len() > 0 {
					t.Error("a job ran whose predecessor failed")
				}
				states := map[string]string{}
				for _, j := range report.Jobs {
					states[j.Name] = j.State
				}
				if states["J00"] != "succeeded" || states["BAD"] != "failed" || states["J02"] != "succeeded" || states["J03"] != "killed" {
					t.Errorf("states %v", states)
				}
				time.Sleep(2 * time.Hour) // until threads that hung have ended too
				empty(t, temp)
				empty(t, out)
			})
		})
	}
}

// refusing is a writer that fails.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

func TestAJobReadsWhatTheJobsBeforeItHaveWritten(t *testing.T) {
	files := []jobtest.File{{Path: "a", Data: text(131, 200_000)}}
	dir, out := writeFiles(t, files), t.TempDir()
	counted, err := jobtest.Reference(chains(t)["wordcount"](), files)
	if err != nil {
		t.Fatal(err)
	}
	want, err := jobtest.Reference(chains(t)["sort -rn"](), []jobtest.File{{Path: "x", Data: counted}})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	batch := []engine.BatchJob{
		{Submission: setup.Submission{Name: "second", After: []int{1}}, Chain: chains(t)["sort -rn"](), JobOptions: engine.JobOptions{Inputs: []string{filepath.Join(out, "counts")}, Stdout: &got}},
		{Submission: setup.Submission{Name: "first"}, Chain: chains(t)["wordcount"](), JobOptions: engine.JobOptions{Inputs: []string{dir}, OutputDir: filepath.Join(out, "counts")}},
	}
	if _, err := engine.RunBatch(t.Context(), batch, engine.Options{MemoryBytes: 64 << 20}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got.Bytes()) {
		t.Errorf("%d bytes, want %d", got.Len(), len(want))
	}
}

func TestABatchIsCheckedWholeBeforeAnythingStarts(t *testing.T) {
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("x\n")}})
	out := t.TempDir()
	in := func(paths ...string) engine.JobOptions { return engine.JobOptions{Inputs: paths} }
	job := func(name string, o engine.JobOptions, after ...int) engine.BatchJob {
		return engine.BatchJob{Submission: setup.Submission{Name: name, After: after}, Chain: chains(t)["sort"](), JobOptions: o}
	}
	to := func(o engine.JobOptions, path string) engine.JobOptions { o.OutputDir = path; return o }
	for name, c := range map[string]struct {
		batch []engine.BatchJob
		want  string
	}{
		"no jobs":                             {nil, "no jobs"},
		"an input that is not there":          {[]engine.BatchJob{job("A", in(dir)), job("B", in(dir+"/none"))}, "job B: " + dir + "/none: no such file or directory"},
		"an output that is there":             {[]engine.BatchJob{job("A", to(in(dir), out))}, "job A: output " + out + ": exists already"},
		"two jobs with one output":            {[]engine.BatchJob{job("A", to(in(dir), out+"/o")), job("B", to(in(dir), out+"/./o"))}, "job B: output " + out + "/./o: is the output of job A too"},
		"an output inside another one":        {[]engine.BatchJob{job("A", to(in(dir), out+"/o")), job("B", to(in(dir), out+"/o/p"))}, "job B: output " + out + "/o/p: lies inside the output of job A"},
		"an output inside another's input":    {[]engine.BatchJob{job("A", in(dir)), job("B", to(in(dir+"/a"), dir+"/o"))}, "job B: output " + dir + "/o: lies inside " + dir + ", which job A reads"},
		"an input that another job makes":     {[]engine.BatchJob{job("A", to(in(dir), out+"/o")), job("B", in(out+"/o/part-r-00000"))}, "job B: " + out + "/o/part-r-00000: is written by job A; list that job under after"},
		"a circle":                            {[]engine.BatchJob{job("A", in(dir), 1), job("B", in(dir), 0)}, "job A: Submission.After: jobs wait for each other in a circle"},
		"itself":                              {[]engine.BatchJob{job("A", in(dir), 0)}, "job A: Submission.After: jobs wait for each other in a circle"},
		"a job that is not there":             {[]engine.BatchJob{job("A", in(dir), 7)}, "job A: Submission.After: there is no job 7"},
		"an empty chain":                      {[]engine.BatchJob{job("A", in(dir)), {JobOptions: in(dir)}}, "job 1: job: an empty chain"},
		"no input":                            {[]engine.BatchJob{job("A", in())}, "job A: Options.Inputs: name files"},
		"standard input twice":                {[]engine.BatchJob{{Submission: setup.Submission{Name: "A"}, Chain: chains(t)["sort"](), JobOptions: engine.JobOptions{Inputs: []string{"-"}, Stdin: strings.NewReader("")}}, {Submission: setup.Submission{Name: "B"}, Chain: chains(t)["sort"](), JobOptions: engine.JobOptions{Inputs: []string{"-"}, Stdin: strings.NewReader("")}}}, "job B: -: job A reads standard input too"},
		"a submission before the run's start": {[]engine.BatchJob{{Submission: setup.Submission{Name: "A", Submit: -1}, Chain: chains(t)["sort"](), JobOptions: in(dir)}}, "job A: Submission.Submit: "},
		"a deadline before the submission":    {[]engine.BatchJob{{Submission: setup.Submission{Name: "A", Submit: 5, Deadline: 4}, Chain: chains(t)["sort"](), JobOptions: in(dir)}}, "job A: Submission.Deadline: "},
		"tasks that need less than nothing":   {[]engine.BatchJob{{Submission: setup.Submission{Name: "A", Profile: &slots.Profile{Shuffle: slots.Vector{IO: -1}}}, Chain: chains(t)["sort"](), JobOptions: in(dir)}}, "job A: Submission.Profile: a number is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := engine.RunBatch(t.Context(), c.batch, engine.Options{MemoryBytes: 64 << 20})
			if !errs.IsUsage(err) || report != nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %q, want %q…", err, c.want)
			}
			empty(t, out)
		})
	}
}

func TestInterruptingABatchLeavesNothing(t *testing.T) {
	in, temp, out := writeFiles(t, []jobtest.File{{Path: "a", Data: text(141, 4_000_000)}}), t.TempDir(), t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	batch, _ := batchOf(t, []string{in}, "sort", "wordcount", "grep", "sort", "sort")
	for i := range batch {
		batch[i].Stdout, batch[i].OutputDir = nil, filepath.Join(out, batch[i].Name)
	}
	var blocks atomic.Int64
	batch[1].Chain = failing(func(b jobs.Block, out jobs.Emitter) error {
		if blocks.Add(1) == 3 {
			cancel(stop)
		}
		return emitLines(b, out)
	}, func() error { return nil })
	batch[3].After = []int{0, 1}
	batch[4].Submit = time.Hour
	begun := time.Now()
	report, err := engine.RunBatch(ctx, batch, engine.Options{TempDirs: []string{temp}, SortBufferBytes: 16 << 10, MemoryBytes: 24 << 20, Config: setup.Config{MapSlots: 2, ReduceSlots: 1}, Policy: newPolicy(t, "fair")})
	if !errors.Is(err, stop) {
		t.Errorf("error %v, want the cause", err)
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
	if report == nil || len(report.Jobs) != 5 {
		t.Errorf("report %+v", report)
	}
	empty(t, temp)
	if entries, err := os.ReadDir(out); err != nil || len(entries) > 1 { // one of them may have been done before
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestVeryManyTinyJobsNeedFewFilesAtATime(t *testing.T) {
	in, out := writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("b\na\n")}}), t.TempDir()
	n := 300
	if testing.Short() {
		n = 100
	}
	var batch []engine.BatchJob
	for i := range n {
		batch = append(batch, engine.BatchJob{
			Submission: setup.Submission{Name: fmt.Sprintf("J%05d", i), Pool: fmt.Sprint(i % 7)}, Chain: chains(t)["sort"](),
			JobOptions: engine.JobOptions{Inputs: []string{in}, OutputFile: filepath.Join(out, fmt.Sprint(i))},
		})
	}
	var most atomic.Int64
	mapper := batch[n/2].Chain[0].NewMapper
	batch[n/2].Chain[0].NewMapper = func() jobs.Mapper {
		entries, _ := os.ReadDir("/proc/self/fd")
		most.Store(int64(len(entries)))
		return mapper()
	}
	const bad = 7
	batch[bad].Chain = failing(func(jobs.Block, jobs.Emitter) error { panic("boom") }, nil)
	temp := t.TempDir()
	_, err := engine.RunBatch(t.Context(), batch, engine.Options{MemoryBytes: 64 << 20, Config: setup.Config{MapSlots: 2, ReduceSlots: 1}, Policy: newPolicy(t, "fair"), TempDirs: []string{temp}})
	if want := fmt.Sprintf("1 of %d jobs failed: J00007: ", n); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("error %v, want %s…", err, want)
	}
	empty(t, temp)
	if entries, err := os.ReadDir(out); err != nil || len(entries) != n-1 {
		t.Errorf("%d results, %v", len(entries), err)
	}
	for i := range n {
		if i == bad {
			continue
		}
		if got := read(t, filepath.Join(out, fmt.Sprint(i))); got != "a\nb\n" {
			t.Fatalf("job %d: %q", i, got)
		}
	}
	if most.Load() > 200 {
		t.Errorf("%d files open at a time", most.Load())
	}
}

// The coordinator opens a job without input itself. Such a job is not submitted before a job that
// was due earlier and that the opener opens. A limit of one job at a time shows the order.
func TestAJobThatNeedsNoOpeningOvertakesNobody(t *testing.T) {
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(7, 50_000)}})
	batch := []engine.BatchJob{
		{Submission: setup.Submission{Name: "reads", User: "ann"}, Chain: chains(t)["sort"](), JobOptions: engine.JobOptions{Inputs: []string{dir}}},
		{Submission: setup.Submission{Name: "sleeps", User: "ann"}, Chain: sleeping(t, []time.Duration{time.Millisecond}, nil)},
	}
	r, err := engine.RunBatch(t.Context(), batch, engine.Options{
		Config: setup.Config{MapSlots: 1, ReduceSlots: 1, Users: []slots.User{{Name: "ann", MaxRunning: 1}}}, MemoryBytes: 32 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	if at := rows(r); at["sleeps"].StartS < at["reads"].FinishS {
		t.Errorf("the second job started at %v s, the first ended at %v s", at["sleeps"].StartS, at["reads"].FinishS)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestNotesComeFromSeveralGoroutines: chains give notes while the opener opens the next ones. Note is
// not called by two goroutines at once, and the report has each note.
func TestNotesComeFromSeveralGoroutines(t *testing.T) {
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(7, 1<<20)}, {Path: "_hidden", Data: text(8, 10)}})
	const jobs = 40
	batch, _ := batchOf(t, []string{dir}, slices.Repeat([]string{"sort"}, jobs)...)
	var notes []string
	var inside, overlaps atomic.Int32
	note := func(text string) {
		if inside.Add(1) > 1 {
			overlaps.Add(1)
		}
		time.Sleep(2 * time.Millisecond)
		notes = append(notes, text)
		inside.Add(-1)
	}
	// The inputs do not fit in memory together, so jobs compare their map outputs with MaxTempBytes.
	report, err := engine.RunBatch(t.Context(), batch, engine.Options{
		NoPin: true, MemoryBytes: 32 << 20, MaxTempBytes: 700 << 10, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, Note: note,
	})
	if report == nil {
		t.Fatal(err)
	}
	if n := overlaps.Load(); n > 0 {
		t.Errorf("Note was called %d times while it ran", n)
	}
	if !slices.Equal(report.Notes, notes) {
		t.Errorf("the report has %d notes, Note got %d", len(report.Notes), len(notes))
	}
	all := strings.Join(notes, "\n")
	if room, hidden := strings.Count(all, "temporary files may take"), strings.Count(all, "skipped"); room == 0 || hidden != jobs {
		t.Errorf("%d notes on temporary files and %d on hidden names:\n%.500s", room, hidden, all)
	}
}
