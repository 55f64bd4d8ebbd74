package view

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/trace"
)

// item says what a slot does at a moment. A slot that waits has the items of the attempts that run, so far as these are
// not itemWork.
type item uint8

const (
	itemWork    item = iota // an attempt that finishes its task, or whose task was not needed
	itemLonger              // the same, after the time that the task takes in the run that is compared
	itemTail                // idle: no task waits
	itemSlow                // an attempt that takes slowFactor times the median of its job and kind, after that time
	itemWaits               // a reduce waits for maps of its job, and other tasks wait for a slot
	itemRaces               // an attempt of a task that another attempt finished first
	itemKilled              // an attempt that was killed; waiting: its task runs again
	itemFailed              // the same of one that failed
	itemLost                // the same of one whose tracker or output was lost
	itemOther               // idle: tasks of the other kind wait
	itemHeld                // idle: tasks of its kind wait
	itemNothing             // idle: no task waits or runs

	// Causes of which an account has no time. They come from a comparison.
	itemOrder // the order of jobs, or how many run at a time
	itemSlots // fewer slots
	itemCount
)

// slowFactor is how many medians an attempt takes at least that is called slow. Three tasks have a median.
const slowFactor = 1.5

// account divides the time of all open slots, from the start of a run to the end of its last job, into items. Each
// moment of a slot counts once, so that the items of two runs differ as the slot time of the runs does. Of extra slots
// as many count as attempts run beyond the home slots.
type account struct {
	time [itemCount]float64 // slot time in nanoseconds
	open float64            // the sum of time
	home int32              // home slots

	other    [trace.Kinds]float64   // time of itemOther by kind of slot
	waits    float64                // slot time of reduces that wait while tasks do, also what counts under other items
	attempts [itemCount]int         // attempts by the item of their slot time
	copies   int                    // copies that finished their tasks
	running  [trace.Kinds]float64   // attempts that run at a time, on average while any does
	longer   [][trace.Kinds]float64 // slot time of attempts in itemLonger by job
	slowest  int32                  // the slow bar that exceeds the other run most or, without one, the median; None: none
	there    time.Duration          // the time of the task of slowest in the other run
	usual    [][trace.Kinds]float64 // medians of usual
}

// turn is a time from which n attempts more are in an item.
type turn struct {
	at   time.Duration
	item item
	n    int32
}

// accountOf returns the account of a run whose jobs have ended, compared with a run of the same jobs; nil: with none.
// It takes time in proportion to n log n of the rows.
func accountOf(m, other *Model) *account {
	home := m.HomeSlots()
	a := &account{home: home[trace.Map] + home[trace.Reduce], slowest: None, longer: make([][trace.Kinds]float64, len(m.Jobs)), usual: m.usual()}
	end := m.Makespan()
	turns := a.book(m, other, end)
	slices.SortFunc(turns, func(x, y turn) int { return cmp.Compare(x.at, y.at) })
	var now [itemCount]int32
	s := newSweep(m, &Curves{Step: 1})
	until := func(at time.Duration) {
		for at = min(at, end); s.now < at; {
			for len(turns) > 0 && turns[0].at <= s.now {
				now[turns[0].item] += turns[0].n
				turns = turns[1:]
			}
			to := at
			if len(turns) > 0 {
				to = min(to, turns[0].at)
			}
			a.wait(s, &now, float64(to-s.now))
			s.now = to
		}
	}
	s.pass(until)
	until(end)
	for _, t := range a.time {
		a.open += t
	}
	return a
}

// book books the time of attempts, and returns when attempts begin and end to be in an item.
func (a *account) book(m, other *Model, end time.Duration) (turns []turn) {
	costs, again := m.costs()
	took := other.took()
	var any, last [trace.Kinds]time.Duration // any: time with an attempt of the kind
	most := 0.0
	for i := range m.Bars {
		b := &m.Bars[i]
		from, to := min(b.From, end), min(m.Until(b), end)
		a.running[b.Kind] += float64(to - from)
		any[b.Kind] += max(0, to-max(from, last[b.Kind]))
		last[b.Kind] = max(last[b.Kind], to)
		a.attempts[costs[i]]++
		// during books time of the attempt; idle is the item of slots that wait for it.
		during := func(what, idle item, from, to time.Duration) {
			if from >= to {
				return
			}
			if turns = append(turns, turn{from, idle, 1}, turn{to, idle, -1}); what != itemWaits {
				a.time[what] += float64(to - from)
			}
		}
		ready := max(from, min(m.ready(b), to))
		if costs[i] != itemWork {
			during(costs[i], costs[i], from, to)
			continue
		}
		during(itemWaits, itemWaits, from, ready)
		rest, after := itemWork, to // from after on the attempt is in rest
		if b.Done {
			if b.Speculative {
				a.copies++
			}
			d, known := took[taskOf(b)]
			if known && d < to-ready {
				rest, after = itemLonger, ready+d
				a.longer[b.Job][b.Kind] += float64(to - after)
			}
			if factor := m.factor(b, a.usual); factor >= slowFactor {
				rest, after = itemSlow, ready+time.Duration(slowFactor*a.usual[b.Job][b.Kind])
				if known {
					factor = float64(to - ready - d)
				}
				if factor > most {
					most = factor
					a.slowest, a.there = int32(i), d
				}
			}
		}
		if idle := again[i]; idle != itemWork {
			during(itemWork, idle, ready, after)
			during(rest, idle, after, to)
			continue
		}
		during(itemWork, itemWork, ready, after)
		during(rest, rest, after, to)
	}
	for k, t := range any {
		a.running[k] /= float64(max(1, t))
	}
	return turns
}

// factor returns how many medians a task that is done took; 0: it has no median.
func (m *Model) factor(b *Bar, usual [][trace.Kinds]float64) float64 {
	if u := usual[b.Job][b.Kind]; u > 0 {
		return float64(m.worked(b)) / u
	}
	return 0
}

// worked returns the time of a bar that has ended, without the wait of a reduce for maps.
func (m *Model) worked(b *Bar) time.Duration { return b.To - min(b.To, max(b.From, m.ready(b))) }

// took returns the times of all tasks that are done.
func (m *Model) took() map[taskKey]time.Duration {
	if m == nil {
		return nil
	}
	all := make(map[taskKey]time.Duration, len(m.Bars))
	for i := range m.Bars {
		if b := &m.Bars[i]; b.Done {
			all[taskOf(b)] = m.worked(b)
		}
	}
	return all
}

// taskKey names a task.
type taskKey struct {
	job, number int32
	kind        trace.Kind
}

func taskOf(b *Bar) taskKey { return taskKey{b.Job, b.Task, b.Kind} }

// ready returns when a reduce no longer waits for maps of its job; 0: the attempt waits for none.
func (m *Model) ready(b *Bar) time.Duration {
	if b.Kind == trace.Map {
		return 0
	}
	return max(0, m.Jobs[b.Job].MapsDone)
}

// wait books the time took of all idle slots and waiting reduces. now has the running attempts by item.
func (a *account) wait(s *sweep, now *[itemCount]int32, took float64) {
	rest := now[itemWaits]
	var free, tasks [trace.Kinds]int32
	extra := max(0, s.slots[trace.Map]+s.slots[trace.Reduce]-a.home)
	for k := range trace.Kinds {
		idle := max(0, s.slots[k]-s.busy[k])
		n := min(idle, extra) // an idle extra slot is no loss
		idle, extra = idle-n, extra-n
		n = min(idle, s.waiting[k])
		a.time[itemHeld] += float64(n) * took
		free[k], tasks[k] = idle-n, s.waiting[k]-n
	}
	for k := range trace.Kinds {
		n := min(free[k], tasks[1-k])
		tasks[1-k] -= n
		rest += free[k] - n
		a.other[k] += a.spread(itemOther, now, float64(n)*took)
	}
	n := min(now[itemWaits], tasks[trace.Map]+tasks[trace.Reduce])
	a.waits += float64(n) * took
	a.spread(itemWaits, now, float64(n)*took)
	a.spread(itemTail, now, float64(rest-n)*took)
}

// spread books slot time of slots that wait while attempts run. It is what as far as these are in itemWork, and else
// the items of these. It returns how much is what.
func (a *account) spread(what item, now *[itemCount]int32, t float64) float64 {
	running := -now[itemWaits]
	for _, n := range now {
		running += n
	}
	if running <= 0 {
		if what == itemTail {
			what = itemNothing
		}
		a.time[what] += t
		return t
	}
	for i, n := range now {
		if to := item(i); to != itemWork && to != itemWaits {
			a.time[to] += t * float64(n) / float64(running)
		}
	}
	t *= float64(now[itemWork]) / float64(running)
	a.time[what] += t
	return t
}

// usual returns the median time of the tasks of each job that are done, by kind. The wait of a reduce for maps does not
// count. It is 0 for fewer than three tasks.
func (m *Model) usual() [][trace.Kinds]float64 {
	took := make([][trace.Kinds][]time.Duration, len(m.Jobs))
	for i := range m.Bars {
		if b := &m.Bars[i]; b.Done {
			of := &took[b.Job][b.Kind]
			*of = append(*of, m.worked(b))
		}
	}
	all := make([][trace.Kinds]float64, len(m.Jobs))
	for j := range took {
		for k, of := range took[j] {
			if slices.Sort(of); len(of) >= 3 {
				all[j][k] = float64(of[(len(of)-1)/2])
			}
		}
	}
	return all
}

// costs returns for each bar the item of its slot time. again has the item of an attempt that a bar repeats; itemWork:
// it repeats none.
func (m *Model) costs() (costs, again []item) {
	type past struct {
		cost item
		done int32 // the bar that has finished the task; None: none
	}
	costs, again = make([]item, len(m.Bars)), make([]item, len(m.Bars))
	rules, repeated := map[int32]trace.Rule{}, map[taskKey]*past{}
	for i := range m.Decisions {
		if d := &m.Decisions[i]; d.Op == trace.OpKill {
			rules[d.Bar] = trace.Rule(m.Rules[d.Rule])
		}
	}
	for i := range m.Bars {
		if b := &m.Bars[i]; b.N > 0 {
			repeated[taskOf(b)] = &past{done: None}
		}
	}
	for i := range m.Bars {
		b := &m.Bars[i]
		costs[i] = cost(b, rules[int32(i)])
		before := repeated[taskOf(b)]
		if before == nil {
			continue
		}
		if d := before.done; d >= 0 && m.Bars[d].To <= b.From { // its output was lost
			costs[d] = itemLost
			before.cost, before.done = itemLost, None
		}
		if again[i] = before.cost; costs[i] >= itemKilled {
			before.cost = costs[i]
		}
		if b.Done {
			before.done = int32(i)
		}
	}
	return costs, again
}

// cost returns the item of a bar's slot time, if the output of its task stays. rule is that of its kill.
func cost(b *Bar, rule trace.Rule) item {
	switch {
	case b.Done || b.How == trace.EndNone:
		return itemWork
	case b.How == trace.EndOK:
		return itemRaces
	case b.How == trace.EndFailed:
		return itemFailed
	case b.How == trace.EndLost:
		return itemLost
	}
	switch rule {
	case trace.RuleLostRace:
		return itemRaces
	case trace.RuleLostTracker, trace.RuleGraylisted:
		return itemLost
	case trace.RuleDropped, trace.RuleJobEnded:
		return itemWork
	}
	return itemKilled
}
