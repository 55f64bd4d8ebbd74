package mrlocal_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots"
	"mrlocal/spill"
)

func input(t *testing.T, text string) mrlocal.JobOptions {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return mrlocal.JobOptions{Inputs: []string{path}}
}

// TestTheVersionIsTheNewestOfTheChangelog: only Unreleased may be above the version.
func TestTheVersionIsTheNewestOfTheChangelog(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok && name != "Unreleased" {
			if name != mrlocal.Version {
				t.Errorf("Version is %s, the newest release in CHANGELOG.md is %s", mrlocal.Version, name)
			}
			return
		}
	}
	t.Error("CHANGELOG.md has no release")
}

func counting(t *testing.T) jobs.Chain {
	t.Helper()
	chain, err := wordcount.New(wordcount.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

func mapOnly(m jobs.MapperFunc) jobs.Job {
	return jobs.Job{Name: "map-only", NewMapper: func() jobs.Mapper { return m }}
}

func TestAnErrorHasItsKind(t *testing.T) {
	boom, stop := errors.New("boom"), errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	fails := mapOnly(func(jobs.Block, jobs.Emitter) error { return boom })
	emits := mapOnly(func(_ jobs.Block, out jobs.Emitter) error { out.Emit([]byte("x"), nil); return nil })
	reduces := emits
	reduces.Name, reduces.NewReducer = "reducing", func() jobs.Reducer { return jobs.NewSum() }
	waits := mapOnly(func(_ jobs.Block, out jobs.Emitter) error {
		cancel(stop)
		for range 1000 { // the attempt ends in Emit
			time.Sleep(10 * time.Millisecond)
			out.Emit([]byte("x"), nil)
		}
		return nil
	})
	for name, c := range map[string]struct {
		job    jobs.Job
		o      mrlocal.Options
		kind   error
		cause  error // wrapped; nil: any
		text   string
		report bool
	}{
		"a job without a mapper":      {job: jobs.Job{}, kind: mrlocal.ErrBadOptions, text: "job: has no mapper"},
		"no input":                    {job: emits, kind: mrlocal.ErrBadOptions, text: "Options.Inputs: name files, directories, globs, or - for standard input"},
		"too many reduces of a job":   {job: jobs.Job{Reduces: 1 << 30, NewMapper: reduces.NewMapper, NewReducer: reduces.NewReducer}, o: mrlocal.Options{JobOptions: input(t, "a\n")}, kind: mrlocal.ErrBadOptions, text: "job: 1073741824 reduces; at most 100000"},
		"a negative block size":       {job: emits, o: mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: []string{"."}, BlockBytes: -1}}, kind: mrlocal.ErrBadOptions, text: "Options.BlockBytes: -1: must be at least 0"},
		"too little memory":           {job: emits, o: mrlocal.Options{JobOptions: input(t, "a\n"), MemoryBytes: 1, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}}, kind: mrlocal.ErrBadOptions, text: "Options.MemoryBytes: 1: too little for 2 slots: at least 16MiB"},
		"a time limit below 0":        {job: emits, o: mrlocal.Options{JobOptions: input(t, "a\n"), TaskTimeout: -time.Second}, kind: mrlocal.ErrBadOptions, text: "Options.TaskTimeout: -1s: must be more than 0s"},
		"a codec that is none":        {job: emits, o: mrlocal.Options{JobOptions: input(t, "a\n"), KVBuffer: spill.KVBuffer{Codec: 99}}, kind: mrlocal.ErrBadOptions, text: "Options.Codec: 99: no such choice; one of auto, none, s2, zstd"},
		"a slowstart above 1":         {job: emits, o: mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Slowstart: new(2 * slots.One)}}, kind: mrlocal.ErrBadOptions, text: "Options.Slowstart: 2: more than 1; write a decimal from 0 to 1, such as 0.5"},
		"a pool that is there twice":  {job: emits, o: mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Pools: []slots.Pool{{Name: "a"}, {Name: "a"}}}}, kind: mrlocal.ErrBadOptions, text: `Options.Pools: pool "a" is there twice`},
		"a pool without a name":       {job: emits, o: mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Pools: []slots.Pool{{}}}}, kind: mrlocal.ErrBadOptions, text: "Options.Pools: a pool has no name"},
		"a user with a limit below 0": {job: emits, o: mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Users: []slots.User{{Name: "a", MaxRunning: -1}}}}, kind: mrlocal.ErrBadOptions, text: `Options.Users: user "a" has a negative limit`},
		"a user without a name":       {job: emits, o: mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Users: []slots.User{{MaxRunning: 1}}}}, kind: mrlocal.ErrBadOptions, text: "Options.Users: a user has no name"},
		"reduces of a map-only job":   {job: emits, o: mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: input(t, "a\n").Inputs, MapOnly: true, Reducers: 2}}, kind: mrlocal.ErrBadOptions, text: "Options.Reducers: 2: must be 0, because MapOnly is set"},
		"MapOnly of a job of reduces": {job: reduces, o: mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: input(t, "a\n").Inputs, MapOnly: true}}, kind: mrlocal.ErrBadOptions, text: "Options.MapOnly: job reducing needs its reduces"},
		"reduces without a slot":      {job: reduces, o: mrlocal.Options{JobOptions: input(t, "a\n"), NoReduces: true}, kind: mrlocal.ErrBadOptions, text: "Options.NoReduces: job reducing has reduces; they need a reduce slot"},
		"an input that is not there":  {job: emits, o: mrlocal.Options{JobOptions: mrlocal.JobOptions{Inputs: []string{"/no/such"}}}, kind: mrlocal.ErrBadInput, cause: fs.ErrNotExist, text: "/no/such: no such file or directory"},
		"a mapper that fails":         {job: fails, o: mrlocal.Options{JobOptions: input(t, "a\n")}, kind: mrlocal.ErrJobFailed, cause: boom, report: true},
		"a context that ends":         {job: waits, o: mrlocal.Options{JobOptions: input(t, "a\n")}, kind: mrlocal.ErrInterrupted, cause: stop, text: "stop", report: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Stdout = io.Discard
			under := t.Context()
			if c.kind == mrlocal.ErrInterrupted {
				under = ctx
			}
			report, err := mrlocal.Run(under, c.job, c.o)
			var typed *mrlocal.Error
			if !errors.As(err, &typed) {
				t.Fatalf("%T: %v", err, err)
			}
			// The object is the field, the job or the path alone.
			object, _, _ := strings.Cut(c.text, ":")
			if c.kind == mrlocal.ErrJobFailed || c.kind == mrlocal.ErrInterrupted {
				object = ""
			}
			if typed.Object != object {
				t.Errorf("the object is %q, want %q", typed.Object, object)
			}
			for _, kind := range []error{mrlocal.ErrBadOptions, mrlocal.ErrBadInput, mrlocal.ErrJobFailed, mrlocal.ErrInterrupted} {
				if errors.Is(err, kind) != (kind == c.kind) {
					t.Errorf("%v: of kind %v: %v", err, kind, errors.Is(err, kind))
				}
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("%v does not wrap %v", err, c.cause)
			}
			if c.text != "" && err.Error() != c.text {
				t.Errorf("%q, want %q", err, c.text)
			}
			if (report != nil) != c.report {
				t.Errorf("report %v", report)
			}
			if strings.Contains(err.Error(), "--") {
				t.Errorf("%q speaks of flags", err)
			}
		})
	}
}

func TestTheZeroOptionsLendSlots(t *testing.T) {
	o := mrlocal.Options{JobOptions: input(t, strings.Repeat("a b a\n", 50_000))}
	o.BlockBytes = 16 << 10 // many maps: a reduce slot gets some
	report, err := mrlocal.RunChain(t.Context(), counting(t), o)
	if err != nil || report.Policy != "pi-dhfs" || report.LentSlotSeconds == 0 {
		t.Errorf("%+v, %v", report, err)
	}
	report, err = mrlocal.RunBatch(t.Context(), []mrlocal.BatchJob{{Chain: counting(t), JobOptions: o.JobOptions}}, mrlocal.Options{})
	if err != nil || report.Policy != "pi-dhfs" || report.LentSlotSeconds == 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// Runs take place one after the other and at once. Each has its own result. The settings
// of the process do not change, during the runs either.
func TestRunsInOneProcessDoNotDisturbOneAnother(t *testing.T) {
	procs, limit := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1)
	run := func(n int) error {
		chain, err := wordcount.New(wordcount.Options{})
		if err != nil {
			return err
		}
		var out bytes.Buffer
		o := mrlocal.Options{JobOptions: input(t, strings.Repeat(fmt.Sprintf("w%d\n", n), 20_000+n)), Config: mrlocal.Config{MapSlots: 3, ReduceSlots: 2}, MemoryBytes: 64 << 20}
		o.Stdout, o.BlockBytes, o.Reducers = &out, 16<<10, 3
		o.Note = func(text string) { t.Log(text) }
		mapper := chain[0].NewMapper
		chain[0].NewMapper = func() jobs.Mapper {
			if runtime.GOMAXPROCS(0) != procs || debug.SetMemoryLimit(-1) != limit {
				t.Error("the run changed GOMAXPROCS or the memory limit")
			}
			return mapper()
		}
		if n%2 == 0 {
			_, err = mrlocal.RunChain(t.Context(), chain, o)
		} else {
			job := mrlocal.BatchJob{Chain: chain, JobOptions: o.JobOptions}
			o.JobOptions = mrlocal.JobOptions{}
			_, err = mrlocal.RunBatch(t.Context(), []mrlocal.BatchJob{job}, o)
		}
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("w%d\t%d\n", n, 20_000+n); out.String() != want {
			return fmt.Errorf("got %q, want %q", out.String(), want)
		}
		return nil
	}
	for n := range 3 {
		if err := run(n); err != nil {
			t.Errorf("one after the other: %v", err)
		}
	}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			if err := run(10 + n); err != nil {
				t.Errorf("at once: %v", err)
			}
		})
	}
	all.Wait()
	if runtime.GOMAXPROCS(0) != procs || debug.SetMemoryLimit(-1) != limit {
		t.Error("the runs changed GOMAXPROCS or the memory limit")
	}
}

// A chain may serve several runs at once. This one writes names of files if there
// are several files.
func TestOneChainServesRunsAtOnce(t *testing.T) {
	chain, err := grep.New(grep.Options{Patterns: []string{"a"}, Lines: true})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 6 {
		one := input(t, strings.Repeat("a\n", 5000))
		want := strings.Repeat("a\n", 5000)
		if n%2 == 0 {
			other := input(t, "b\n")
			want = strings.Repeat(one.Inputs[0]+":a\n", 5000)
			one.Inputs = append(one.Inputs, other.Inputs...)
		}
		all.Go(func() {
			var out bytes.Buffer
			one.Stdout, one.BlockBytes = &out, 2<<10
			if _, err := mrlocal.RunChain(t.Context(), chain, mrlocal.Options{JobOptions: one, MemoryBytes: 64 << 20}); err != nil || out.String() != want {
				t.Errorf("%d bytes, want %d: %v", out.Len(), len(want), err)
			}
		})
	}
	all.Wait()
}

// Two runs may not write to one place: the second one is refused.
func TestASecondRunDoesNotWriteToTheDirectoryOfTheFirst(t *testing.T) {
	o := mrlocal.Options{JobOptions: input(t, "a\n")}
	o.OutputDir = filepath.Join(t.TempDir(), "out")
	begun, end := make(chan struct{}), make(chan struct{})
	first := mapOnly(func(jobs.Block, jobs.Emitter) error { close(begun); <-end; return nil })
	done := make(chan error)
	go func() {
		_, err := mrlocal.Run(t.Context(), first, o)
		done <- err
	}()
	<-begun
	_, err := mrlocal.RunChain(t.Context(), counting(t), o)
	if !errors.Is(err, mrlocal.ErrBadOptions) && !errors.Is(err, mrlocal.ErrJobFailed) {
		t.Errorf("the second run: %v", err)
	}
	close(end)
	if err := <-done; err != nil {
		t.Errorf("the first run: %v", err)
	}
}

// TestUserCodeThatPanicsFailsItsJob: wherever user code panics, the process goes on, and the error
// names the function and is not an internal error.
func TestUserCodeThatPanicsFailsItsJob(t *testing.T) {
	emits := func(keys int) func() jobs.Mapper {
		return func() jobs.Mapper {
			return jobs.MapperFunc(func(_ jobs.Block, out jobs.Emitter) error {
				for i := range keys {
					out.Emit(binary.BigEndian.AppendUint64(nil, uint64(i)), make([]byte, 8))
				}
				return nil
			})
		}
	}
	mapper, reducer, sum := emits(1), func() jobs.Reducer { return jobs.NewSum() }, func() jobs.Folder { return jobs.NewSum() }
	panics := func() jobs.Reducer {
		return jobs.ReducerFunc(func([]byte, *jobs.Values, jobs.Emitter) error { panic("boo") })
	}
	for name, c := range map[string]struct {
		job  jobs.Job
		text string
	}{
		"NewMapper":                   {jobs.Job{NewMapper: func() jobs.Mapper { panic("boo") }, NewReducer: reducer}, "new mapper: panic: boo"},
		"NewMapper of a map-only job": {jobs.Job{NewMapper: func() jobs.Mapper { panic("boo") }}, "new mapper: panic: boo"},
		"NewMapper of a sampled job":  {jobs.Job{NewMapper: func() jobs.Mapper { panic("boo") }, NewReducer: reducer, Ordered: true}, "new mapper: panic: boo"},
		"NewReducer":                  {jobs.Job{NewMapper: mapper, NewReducer: func() jobs.Reducer { panic("boo") }}, "new reducer: panic: boo"},
		"NewCombiner":                 {jobs.Job{NewMapper: mapper, NewReducer: reducer, NewCombiner: func() jobs.Reducer { panic("boo") }}, "panic: boo"},
		"NewFolder":                   {jobs.Job{NewMapper: mapper, NewReducer: reducer, NewFolder: func() jobs.Folder { panic("boo") }}, "new folder: panic: boo"},
		"Begin":                       {jobs.Job{NewMapper: func() jobs.Mapper { return panicking{} }, NewReducer: reducer}, "begin: panic: boo"},
		"NewReleaser":                 {jobs.Job{NewMapper: mapper, NewReleaser: func() jobs.Releaser { panic("boo") }}, "new releaser: panic: boo"},
		"Partition":                   {jobs.Job{NewMapper: mapper, NewReducer: reducer, Partition: func([]byte, int) int { panic("boo") }}, "map: panic: boo"},
		"Partition of folded keys":    {jobs.Job{NewMapper: mapper, NewReducer: reducer, NewFolder: sum, Partition: func([]byte, int) int { panic("boo") }}, "partition: panic: boo"},
		"Partition in a spill":        {jobs.Job{NewMapper: emits(100_000), NewReducer: reducer, NewFolder: sum, Partition: func([]byte, int) int { panic("boo") }}, "partition: panic: boo"},
		"GroupBytes of folded keys":   {jobs.Job{NewMapper: mapper, NewReducer: reducer, NewFolder: sum, GroupBytes: func([]byte) int { panic("boo") }}, "partition: panic: boo"},
		"a combiner":                  {jobs.Job{NewMapper: mapper, NewReducer: reducer, NewCombiner: panics}, "combine: panic: boo"},
		"a combiner in a spill":       {jobs.Job{NewMapper: emits(100_000), NewReducer: reducer, NewCombiner: panics}, "combine: panic: boo"},
		"NewCombiner in a spill":      {jobs.Job{NewMapper: emits(100_000), NewReducer: reducer, NewCombiner: func() jobs.Reducer { panic("boo") }}, "new combiner: panic: boo"},
		"Map of a sample":             {jobs.Job{NewMapper: mapOnly(func(jobs.Block, jobs.Emitter) error { panic("boo") }).NewMapper, NewReducer: reducer, Ordered: true}, "panics: map of a sample: panic: boo"},
		"Begin of a sample":           {jobs.Job{NewMapper: func() jobs.Mapper { return panicking{} }, NewReducer: reducer, Ordered: true}, "panics: begin of a sample: panic: boo"},
		"no mapper":                   {jobs.Job{NewMapper: func() jobs.Mapper { return nil }, NewReducer: reducer}, "new mapper: returned nil"},
		"no mapper for a sample":      {jobs.Job{NewMapper: func() jobs.Mapper { return nil }, NewReducer: reducer, Ordered: true}, "panics: new mapper: returned nil"},
		"no reducer":                  {jobs.Job{NewMapper: mapper, NewReducer: func() jobs.Reducer { return nil }}, "new reducer: returned nil"},
		"no combiner":                 {jobs.Job{NewMapper: mapper, NewReducer: reducer, NewCombiner: func() jobs.Reducer { return nil }}, "new combiner: returned nil"},
		"no folder":                   {jobs.Job{NewMapper: mapper, NewReducer: reducer, NewFolder: func() jobs.Folder { return nil }}, "new folder: returned nil"},
		"no releaser":                 {jobs.Job{NewMapper: mapper, NewReleaser: func() jobs.Releaser { return nil }}, "panics: new releaser: returned nil"},
	} {
		t.Run(name, func(t *testing.T) {
			c.job.Name = "panics"
			o := mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Attempts: 1}}
			o.Reducers, o.Stdout, o.Stderr = 2, io.Discard, io.Discard
			o.SortBufferBytes, o.NoGrowth = 256<<10, true
			_, err := mrlocal.Run(t.Context(), c.job, o)
			if !errors.Is(err, mrlocal.ErrJobFailed) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "panics") || strings.Contains(err.Error(), "internal error") {
				t.Errorf("%v", err)
			}
		})
	}
}

type panicking struct{}

func (panicking) Begin(jobs.OwnAttempt)              { panic("boo") }
func (panicking) Map(jobs.Block, jobs.Emitter) error { panic("boo") }

// The coordinator itself makes the Releaser of a later job.
func TestAReleaserOfALaterJobThatPanicsFailsItsChain(t *testing.T) {
	chain := append(counting(t), jobs.Job{
		Name: "later", NewMapper: func() jobs.Mapper { return panicking{} }, NewReleaser: func() jobs.Releaser { panic("boo") },
	})
	o := mrlocal.Options{JobOptions: input(t, "a\n")}
	o.Stdout = io.Discard
	if _, err := mrlocal.RunChain(t.Context(), chain, o); !errors.Is(err, mrlocal.ErrJobFailed) || !strings.Contains(err.Error(), "new releaser: panic: boo") {
		t.Error(err)
	}
}

func TestErrorsOfCutsHaveTheirKinds(t *testing.T) {
	boom, ended := errors.New("boom"), errors.New("ended")
	_, err := mrlocal.Cuts(t.Context(), mapOnly(func(jobs.Block, jobs.Emitter) error { return boom }), 3, input(t, "a\n"))
	if !errors.Is(err, mrlocal.ErrJobFailed) || !errors.Is(err, boom) {
		t.Errorf("a mapper that fails: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	_, err = mrlocal.Cuts(ctx, mapOnly(func(jobs.Block, jobs.Emitter) error { return nil }), 3, input(t, "a\n"))
	if !errors.Is(err, mrlocal.ErrInterrupted) || !errors.Is(err, ended) {
		t.Errorf("a context that has ended: %v", err)
	}
	_, err = mrlocal.Cuts(t.Context(), mapOnly(func(jobs.Block, jobs.Emitter) error { return nil }), 3, mrlocal.JobOptions{})
	if want := "Options.Inputs: name files, directories, globs, or - for standard input"; !errors.Is(err, mrlocal.ErrBadOptions) || err.Error() != want {
		t.Errorf("no input: %v, want %q", err, want)
	}
	_, err = mrlocal.Cuts(t.Context(), mapOnly(func(jobs.Block, jobs.Emitter) error { return nil }), 3, mrlocal.JobOptions{Inputs: []string{"-"}, Stdin: strings.NewReader("a\n")})
	if want := "(standard input): the job reads its input several times; name a file"; !errors.Is(err, mrlocal.ErrBadInput) || err.Error() != want {
		t.Errorf("standard input: %v, want %q", err, want)
	}
}

func TestCutsOfAWrongJobAreRefused(t *testing.T) {
	identity := mapOnly(func(jobs.Block, jobs.Emitter) error { return nil })
	for name, c := range map[string]struct {
		job   jobs.Job
		parts int
		want  string
	}{
		"a job without a mapper": {jobs.Job{}, 3, "job: has no mapper"},
		"no parts":               {identity, 0, "0 parts: must be between 1 and 100000"},
		"too many parts":         {identity, 100_001, "100001 parts: must be between 1 and 100000"},
	} {
		if _, err := mrlocal.Cuts(t.Context(), c.job, c.parts, input(t, "a\n")); !errors.Is(err, mrlocal.ErrBadOptions) || err.Error() != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A job without a name has messages that begin with a word all the same.
func TestMessagesOfAJobWithoutANameBeginWithAWord(t *testing.T) {
	o := mrlocal.Options{JobOptions: input(t, "a\n"), Config: mrlocal.Config{Attempts: 1}}
	o.Stdout, o.Stderr = io.Discard, io.Discard
	_, err := mrlocal.Run(t.Context(), jobs.Job{NewMapper: func() jobs.Mapper { return nil }}, o)
	if want := "job m-000000_0: new mapper: returned nil"; err == nil || err.Error() != want {
		t.Errorf("%v, want %q", err, want)
	}
}

// begunBy returns a job whose Begin returns what change makes of the same job.
func begunBy(change func(j *jobs.Job)) jobs.Job {
	job := jobs.Job{
		Name: "first", NewMapper: func() jobs.Mapper { return jobs.MapperFunc(emitLines) },
		NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} },
	}
	begun := job
	change(&begun)
	job.Begin = func(int) (jobs.Job, error) { return begun, nil }
	return job
}

func emitLines(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		out.Emit(line, nil)
	}
	return nil
}

// A run and Cuts refuse the job that Begin returns as they refuse a job of the caller.
func TestAWrongJobOfBeginIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(j *jobs.Job)
		text   string
	}{
		"a zero job":                 {func(j *jobs.Job) { *j = jobs.Job{} }, "job: has no mapper"},
		"records of a negative size": {func(j *jobs.Job) { j.RecordBytes = -5 }, "job first: records of -5 bytes; must be from 1 to 65536"},
		"an output outside":          {func(j *jobs.Job) { j.Outputs = []string{"../x"} }, `job first: output "../x": a name of at most 64 letters and digits, not part, each once`},
		"too many reduces":           {func(j *jobs.Job) { j.Reduces = 1 << 30 }, "job first: 1073741824 reduces; at most 100000"},
		"no reducer":                 {func(j *jobs.Job) { j.NewReducer = nil }, "NewReducer and NewReleaser must be nil in both jobs, or in none"},
	} {
		o := mrlocal.Options{JobOptions: input(t, "a\n")}
		dir := t.TempDir()
		o.OutputDir = filepath.Join(dir, "out")
		_, err := mrlocal.Run(t.Context(), begunBy(c.change), o)
		_, ofCuts := mrlocal.Cuts(t.Context(), begunBy(c.change), 3, o.JobOptions)
		for _, err := range []error{err, ofCuts} {
			if want := "job first: Begin returned a job that cannot run: " + c.text; !errors.Is(err, mrlocal.ErrBadOptions) || err.Error() != want {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left over: %v", name, left)
		}
	}
}

// The comment of jobs.Job.Begin says which fields are fixed.
func TestFieldsOfTheJobOfBeginCountOrAreFixed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(j *jobs.Job)
		want   map[string]string
	}{
		"Ordered, Reduces": {func(j *jobs.Job) { j.Ordered, j.Reduces = true, 2 }, map[string]string{"part-r-00000": "a\nb\nc\n", "part-r-00001": "d\ne\n"}},
		"Bare":             {func(j *jobs.Job) { j.Bare = true }, map[string]string{"part-r-00000": "abcde"}},
		"what is fixed": {func(j *jobs.Job) {
			j.Name, j.Delim, j.SkipBinary, j.Rereads, j.Outputs = "other", jobs.NUL, true, true, []string{"more"}
		}, map[string]string{"part-r-00000": "a\nb\nc\nd\ne\n"}},
	} {
		o := mrlocal.Options{JobOptions: input(t, "c\na\nb\ne\nd\n")}
		o.OutputDir = filepath.Join(t.TempDir(), "out")
		report, err := mrlocal.Run(t.Context(), begunBy(c.change), o)
		if err != nil || report.Jobs[0].Name != "first" {
			t.Fatalf("%s: %v", name, err)
		}
		for part, want := range c.want {
			if got, err := os.ReadFile(filepath.Join(o.OutputDir, part)); err != nil || string(got) != want {
				t.Errorf("%s: %s has %q, want %q, %v", name, part, got, want, err)
			}
		}
	}
}

// The coordinator itself opens a job without files, unless user code could hang there.
func TestABeginThatHangsDoesNotKeepARunFromItsEnd(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	job := begunBy(func(*jobs.Job) {})
	job.NoInput, job.Maps = true, 1
	job.Begin = func(int) (jobs.Job, error) { <-release; return jobs.Job{}, nil }
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	done := make(chan error, 1)
	go func() {
		_, err := mrlocal.Run(ctx, job, mrlocal.Options{})
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, mrlocal.ErrInterrupted) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Run does not return")
	}
}
