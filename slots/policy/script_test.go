package policy_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/golden"
	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/policy/settings"
	"mrlocal/trace"
)

// TestScripts runs testdata/<policy>/<case>.txt: text in, a gantt out. Commands:
//
//	slots map=4 reduce=2 [extra=0] [trackers=1] [slowstart=1] [replicas=0] [group=0] [net=0]
//	policy [borrow-map=1] [borrow-reduce=1] [locality-delay=0s] [cycle=0s] [shuffle-memory=on]
//	       [dhsa=pi|pd|off] [sepb=off] [sepb-jobs=1] [prescheduling=off]
//	       [map-weight=1 reduce-weight=2]
//	slow tracker=1 speed=0.5
//	       [additional-map-slots=1] [reduce-total=0] [reduce-shuffle=0] [reduce-compute=0]
//	pool NAME [weight=1] [min-maps=0] [min-reduces=0] [max-maps=0] [max-reduces=0] [fifo]
//	          [max-running=0] [preempt-after=0s] [fair-preempt-after=0s]
//	user NAME [max-running=0]
//	job NAME [pool=NAME] [user=NAME] maps=8 reduces=2 [map=1s] [io=0s] [reduce=1s] [submit=0s] [priority=0] [out=0] [fail=map/3]
//	          [goal=0s] [profile=30/45/25,0/0.15/0,20/50/60]
//	                           net is bytes copied a second, out those that a map puts out
//	                           a profile is percent of CPU, I/O and memory of a map, a shuffling and a reducing reduce
//	lose JOB map=3 at=5s       a committed map's output is lost
//	drop JOB map=3 at=5s
//	abort JOB at=5s
//	show cell=1s [lends] [why] how to draw; lends lists lendings, returns and
//	                           kills; why lists what each grant rested on
func TestScripts(t *testing.T) {
	for _, info := range registry.All() {
		t.Run(info.Name, func(t *testing.T) {
			golden.Scripts(t, filepath.Join("testdata", info.Name, "*.txt"), func(t *testing.T, c golden.Case) string {
				s := &script{t: t, options: whole(), jobs: map[string]slots.JobID{}, cell: time.Second}
				for i, line := range strings.Split(strings.TrimSpace(c.Input), "\n") {
					if err := s.command(strings.Fields(line)); err != nil {
						t.Fatalf("line %d: %s: %v", c.Line+i, line, err)
					}
				}
				return s.run(info.Name)
			})
		})
	}
}

type script struct {
	t       *testing.T
	config  slots.Config
	options settings.Options
	work    []policytest.Job
	names   []string
	jobs    map[string]slots.JobID
	faults  []policytest.Fault
	speeds  []slots.PPM
	cell    time.Duration
	lends   bool
	why     bool
}

// args are name=value words, read with defaults; the first bad one sticks.
type args struct {
	values map[string]string
	err    error
}

func parseArgs(words []string) *args {
	a := &args{values: map[string]string{}}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		a.values[name] = value
	}
	return a
}

func (a *args) number(name string, otherwise int) int {
	if v, ok := a.values[name]; ok {
		n, err := strconv.Atoi(v)
		if err != nil {
			a.err = err
		}
		return n
	}
	return otherwise
}

func (a *args) share(name string, otherwise slots.PPM) slots.PPM {
	if v, ok := a.values[name]; ok {
		p, err := ppm.Parse(v)
		if err != nil {
			a.err = err
		}
		return p
	}
	return otherwise
}

func (a *args) time(name string, otherwise time.Duration) time.Duration {
	if v, ok := a.values[name]; ok {
		d, err := time.ParseDuration(v)
		if err != nil {
			a.err = err
		}
		return d
	}
	return otherwise
}

// profile reads a profile in percent.
func (a *args) profile(name string) *demand.Profile {
	if !a.has(name) {
		return nil
	}
	var p demand.Profile
	for i, v := range strings.SplitN(a.values[name], ",", 3) {
		phase := []slots.Phase{slots.PhaseCompute, slots.PhaseCopy, slots.PhaseReduce}[i]
		needs := p.Of(phase)
		for k, text := range strings.SplitN(v, "/", 3) {
			percent, err := ppm.Parse(text)
			if err != nil {
				a.err = err
			}
			*[]*slots.PPM{&needs.CPU, &needs.IO, &needs.Memory}[k] = percent / 100
		}
	}
	return &p
}

func (a *args) has(name string) bool { _, ok := a.values[name]; return ok }

func (s *script) command(words []string) error {
	verb, words := words[0], words[1:]
	name := ""
	if len(words) > 0 && !strings.Contains(words[0], "=") && verb != "show" {
		name, words = words[0], words[1:]
	}
	a := parseArgs(words)
	switch verb {
	case "slots":
		s.config.Slots = policytest.WithExtra(a.number("trackers", 1), a.number("map", 1), a.number("reduce", 1), a.number("extra", 0))
		s.config.Slowstart, s.config.CopyBandwidth = a.share("slowstart", slots.One), int64(a.number("net", 0))
		s.config.Replicas, s.config.GroupTrackers = int32(a.number("replicas", 0)), int32(a.number("group", 0))
	case "policy":
		s.options = settings.Defaults()
		s.options.BorrowMap, s.options.BorrowReduce = a.share("borrow-map", slots.One), a.share("borrow-reduce", slots.One)
		s.options.LocalityDelay = a.time("locality-delay", 0)
		s.options.SEPB, s.options.PreScheduling = a.values["sepb"] != "off", a.values["prescheduling"] != "off"
		s.options.SEPBJobs = a.share("sepb-jobs", slots.One)
		s.options.Cycle, s.options.ShuffleMemory = a.time("cycle", 0), a.has("shuffle-memory")
		s.options.AdditionalMapSlots, s.options.ReduceTotal = int32(a.number("additional-map-slots", 1)), int32(a.number("reduce-total", 0))
		s.options.ReduceShuffle, s.options.ReduceCompute = int32(a.number("reduce-shuffle", 0)), int32(a.number("reduce-compute", 0))
		s.options.SlotWeights = demand.Weights{Map: int32(a.number("map-weight", 0)), Reduce: int32(a.number("reduce-weight", 0))}
		if a.has("dhsa") {
			s.options.DHSA = a.values["dhsa"]
		}
	case "slow":
		for t := a.number("tracker", 0); t >= len(s.speeds); {
			s.speeds = append(s.speeds, slots.One)
		}
		s.speeds[a.number("tracker", 0)] = a.share("speed", slots.One)
	case "pool":
		s.config.Pools = append(s.config.Pools, slots.Pool{
			Name: name, Weight: a.share("weight", slots.One), FIFO: a.has("fifo"),
			MinMaps: int32(a.number("min-maps", 0)), MinReduces: int32(a.number("min-reduces", 0)),
			MaxMaps: int32(a.number("max-maps", 0)), MaxReduces: int32(a.number("max-reduces", 0)), MaxRunning: int32(a.number("max-running", 0)),
			PreemptAfter: a.time("preempt-after", 0), FairPreemptAfter: a.time("fair-preempt-after", 0),
		})
	case "user":
		s.config.Users = append(s.config.Users, slots.User{Name: name, MaxRunning: int32(a.number("max-running", 0))})
	case "job":
		s.job(name, a)
	case "lose", "drop", "abort":
		s.fault(verb, s.jobs[name], slots.TaskID(a.number("map", 0)), a.time("at", 0))
	case "show":
		s.cell, s.lends = a.time("cell", time.Second), a.has("lends")
		s.why = a.has("why")
	default:
		return fmt.Errorf("unknown command")
	}
	return a.err
}

func (s *script) job(name string, a *args) {
	s.jobs[name] = slots.JobID(len(s.work))
	s.names = append(s.names, name)
	j := policytest.Job{
		Spec: slots.JobSpec{
			Name: name, Pool: a.values["pool"], User: a.values["user"], Maps: int32(a.number("maps", 0)), MapsSealed: true,
			Reduces: int32(a.number("reduces", 0)), Priority: slots.Priority(a.number("priority", 0)), Weight: a.share("weight", slots.One),
			Deadline: a.time("goal", 0), Profile: a.profile("profile"),
		},
		MapBytes: int64(a.number("out", 0)), MapIO: a.time("io", 0), Submit: a.time("submit", 0), MapTime: policytest.Const(a.time("map", time.Second)), ReduceTime: policytest.Const(a.time("reduce", time.Second)),
	}
	if bad, times, ok := strings.Cut(a.values["fail"], "/"); ok {
		task, _ := strconv.Atoi(bad)
		n, _ := strconv.Atoi(times)
		j.Fail = func(k slots.Kind, t slots.TaskID) int32 {
			if k == slots.Map && t == slots.TaskID(task) {
				return int32(n)
			}
			return 0
		}
	}
	s.work = append(s.work, j)
}

func (s *script) fault(verb string, job slots.JobID, task slots.TaskID, at time.Duration) {
	s.faults = append(s.faults, policytest.Fault{At: at, Do: func(now time.Duration, l *slots.Ledger) {
		switch verb {
		case "lose":
			l.LostOutput(now, job, task)
		case "drop":
			l.Drop(now, job, slots.Map, task)
		case "abort":
			l.Abort(now, job)
		}
	}})
}

func (s *script) run(name string) string {
	var log trace.Log
	var reasons strings.Builder
	var timeline trace.Timeline
	o := policytest.Options{Faults: s.faults, Speeds: s.speeds, Sinks: []trace.Sink{&log, &timeline}}
	if s.why {
		o.Explain = func(e *slots.Explanation) { s.explain(&reasons, e) }
	}
	l, err := policytest.Drive(s.config, mustNew(s.t, name, s.options), s.work, o)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	if err := timeline.Gantt(&b, trace.GanttOptions{Cell: s.cell}); err != nil {
		s.t.Fatal(err)
	}
	st := l.Stats()
	fmt.Fprintf(&b, "makespan %v, %d moves, lent %v, hoarding %v, utilisation %.2f\n", l.Now(), st.Moves, st.Lent, st.WaitingReduce, st.Utilisation())
	for i, job := range s.names {
		if state := l.JobState(slots.JobID(i)); state != slots.Succeeded {
			fmt.Fprintf(&b, "%s %v\n", job, state)
		}
		if c := l.JobCounts(slots.JobID(i), slots.Map); s.config.Replicas > 0 {
			fmt.Fprintf(&b, "%s: %d maps at their data, %d in its group, %d elsewhere\n", job, c.Local, c.GroupLocal, c.Started-c.Local-c.GroupLocal)
		}
	}
	if s.lends {
		for i := range log.Events {
			if e := &log.Events[i]; e.Op == trace.OpLend || e.Op == trace.OpReturn || e.Op == trace.OpKill {
				fmt.Fprintf(&b, "%v %v slot %d: %s %v %d.%d (%v)\n", e.At, e.Op, e.Slot, s.names[e.Job], e.Kind, e.Task, e.N, e.Rule)
			}
		}
	}
	return b.String() + reasons.String()
}

// explain writes an explanation in lines: what was decided, the numbers, whom it
// beat; and why a visit ended.
func (s *script) explain(b *strings.Builder, e *slots.Explanation) {
	if e.EndOfVisit() {
		fmt.Fprintf(b, "%v tracker %d:", e.Now, e.Tracker)
		for _, d := range e.Declined {
			fmt.Fprintf(b, " no more %vs: %s;", d.Kind, d.Reason)
		}
		b.WriteString("\n")
		return
	}
	switch {
	case e.Reclaimed != slots.NoSlot:
		fmt.Fprintf(b, "%v kill on slot %d\n", e.Now, e.Reclaimed)
	case e.Refused != slots.Granted:
		fmt.Fprintf(b, "%v %s %v (%v): refused, %v\n", e.Now, s.names[e.Grant.Job], e.Grant.Kind, e.Grant.Rule, e.Refused)
	default:
		fmt.Fprintf(b, "%v %s %v %d on slot %d (%v)\n", e.Now, s.names[e.Grant.Job], e.Grant.Kind, e.Start.Attempt.Task, e.Start.Slot, e.Grant.Rule)
	}
	for _, n := range e.Why.Numbers {
		fmt.Fprintf(b, "     %v\n", n)
	}
	for _, c := range e.Why.Beaten {
		who := fmt.Sprintf("pool %d", c.Pool)
		if c.Job != slots.NoJob {
			who = "job " + s.names[c.Job]
		}
		fmt.Fprintf(b, "     before %s: %s\n", who, c.Why)
	}
}
