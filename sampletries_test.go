package mrlocal_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/internal/invariant"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
)

// flaky fails in its first tries at some places of a sample. A place is known by its first line.
type flaky struct {
	way      string // how it fails
	from     int    // the first place that fails, by order of the sample
	failures int    // of each place

	mu    sync.Mutex
	tries map[string]int
	order []string
}

// failing reports whether a call for this block is to fail.
func (f *flaky) failing(block []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	place := string(block[:bytes.IndexByte(block, '\n')])
	if f.tries[place]++; f.tries[place] == 1 {
		f.order = append(f.order, place)
	}
	for i, p := range f.order[min(f.from, len(f.order)):] {
		if p == place && i < 3 { // three places fail
			return f.tries[place] <= f.failures
		}
	}
	return false
}

type flakyMapper struct {
	f      *flaky
	number int
	fail   bool
}

func (m *flakyMapper) Begin(a jobs.OwnAttempt) { m.number = a.Number }

func (m *flakyMapper) Map(b jobs.Block, out jobs.Emitter) error {
	m.fail = m.f.failing(b.Data)
	if m.f.way == "fails in its first attempt" { // by its number
		m.fail = m.number < m.f.failures
	}
	for line := range bytes.Lines(b.Data) {
		out.Emit(bytes.TrimSuffix(line, []byte("\n")), nil)
	}
	return m.leave("map")
}

func (m *flakyMapper) Flush(jobs.Emitter) error { return m.leave("flush") }

func (m *flakyMapper) leave(at string) error {
	switch way := m.f.way; {
	case !m.fail || at == "map" && way == "fails in flush" || at == "flush" && way != "fails in flush":
	case way == "panics":
		panic(errBoom)
	case way == "ends its goroutine":
		runtime.Goexit()
	default:
		return errBoom
	}
	return nil
}

// TestASampleIsTriedAgain as often as a task: whatever the failure is, at whatever place.
func TestASampleIsTriedAgain(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "%07d\n", i*7919%20_000)
	}
	in := input(t, text.String())
	for _, way := range []string{"fails", "panics", "ends its goroutine", "fails in flush", "fails in its first attempt"} {
		for _, from := range []int{0, 1, 30, 61} {
			if from != 30 && !testkit.Long() {
				continue
			}
			for _, c := range []struct{ failures, attempts int }{{1, 2}, {3, 4}, {1, 1}, {4, 4}} {
				f := &flaky{way: way, from: from, failures: c.failures, tries: map[string]int{}}
				job := jobs.Job{
					Name: "flaky", Ordered: true, NewMapper: func() jobs.Mapper { return &flakyMapper{f: f} },
					NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} },
				}
				var out bytes.Buffer
				o := mrlocal.Options{JobOptions: in, MemoryBytes: 32 << 20, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1, Attempts: c.attempts}}
				o.Reducers, o.Stdout, o.BlockBytes = 4, &out, 64<<10
				_, err := mrlocal.Run(t.Context(), job, o)
				what := fmt.Sprintf("%s %d times of %d from place %d", way, c.failures, c.attempts, from)
				if c.failures < c.attempts {
					if want := sortedLines(20_000); err != nil || out.String() != want {
						t.Errorf("%s: %v, %d bytes, want %d", what, err, out.Len(), len(want))
					}
				} else if !errors.Is(err, mrlocal.ErrJobFailed) || !strings.Contains(err.Error(), "flaky") {
					t.Errorf("%s: %v", what, err)
				}
			}
		}
	}
}

// hanging is a mapper whose first tries in a sample do not return before the end of the test, or are
// slow but report their progress.
type hanging struct {
	own   jobs.OwnAttempt
	tries *atomic.Int64 // that hang
	slow  bool
	end   <-chan struct{}
}

func (m *hanging) Begin(a jobs.OwnAttempt) { m.own = a }

func (m *hanging) Map(b jobs.Block, out jobs.Emitter) error {
	_ = echoKeys(b, out)
	if m.tries.Add(-1) < 0 {
		return nil
	}
	if !m.slow {
		<-m.end
		return echoKeys(b, out)
	}
	for range 5 {
		time.Sleep(60 * time.Millisecond)
		m.own.Progress(0, 0)
	}
	return nil
}

func echoKeys(b jobs.Block, out jobs.Emitter) error {
	for line := range b.Lines() {
		out.Emit(line, nil)
	}
	return nil
}

// TestASampleThatHangsIsTriedAgain after the timeout of tasks, and its late records do no harm.
func TestASampleThatHangsIsTriedAgain(t *testing.T) {
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "%07d\n", i*7919%20_000)
	}
	in, timeout := input(t, text.String()), 200*time.Millisecond
	if invariant.Enabled { // such a build computes ten times as long
		timeout *= 10
	}
	for _, c := range []struct {
		hangs    int64
		attempts int
		slow     bool
	}{{1, 2, false}, {2, 3, false}, {1, 1, false}, {1, 1, true}} {
		tries, end := &atomic.Int64{}, make(chan struct{})
		tries.Store(c.hangs)
		job := jobs.Job{
			Name: "hangs", Ordered: true, NewReducer: func() jobs.Reducer { return jobs.Identity{Out: jobs.KeyColumn} },
			NewMapper: func() jobs.Mapper { return &hanging{tries: tries, slow: c.slow, end: end} },
		}
		var out bytes.Buffer
		o := mrlocal.Options{JobOptions: in, MemoryBytes: 32 << 20, TaskTimeout: timeout, Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1, Attempts: c.attempts}}
		o.Reducers, o.Stdout, o.BlockBytes = 4, &out, 64<<10
		_, err := mrlocal.Run(t.Context(), job, o)
		close(end)
		switch done := c.slow || c.hangs < int64(c.attempts); {
		case done && (err != nil || out.String() != sortedLines(20_000)):
			t.Errorf("%+v: %v, %d bytes", c, err, out.Len())
		case !done && (!errors.Is(err, mrlocal.ErrJobFailed) || !strings.Contains(err.Error(), "hangs: map of a sample: no progress for "+timeout.String())):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func sortedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%07d\n", i)
	}
	return b.String()
}
