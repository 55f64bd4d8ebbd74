package mrlocal_test

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/jobs"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/workload"
)

// TestABatchKeepsCausesAndKinds of the jobs that fail, as a single run does.
func TestABatchKeepsCausesAndKinds(t *testing.T) {
	boom := errors.New("boom")
	job := func(name string, err error) mrlocal.BatchJob {
		j := mapOnly(func(jobs.Block, jobs.Emitter) error { return err })
		return mrlocal.BatchJob{Submission: mrlocal.Submission{Name: name}, Chain: jobs.Chain{j}, JobOptions: input(t, "a\n")}
	}
	bad := &mrlocal.Error{Kind: mrlocal.ErrBadInput, Object: "a.txt", Cause: errors.New("is torn")}
	report, err := mrlocal.RunBatch(t.Context(), []mrlocal.BatchJob{job("fine", nil), job("fails", boom), job("reads", bad)}, mrlocal.Options{Config: mrlocal.Config{Attempts: 1}})
	var typed *mrlocal.Error
	if report == nil || !errors.As(err, &typed) || typed.Kind != mrlocal.ErrJobFailed || typed.Object != "" {
		t.Fatalf("%v, report %v", err, report)
	}
	for _, cause := range []error{boom, bad, mrlocal.ErrJobFailed, mrlocal.ErrBadInput} {
		if !errors.Is(err, cause) {
			t.Errorf("%v does not wrap %v", err, cause)
		}
	}
	kinds := map[string]error{}
	for _, one := range typed.Cause.(interface{ Unwrap() []error }).Unwrap() {
		if errors.As(one, &typed) {
			kinds[typed.Object] = typed.Kind
		}
	}
	if len(kinds) != 2 || kinds["job fails"] != error(mrlocal.ErrJobFailed) || kinds["job reads"] != error(mrlocal.ErrBadInput) {
		t.Errorf("the jobs: %v", kinds)
	}
}

// TestSideDataThatIsNotThereIsABadInput, and nothing is started.
func TestSideDataThatIsNotThereIsABadInput(t *testing.T) {
	o := mrlocal.Options{JobOptions: input(t, "a\n")}
	o.Side = filepath.Join(t.TempDir(), "nope")
	for what, run := range map[string]func() (*mrlocal.Report, error){
		"Run": func() (*mrlocal.Report, error) { return mrlocal.RunChain(t.Context(), counting(t), o) },
		"RunBatch": func() (*mrlocal.Report, error) {
			return mrlocal.RunBatch(t.Context(), []mrlocal.BatchJob{{Chain: counting(t), JobOptions: o.JobOptions}}, mrlocal.Options{})
		},
	} {
		if report, err := run(); report != nil || !errors.Is(err, mrlocal.ErrBadInput) || errors.Is(err, mrlocal.ErrJobFailed) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, report %v", what, err, report)
		}
	}
}

// TestEventsAreNotReplacedByTheResult: the caller has opened the file, and would never read a line.
func TestEventsAreNotReplacedByTheResult(t *testing.T) {
	name := filepath.Join(t.TempDir(), "both")
	events, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	o := mrlocal.Options{JobOptions: input(t, "a\n"), Events: events}
	o.OutputFile = name
	if report, err := mrlocal.RunChain(t.Context(), counting(t), o); report != nil || !errors.Is(err, mrlocal.ErrBadOptions) {
		t.Errorf("%v, report %v", err, report)
	}
	if info, err := os.Stat(name); err != nil || info.Size() > 0 {
		t.Errorf("the file: %v, %v", info, err)
	}
	o.OutputFile = name + ".txt"
	if _, err := mrlocal.RunChain(t.Context(), counting(t), o); err != nil {
		t.Error(err)
	}
}

// TestNoOptionIsTooLargeToBeRefused: none of them ends or panics the program of the caller.
func TestNoOptionIsTooLargeToBeRefused(t *testing.T) {
	object := regexp.MustCompile(`^Options\.[A-Z]\w*(\.[A-Z]\w*)?(, Options\.[A-Z]\w*)*$`)
	check := func(what string, report *mrlocal.Report, err error) {
		t.Helper()
		var typed *mrlocal.Error
		if report != nil || !errors.As(err, &typed) || typed.Kind != mrlocal.ErrBadOptions || !object.MatchString(typed.Object) {
			t.Errorf("%s: %v, report %v", what, err, report)
		}
	}
	f, err := workload.Parse("w.yaml", []byte("jobs: [{name: J, maps: 4, reduces: 1, map_time: 1s, reduce_time: 1s}]"))
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(c *mrlocal.Config){
		"Trackers":          func(c *mrlocal.Config) { c.Trackers = math.MaxInt },
		"Trackers, 1<<40":   func(c *mrlocal.Config) { c.Trackers = 1 << 40 },
		"MapSlots":          func(c *mrlocal.Config) { c.MapSlots = math.MaxInt },
		"ReduceSlots":       func(c *mrlocal.Config) { c.ReduceSlots = math.MaxInt },
		"all slots":         func(c *mrlocal.Config) { c.Trackers, c.MapSlots, c.ReduceSlots = 1<<40, 1<<30, 1<<30 },
		"slots together":    func(c *mrlocal.Config) { c.Trackers, c.MapSlots = 10_000, 10_000 },
		"MaxSlots":          func(c *mrlocal.Config) { c.MaxSlots = math.MaxInt },
		"Attempts":          func(c *mrlocal.Config) { c.Attempts = math.MaxInt },
		"Replicas":          func(c *mrlocal.Config) { c.Replicas = math.MaxInt },
		"Replicas, 1<<32+1": func(c *mrlocal.Config) { c.Replicas = 1<<32 + 1 },
		"GroupTrackers":     func(c *mrlocal.Config) { c.GroupTrackers = math.MaxInt },
		"LocalityDelay":     func(c *mrlocal.Config) { c.LocalityDelay = new(time.Duration(math.MaxInt64)) },
		"Faults.Task": func(c *mrlocal.Config) {
			c.Faults = append(c.Faults, mrlocal.Fault{Tracker: -1, Task: 1 << 32, Fail: 1})
		},
	} {
		o := mrlocal.Options{JobOptions: input(t, "a\n")}
		change(&o.Config)
		report, err := mrlocal.RunChain(t.Context(), counting(t), o)
		check("Run: "+what, report, err)
		report, err = sim.Run(t.Context(), f, sim.Options{Config: o.Config})
		check("sim.Run: "+what, report, err)
	}
	for what, change := range map[string]func(o *mrlocal.Options){
		"MemoryBytes":      func(o *mrlocal.Options) { o.MemoryBytes = math.MaxInt64 },
		"Reducers":         func(o *mrlocal.Options) { o.Reducers = 1e9 },
		"Reducers, most":   func(o *mrlocal.Options) { o.Reducers = math.MaxInt },
		"MergeFactor":      func(o *mrlocal.Options) { o.MergeFactor = math.MaxInt },
		"Copiers.Parallel": func(o *mrlocal.Options) { o.Copiers.Parallel = math.MaxInt },
	} {
		o := mrlocal.Options{JobOptions: input(t, "a\n")}
		change(&o)
		report, err := mrlocal.RunChain(t.Context(), counting(t), o)
		check(what, report, err)
	}
	// These may be as large as they can be.
	o := mrlocal.Options{JobOptions: input(t, "a\n"), SortBufferBytes: math.MaxInt64, MaxTempBytes: math.MaxInt64, TaskTimeout: math.MaxInt64, DiskBytesPerSecond: math.MaxInt64}
	o.ShuffleBytesPerSecond = math.MaxInt64
	o.BlockBytes, o.ReducersPerSlot = math.MaxInt64, 100*slots.One
	if _, err := mrlocal.RunChain(t.Context(), counting(t), o); err != nil {
		t.Error(err)
	}
	// A cluster of 10,000 slots is none that is too large.
	if _, err := sim.Run(t.Context(), f, sim.Options{Config: mrlocal.Config{Trackers: 2500, MapSlots: 3, ReduceSlots: 1}}); err != nil {
		t.Error(err)
	}
}

// TestABatchRefusesPathsThatNoJobWouldUse: a result would not be where the caller expects it.
func TestABatchRefusesPathsThatNoJobWouldUse(t *testing.T) {
	job := mapOnly(func(jobs.Block, jobs.Emitter) error { return nil })
	batch := []mrlocal.BatchJob{{Chain: jobs.Chain{job}, JobOptions: input(t, "a\n")}}
	for _, o := range []mrlocal.JobOptions{{Inputs: []string{"a"}}, {OutputDir: "out"}, {OutputFile: "out"}} {
		if report, err := mrlocal.RunBatch(t.Context(), batch, mrlocal.Options{JobOptions: o}); report != nil || !errors.Is(err, mrlocal.ErrBadOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestUserCodeThatEndsItsGoroutineFailsTheRun: as t.Fatal in a mapper does. The first call of a mapper
// of an ordered job is for the sample.
func TestUserCodeThatEndsItsGoroutineFailsTheRun(t *testing.T) {
	for name, at := range map[string]int64{"sample": 1, "map": 5, "reduce": 0} {
		var calls atomic.Int64
		job := jobs.Job{Name: "ends", Ordered: true, NewMapper: func() jobs.Mapper {
			return jobs.MapperFunc(func(b jobs.Block, out jobs.Emitter) error {
				if n := calls.Add(1); at > 0 && n >= at {
					runtime.Goexit()
				}
				out.Emit(b.Data, nil)
				return nil
			})
		}, NewReducer: func() jobs.Reducer {
			return jobs.ReducerFunc(func([]byte, *jobs.Values, jobs.Emitter) error { runtime.Goexit(); return nil })
		}}
		dir := t.TempDir()
		o := mrlocal.Options{JobOptions: input(t, strings.Repeat("a b c\n", 1000)), MemoryBytes: 64 << 20, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}}
		o.OutputDir, o.BlockBytes, o.Reducers = filepath.Join(dir, "out"), 1000, 2
		_, err := mrlocal.Run(t.Context(), job, o)
		if !errors.Is(err, mrlocal.ErrJobFailed) || !strings.Contains(err.Error(), "runtime.Goexit") {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left over: %v", name, left)
		}
	}
}
