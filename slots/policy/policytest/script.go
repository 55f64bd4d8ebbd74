package policytest

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Scripts runs the cases of the files that match pattern on a policy, and compares the gantts with
// those in the files. newPolicy returns a new policy for each case. The input of a case has one
// command per line:
//
//	slots map=4 reduce=2 [extra=0] [trackers=1] [slowstart=1] [replicas=0] [group=0] [net=0] [copies=5]
//	policy [OPTION=VALUE]...   policy.Options, by name
//	slow tracker=1 speed=0.5
//	pool NAME [weight=1] [min-maps=0] [min-reduces=0] [max-maps=0] [max-reduces=0] [fifo]
//	          [max-running=0] [preempt-after=0s] [fair-preempt-after=0s]
//	          [capacity=0] [max-capacity=0] [min-user-limit=0] [user-limit-factor=0]
//	user NAME [max-running=0]
//	job NAME [pool=NAME] [user=NAME] maps=8 reduces=2 [map=1s] [io=0s] [reduce=1s] [submit=0s] [priority=0] [out=0]
//	          [fail=map/3] [goal=0s] [profile=30/45/25,0/0.15/0,20/50/60]
//	                           net is bytes copied per second, out the output of a map in bytes
//	                           a profile is percent of CPU, I/O and memory of a map, of a reduce in shuffle, and of a
//	                           reduce after it
//	lose JOB map=3 at=5s       the output of a committed map is lost
//	drop JOB map=3 at=5s       the map is not needed any more
//	abort JOB at=5s
//	show cell=1s [lends] [why] [spent]   how to draw: lends lists loans, returns and kills; why lists
//	                           the reasons of each grant; spent says how the time of slots was spent
func Scripts(t *testing.T, pattern string, newPolicy func(o policy.Options) slots.Policy) {
	testkit.Scripts(t, pattern, func(t *testing.T, d *datadriven.TestData) string {
		s := &script{t: t, options: policy.DefaultOptions(), jobs: map[string]slots.JobID{}, cell: time.Second}
		for line := range strings.Lines(d.String()) {
			if err := s.command(line); err != nil {
				d.Fatalf(t, "%s: %v", strings.TrimSpace(line), err)
			}
		}
		return s.run(newPolicy(s.options))
	})
}

// script is a case. Its commands set the fields; run drives the jobs afterwards.
type script struct {
	t       *testing.T
	config  slots.Config
	options policy.Options
	work    []ScriptJob
	names   []string // of work
	// jobs has, by name, the index in work. A case must list its jobs in the order of
	// submission, so that the index is the id.
	jobs   map[string]slots.JobID
	faults []ScriptFault
	speeds []slots.PPM // by tracker
	cell   time.Duration
	lends  bool
	why    bool
	spent  bool
}

// args are the words of a command, most of them name=value. err is the last error of a value. Only the command
// policy refuses an unknown name, so the golden file of a new case needs a check by eye.
type args struct {
	datadriven.TestData
	err error
}

// read returns the value of a name as parse reads it, or otherwise if the name is not given. It
// keeps an error in a.err.
func read[T any](a *args, name string, otherwise T, parse func(text string) (T, error)) T {
	if !a.HasArg(name) {
		return otherwise
	}
	v, err := parse(a.text(name))
	if err != nil {
		a.err = err
	}
	return v
}

// text returns the value of a name; "": there is none.
func (a *args) text(name string) string {
	arg, _ := a.Arg(name)
	return strings.Join(arg.Vals, "")
}

// number returns a whole number.
func (a *args) number(name string, otherwise int) int { return read(a, name, otherwise, strconv.Atoi) }

// share returns a decimal number, where 1 is the whole.
func (a *args) share(name string, otherwise slots.PPM) slots.PPM {
	return read(a, name, otherwise, ppm.Parse)
}

// time returns a time with a unit, such as 250ms.
func (a *args) time(name string, otherwise time.Duration) time.Duration {
	return read(a, name, otherwise, time.ParseDuration)
}

// profile returns a profile in percent, or nil if the name is not given. Commas separate the three
// phases, and slashes their three resources.
func (a *args) profile(name string) *slots.Profile {
	if !a.HasArg(name) {
		return nil
	}
	var p slots.Profile
	for i, v := range strings.SplitN(a.text(name), ",", 3) {
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

// command carries out a command. The first word is the verb, and the second may be a name.
func (s *script) command(line string) error {
	a, name := &args{}, ""
	if a.Cmd, a.CmdArgs, a.err = datadriven.ParseLine(line); len(a.CmdArgs) > 0 && a.CmdArgs[0].Vals == nil && a.Cmd != "show" {
		name, a.CmdArgs = a.CmdArgs[0].Key, a.CmdArgs[1:]
	}
	switch a.Cmd {
	case "slots":
		s.config.Slots = WithExtra(a.number("trackers", 1), a.number("map", 1), a.number("reduce", 1), a.number("extra", 0))
		s.config.Slowstart, s.config.CopyBandwidth = a.share("slowstart", slots.One), int64(a.number("net", 0))
		s.config.ParallelCopies = int32(a.number("copies", 0))
		s.config.Replicas, s.config.GroupTrackers = int32(a.number("replicas", 0)), int32(a.number("group", 0))
	case "policy":
		for _, option := range a.CmdArgs {
			a.err = cmp.Or(a.err, setting.Set(s.options.Fields(), option.Key, a.text(option.Key)))
		}
	case "slow":
		for t := a.number("tracker", 0); t >= len(s.speeds); {
			s.speeds = append(s.speeds, slots.One)
		}
		s.speeds[a.number("tracker", 0)] = a.share("speed", slots.One)
	case "pool":
		s.config.Pools = append(s.config.Pools, slots.Pool{
			Name: name, Weight: a.share("weight", slots.One), FIFO: a.HasArg("fifo"),
			MinMaps: int32(a.number("min-maps", 0)), MinReduces: int32(a.number("min-reduces", 0)),
			MaxMaps: int32(a.number("max-maps", 0)), MaxReduces: int32(a.number("max-reduces", 0)), MaxRunning: int32(a.number("max-running", 0)),
			PreemptAfter: a.time("preempt-after", 0), FairPreemptAfter: a.time("fair-preempt-after", 0),
			Capacity: a.share("capacity", 0), MaxCapacity: a.share("max-capacity", 0), MinUserLimit: a.share("min-user-limit", 0), UserLimitFactor: a.share("user-limit-factor", 0),
		})
	case "user":
		s.config.Users = append(s.config.Users, slots.User{Name: name, MaxRunning: int32(a.number("max-running", 0))})
	case "job":
		s.job(name, a)
	case "lose", "drop", "abort":
		job, task := s.jobs[name], slots.TaskID(a.number("map", 0))
		s.faults = append(s.faults, ScriptFault{At: a.time("at", 0), Do: func(now time.Duration, l *slots.Ledger) { inject(l, now, a.Cmd, job, task) }})
	case "show":
		s.cell, s.lends = a.time("cell", time.Second), a.HasArg("lends")
		s.why, s.spent = a.HasArg("why"), a.HasArg("spent")
	default:
		return fmt.Errorf("unknown command")
	}
	return a.err
}

// job adds a job. fail=3/2 makes the first two attempts of map 3 fail.
func (s *script) job(name string, a *args) {
	s.jobs[name] = slots.JobID(len(s.work))
	s.names = append(s.names, name)
	j := ScriptJob{
		Spec: slots.JobSpec{
			Name: name, Pool: a.text("pool"), User: a.text("user"), Maps: int32(a.number("maps", 0)), MapsSealed: true,
			Reduces: int32(a.number("reduces", 0)), Priority: slots.Priority(a.number("priority", 0)), Weight: a.share("weight", slots.One),
			Deadline: a.time("goal", 0), Profile: a.profile("profile"),
		},
		MapBytes: int64(a.number("out", 0)), MapIO: a.time("io", 0), Submit: a.time("submit", 0), MapTime: Const(a.time("map", time.Second)), ReduceTime: Const(a.time("reduce", time.Second)),
	}
	if bad, times, ok := strings.Cut(a.text("fail"), "/"); ok {
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

// inject gives a Ledger the fact of a fault: the output of a map is lost, the map is dropped or restored, or the job
// is aborted.
func inject(l *slots.Ledger, now time.Duration, fault string, job slots.JobID, task slots.TaskID) {
	switch fault {
	case "lose":
		l.LostOutput(now, job, task)
	case "drop":
		l.Drop(now, job, slots.Map, task)
	case "restore":
		l.Restore(now, job, task)
	case "abort":
		l.Abort(now, job)
	}
}

// run runs the case. It returns the gantt and the figures below it, or the error of the run as text.
func (s *script) run(p slots.Policy) string {
	var log Log
	var reasons strings.Builder
	var timeline trace.Timeline
	o := Options{Faults: s.faults, Speeds: s.speeds, Sinks: []trace.Sink{&log, &timeline}}
	if s.why {
		o.Explain = func(e *slots.Explanation) { s.explain(&reasons, e) }
	}
	l, err := Drive(s.config, p, s.work, o)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	if err := timeline.Gantt(&b, trace.GanttOptions{Cell: s.cell}); err != nil {
		s.t.Fatal(err)
	}
	st := l.Stats()
	fmt.Fprintf(&b, "makespan %v, %d moves, lent %v, hoarding %v, utilisation %.2f\n", l.Now(), st.Moves, st.Lent, st.WaitingReduce, st.Utilisation())
	if s.spent {
		p, w := st.Phases, st.Wasted
		fmt.Fprintf(&b, "compute %v, io %v, copy %v, held %v, sort %v, reduce %v, idle %v\n", p[slots.PhaseCompute], p[slots.PhaseIO], p[slots.PhaseCopy], p[slots.PhaseHeld], p[slots.PhaseSort], p[slots.PhaseReduce], st.Open-st.Busy)
		fmt.Fprintf(&b, "wasted: failed %v, copies %v, killed %v, waiting %v\n", w.Failed, w.Copies, w.Killed, w.Waiting)
		fmt.Fprintf(&b, "jain %.4f, in time %.4f\n", st.Jain, st.JainInTime)
	}
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
				fmt.Fprintf(&b, "%v %v slot %d: %s %v %d.%d (%v)\n", e.At, e.Op, e.Slot, s.names[e.Job], e.Kind, e.Task, e.N, log.Rule(e))
			}
		}
	}
	return b.String() + reasons.String()
}

// explain writes an explanation in lines. It writes a decision with its numbers and the
// candidates that were not chosen, or the reasons for the end of a visit.
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

// Edit decodes an event file, changes the events by change, and returns a file of the changed
// events with right numbers and hash. A replay detects the change only by a decision that
// differs, or by the digests of facts.
func Edit(t testing.TB, file []byte, change func(events []trace.Event) []trace.Event) []byte {
	t.Helper()
	d, err := trace.NewDecoder(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	s := trace.NewStream()
	var out bytes.Buffer
	s.Attach(trace.NewJSONL(&out))
	s.Open(*d.Header())
	var events []trace.Event
	for e, err := range d.All() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Ref != 0 {
			e.Ref = s.Refer(d.Texts(e.Ref)...)
		}
		events = append(events, *e)
	}
	for _, e := range change(events) {
		s.Append(e)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
