package view

import (
	"fmt"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
)

// missed says which job misses its deadline most; "": none does.
func (o *outcome) missed() string {
	worst := &DrawnJob{Deadline: Never}
	for i := range o.model.Jobs {
		if j := &o.model.Jobs[i]; j.late() > worst.late() && j.State == slots.Succeeded {
			worst = j
		}
	}
	if worst.late() <= 0 {
		return ""
	}
	return fmt.Sprintf("Job %s misses its deadline by %s.", worst.Name, Words(worst.late()))
}

// early is a job that ends earlier, or meets its deadline, in a run but not in another.
type early struct {
	job       int
	by        time.Duration
	than, run *outcome // it ends later in than
	due       bool     // it misses its deadline in than, and meets it in run
}

// exception returns the job that one run misses the deadline of and another meets or, if there is none, the job that
// ends earliest, compared with the run that ends first, under another run. Its run is nil if no job ends a hundredth
// of the time earlier.
func exception(all []outcome) (found early) {
	least := time.Duration(leastEnds * float64(all[0].end))
	for i := range all {
		for j := range all {
			for n := range min(len(all[i].model.Jobs), len(all[j].model.Jobs)) {
				e := early{job: n, than: &all[i], run: &all[j]}
				x, y := e.jobs()
				if e.by = x.Finish - y.Finish; x.Name != y.Name || x.State != slots.Succeeded || y.State != slots.Succeeded {
					continue
				}
				if e.due = x.late() > 0 && y.late() <= 0; e.by > least && (i == 0 || e.due) && (found.run == nil || e.due && !found.due || e.due == found.due && e.by > found.by) {
					found = e
				}
			}
		}
	}
	return found
}

// jobs returns the job in both runs.
func (e *early) jobs() (than, run *DrawnJob) {
	return &e.than.model.Jobs[e.job], &e.run.model.Jobs[e.job]
}

// late returns by how much a job that has ended misses its deadline; at most 0: it does not.
func (j *DrawnJob) late() time.Duration {
	if j.Deadline < 0 {
		return 0
	}
	return j.Finish - j.Deadline
}

// tell says which job it is, and why it ends earlier.
func (e *early) tell() string {
	j, _ := e.jobs()
	text := fmt.Sprintf("But %s ends job %s %s earlier", e.run.name, j.Name, Words(e.by))
	if e.due {
		text = fmt.Sprintf("Job %s misses its deadline by %s under %s, and meets it under %s", j.Name, Words(j.late()), e.than.name, e.run.name)
	}
	if because := e.reason(); because != "" {
		text += ": " + because
	}
	return text + "."
}

// reason says why the job ends earlier; "": neither its wait for a slot, nor the fair share of its pool, nor its slots
// explain half of the difference.
func (e *early) reason() string {
	x, y := e.jobs()
	if a, b := x.Start-x.Submit, y.Start-y.Submit; float64(a-b) >= leastCause*float64(e.by) {
		text := fmt.Sprintf("it waited %s for a slot, not %s", Words(b), Words(a))
		if n := e.run.model.killsFor(e.job); n > 0 {
			text += fmt.Sprintf(", as %s killed %s", e.run.name, errs.Counted(n, "attempt"))
		}
		return text
	}
	if text := e.share(); text != "" {
		return text
	}
	for k := range trace.Kind(trace.Kinds) {
		a, b := e.than.model.tasksOf(e.job, k), e.run.model.tasksOf(e.job, k)
		if shorter := a.to - a.from - (b.to - b.from); b.slots() > a.slots() && float64(shorter) >= leastCause*float64(e.by) {
			return fmt.Sprintf("its %s had %.3g, not %.3g slots on average", y.tasks(k), b.slots(), a.slots())
		}
	}
	return ""
}

// killsFor returns how many attempts of other jobs were killed while a job waited for its first slot.
func (m *Model) killsFor(job int) (n int) {
	j := &m.Jobs[job]
	for i := range m.Decisions {
		d := &m.Decisions[i]
		if d.Op == trace.OpKill && int(d.Job) != job && j.Submit < d.At && d.At <= j.Start && cost(&m.Bars[d.Bar], trace.Rule(m.Rules[d.Rule])) == itemKilled {
			n++
		}
	}
	return n
}

// share says how long the job's pool was below its fair share in both runs; "": the slots that it lacked do not explain
// half of the difference, at the slots that the job has in the run in which it ends earlier.
func (e *early) share() string {
	x, y := e.than.model.Sharing, e.run.model.Sharing
	if s := Yardstick([]Named{{Model: e.than.model}, {Model: e.run.model}}); s != slots.NoShares {
		x, y = s, s
	}
	_, other := e.jobs()
	used := e.run.model.tasksOf(e.job, trace.Map).used + e.run.model.tasksOf(e.job, trace.Reduce).used
	had := float64(used) / float64(max(1, other.Finish-other.Submit))
	lack, over := e.than.model.lack(e.job, x)
	less, under := e.run.model.lack(e.job, y)
	if over == 0 || lack-less < leastCause*had*float64(e.by) {
		return ""
	}
	of := ""
	if x == slots.Together {
		of = " of all slots"
	}
	return fmt.Sprintf("%s was below its share%s for %s, not %s", e.run.model.Pools[other.Pool].Name, of, Words(under), Words(over))
}

// lack returns the slot time by which the pool of a job is below its fair share by a slot or more, up to the end of
// the job, and how long that is.
func (m *Model) lack(job int, sharing slots.Sharing) (lack float64, over time.Duration) {
	if sharing == slots.NoShares || m.ManyShares() {
		return 0, 0
	}
	pool, end := m.Jobs[job].Pool, m.Jobs[job].Finish
	before, since := 0.0, time.Duration(0)
	until := func(at time.Duration) {
		if at = min(at, end); at > since {
			if before >= 1 {
				lack += before * float64(at-since)
				over += at - since
			}
			since = at
		}
	}
	m.EachStanding(sharing, func(at time.Duration, now []Standing, _ [trace.Kinds]int32) {
		until(at)
		before = now[pool].lacks(sharing)
	})
	until(end)
	return lack, over
}
