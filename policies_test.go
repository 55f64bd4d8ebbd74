package mrlocal_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mrlocal"
	"mrlocal/jobs"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/workload"
)

// failing is FIFO with all optional abilities. It panics in the call that is named, with the count
// that is given.
type failing struct {
	fifo.FIFO
	in    string
	at    int
	count map[string]int
}

var errPolicy = errors.New("lost count")

func (p *failing) call(name string) {
	if p.count[name]++; name == p.in && p.count[name] == p.at {
		panic(errPolicy)
	}
}
func (p *failing) Traits() slots.Traits {
	p.call("Traits")
	return slots.Traits{Name: "failing"}
}
func (p *failing) Reset() { p.call("Reset"); p.FIFO.Reset() }
func (p *failing) Decide(v *slots.View, d *slots.Decision) {
	p.call("Decide")
	p.FIFO.Decide(v, d)
}
func (p *failing) Extra([2]int32, int) int                 { p.call("Extra"); return 0 }
func (p *failing) Speculates(*slots.View, slots.Kind) bool { p.call("Speculates"); return false }
func (p *failing) HoldsCopy() bool                         { p.call("HoldsCopy"); return false }
func (p *failing) Observe(slots.Fact)                      { p.call("Observe") }
func (p *failing) NextVisit(_ *slots.View, t slots.TrackerID) slots.TrackerID {
	p.call("NextVisit")
	return t
}

// TestAPanicOfAPolicyFailsTheRun: with an error that names the policy, and nothing is left.
func TestAPanicOfAPolicyFailsTheRun(t *testing.T) {
	const text = "Options.Policy: failing: panic: lost count"
	for name, at := range map[string]int{"Decide": 4, "Observe": 5, "Traits": 2, "Reset": 1, "Extra": 1, "Speculates": 1, "HoldsCopy": 1, "NextVisit": 1} {
		newPolicy := func() slots.Policy { return &failing{FIFO: *fifo.New(), in: name, at: at, count: map[string]int{}} }
		dir, stack := t.TempDir(), &bytes.Buffer{}
		o := mrlocal.Options{
			Policy: newPolicy(), Stderr: stack, MemoryBytes: 64 << 20, TempDirs: []string{t.TempDir()},
			JobOptions: input(t, strings.Repeat("a b c\n", 1000)),
			Config:     mrlocal.Config{Trackers: 2, MapSlots: 1, ReduceSlots: 1},
		}
		o.OutputDir, o.BlockBytes = filepath.Join(dir, "out"), 500
		before := runtime.NumGoroutine()
		for what, run := range map[string]func() (*mrlocal.Report, error){
			"Run": func() (*mrlocal.Report, error) { return mrlocal.RunChain(t.Context(), counting(t), o) },
			"RunBatch": func() (*mrlocal.Report, error) {
				shared := o
				shared.JobOptions = mrlocal.JobOptions{}
				return mrlocal.RunBatch(t.Context(), []mrlocal.BatchJob{{Chain: counting(t), JobOptions: o.JobOptions}}, shared)
			},
			"sim.Run": func() (*mrlocal.Report, error) {
				f, err := workload.Parse("w.yaml", []byte("cluster: {trackers: 2}\njobs: [{name: J, maps: 20, reduces: 2, map_time: 1s, reduce_time: 1s}]"))
				if err != nil {
					t.Fatal(err)
				}
				return sim.Run(t.Context(), f, sim.Options{Policy: newPolicy()})
			},
		} {
			o.Policy = newPolicy()
			_, err := run()
			if !errors.Is(err, mrlocal.ErrJobFailed) || !errors.Is(err, errPolicy) || !strings.HasSuffix(err.Error(), text) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("%s: %s: left over: %v", name, what, left)
			}
		}
		if name == "Decide" && !strings.Contains(stack.String(), "(*failing).call") {
			t.Errorf("the stack: %q", stack)
		}
		for range 100 { // threads of slots end by themselves
			if runtime.NumGoroutine() <= before {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%s: %d goroutines, %d before", name, n, before)
		}
	}
}

// holding is FIFO that holds reduces in their copy phase. It lets them go on after a time; 0: never.
type holding struct {
	fifo.FIFO
	after time.Duration
}

func (p *holding) Traits() slots.Traits { return slots.Traits{Name: "holding"} }
func (p *holding) HoldsCopy() bool      { return true }
func (p *holding) Decide(v *slots.View, d *slots.Decision) {
	p.FIFO.Decide(v, d)
	if p.after == 0 {
		return
	}
	if v.Now() < p.after {
		d.WakeAt(p.after)
		return
	}
	for id := range slots.SlotID(v.Slots()) {
		if s := v.Slot(id); s.Busy && s.Phase == slots.PhaseHeld && !s.Advanced {
			d.Advance(id)
		}
	}
}

// idle starts nothing.
type idle struct{ stateless }

func (idle) Traits() slots.Traits                { return slots.Traits{Name: "idle"} }
func (idle) Decide(*slots.View, *slots.Decision) {}

// TestAPolicyForWhichAllWaitsFailsTheRun: with an error that names it, at once. A policy that has
// asked for a wake-up may let all wait.
func TestAPolicyForWhichAllWaitsFailsTheRun(t *testing.T) {
	for want, p := range map[string]slots.Policy{
		"Options.Policy: holding: holds 2 reduces in their copy phase, while nothing else runs and it has asked for no wake-up": &holding{FIFO: *fifo.New()},
		"Options.Policy: idle: starts no task, while nothing runs and it has asked for no wake-up":                              idle{},
		"": &holding{FIFO: *fifo.New(), after: 300 * time.Millisecond},
	} {
		o := mrlocal.Options{
			Policy: p, MemoryBytes: 64 << 20, JobOptions: input(t, strings.Repeat("a b c\n", 1000)),
			Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 2},
		}
		dir := t.TempDir()
		o.OutputDir, o.Reducers = filepath.Join(dir, "out"), 2
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := mrlocal.RunChain(ctx, counting(t), o)
		if want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, mrlocal.ErrJobFailed) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
}

// TestAPolicyThatPanicsLateTakesNoResultBack: whatever its call, either the run fails and leaves
// nothing, or it succeeds with its result.
func TestAPolicyThatPanicsLateTakesNoResultBack(t *testing.T) {
	succeeded := 0
	for _, in := range []string{"Decide", "Observe"} {
		for at := 1; ; at++ {
			p := &failing{FIFO: *fifo.New(), in: in, at: at, count: map[string]int{}}
			dir := t.TempDir()
			o := mrlocal.Options{Policy: p, MemoryBytes: 64 << 20, JobOptions: input(t, "a b c\n"), Config: mrlocal.Config{MapSlots: 1, ReduceSlots: 1}}
			o.OutputDir = filepath.Join(dir, "out")
			_, err := mrlocal.RunChain(t.Context(), counting(t), o)
			_, missing := os.Stat(filepath.Join(o.OutputDir, "_SUCCESS"))
			if (err == nil) != (missing == nil) {
				t.Errorf("%s %d: %v, but the result: %v", in, at, err, missing)
			}
			if p.count[in] < at {
				break // there was no such call
			}
			if err == nil {
				succeeded++
			}
		}
	}
	if succeeded == 0 {
		t.Error("no panic came after the result")
	}
}

// TestAPanicOfEventsLeavesNothingRunning: it is the error of the run, which has ended.
func TestAPanicOfEventsLeavesNothingRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	job := mapOnly(func(_ jobs.Block, out jobs.Emitter) error { out.Emit([]byte("x"), nil); return nil })
	temp := t.TempDir()
	o := mrlocal.Options{JobOptions: input(t, "a\n"), TempDirs: []string{temp}, Policy: &failing{FIFO: *fifo.New(), count: map[string]int{}}}
	o.Events = panics{}
	if _, err := mrlocal.Run(t.Context(), job, o); !errors.Is(err, errPolicy) {
		t.Error(err)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

type panics struct{}

func (panics) Write([]byte) (int, error) { panic(errPolicy) }

// logged is a wrapper as users write them. It has what slots.Policy has, and no more.
type logged struct{ slots.Policy }

// TestAWrappedPolicyServesOneRunAtATime, and forgets the run before.
func TestAWrappedPolicyServesOneRunAtATime(t *testing.T) {
	f, err := workload.Parse("w.yaml", []byte("jobs: [{name: J, maps: 4, reduces: 1, map_time: 1s, reduce_time: 1s}, {name: K, maps: 4, reduces: 1, map_time: 1s, reduce_time: 1s}]"))
	if err != nil {
		t.Fatal(err)
	}
	inner := fifo.New()
	simulate := func(p slots.Policy) error {
		_, err := sim.Run(t.Context(), f, sim.Options{Policy: p})
		return err
	}
	for name, newPolicy := range map[string]func() slots.Policy{
		"a value":   func() slots.Policy { return logged{inner} },
		"a pointer": func() slots.Policy { return &logged{inner} },
		"twice":     func() slots.Policy { return &logged{logged{inner}} },
	} {
		atOnce(t, mrlocal.Options{Policy: newPolicy()}, func() {
			for _, p := range []slots.Policy{newPolicy(), inner} {
				if err := simulate(p); !errors.Is(err, mrlocal.ErrBadOptions) || !strings.Contains(err.Error(), "serves another run") {
					t.Errorf("%s: at the same time: %v", name, err)
				}
			}
		})
		for range 2 {
			if err := simulate(newPolicy()); err != nil {
				t.Errorf("%s: afterwards: %v", name, err)
			}
		}
	}
}

// stateless starts tasks as FIFO would that has seen nothing before.
type stateless struct{}

func (stateless) Traits() slots.Traits                    { return slots.Traits{Name: "stateless"} }
func (stateless) Reset()                                  {}
func (stateless) Decide(v *slots.View, d *slots.Decision) { q := fifo.New(); q.Reset(); q.Decide(v, d) }

// holdsSlice is a policy of a value type that cannot be compared.
type holdsSlice struct {
	stateless
	limits []int
}

// several is a policy that holds others. The calls go to the first.
type several struct {
	inner []slots.Policy
}

func (p several) Traits() slots.Traits                    { return p.inner[0].Traits() }
func (p several) Reset()                                  { p.inner[0].Reset() }
func (p several) Decide(v *slots.View, d *slots.Decision) { p.inner[0].Decide(v, d) }

// listed holds them in an array.
type listed struct {
	several
	more [2]slots.Policy
}

// TestAPolicyInAListServesOneRunAtATime.
func TestAPolicyInAListServesOneRunAtATime(t *testing.T) {
	shared := fifo.New()
	for name, newPolicy := range map[string]func() slots.Policy{
		"a slice":    func() slots.Policy { return several{[]slots.Policy{fifo.New(), shared}} },
		"an array":   func() slots.Policy { return &listed{several{[]slots.Policy{fifo.New()}}, [2]slots.Policy{nil, shared}} },
		"in a slice": func() slots.Policy { return several{[]slots.Policy{several{[]slots.Policy{shared}}}} },
	} {
		atOnce(t, mrlocal.Options{Policy: newPolicy()}, func() {
			o := mrlocal.Options{Policy: newPolicy(), JobOptions: input(t, "a\n")}
			if _, err := mrlocal.RunChain(t.Context(), counting(t), o); !errors.Is(err, mrlocal.ErrBadOptions) || !strings.Contains(err.Error(), "serves another run") {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestPoliciesWithoutStateServeSeveralRuns: a pointer to an empty struct is any such pointer.
func TestPoliciesWithoutStateServeSeveralRuns(t *testing.T) {
	for _, newPolicy := range []func() slots.Policy{
		func() slots.Policy { return stateless{} },
		func() slots.Policy { return &stateless{} },
		func() slots.Policy { return holdsSlice{limits: []int{1}} },
	} {
		atOnce(t, mrlocal.Options{Policy: newPolicy()}, func() {
			o := mrlocal.Options{Policy: newPolicy(), JobOptions: input(t, "a\n")}
			if _, err := mrlocal.RunChain(t.Context(), counting(t), o); err != nil {
				t.Error(err)
			}
		})
	}
}
