package view

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Curves are the use of slots over time and what would be fair. Numbers are in slots.
type Curves struct {
	From, Step time.Duration // value i is for From + i·Step to From + (i+1)·Step
	Steps      int
	Slots      [trace.Kinds]int32 // home slots that are open at the end
	Pools      []Curve
	Lent       [trace.Kinds][]float64 // by home kind: lent slots, averages
}

// Curve is one pool. Use is an average over the step. Share and demand are averages of a
// few moments of the step.
type Curve struct {
	Pool   int32 // index into Model.Pools; None: all further pools together
	Use    [trace.Kinds][]float64
	Share  [trace.Kinds][]float64 // fair share: Hadoop's max-min fairness with weights and min shares
	Demand [trace.Kinds][]float64 // running attempts and tasks that may start
}

const (
	mostCurves     = 32 // pools beyond it share one curve
	mostCurveSteps = 4096
	looksPerStep   = 4 // at demand and share
)

// Curves returns the curves from one time to another in the given number of steps. It passes
// over all rows once. A job that waits for a limit on running jobs has no demand before it
// is admitted. The exception is a job that still waits at the end of the model.
func (m *Model) Curves(from, to time.Duration, steps int) *Curves {
	steps = min(max(1, steps), mostCurveSteps)
	step := max(1, (to-from+time.Duration(steps)-1)/time.Duration(steps))
	s := newSweep(m, from, step, steps)
	bars, ends, changes := m.Bars, m.Ends, m.changes
	for {
		// The next row of the three tables is that with the least number. A bar that ends and one
		// that starts on its slot are never of one event.
		const never = ^uint64(0)
		b, e, c := never, never, never
		if len(bars) > 0 {
			b = bars[0].Seq
		}
		if len(ends) > 0 {
			e = ends[0].Seq
		}
		if len(changes) > 0 {
			c = changes[0].seq
		}
		switch least := min(b, e, c); {
		case least == never:
			s.until(from + step*time.Duration(steps))
			return s.curves()
		case least == e:
			s.until(ends[0].At)
			s.end(&ends[0])
			ends = ends[1:]
		case least == b:
			s.until(bars[0].From)
			s.start(&bars[0])
			bars = bars[1:]
		default:
			s.until(changes[0].at)
			s.change(&changes[0])
			changes = changes[1:]
		}
	}
}

// sweep goes over the rows of a model in the order of their numbers. It keeps the state
// between two rows, and adds it to the steps as time goes on.
type sweep struct {
	m     *Model
	out   *Curves
	now   time.Duration
	looks int // so far

	jobs  []sweepJob
	pools []sweepPool
	lent  [trace.Kinds]average
	slots [trace.Kinds]int32
}

// sweepJob is what a job could run at a moment.
type sweepJob struct {
	ready, done, tasks [trace.Kinds]int32 // tasks: those that run
	submitted, waits   bool
	gate, ended        bool
	pending            [trace.Kinds]int32 // as counted in its pool
}

type sweepPool struct {
	use     [trace.Kinds]average
	pending [trace.Kinds]int32
}

// average adds up a number of slots over time, in steps: a number that holds for part of a
// step counts by that part.
type average struct {
	now   int32
	since time.Duration
	sums  []float64 // in slot-nanoseconds
}

// newSweep returns a sweep that has seen no row yet. Sums are those of the curves themselves, so
// a pool adds to its curve, or to the last one.
func newSweep(m *Model, from, step time.Duration, steps int) *sweep {
	s := &sweep{m: m, out: &Curves{From: from, Step: step, Steps: steps}, jobs: make([]sweepJob, len(m.Jobs)), pools: make([]sweepPool, len(m.Pools))}
	// The last curve is shared by all further pools. Their sums are one slice, so each adds to
	// it.
	curves := min(len(m.Pools), mostCurves)
	for i := range curves {
		c := Curve{Pool: int32(i)}
		if i == mostCurves-1 && len(m.Pools) > mostCurves {
			c.Pool = None
		}
		for k := range trace.Kinds {
			c.Use[k], c.Share[k], c.Demand[k] = make([]float64, steps), make([]float64, steps), make([]float64, steps)
		}
		s.out.Pools = append(s.out.Pools, c)
	}
	for i := range s.pools {
		for k := range trace.Kinds {
			s.pools[i].use[k].sums = s.out.Pools[min(i, curves-1)].Use[k]
		}
	}
	for k := range trace.Kinds {
		s.lent[k].sums = make([]float64, steps)
	}
	for _, l := range m.Lanes {
		if !l.Extra {
			s.slots[l.Home]++
		}
	}
	return s
}

// set changes the number at a time. The time before it had the old number.
func (a *average) set(c *Curves, now time.Duration, n int32) {
	a.flush(c, now)
	a.now = n
}

// flush adds the present value to the steps that the time since the last change touches, in
// proportion to their share of it.
func (a *average) flush(c *Curves, now time.Duration) {
	from, end := max(a.since, c.From), min(now, c.From+c.Step*time.Duration(c.Steps))
	a.since = now
	if a.now == 0 {
		return
	}
	for from < end {
		i := int((from - c.From) / c.Step)
		to := min(end, c.From+time.Duration(i+1)*c.Step)
		a.sums[i] += float64(int64(a.now) * int64(to-from))
		from = to
	}
}

// until goes on to a time, and takes the looks at demand and share that lie before it.
// Events of that time itself come after it.
func (s *sweep) until(now time.Duration) {
	c := s.out
	for s.looks < c.Steps*looksPerStep {
		// A step has looksPerStep parts, and a look is in the middle of its part.
		at := c.From + c.Step*time.Duration(s.looks)/looksPerStep + c.Step/(2*looksPerStep)
		if at >= now {
			break
		}
		s.look(s.looks / looksPerStep)
		s.looks++
	}
	s.now = max(s.now, now)
}

// look adds demand and share of all pools to step i.
func (s *sweep) look(i int) {
	demands := make([]policy.ShareDemand, len(s.pools))
	for k := range trace.Kinds {
		for p := range s.pools {
			pool, q := &s.m.Pools[p], &s.pools[p]
			d := policy.ShareDemand{Demand: q.pending[k] + q.use[k].now, Min: pool.MinMaps, Weight: slots.PPM(pool.WeightPPM)}
			most := pool.mostMaps
			if trace.Kind(k) == trace.Reduce {
				d.Min, most = pool.MinReduces, pool.mostReduces
			}
			if most > 0 {
				d.Demand = min(d.Demand, most)
			}
			demands[p] = d
		}
		level := policy.LevelOf(demands, max(0, s.slots[k]))
		for p, d := range demands {
			share := level.Share(d)
			c := &s.out.Pools[min(p, len(s.out.Pools)-1)]
			c.Share[k][i] += float64(share.Num) / float64(max(1, share.Den)) / looksPerStep
			c.Demand[k][i] += float64(d.Demand) / looksPerStep
		}
	}
}

// count brings the pending tasks of a job into its pool.
func (s *sweep) count(job int32) {
	j, pool := &s.jobs[job], &s.pools[s.m.Jobs[job].Pool]
	for k := range trace.Kinds {
		// A task that is done or runs is no longer pending. In a broken file there may be more of
		// these than tasks.
		n := j.ready[k] - j.done[k] - j.tasks[k]
		if j.waits || j.ended || n < 0 || trace.Kind(k) == trace.Reduce && !j.gate {
			n = 0
		}
		pool.pending[k] += n - j.pending[k]
		j.pending[k] = n
	}
}

// start counts a bar from its start on. A lent slot also counts against the kind that it is
// taken from.
func (s *sweep) start(b *Bar) {
	pool := &s.pools[s.m.Jobs[b.Job].Pool]
	pool.use[b.Kind].set(s.out, b.From, pool.use[b.Kind].now+1)
	if b.Lent {
		l := &s.lent[b.Kind.Other()]
		l.set(s.out, b.From, l.now+1)
	}
	// Copies of a running task are no further task: it left the pending ones with its first
	// attempt.
	if b.only {
		s.jobs[b.Job].tasks[b.Kind]++
	}
	s.count(b.Job)
}

// end takes back what start counted.
func (s *sweep) end(e *End) {
	b := &s.m.Bars[e.Bar]
	pool := &s.pools[s.m.Jobs[b.Job].Pool]
	pool.use[b.Kind].set(s.out, e.At, pool.use[b.Kind].now-1)
	if b.Lent {
		l := &s.lent[b.Kind.Other()]
		l.set(s.out, e.At, l.now-1)
	}
	if e.last {
		s.jobs[b.Job].tasks[b.Kind]--
	}
	if e.first {
		s.jobs[b.Job].done[b.Kind]++
	}
	s.count(b.Job)
}

// change follows a change of a job or of the slots.
func (s *sweep) change(c *change) {
	if c.what == changeSlot {
		s.slots[c.kind] += c.n
		return
	}
	j := &s.jobs[c.id]
	switch c.what {
	case changeReady:
		// The first one is the submission.
		if !j.submitted {
			// The model knows what comes later: Admit is set if the job waits for admission. For
			// a job that is never admitted it is not.
			j.submitted, j.waits = true, s.m.Jobs[c.id].Admit >= 0
			j.ready[trace.Reduce] = s.m.Jobs[c.id].Reduces
		}
		j.ready[trace.Map] = c.n
	case changeDone:
		j.done[c.kind] += c.n
	case changeGate:
		j.gate = c.n > 0
	case changeAdmit:
		j.waits = false
	case changeEnd:
		j.ended = true
	}
	s.count(c.id)
}

// curves ends the sweep: it makes averages of the sums, which are slot-nanoseconds until
// then.
func (s *sweep) curves() *Curves {
	end := s.out.From + s.out.Step*time.Duration(s.out.Steps)
	for k := range trace.Kinds {
		for p := range s.pools {
			s.pools[p].use[k].flush(s.out, end)
		}
		s.lent[k].flush(s.out, end)
		s.out.Lent[k] = s.lent[k].sums
		divide(s.lent[k].sums, s.out.Step)
		for p := range s.out.Pools {
			divide(s.out.Pools[p].Use[k], s.out.Step)
		}
		s.out.Slots[k] = s.slots[k]
	}
	return s.out
}

// divide divides each sum by the length of a step: slot-nanoseconds become slots.
func divide(sums []float64, step time.Duration) {
	for i := range sums {
		sums[i] /= float64(step)
	}
}
