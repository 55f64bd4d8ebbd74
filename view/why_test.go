package view_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/viewtest"
)

// tape makes a run of few attempts by hand. Each slot is the only one of its tracker.
type tape struct {
	slots    string  // home kinds: M, R
	gate     float64 // second at which reduces may start; 0: when the maps are done
	arrive   float64 // second at which the jobs are submitted
	deadline float64 // of all jobs
	spills   int     // of the first map
	config   string
	sleep    []string // attempts: JOB/m/TASK SLOT FROM TO, and then words: lent, copy, failed, killed, lost, race
}

// timed is an event with its place among the events of one time.
type timed struct {
	trace.Event
	order int
	texts []string
}

// run returns the model of the tape. Jobs are in the order of their names.
func (x tape) run(t *testing.T, name string) view.Named {
	t.Helper()
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	var events []timed
	add := func(at time.Duration, order int, e trace.Event, texts ...string) {
		e.At = at
		events = append(events, timed{e, order, texts})
	}
	type job struct {
		tasks [trace.Kinds]int64
		ends  [trace.Kinds]time.Duration
	}
	var jobs [26]job
	for i, line := range x.sleep {
		var letter, kind rune
		var task, slot int32
		var from, to float64
		words := strings.Fields(line)
		if _, err := fmt.Sscanf(line, "%c/%c/%d %d %g %g", &letter, &kind, &task, &slot, &from, &to); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		has := func(word string) bool { return slices.Contains(words[4:], word) }
		e := trace.Event{Job: letter - 'A', Task: task, Slot: slot}
		if kind == 'r' {
			e.Kind = trace.Reduce
		}
		for _, before := range events {
			if before.Op == trace.OpStart && before.Job == e.Job && before.Kind == e.Kind && before.Task == task {
				e.N++
			}
		}
		j := &jobs[e.Job]
		j.tasks[e.Kind] = max(j.tasks[e.Kind], int64(task)+1)
		e.Op = trace.OpStart
		e.Set(trace.Lent, has("lent"))
		e.Set(trace.Speculative, has("copy"))
		add(seconds(from), 5, e, "rule")
		e.Flags, e.Op = 0, trace.OpFinish
		switch {
		case has("lost"):
			add(seconds(to), 1, trace.Event{Op: trace.OpLostTracker, A: int64(slot)})
			add(seconds(to), 2, trace.Event{Op: trace.OpClose, Slot: slot})
			continue
		case has("killed"), has("race"):
			kill, rule := e, "min-share"
			if kill.Op = trace.OpKill; has("race") {
				rule = string(trace.RuleLostRace)
			}
			add(seconds(to), 2, kill, rule)
			e.Set(trace.Killed, true)
		case !has("failed"):
			e.Set(trace.OK, true)
			j.ends[e.Kind] = max(j.ends[e.Kind], seconds(to))
		}
		add(seconds(to), 2, e)
		for n := range x.spills / (1 + 1000*i) { // of the first attempt
			e.Op = trace.OpSpillEnd
			add(seconds(from+float64(n+1)/10), 2, e)
		}
	}
	for i := range jobs {
		if j := &jobs[i]; j.tasks[trace.Map] > 0 {
			e := trace.Event{Op: trace.OpSubmit, Job: int32(i), A: j.tasks[trace.Map], B: j.tasks[trace.Reduce], C: j.tasks[trace.Map], F: int64(seconds(x.deadline))}
			e.Set(trace.Sealed, true)
			letter := string(rune('A' + i))
			add(seconds(x.arrive), 0, e, letter, letter, "user")
			add(j.ends[trace.Map], 3, trace.Event{Op: trace.OpMapsDone, Job: e.Job})
			gate := trace.Event{Op: trace.OpGate, Job: e.Job}
			gate.Set(trace.OK, true)
			add(cmp.Or(seconds(x.gate), j.ends[trace.Map]), 4, gate)
			add(max(j.ends[trace.Map], j.ends[trace.Reduce]), 6, trace.Event{Op: trace.OpJobEnd, Job: e.Job, A: int64(slots.Succeeded)})
		}
	}
	slices.SortStableFunc(events, func(a, b timed) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.order, b.order)) })
	h := &trace.Header{Policy: name, Config: []byte(cmp.Or(x.config, "{}"))}
	for i, kind := range x.slots {
		s := trace.Slot{ID: int32(i), Tracker: int32(i)}
		if kind == 'R' {
			s.Home = trace.Reduce
		}
		h.Slots = append(h.Slots, s)
	}
	m := view.New()
	if err := m.Open(h); err != nil {
		t.Fatal(err)
	}
	for i := range events {
		events[i].Seq = uint64(i + 1)
		m.Add(&events[i].Event, events[i].texts)
	}
	_ = m.Close() // never fails
	return view.Named{Name: name, Model: m}
}

// TestTheHeadlineNamesTheCause has two runs for each kind of cause. All that differs between them is that cause, and
// it makes run bad end later.
func TestTheHeadlineNamesTheCause(t *testing.T) {
	serial := []string{"A/m/0 0 0 1", "A/m/1 0 1 2", "A/m/2 0 2 3", "A/m/3 0 3 4"}
	early := []string{"A/m/0 0 0 1", "A/m/1 0 1 2", "A/m/2 0 2 3", "A/m/3 0 3 4", "A/m/4 0 4 5", "A/m/5 0 5 6", "A/r/0 1 1 7"}
	late := []string{"A/m/0 0 0 1", "A/m/1 0 1 2", "A/m/2 0 2 3", "A/m/3 1 0 1 lent", "A/m/4 1 1 2 lent", "A/m/5 1 2 3 lent", "A/r/0 1 3 4"}
	six := []string{"A/m/0 0 0 1", "A/m/1 1 0 1", "A/m/3 0 1 2", "A/m/4 1 1 2", "A/m/5 0 2 3"}
	var ten []string
	for i := range 10 {
		ten = append(ten, fmt.Sprintf("A/m/%d 0 %d %d", i, i, i+1))
	}
	ten = slices.Clip(ten)
	for name, c := range map[string]struct {
		bad, good tape
		want      string
	}{
		"lending": {
			tape{slots: "MR", sleep: serial}, tape{slots: "MR", sleep: []string{"A/m/0 0 0 1", "A/m/1 1 0 1 lent", "A/m/2 0 1 2", "A/m/3 1 1 2 lent"}},
			"The reduce slot was idle for 4 s of 4 s under bad; good lent it 2 times.",
		},
		"waiting reduces": {
			tape{slots: "MR", gate: 1, sleep: early}, tape{slots: "MR", sleep: late},
			"Waiting reduces held slots for 4 s of slot time under bad while tasks waited, 0 s under good.",
		},
		"a copy wins": {
			tape{slots: "MMM", sleep: append(six, "A/m/2 2 0 8")}, tape{slots: "MMM", sleep: append(six, "A/m/2 2 0 3 race", "A/m/2 1 2 3 copy")},
			"Map 2 of A took 8 s under bad, 1 s under good, where 1 copy won.",
		},
		"a copy of another task wins": {
			tape{slots: "MMM", sleep: append(six, "A/m/2 2 0 8")}, tape{slots: "MMM", sleep: []string{"A/m/0 0 0 1", "A/m/2 1 0 1", "A/m/3 0 1 2", "A/m/4 1 1 2", "A/m/5 0 2 3", "A/m/1 2 0 3 race", "A/m/1 1 2 3 copy"}},
			"Map 2 of A took 8 s under bad, 1 s under good; another's copy won.",
		},
		"a slow task": {
			tape{slots: "MMM", sleep: append(six, "A/m/2 2 0 8")}, tape{slots: "MMM", sleep: append(six, "A/m/2 2 0 1")},
			"Map 2 of A took 8 s under bad, 1 s under good.",
		},
		"a slower task": {
			tape{slots: "MMM", sleep: append(six, "A/m/2 2 0 8")}, tape{slots: "MMM", sleep: append(six, "A/m/2 2 0 4")},
			"Map 2 of A took 8 s under bad, 4 s under good.",
		},
		"copies in vain": {
			tape{slots: "MM", sleep: []string{"A/m/0 0 0 1", "A/m/1 1 0 1", "A/m/2 0 1 2", "A/m/2 1 1 2 copy race", "A/m/3 0 2 3", "A/m/3 1 2 3 copy race"}},
			tape{slots: "MM", sleep: []string{"A/m/0 0 0 1", "A/m/1 1 0 1", "A/m/2 0 1 2", "A/m/3 1 1 2"}},
			"2 overtaken attempts cost 2 s of slot time under bad, 0 s under good.",
		},
		"a kill": {
			tape{slots: "M", sleep: []string{"A/m/0 0 0 2 killed", "A/m/1 0 2 3", "A/m/0 0 3 5"}}, tape{slots: "M", sleep: []string{"A/m/0 0 0 2", "A/m/1 0 2 3"}},
			"1 killed attempt cost 2 s of slot time under bad, 0 s under good.",
		},
		"a failure": { // slot 1 waits for the attempt that repeats it
			tape{slots: "MM", sleep: []string{"A/m/0 0 0 2 failed", "A/m/1 1 0 2", "A/m/0 0 2 4"}}, tape{slots: "MM", sleep: []string{"A/m/0 0 0 2", "A/m/1 1 0 2"}},
			"1 failed attempt cost 4 s of slot time under bad, 0 s under good.",
		},
		"a lost tracker": {
			tape{slots: "MM", sleep: []string{"A/m/0 0 0 2", "A/m/1 1 0 1 lost", "A/m/1 0 2 4"}}, tape{slots: "MM", sleep: []string{"A/m/0 0 0 2", "A/m/1 1 0 2"}},
			"1 lost attempt cost 1 s of slot time under bad, 0 s under good.",
		},
		"a lost output": { // slot 2 waits for the attempt that repeats it
			tape{slots: "MMR", sleep: []string{"A/m/2 0 0 2", "A/m/0 1 0 1", "A/m/1 1 1 2 lost", "A/m/0 0 2 3", "A/m/1 0 3 4", "A/r/0 2 4 5"}}, tape{slots: "MMR", sleep: []string{"A/m/2 0 0 2", "A/m/0 1 0 1", "A/m/1 1 1 2", "A/r/0 2 2 3"}},
			"2 lost attempts cost 5 s of slot time under bad, 0 s under good.",
		},
		"slots that are kept free": {
			tape{slots: "MM", sleep: serial}, tape{slots: "MM", sleep: []string{"A/m/0 0 0 1", "A/m/1 1 0 1", "A/m/2 0 1 2", "A/m/3 1 1 2"}},
			"Slots were idle for 3 s of slot time under bad although their tasks waited, 0 s under good.",
		},
		"the order of jobs": {
			tape{slots: "MR", sleep: []string{"B/m/0 0 0 3", "A/m/0 0 3 4", "B/r/0 1 3 4", "A/r/0 1 4 7"}}, tape{slots: "MR", sleep: []string{"A/m/0 0 0 1", "B/m/0 0 1 4", "A/r/0 1 1 4", "B/r/0 1 4 5"}},
			"Under good job A started before B, under bad after it; slots were idle for 6 s of slot time under bad, 2 s under good.",
		},
		"tasks that share cores": {
			tape{slots: "MMR", sleep: []string{"A/m/0 0 0 2", "A/m/1 1 0 2", "A/m/2 2 0 2 lent", "A/m/3 0 2 4", "A/m/4 1 2 4", "A/m/5 2 2 4 lent"}},
			tape{slots: "MMR", sleep: []string{"A/m/0 0 0 1", "A/m/1 1 0 1", "A/m/2 0 1 2", "A/m/3 1 1 2", "A/m/4 0 2 3", "A/m/5 1 2 3"}},
			"Maps took 2 times as long under bad: 3 ran at a time, 2 under good.",
		},
		"spills": {
			tape{slots: "M", spills: 2, sleep: []string{"A/m/0 0 0 3"}}, tape{slots: "M", sleep: []string{"A/m/0 0 0 2"}},
			"The map took 1.5 times as long under bad: 2 spills, not 0.",
		},
		"longer tasks": {
			tape{slots: "M", sleep: []string{"A/m/0 0 0 3"}}, tape{slots: "M", sleep: []string{"A/m/0 0 0 2"}},
			"The map took 1.5 times as long under bad.",
		},
		"longer tasks beside an idle slot": {
			tape{slots: "MR", sleep: []string{"A/m/0 0 0 2", "A/m/1 0 2 4", "A/m/2 0 4 6"}}, tape{slots: "MR", sleep: serial[:3]},
			"Maps took 2 times as long under bad.",
		},
		"fewer slots": {
			tape{slots: "M", sleep: serial}, tape{slots: "MM", sleep: []string{"A/m/0 0 0 1", "A/m/1 1 0 1", "A/m/2 0 1 2", "A/m/3 1 1 2"}},
			"good has 2 slots on average, bad 1.",
		},
		// A third of the difference each: a failure, an idle slot, a longer task.
		"three causes": {
			tape{slots: "M", sleep: []string{"A/m/0 0 0 1 failed", "A/m/0 0 1 2", "A/m/1 0 3 5"}}, tape{slots: "M", sleep: []string{"A/m/0 0 0 1", "A/m/1 0 1 2"}}, "",
		},
		"a later arrival": {
			tape{slots: "M", arrive: 3, sleep: []string{"A/m/0 0 3 4"}}, tape{slots: "M", sleep: []string{"A/m/0 0 0 1"}}, "",
		},
		"other jobs": {tape{slots: "M", sleep: serial}, tape{slots: "M", sleep: serial[:2]}, ""},
		// Reduces wait on their slots here, and these slots are idle there: that is no difference.
		"slots that wait in two ways": {
			tape{slots: "MR", gate: 1, sleep: append(ten, "A/r/0 1 1 13")}, tape{slots: "MR", sleep: append(ten, "A/r/0 1 10 11")},
			"The reduce took 3 times as long under bad.",
		},
	} {
		got := view.Headline([]view.Named{c.bad.run(t, "bad"), c.good.run(t, "good")})
		first, because, _ := strings.Cut(got, ". ")
		if !strings.HasPrefix(first, "good ends first, after ") || because != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestTheHeadlineOfOneRun has a run for each thing that may take most of its slot time.
func TestTheHeadlineOfOneRun(t *testing.T) {
	for want, x := range map[string]tape{
		"one ends after 4 s.": {slots: "M", sleep: []string{"A/m/0 0 0 2", "A/m/1 0 2 4"}},
		"one ends after 8 s. Map 2 of A took 8 s, 8 times the median.":                            {slots: "MM", sleep: []string{"A/m/0 0 0 1", "A/m/1 0 1 2", "A/m/2 1 0 8"}},
		"one ends after 7 s. Waiting reduces held slots for 4 s of slot time while tasks waited.": {slots: "MR", gate: 1, sleep: []string{"A/m/0 0 0 1", "A/m/1 0 1 2", "A/m/2 0 2 3", "A/m/3 0 3 4", "A/m/4 0 4 5", "A/m/5 0 5 6", "A/r/0 1 1 7"}},
		"one ends after 8 s. Waiting reduces held slots for 5 s of slot time while tasks waited.": {slots: "MR", gate: 1, sleep: []string{"A/m/0 0 0 1", "A/m/1 0 1 2", "A/m/2 0 2 3", "A/m/3 0 3 6", "A/m/4 0 6 7", "A/r/0 1 1 8"}},
		"one ends after 5 s. 1 killed attempt cost 2 s of slot time.":                             {slots: "M", sleep: []string{"A/m/0 0 0 2 killed", "A/m/1 0 2 3", "A/m/0 0 3 5"}},
		"one ends after 4 s. 1 failed attempt cost 4 s of slot time.":                             {slots: "MM", sleep: []string{"A/m/0 0 0 2 failed", "A/m/1 1 0 2", "A/m/0 0 2 4"}},
		"one ends after 4 s. 1 lost attempt cost 1 s of slot time.":                               {slots: "MM", sleep: []string{"A/m/0 0 0 2", "A/m/1 1 0 1 lost", "A/m/1 0 2 4"}},
		"one ends after 3 s. 1 copy won; 1 overtaken attempt cost 4 s of slot time.":              {slots: "MM", sleep: []string{"A/m/0 0 0 1", "A/m/1 1 0 3 race", "A/m/1 0 2 3 copy"}},
		"one ends after 3 s. 2 overtaken attempts cost 2 s of slot time.":                         {slots: "MM", sleep: []string{"A/m/0 0 0 1", "A/m/1 1 0 1", "A/m/2 0 1 2", "A/m/2 1 1 2 copy race", "A/m/3 0 2 3", "A/m/3 1 2 3 copy race"}},
		"one ends after 4 s. The reduce slot was idle for 4 s of 4 s.":                            {slots: "MR", sleep: []string{"A/m/0 0 0 2", "A/m/1 0 2 4"}},
		"one ends after 2 s. one lent the reduce slot once.":                                      {slots: "MR", sleep: []string{"A/m/0 0 0 2", "A/m/1 1 0 2 lent"}},
		"one ends after 4 s. Job A misses its deadline by 1 s.":                                   {slots: "MR", deadline: 3, sleep: []string{"A/m/0 0 0 2", "A/m/1 0 2 4"}},
	} {
		if got := view.Headline([]view.Named{x.run(t, "one")}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestTheHeadlineOfEqualRuns tells of the last run what it would tell of that run alone.
func TestTheHeadlineOfEqualRuns(t *testing.T) {
	x := tape{slots: "MM", sleep: []string{"A/m/0 0 0 1", "A/m/1 0 1 2", "A/m/2 1 0 8"}}
	want := "Both runs end after 8 s. Map 2 of A took 8 s, 8 times the median under two."
	if got := view.Headline([]view.Named{x.run(t, "one"), x.run(t, "two")}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestTheHeadlineNamesAnotherJob has jobs that end earlier in the run that ends later, each for another reason.
func TestTheHeadlineNamesAnotherJob(t *testing.T) {
	long := []string{"A/m/0 0 0 6", "B/m/0 0 6 8"}
	for name, c := range map[string]struct {
		first, second tape
		want          string
	}{
		"it waits": {
			tape{slots: "M", sleep: long}, tape{slots: "M", sleep: []string{"B/m/0 0 0 2", "A/m/0 0 2 9"}},
			"first ends first, after 8 s; second 1 s later. But second ends job B 6 s earlier: it waited 0 s for a slot, not 6 s.",
		},
		"others are killed for it": {
			tape{slots: "M", sleep: long}, tape{slots: "M", sleep: []string{"A/m/0 0 0 1 killed", "B/m/0 0 1 3", "A/m/0 0 3 9"}},
			"first ends first, after 8 s; second 1 s later. But second ends job B 5 s earlier: it waited 1 s for a slot, not 6 s, as second killed 1 attempt.",
		},
		"its maps have more slots": {
			tape{slots: "MM", sleep: []string{"A/m/0 0 0 6", "A/m/1 0 6 8", "B/m/0 1 0 4", "B/m/1 1 4 8"}}, tape{slots: "MM", sleep: []string{"B/m/0 0 0 4", "B/m/1 1 0 4", "A/m/0 0 4 9", "A/m/1 1 4 9"}},
			"first ends first, after 8 s; second 1 s later. But second ends job B 4 s earlier: its maps had 2, not 1 slots on average.",
		},
		"its only map has more slots": {
			tape{slots: "MM", sleep: []string{"A/m/0 0 0 8", "B/m/0 1 0 1 failed", "B/m/0 1 5 6"}}, tape{slots: "MM", sleep: []string{"A/m/0 0 0 9", "B/m/0 1 0 1"}},
			"first ends first, after 8 s; second 1 s later. But second ends job B 5 s earlier: its map had 1, not 0.333 slots on average.",
		},
		"nothing explains it": {
			tape{slots: "MM", sleep: []string{"A/m/0 0 0 8", "B/m/0 1 0 6"}}, tape{slots: "MM", sleep: []string{"A/m/0 0 0 9", "B/m/0 1 0 2"}},
			"first ends first, after 8 s; second 1 s later. But second ends job B 4 s earlier.",
		},
		"less than the runs differ by": {
			tape{slots: "MM", sleep: []string{"A/m/0 0 0 8", "B/m/0 1 0 6"}}, tape{slots: "MM", sleep: []string{"A/m/0 0 0 16", "B/m/0 1 0 2"}},
			"first ends first, after 8 s; second 8 s later (twice the time), but its job B 4 s earlier. The map of A took 2 times as long under second.",
		},
		"its deadline": {
			tape{slots: "M", deadline: 7, sleep: []string{"B/m/0 0 0 7", "A/m/0 0 7 8"}}, tape{slots: "M", deadline: 7, sleep: []string{"A/m/0 0 0 1", "B/m/0 0 1 8"}},
			"Both runs end after 8 s. Job A misses its deadline by 1 s under first, and meets it under second: it waited 0 s for a slot, not 7 s.",
		},
		"no gain of a loan": {
			tape{slots: "MR", sleep: []string{"A/m/0 0 0 1", "A/m/1 0 1 2"}}, tape{slots: "MR", sleep: []string{"A/m/0 0 0 2", "A/m/1 1 0 2 lent"}},
			"Both runs end after 2 s. second lent the reduce slot once, but maps took 2 times as long: 2 ran at a time, 1 under first.",
		},
	} {
		if got := view.Headline([]view.Named{c.first.run(t, "first"), c.second.run(t, "second")}); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestSlotTimeIsBookedOnce compares the sum of all items with the time in which slots are open.
func TestSlotTimeIsBookedOnce(t *testing.T) {
	for _, r := range viewtest.Runs() {
		m := r.Model(t)
		end, home := m.Makespan(), m.HomeSlots()
		open := time.Duration(home[trace.Map]+home[trace.Reduce]) * end
		for _, d := range m.Decisions {
			switch d.Op {
			case trace.OpOpen:
				open += max(0, end-d.At)
			case trace.OpClose:
				open -= max(0, end-d.At)
			}
		}
		if booked := view.Booked(m); (booked - open).Abs() > time.Millisecond {
			t.Errorf("%s: %v are booked, and slots are open for %v", r.Name, booked, open)
		}
	}
}
