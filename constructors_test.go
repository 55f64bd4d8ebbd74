package mrlocal_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mrlocal"
	"mrlocal/jobs"
)

// made counts the calls of the constructors of a job, and has the attempts that their results began.
type made struct {
	mappers, reducers, combiners, folders, releasers, samples atomic.Int64

	mu    sync.Mutex
	begun map[string]int // by kind, task and attempt
}

// all returns all counts and attempts for a comparison.
func (m *made) all() string {
	return fmt.Sprint(m.mappers.Load()-m.samples.Load(), m.reducers.Load(), m.combiners.Load(), m.folders.Load(), m.releasers.Load(), m.begun)
}

// user is the user code of one attempt: a mapper, reducer or combiner.
type user struct {
	made  *made
	kind  string
	own   jobs.OwnAttempt
	fails bool // attempt 0 of each task fails
}

func (u *user) Begin(own jobs.OwnAttempt) {
	if u.own = own; own.Status == nil { // nobody watches a sample
		u.made.samples.Add(1)
		return
	}
	u.made.mu.Lock()
	defer u.made.mu.Unlock()
	u.made.begun[fmt.Sprint(u.kind, own.Task, ".", own.Number)]++
}

func (u *user) Map(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		out.Emit(line, jobs.AppendUint64(nil, 1))
	}
	if u.fails && u.own.Status != nil && u.own.Number == 0 {
		return errors.New("fails once")
	}
	return nil
}

func (u *user) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	for vs.Next() {
		out.Emit(key, vs.Value())
	}
	if u.fails && u.own.Number == 0 {
		return errors.New("fails once")
	}
	return nil
}

// counted returns a job that counts in m. attempts that begin fail if fails is true.
func counted(m *made, fails bool) jobs.Job {
	m.begun = map[string]int{}
	return jobs.Job{
		Name:       "counted",
		NewMapper:  func() jobs.Mapper { m.mappers.Add(1); return &user{made: m, kind: "m", fails: fails} },
		NewReducer: func() jobs.Reducer { m.reducers.Add(1); return &user{made: m, kind: "r", fails: fails} },
	}
}

// TestConstructorsAreCalledOnceAnAttempt, also if an attempt spills and if several attempts are needed.
func TestConstructorsAreCalledOnceAnAttempt(t *testing.T) {
	const begun = "map[m0.0:1 m1.0:1 m2.0:1 r0.0:1 r1.0:1]"
	combines := func(j *jobs.Job, m *made) {
		j.NewCombiner = func() jobs.Reducer { m.combiners.Add(1); return &user{made: m, kind: "c"} }
	}
	for name, c := range map[string]struct {
		fails  bool
		change func(j *jobs.Job, m *made)
		want   string // mappers, reducers, combiners, folders, releasers, attempts
	}{
		"a plain job":          {want: "3 2 0 0 0 " + begun},
		"each attempt 0 fails": {fails: true, want: "6 4 0 0 0 map[m0.0:1 m0.1:1 m1.0:1 m1.1:1 m2.0:1 m2.1:1 r0.0:1 r0.1:1 r1.0:1 r1.1:1]"},
		"a combiner":           {change: combines, want: "3 2 3 0 0 map[c0.0:1 c1.0:1 c2.0:1 m0.0:1 m1.0:1 m2.0:1 r0.0:1 r1.0:1]"},
		"an ordered job":       {change: func(j *jobs.Job, _ *made) { j.Ordered = true }, want: "3 2 0 0 0 " + begun},
		"a folder": {change: func(j *jobs.Job, m *made) {
			j.NewFolder = func() jobs.Folder { m.folders.Add(1); return jobs.Sum{} }
		}, want: "3 2 0 3 0 " + begun},
		"an identity that passes a column": {change: func(j *jobs.Job, m *made) {
			j.NewReducer = func() jobs.Reducer { m.reducers.Add(1); return jobs.Identity{Out: jobs.KeyColumn} }
		}, want: "3 2 0 0 0 map[m0.0:1 m1.0:1 m2.0:1]"},
		"an ordered job whose parts are not asked for": {change: func(j *jobs.Job, m *made) {
			j.Ordered, j.Reduces = true, 0
			j.NewReducer = func() jobs.Reducer { m.reducers.Add(1); return jobs.Identity{Out: jobs.KeyColumn} }
		}, want: "3 1 0 0 0 map[m0.0:1 m1.0:1 m2.0:1]"},
		"a releaser": {change: func(j *jobs.Job, m *made) {
			j.NewReducer, j.Reduces = nil, 0
			j.NewReleaser = func() jobs.Releaser { m.releasers.Add(1); return releaser{func() {}, func() {}} }
		}, want: "3 0 0 0 1 map[m0.0:1 m1.0:1 m2.0:1]"},
	} {
		for _, spills := range []bool{false, true} {
			if testing.Short() && !spills {
				continue
			}
			t.Run(fmt.Sprintf("%s, spills %t", name, spills), func(t *testing.T) {
				var m made
				job := counted(&m, c.fails)
				job.Reduces = 2
				if c.change != nil {
					c.change(&job, &m)
				}
				var text strings.Builder
				for i := range 60_000 {
					fmt.Fprintf(&text, "line %06d\n", i*7919%60_000)
				}
				o := mrlocal.Options{JobOptions: input(t, text.String()), Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}}
				o.BlockBytes, o.Stdout, o.Stderr = 240_000, &bytes.Buffer{}, &bytes.Buffer{}
				if spills {
					o.SortBufferBytes, o.NoGrowth = 256<<10, true
				}
				res, err := mrlocal.Run(t.Context(), job, o)
				if err != nil {
					t.Fatal(err)
				}
				if got := m.all(); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
				if n := res.Jobs[0].Counters.Spills; n < 4 && spills && job.NewReducer != nil {
					t.Errorf("only %d spills", n)
				}
			})
		}
	}
}

// TestAResumedRunMakesReducersOnceAnAttempt: the reduces of the first run fail, and the second run
// takes the map outputs over.
func TestAResumedRunMakesReducersOnceAnAttempt(t *testing.T) {
	var first, second made
	o := mrlocal.Options{JobOptions: input(t, strings.Repeat("a\nb\n", 1000)), Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1, Attempts: 1}}
	o.BlockBytes, o.Reducers, o.Stdout, o.Stderr = 2000, 2, &bytes.Buffer{}, &bytes.Buffer{}
	o.ResumeDir = filepath.Join(t.TempDir(), "kept")
	job := counted(&first, true)
	job.NewMapper = func() jobs.Mapper { first.mappers.Add(1); return &user{made: &first, kind: "m"} }
	if _, err := mrlocal.Run(t.Context(), job, o); err == nil {
		t.Fatal("the first run did not fail")
	}
	if _, err := mrlocal.Run(t.Context(), counted(&second, false), o); err != nil {
		t.Fatal(err)
	}
	if got, want := second.all(), "0 2 0 0 0 map[r0.0:1 r1.0:1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if first.mappers.Load() != 2 {
		t.Errorf("%d mappers in the first run", first.mappers.Load())
	}
}
