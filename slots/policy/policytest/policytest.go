// Package policytest tests policies. Run is the suite that every policy passes. Scripts
// compares gantts with golden files, and Drawn the events of drawn workloads. All use Drive, a
// small driver in virtual time.
//
// Run checks rules that hold for every policy. Every job ends, whatever fails or is lost and
// however few slots there are. No task starts twice. The same facts lead to the same
// decisions, also in a replay of a recorded file. No slot is idle if the policy claims that
// it is used (Claims). Checked builds (`-race` or `-tags invariants`) also check the Ledger
// after each step, and make a View unusable after Decide.
package policytest

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Claims are the promises of a policy that Run checks.
type Claims struct {
	// Idle reports whether idle slots break the claim. Run calls it after every Assign
	// with the numbers of pending tasks and of idle slots, by kind. nil: there is no claim.
	Idle func(pending, idle [2]int32) bool

	// Periods: the policy decides by phases, so maps report their I/O period, and there
	// are extra slots.
	Periods bool
}

// TypedIdle is the claim that no slot is idle while a task of its own kind is pending.
func TypedIdle(pending, idle [2]int32) bool {
	return pending[slots.Map] > 0 && idle[slots.Map] > 0 || pending[slots.Reduce] > 0 && idle[slots.Reduce] > 0
}

// AnyIdle is the claim that no slot is idle while any task is pending.
func AnyIdle(pending, idle [2]int32) bool {
	return pending[slots.Map]+pending[slots.Reduce] > 0 && idle[slots.Map]+idle[slots.Reduce] > 0
}

// Run runs the suite on a policy. newPolicy returns a new value of it.
func Run(t *testing.T, newPolicy func() slots.Policy, claims Claims) {
	t.Run("random workloads end, alike each time, and replay", func(t *testing.T) {
		testkit.Check(t, func(rt *rapid.T) { checkWorkload(rt, newPolicy, claims) })
	})
	for _, n := range []int{1, 2, 3} {
		t.Run(fmt.Sprintf("no deadlock on %d slots with lost map output", n), func(t *testing.T) {
			testkit.Check(t, func(rt *rapid.T) { checkLostOutput(rt, newPolicy, n) })
		})
	}
	t.Run("heartbeats of one tracker at a time end all jobs", func(t *testing.T) {
		testkit.Check(t, func(rt *rapid.T) {
			w := drawWorkload(rt, claims)
			w.options.Heartbeat = 3 * time.Second
			w.options.Faults = nil
			if _, err := Drive(w.config, newPolicy(), w.jobs, w.options); err != nil {
				rt.Fatal(err)
			}
		})
	})
	t.Run("a stream of maps ends", func(t *testing.T) { checkStream(t, newPolicy) })
}

// workload is a random cluster, jobs and faults.
type workload struct {
	config  slots.Config
	jobs    []ScriptJob
	options Options
}

// drawWorkload draws a small cluster with two pools and a user, a few jobs, and faults. It draws
// everything from t, so that rapid can shrink a failure.
func drawWorkload(t *rapid.T, claims Claims) workload {
	share := rapid.SampledFrom([]slots.PPM{0, slots.One / 20, slots.One / 2, slots.One})
	w := workload{config: slots.Config{
		Slots: Typed(rapid.IntRange(1, 4).Draw(t, "trackers"), rapid.IntRange(1, 4).Draw(t, "map slots"), rapid.IntRange(1, 3).Draw(t, "reduce slots")),
		Pools: []slots.Pool{{Name: "a", Weight: 2 * slots.One, MinMaps: 1, MinReduces: 1}, {Name: "b", FIFO: true}},
	}}
	if claims.Periods {
		// Two extra slots for each tracker.
		last := w.config.Slots[len(w.config.Slots)-1]
		for i := range 2 * (last.Tracker + 1) {
			w.config.Slots = append(w.config.Slots, slots.Slot{ID: slots.SlotID(len(w.config.Slots)), Tracker: i / 2, Core: -1, Extra: true})
		}
	}
	w.config.Slowstart = share.Draw(t, "slowstart")
	w.config.Replicas, w.config.GroupTrackers = int32(rapid.IntRange(0, 2).Draw(t, "replicas")), int32(rapid.IntRange(0, 2).Draw(t, "group"))
	w.config.CopyBandwidth = int64(rapid.IntRange(0, 3).Draw(t, "bytes copied a second"))
	w.config.Users = []slots.User{{Name: "ann", MaxRunning: int32(rapid.IntRange(0, 2).Draw(t, "jobs of ann"))}}
	w.config.Pools[0].MaxRunning = int32(rapid.IntRange(0, 2).Draw(t, "jobs of a"))
	if rapid.IntRange(0, 3).Draw(t, "preempts") == 0 {
		w.config.Pools[0].PreemptAfter, w.config.Pools[1].FairPreemptAfter = 2*time.Second, 3*time.Second
	}
	second := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(1, most).Draw(t, name)) * time.Second
	}
	for i := range rapid.IntRange(1, 6).Draw(t, "jobs") {
		maps := int32(rapid.IntRange(0, 20).Draw(t, "maps"))
		j := ScriptJob{
			Spec: slots.JobSpec{
				Name: fmt.Sprintf("J%02d", i), Pool: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "pool"), User: rapid.SampledFrom([]string{"", "ann"}).Draw(t, "user"),
				Maps: maps, MapsSealed: true, Reduces: int32(rapid.IntRange(0, 8).Draw(t, "reduces")),
				Priority: slots.Priority(rapid.IntRange(-2, 2).Draw(t, "priority")), Weight: rapid.SampledFrom([]slots.PPM{slots.One, 3 * slots.One}).Draw(t, "weight"),
			},
			Submit: second("submit", 20) - time.Second, MapTime: drawTimes(t, "map"), ReduceTime: drawTimes(t, "reduce"),
			MapBytes: int64(rapid.IntRange(0, 9).Draw(t, "bytes of a map")),
		}
		j.Spec.Profile, j.Spec.Deadline = drawProfile(t), time.Duration(rapid.IntRange(0, 60).Draw(t, "deadline"))*time.Second
		if claims.Periods {
			j.MapIO = time.Duration(rapid.Int64Range(0, int64(j.MapTime(0)/time.Second)).Draw(t, "I/O period")) * time.Second
		}
		if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			bad, times := slots.TaskID(rapid.IntRange(0, 9).Draw(t, "bad")), int32(rapid.IntRange(1, 4).Draw(t, "times"))
			j.Fail = func(_ slots.Kind, task slots.TaskID) int32 {
				if task == bad {
					return times
				}
				return 0
			}
		}
		w.jobs = append(w.jobs, j)
	}
	for range rapid.IntRange(0, 4).Draw(t, "slow trackers") {
		w.options.Speeds = append(w.options.Speeds, slots.One/slots.PPM(rapid.IntRange(1, 5).Draw(t, "slowness")))
	}
	for range rapid.IntRange(0, 4).Draw(t, "faults") {
		w.options.Faults = append(w.options.Faults, drawFault(t, len(w.jobs), len(w.config.Slots)))
	}
	return w
}

// drawTimes draws the times of the tasks of a kind, in seconds. In half of the cases they are not equal. Task 0
// takes the least.
func drawTimes(t *rapid.T, kind string) func(slots.TaskID) time.Duration {
	least, more := rapid.IntRange(1, 9).Draw(t, kind+" time"), rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, kind+" time more")
	return func(task slots.TaskID) time.Duration {
		return time.Duration(least+int(task)*more%5) * time.Second
	}
}

// LentBy returns the papers' count of lent slots and the number of open home slots, by kind and
// in weight.
func LentBy(l *slots.Ledger) (lent, capacity [2]int32) {
	v := l.View()
	for k := range slots.Kind(trace.Kinds) {
		lent[k], capacity[k] = v.LentBy(k), v.Weights().Times(k, v.Capacity(k))
	}
	return lent, capacity
}

// DrawJobs draws a few jobs of random sizes, times and submissions.
func DrawJobs(t *rapid.T) (jobs []ScriptJob) {
	for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
		seconds := func(name string, least int) time.Duration {
			return time.Duration(rapid.IntRange(least, 9).Draw(t, name)) * time.Second
		}
		jobs = append(jobs, ScriptJob{
			Spec: slots.JobSpec{
				Name: fmt.Sprintf("J%02d", i), MapsSealed: true,
				Maps: int32(rapid.IntRange(1, 60).Draw(t, "maps")), Reduces: int32(rapid.IntRange(0, 40).Draw(t, "reduces")),
			},
			Submit: seconds("submit", 0), MapTime: Const(seconds("map", 1)), ReduceTime: Const(seconds("reduce", 1)),
		})
	}
	return jobs
}

// drawProfile draws a profile in tenths of a tracker, some above the capacity of a tracker. In
// half of the cases it returns nil.
func drawProfile(t *rapid.T) *slots.Profile {
	if rapid.Bool().Draw(t, "no profile") {
		return nil
	}
	vector := func(name string, most int) slots.Vector {
		tenths := func(of string) slots.PPM {
			return slots.One / 10 * slots.PPM(rapid.IntRange(0, most).Draw(t, of+" of a "+name))
		}
		return slots.Vector{CPU: tenths("CPU"), IO: tenths("I/O"), Memory: tenths("memory")}
	}
	return &slots.Profile{Map: vector("map", 12), Shuffle: vector("shuffle", 4), Reduce: vector("reduce", 12)}
}

// drawFault draws a lost map output, a dropped or restored map, an aborted job, or a lost
// tracker (the last one, but never tracker 0). places is the number of slots.
func drawFault(t *rapid.T, jobs, places int) ScriptFault {
	at := time.Duration(rapid.IntRange(1, 60).Draw(t, "at")) * time.Second
	job := slots.JobID(rapid.IntRange(0, jobs-1).Draw(t, "job"))
	task := slots.TaskID(rapid.IntRange(0, 19).Draw(t, "task"))
	kind := rapid.SampledFrom([]string{"lose", "lose", "drop", "restore", "abort", "tracker"}).Draw(t, "fault")
	return ScriptFault{At: at, Do: func(now time.Duration, l *slots.Ledger) {
		if kind == "tracker" {
			last := l.Config().Slots[places-1].Tracker
			if last > 0 {
				l.LostTracker(now, last)
			}
			return
		}
		if int(job) >= l.Jobs() {
			return
		}
		if _, total := l.JobTasks(job, slots.Map); kind == "abort" || int32(task) < total {
			inject(l, now, kind, job, task)
		}
	}}
}

// checkWorkload runs a random workload three times: once with a new policy, and twice with
// another value that New resets. It compares the events, and replays the recorded file.
func checkWorkload(t *rapid.T, newPolicy func() slots.Policy, claims Claims) {
	w := drawWorkload(t, claims)
	o := w.options
	o.Each = func(now time.Duration, l *slots.Ledger) error { return checkIdle(l, claims) }
	var log Log
	var file bytes.Buffer
	o.Sinks = []trace.Sink{&log, trace.NewJSONL(&file)}
	l, err := Drive(w.config, newPolicy(), w.jobs, o)
	if err != nil {
		t.Fatal(err)
	}
	checkTimes(t, l.Stats())
	if err := checkEvents(log.Events); err != nil {
		t.Fatal(err)
	}
	var again Log
	o.Sinks = []trace.Sink{&again}
	p := newPolicy()
	for range 2 {
		again.Events = nil
		if _, err := Drive(w.config, p, w.jobs, o); err != nil {
			t.Fatal(err)
		}
	}
	if i := firstDifference(&log, &again); i >= 0 {
		t.Fatalf("the second run differs from event %d on", i)
	}
	diff, err := explain.Replay(&file, func(slots.Config) (slots.Policy, error) { return newPolicy(), nil }, explain.ReplayOptions{})
	if err != nil || diff != nil {
		t.Fatalf("replay: %v, %v", diff, err)
	}
}

// checkTimes checks that the times of phases add up to the busy time, and that wasted time is
// part of it. It also checks that Jain's indexes are between 0 and 1.
func checkTimes(t *rapid.T, s slots.Stats) {
	sum := time.Duration(0)
	for _, d := range s.Phases {
		sum += d
	}
	if sum != s.Busy || s.Wasted.All() > s.Busy || s.Wasted.Waiting > s.WaitingReduce || s.Busy > s.Open {
		t.Fatalf("the phases take %v together: %+v", sum, s)
	}
	if s.JainInTime <= 0 || s.JainInTime > 1 || s.Jain <= 0 || s.Jain > 1+1e-9 {
		t.Fatalf("Jain's index: %+v", s)
	}
}

// firstDifference returns the index of the first event in which two traces differ, and -1 for equal
// traces. Rules are compared by name, because each trace has its own numbers of texts.
func firstDifference(a, b *Log) int {
	i := 0
	for i < min(len(a.Events), len(b.Events)) &&
		a.Events[i] == b.Events[i] && a.Rule(&a.Events[i]) == b.Rule(&b.Events[i]) {
		i++
	}
	if i == max(len(a.Events), len(b.Events)) {
		return -1
	}
	return i
}

// checkIdle checks claims.Idle. It checks nothing while the deadlock guard may keep reduces from
// idle slots. It also checks nothing while tasks have failed, because these do not return to
// their tracker.
func checkIdle(l *slots.Ledger, claims Claims) error {
	if claims.Idle == nil || keptBack(l) || failures(l) {
		return nil
	}
	pending, idle := l.Idle()
	if claims.Idle(pending, idle) {
		return fmt.Errorf("%d maps and %d reduces are pending while %d map slots and %d reduce slots idle",
			pending[slots.Map], pending[slots.Reduce], idle[slots.Map], idle[slots.Reduce])
	}
	return nil
}

// keptBack reports whether reduces of a job with unfinished maps are pending. The deadlock guard
// may keep such reduces from free slots.
func keptBack(l *slots.Ledger) bool {
	v := l.View()
	for id := range slots.JobID(l.Jobs()) {
		j := v.Job(id)
		if mapsDone := j.Sealed() && j.Done(slots.Map) == j.Total(slots.Map); !mapsDone && j.Pending(slots.Reduce) > 0 {
			return true
		}
	}
	return false
}

// failures reports whether a running job has had a failed attempt or a lost output, which counts
// as a failure.
func failures(l *slots.Ledger) bool {
	for id := range slots.JobID(l.Jobs()) {
		m, r := l.JobCounts(id, slots.Map), l.JobCounts(id, slots.Reduce)
		if l.JobState(id) == slots.Running && m.Failed+m.LostOutputs+r.Failed > 0 {
			return true
		}
	}
	return false
}

// checkEvents checks the events by rules that need no Ledger. No slot runs two attempts
// at a time. Without speculation no task runs two attempts at a time. No task starts after it
// has committed, unless its output was lost.
func checkEvents(events []trace.Event) error {
	type task struct {
		job, task int32
		kind      slots.Kind
	}
	onSlot := map[int32]bool{}
	running, committed := map[task]int{}, map[task]bool{}
	for i := range events {
		e := &events[i]
		id := task{e.Job, e.Task, e.Kind}
		switch e.Op {
		case trace.OpStart:
			if onSlot[e.Slot] || running[id] > 0 && !e.Has(trace.Speculative) || committed[id] {
				return fmt.Errorf("event %d starts %v on slot %d: slot busy %v, task running %d, committed %v", i, id, e.Slot, onSlot[e.Slot], running[id], committed[id])
			}
			onSlot[e.Slot] = true
			running[id]++
		case trace.OpFinish:
			if e.Slot < 0 { // the attempt ended before, with its tracker
				continue
			}
			onSlot[e.Slot] = false
			running[id]--
			committed[id] = committed[id] || e.Has(trace.OK)
		case trace.OpLostOutput:
			committed[id] = false
		case trace.OpLostTracker: // its attempts and its map outputs have no events of their own
			clear(onSlot)
			clear(running)
			clear(committed)
		}
	}
	return nil
}

// checkLostOutput loses map outputs while reduces hold slots, on a cluster with places slots. If
// reduces could take all of so few slots, the run would never end.
func checkLostOutput(t *rapid.T, newPolicy func() slots.Policy, places int) {
	maps := max(1, places-1)
	if places == 1 && !sharesOneSlot(newPolicy()) {
		return // a policy without lending needs a slot of each kind
	}
	c := slots.Config{Slots: Typed(1, maps, places-maps), CopyBandwidth: 1, Slowstart: rapid.SampledFrom([]slots.PPM{0, slots.One / 2, slots.One}).Draw(t, "slowstart")}
	var jobs []ScriptJob
	for i := range rapid.IntRange(1, 3).Draw(t, "jobs") {
		jobs = append(jobs, ScriptJob{
			Spec:    slots.JobSpec{Name: fmt.Sprint(i), Maps: int32(rapid.IntRange(1, 5).Draw(t, "maps")), MapsSealed: true, Reduces: int32(rapid.IntRange(1, 5).Draw(t, "reduces"))},
			MapTime: Const(time.Second), ReduceTime: Const(time.Duration(rapid.IntRange(1, 9).Draw(t, "reduce time")) * time.Second),
			MapBytes: 9,
		})
	}
	var o Options
	for range rapid.IntRange(1, 3).Draw(t, "losses") {
		job, task := slots.JobID(rapid.IntRange(0, len(jobs)-1).Draw(t, "job")), slots.TaskID(rapid.IntRange(0, 4).Draw(t, "task"))
		o.Faults = append(o.Faults, ScriptFault{time.Duration(rapid.IntRange(1, 30000).Draw(t, "at")) * time.Millisecond,
			func(now time.Duration, l *slots.Ledger) { l.LostOutput(now, job, task) }})
	}
	if _, err := Drive(c, newPolicy(), jobs, o); err != nil {
		t.Fatal(err)
	}
}

// sharesOneSlot reports whether a reduce may run if the only slot is a map slot.
func sharesOneSlot(p slots.Policy) bool {
	t := p.Traits()
	switch {
	case t.Weights.Of(slots.Reduce) > t.Weights.Of(slots.Map):
		return false
	case t.Borrows:
		return t.BorrowMap.Of(1) == 1
	}
	return t.Lends
}

// checkStream checks a job whose maps become known one by one, as those of a stream do. Its reduces
// are known from the start.
func checkStream(t *testing.T, newPolicy func() slots.Policy) {
	c := slots.Config{Slots: Typed(1, 2, 1)}
	jobs := []ScriptJob{{Spec: slots.JobSpec{Name: "stream", Reduces: 3}, MapTime: Const(2 * time.Second), ReduceTime: Const(time.Second)}}
	var o Options
	for i := range int32(10) {
		o.Faults = append(o.Faults, ScriptFault{time.Duration(i) * time.Second, func(now time.Duration, l *slots.Ledger) {
			l.Ready(now, 0, slots.Readiness{Maps: i + 1, Total: i + 1, Sealed: i == 9})
		}})
	}
	l, err := Drive(c, newPolicy(), jobs, o)
	if err != nil {
		t.Fatal(err)
	}
	if done, total := l.JobTasks(0, slots.Map); done != 10 || total != 10 || l.JobState(0) != slots.Succeeded {
		t.Errorf("%d of %d maps done, job %v", done, total, l.JobState(0))
	}
}

// drawnRuns is how many workloads Drawn draws for each setting of the options.
const drawnRuns = 40

// Drawn runs drawn workloads, and compares each with its line in the golden file at path. A line has the last
// time, the numbers of starts, loans and kills, and a digest of all events and reasons. So a change of any
// decision is seen, also in a case that no script has. A change that is meant needs -rewrite. The workloads
// depend on their number alone. options has settings as in the command policy of Scripts.
func Drawn(t *testing.T, path string, newPolicy func(o policy.Options) slots.Policy, claims Claims, options ...string) {
	var out bytes.Buffer
	for _, setting := range options {
		for i := range drawnRuns {
			s := &script{t: t, options: policy.DefaultOptions()}
			if err := s.command("policy " + setting); err != nil {
				t.Fatal(err)
			}
			p := newPolicy(s.options)
			if i == 0 {
				fmt.Fprintf(&out, "policy %s: %s\n", setting, traits(p))
			}
			fmt.Fprintf(&out, "%d: %s\n", i, Digest(t, i, p, claims))
		}
	}
	testkit.Golden(t, path, out.Bytes())
}

// traits returns a digest of the constants of a policy.
func traits(p slots.Policy) string {
	sum, t := fnv.New32a(), p.Traits()
	fmt.Fprintln(sum, t.Name, t.Uses, t.Lends, t.ByDemand, t.OwnSlowstart, t.Slowstart, t.Weights, t.Options == nil, t.Rules)
	return fmt.Sprintf("%08x", sum.Sum32())
}

// Digest runs the drawn workload of a number under a policy. It returns the line of Drawn for it, without the number.
func Digest(t *testing.T, number int, p slots.Policy, claims Claims) string {
	s := &script{t: t}
	w := rapid.Custom(func(t *rapid.T) workload { return drawWorkload(t, claims) }).Example(number)
	if number%4 == 3 { // many jobs, because some policies look at all jobs only when an eighth of them have changed
		w.jobs = slices.Repeat(w.jobs, 4)
	}
	for i := range w.jobs {
		s.names = append(s.names, w.jobs[i].Spec.Name)
	}
	var log Log
	var reasons strings.Builder
	w.options.Sinks, w.options.Explain = []trace.Sink{&log}, func(e *slots.Explanation) { s.explain(&reasons, e) }
	l, err := Drive(w.config, p, w.jobs, w.options)
	if err != nil {
		t.Fatalf("drawn workload %d: %v", number, err)
	}
	sum, count := fnv.New32a(), map[trace.Op]int{}
	for i := range log.Events {
		e := &log.Events[i]
		count[e.Op]++
		fmt.Fprintln(sum, log.Line(e))
	}
	st := l.Stats()
	fmt.Fprintln(sum, st.Phases, st.Wasted, st.Moves, st.Lent, st.WaitingReduce, reasons.String())
	return fmt.Sprintf("%v, %d starts, %d lent, %d killed, %08x", l.Now(), count[trace.OpStart], count[trace.OpLend], count[trace.OpKill], sum.Sum32())
}
