package omo_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
)

// principle watches [OMO21, Principle 1]: while a job has launched some of its reduces
// and not all, nothing else starts. The exception is a visit on which the Ledger has just
// refused a reduce of that job. After that, several jobs may have launched some of their reduces. The
// job that began first goes on first.
type principle struct {
	total   map[slots.JobID]int32
	begun   map[slots.JobID]int32 // reduces launched for the first time
	order   []slots.JobID         // jobs that have launched reduces, as they began
	refused map[slots.JobID]bool
	stages  int
	early   int // stages that began before the job's last map was started
	bad     error
}

func newPrinciple(jobs []policytest.ScriptJob) *principle {
	p := &principle{total: map[slots.JobID]int32{}, begun: map[slots.JobID]int32{}, refused: map[slots.JobID]bool{}}
	for i, j := range order(jobs) {
		p.total[slots.JobID(i)] = j.Spec.Reduces
	}
	return p
}

// open reports whether the job has launched some of its reduces but not all.
func (p *principle) open(id slots.JobID) bool { return p.begun[id] > 0 && p.begun[id] < p.total[id] }

// first returns the job that has to launch a reduce before attempt a starts. It is the first open job
// that was not refused, unless a is a reduce of an open job that began earlier.
func (p *principle) first(a slots.AttemptID) (slots.JobID, bool) {
	for _, id := range p.order {
		if a.Kind == slots.Reduce && id == a.Job && p.open(id) {
			break
		}
		if p.open(id) && !p.refused[id] {
			return id, true
		}
	}
	return 0, false
}

func (p *principle) explain(e *slots.Explanation) {
	switch {
	case e.EndOfVisit():
		clear(p.refused)
	case e.Reclaimed != slots.NoSlot:
	case e.Refused != slots.Granted:
		if e.Grant.Kind == slots.Reduce {
			p.refused[e.Grant.Job] = true
		}
	default:
		a := e.Start.Attempt
		if id, ok := p.first(a); ok && p.bad == nil {
			p.bad = fmt.Errorf("at %v %v starts while job %d has launched %d of %d reduces", e.Now, a, id, p.begun[id], p.total[id])
		}
		if a.Kind == slots.Reduce && a.N == 0 {
			if p.begun[a.Job] == 0 {
				p.stages++
				p.order = append(p.order, a.Job)
				if e.Why.Numbers[0].Num > 0 {
					p.early++
				}
			}
			p.begun[a.Job]++
		}
	}
}

// TestReducesAreLaunchedConsecutively under lazy start and OMO, with failures,
// lost outputs and jobs that come and go.
func TestReducesAreLaunchedConsecutively(t *testing.T) {
	stages, early := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		c := slots.Config{
			Slots:         policytest.Typed(rapid.IntRange(1, 3).Draw(rt, "trackers"), rapid.IntRange(1, 4).Draw(rt, "map slots"), rapid.IntRange(1, 3).Draw(rt, "reduce slots")),
			CopyBandwidth: 1,
		}
		jobs := drawJobs(rt)
		var o policytest.Options
		for range rapid.IntRange(0, 3).Draw(rt, "losses") {
			job, task := slots.JobID(rapid.IntRange(0, len(jobs)-1).Draw(rt, "job")), slots.TaskID(rapid.IntRange(0, 4).Draw(rt, "task"))
			o.Faults = append(o.Faults, policytest.ScriptFault{At: time.Duration(rapid.IntRange(1, 60).Draw(rt, "at")) * time.Second, Do: func(now time.Duration, l *slots.Ledger) {
				if int(job) < l.Jobs() {
					l.LostOutput(now, job, task)
				}
			}})
		}
		for _, p := range []slots.Policy{omo.NewLazyStart(policy.DefaultOptions()), omo.New(policy.DefaultOptions())} {
			w := newPrinciple(jobs)
			o.Explain = w.explain
			if _, err := policytest.Drive(c, p, jobs, o); err != nil || w.bad != nil {
				rt.Fatalf("%s: %v, %v", p.Traits().Name, err, w.bad)
			}
			stages += w.stages
			early += w.early
		}
	})
	if !testing.Short() && (early == 0 || early == stages) { // the few draws of -short may miss one
		t.Errorf("%d of %d stages began before the last map was started", early, stages)
	}
}

// order is the jobs as they get their ids: by submission.
func order(jobs []policytest.ScriptJob) []policytest.ScriptJob {
	var all []policytest.ScriptJob
	for at := time.Duration(0); len(all) < len(jobs); at += time.Second {
		for _, j := range jobs {
			if j.Submit == at {
				all = append(all, j)
			}
		}
	}
	return all
}

func drawJobs(t *rapid.T) (jobs []policytest.ScriptJob) {
	seconds := func(name string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * time.Second
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
		j := policytest.ScriptJob{
			Spec: slots.JobSpec{
				Name: fmt.Sprintf("J%02d", i), MapsSealed: true,
				Maps: int32(rapid.IntRange(1, 40).Draw(t, "maps")), Reduces: int32(rapid.IntRange(0, 9).Draw(t, "reduces")),
			},
			Submit: seconds("submit", 0, 20), MapTime: policytest.Const(seconds("map time", 1, 9)), ReduceTime: policytest.Const(seconds("reduce time", 1, 9)),
			MapBytes: int64(rapid.IntRange(0, 9).Draw(t, "bytes of a map")),
		}
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			bad := slots.TaskID(rapid.IntRange(0, 5).Draw(t, "bad"))
			j.Fail = func(_ slots.Kind, task slots.TaskID) int32 {
				if task == bad {
					return 2
				}
				return 0
			}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// TestOneMapMoreIsOneWaveMore is the paper's Fig 4: three map containers, maps and
// reduces of a unit of time: 12 maps take 5 units, 13 take 6.
func TestOneMapMoreIsOneWaveMore(t *testing.T) {
	for maps, want := range map[int32]time.Duration{12: 5 * time.Second, 13: 6 * time.Second} {
		p, err := registry.New("fair", policy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := policytest.Drive(slots.Config{Slots: policytest.Typed(1, 3, 1), Slowstart: slots.One / 2}, p, []policytest.ScriptJob{{
			Spec:    slots.JobSpec{Name: "J", Maps: maps, MapsSealed: true, Reduces: 1},
			MapTime: policytest.Const(time.Second), ReduceTime: policytest.Const(time.Second),
		}}, policytest.Options{})
		if err != nil || l.Now() != want {
			t.Errorf("%d maps: %v, %v; want %v", maps, l.Now(), err, want)
		}
	}
}
