package policy

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// Hadoop's own rule of speculation: a task is copied if it is far behind the average
// progress of its job (Hadoop 1.0.3, TaskInProgress.hasSpeculativeTask). There is no bound
// on copies, and no tracker is too slow for one. LATE copies the task that will end last;
// this rule copies the first task in order.

// speculativeGap is how far behind the average a task must be (Hadoop 1.0.3,
// TaskInProgress.SPECULATIVE_GAP).
const speculativeGap = slots.AllDone / 5

// averageProgress returns the average progress of a job's tasks of a kind. all is the number
// of tasks, and done the number of those that are done. running is the sum of the progress of
// running tasks, in parts per billion. Tasks that have not started count as 0 (Hadoop 1.0.3,
// avgProgress of JobInProgress.findSpeculativeTask).
func averageProgress(done int32, running int64, all int32) slots.Progress {
	if all == 0 {
		return 0
	}
	return slots.Progress((int64(done)*int64(slots.AllDone) + running) / int64(all))
}

// farBehind reports whether a task is so far behind the average that it is copied.
func farBehind(average, progress slots.Progress) bool { return average-progress >= speculativeGap }

// lag returns how long a task must have run before it is copied: Options.CopyAfter, if the user
// has set it. Hadoop's SPECULATIVE_LAG is a minute, for tasks of minutes. The default here is
// half of the usual time of a task, so that short tasks are copied too [LATE08, "short
// tasks"].
func (s *speculation) lag(k *sample) time.Duration {
	if s.given {
		return s.least
	}
	return max(s.least, k.usual/2)
}

// lookByAverage replaces the candidates by those of Hadoop's rule, in the order of jobs, kinds
// and tasks. It is look for that rule.
func (s *speculation) lookByAverage(v *slots.View) {
	s.eachGroup(v, func(m *measured, kind slots.Kind) { s.judgeByAverage(v, m, kind) })
	slices.SortStableFunc(s.list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Attempt.Job, b.Attempt.Job), cmp.Compare(a.Attempt.Kind, b.Attempt.Kind), cmp.Compare(a.Attempt.Task, b.Attempt.Task))
	})
}

// judgeByAverage adds the candidates among the running attempts of one job and kind. An attempt
// that the Ledger has ordered to end does not count.
func (s *speculation) judgeByAverage(v *slots.View, m *measured, kind slots.Kind) {
	k := &m.kinds[kind]
	if !s.known(k) {
		return
	}
	// Without a finished task the user's CopyAfter stands for the usual time.
	if k.ended == 0 {
		k.usual = max(1, s.least)
	}
	k.setUsual()
	k.running = slices.DeleteFunc(k.running, func(r running) bool { return !s.runs(v, &r) })
	// Of several attempts of a task, only the one with the most progress counts.
	sum := int64(0)
	for i := range k.running {
		id := k.running[i].slot
		if done, _ := v.Progress(id); !s.hasCopy(id) || !s.overtaken(v, k, id) {
			sum += int64(done)
		}
	}
	j := v.Job(s.places[k.running[0].slot].attempt.Job)
	average := averageProgress(j.Done(kind), sum, j.Total(kind))
	for i := range k.running {
		id := k.running[i].slot
		p := &s.places[id]
		if s.hasCopy(id) {
			continue
		}
		slots.Earlier(&s.due, v.Now()+k.every())
		if done, known := v.Progress(id); known && farBehind(average, done) && v.Now()-p.began >= s.lag(k) {
			s.list = append(s.list, candidate{Attempt: p.attempt, Tracker: p.tracker, Average: average, Progress: done})
		}
	}
}

// overtaken reports whether another attempt of the same task has more progress than the one on a
// slot, or equal progress on an earlier slot.
func (s *speculation) overtaken(v *slots.View, k *sample, id slots.SlotID) bool {
	done, _ := v.Progress(id)
	for i := range k.running {
		other := k.running[i].slot
		if other == id || s.places[other].attempt.Task != s.places[id].attempt.Task {
			continue
		}
		if more, _ := v.Progress(other); more > done || more == done && other < id {
			return true
		}
	}
	return false
}

// Measures keeps what a policy measures of finished tasks, by facts: OMO's task monitor TM
// [OMO21, section V-A]. The zero value has no measurements.
type Measures struct {
	started []time.Duration // by slot: when its latest attempt started
	samples []Sample        // by job
	All     Sample          // of all jobs

	// bandwidth is B, the bytes that one reduce copies in a second: the exponential
	// moving average over the reduces of the run. The time in which a reduce waits for
	// maps does not count [OMO21, "shuffle estimate"]. instant: the latest reduce took no
	// time to copy, so B has no bound.
	bandwidth float64
	instant   bool
}

// Sample has the measurements of finished tasks.
type Sample struct {
	Tasks [trace.Kinds]int64         // number of finished tasks by kind
	took  [trace.Kinds]time.Duration // sum of their times by kind
	out   int64                      // sum of the output of the maps, in bytes
}

// Mean returns how long a task of kind k takes on average, or 0 if none has finished.
func (s *Sample) Mean(k slots.Kind) time.Duration {
	if s.Tasks[k] == 0 {
		return 0
	}
	return s.took[k] / time.Duration(s.Tasks[k])
}

// MapOutput returns d, the average output of a map in bytes, or 0 if no map has finished.
func (s *Sample) MapOutput() float64 {
	if s.Tasks[slots.Map] == 0 {
		return 0
	}
	return float64(s.out) / float64(s.Tasks[slots.Map])
}

// Of returns the measurements of a job. The pointer is valid until the next call.
func (m *Measures) Of(id slots.JobID) *Sample { return At(&m.samples, id) }

// Start notes that a grant has started an attempt on slot s at time now.
func (m *Measures) Start(now time.Duration, s slots.SlotID) { *At(&m.started, s) = now }

// Freed reports whether a fact is the end of an attempt on a slot.
func Freed(f *slots.Fact) bool { return f.Op == trace.OpFinish && f.Slot >= 0 }

// Finish measures an attempt by the fact of its end. Only attempts that committed count.
func (m *Measures) Finish(f *slots.Fact) {
	if !f.Has(trace.OK) || int(f.Slot) >= len(m.started) {
		return
	}
	took := f.At - m.started[f.Slot]
	copied := time.Duration(f.E)
	for _, s := range []*Sample{m.Of(slots.JobID(f.Job)), &m.All} {
		s.Tasks[f.Kind]++
		s.took[f.Kind] += took
		if f.Kind == slots.Map {
			s.out += f.B
		}
	}
	switch {
	case f.Kind == slots.Map || f.D == 0:
	case copied <= 0:
		m.instant = true
	default:
		m.instant = false
		speed := float64(f.D) / copied.Seconds()
		m.bandwidth = Moved(cmp.Or(m.bandwidth, speed), speed) // the first speed is the average
	}
}

// smoothing is α of all moving averages, the weight of the newest value. The paper gives no value [OMO21, "smoothing
// and window"].
const smoothing = 0.5

// Moved returns a moving average after another value x.
func Moved(average, x float64) float64 {
	return float64(smoothing*x) + float64((1-smoothing)*average)
}

// CopyBandwidth returns B in bytes per second. Before the first measurement it is that of the
// configuration. It is 0 if neither is known, or if copies take no time.
func (m *Measures) CopyBandwidth(v *slots.View) float64 {
	switch {
	case m.instant:
		return 0
	case m.bandwidth > 0:
		return m.bandwidth
	}
	return float64(v.CopyBandwidth())
}
