package view

import (
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
)

// Curves shows, for each pool over time, the slots in use, the fair share and the demand. All
// values are in slots. Each list has Steps values, one for each step of time.
type Curves struct {
	From, Step time.Duration // value i is for From + i·Step to From + (i+1)·Step
	Steps      int
	Sharing    slots.Sharing      // the definition of Share
	Slots      [trace.Kinds]int32 // open slots by home kind, at the end of the model
	Pools      []Curve
	Lent       [trace.Kinds][]float64 // lent slots by home kind, averages over the step
}

// Curve has the values of one pool, by kind of task. Use is an average over the step. Share and
// Demand are averages of four moments of the step.
type Curve struct {
	Pool    int32                  // index into Model.Pools; None: all further pools together
	Use     [trace.Kinds][]float64 // running attempts
	Share   []float64              // fair share of slots of both kinds: max-min fairness with weights and min shares; nil: slots.NoShares
	ShareOf [trace.Kinds][]float64 // the fair share by kind; nil: it is of both kinds together
	Demand  [trace.Kinds][]float64 // running attempts, and tasks that may start
}

// ShareAt returns value i of Share; 0: there is none.
func (c *Curve) ShareAt(i int) float64 {
	if c.Share == nil {
		return 0
	}
	return c.Share[i]
}

const (
	mostCurves     = 32 // the last curve is shared by all further pools
	mostCurveSteps = 4096
	looksPerStep   = 4 // moments of a step at which demand and share are computed
)

// Definition returns in words what the fair shares of the curves are.
func (c *Curves) Definition() string {
	return [...]string{
		slots.NoShares: "no fair shares of pools are known",
		slots.PerKind:  "fair share of the slots of each kind, by weight and min share",
		slots.Together: "fair share of all slots, of maps and reduces together, by weight and min share",
	}[c.Sharing]
}

// Curves returns the curves from one time to another in the given number of steps, at most 4096. sharing
// defines the fair shares; Model.Sharing is that of the run's policy.
// The last step may end after to. Curves passes over all rows once. A job that waits for a limit
// on running jobs has no demand until it is admitted.
func (m *Model) Curves(from, to time.Duration, steps int, sharing slots.Sharing) *Curves {
	steps = min(max(1, steps), mostCurveSteps)
	// Rounded up, so that the steps reach at least to the end.
	step := max(1, (to-from+time.Duration(steps)-1)/time.Duration(steps))
	s := newSweep(m, &Curves{From: from, Step: step, Steps: steps, Sharing: sharing})
	s.pass(s.until)
	s.until(from + step*time.Duration(steps))
	return s.curves()
}

// pass passes over all rows. It calls to with the time of each row, before the state includes the row.
func (s *sweep) pass(to func(at time.Duration)) {
	bars, ends, changes := s.m.Bars, s.m.Ends, s.m.changes
	for {
		// The three tables are merged by the number of the event. If a bar and an end have the same
		// number, the end comes first, because it makes the slot free.
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
		case least == never, s.before > 0 && least >= s.before:
			return
		case least == e:
			to(ends[0].At)
			s.end(&ends[0])
			ends = ends[1:]
		case least == b:
			to(bars[0].From)
			s.start(&bars[0])
			bars = bars[1:]
		default:
			to(changes[0].at)
			s.change(&changes[0])
			changes = changes[1:]
		}
	}
}

// sweep passes over the rows of a model in the order of their numbers. It keeps the state of
// jobs, pools and slots after the last row, and adds this state to the steps as time goes on.
type sweep struct {
	m      *Model
	out    *Curves
	now    time.Duration
	looks  int    // calls of look so far
	before uint64 // pass ends before the row with this number; 0: after all rows

	jobs  []sweepJob
	pools []sweepPool
	lent  [trace.Kinds]average // lent slots by home kind
	slots [trace.Kinds]int32   // open slots by home kind
	busy  [trace.Kinds]int32   // slots with an attempt by home kind
	users map[string]int32     // running jobs by user

	waiting [trace.Kinds]int32 // pending tasks of all pools

	demands  [trace.Kinds][]policy.ShareDemand // scratch of standings, by pool
	standing []Standing                        // by pool
}

// sweepJob is the state of a job at a moment, with counts of tasks by kind.
type sweepJob struct {
	ready   [trace.Kinds]int32 // tasks that may start, or have started
	done    [trace.Kinds]int32 // finished tasks
	tasks   [trace.Kinds]int32 // running tasks
	pending [trace.Kinds]int32 // pending tasks, as the pool counts them

	state jobState
	gate  bool // the reduces may start
}

// jobState is how far a job has come.
type jobState uint8

const (
	jobUnknown jobState = iota // it is not submitted
	jobWaits                   // for admission
	jobRuns
	jobEnded
)

func (s jobState) String() string { return [...]string{"unknown", "waits", "runs", "ended"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s jobState) Next() []jobState {
	return [...][]jobState{{jobWaits}, {jobRuns, jobEnded}, {jobEnded}, nil}[s]
}

// sweepPool has running attempts and pending tasks of a pool by kind, and its running jobs.
type sweepPool struct {
	use     [trace.Kinds]average
	pending [trace.Kinds]int32
	jobs    int32 // running jobs
}

// average integrates a number of slots over time, step by step. A number that holds for a part of
// a step counts in proportion to that part.
type average struct {
	now   int32         // the current number
	since time.Duration // sums has everything before this time
	sums  []float64     // by step, in slot-nanoseconds
}

// newSweep returns a sweep before the first row. Its averages add directly to the lists of out, which
// has none yet.
func newSweep(m *Model, out *Curves) *sweep {
	steps := out.Steps
	s := &sweep{m: m, out: out, slots: m.HomeSlots(), jobs: make([]sweepJob, len(m.Jobs)), pools: make([]sweepPool, len(m.Pools)), standing: make([]Standing, len(m.Pools)), users: map[string]int32{}}
	// All pools beyond the last curve add to the list of that curve.
	curves := min(len(m.Pools), mostCurves)
	for i := range curves {
		c := Curve{Pool: int32(i)}
		if i == mostCurves-1 && len(m.Pools) > mostCurves {
			c.Pool = None
		}
		for k := range trace.Kinds {
			c.Use[k] = make([]float64, steps)
			c.Demand[k] = make([]float64, steps)
			if out.Sharing == slots.PerKind {
				c.ShareOf[k] = make([]float64, steps)
			}
		}
		if out.Sharing != slots.NoShares {
			c.Share = make([]float64, steps)
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
	return s
}

// set changes the number from now on. The time before counts with the old number.
func (a *average) set(c *Curves, now time.Duration, n int32) {
	a.flush(c, now)
	a.now = n
}

// flush adds the current number, for the time from since to now, to the steps that this time
// overlaps.
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

// until moves the sweep on to a time. It calls look for each moment before that time.
func (s *sweep) until(now time.Duration) {
	c := s.out
	for s.looks < c.Steps*looksPerStep {
		// A step has looksPerStep equal parts, and look is for the middle of each part.
		at := c.From + c.Step*time.Duration(s.looks)/looksPerStep + c.Step/(2*looksPerStep)
		if at >= now {
			break
		}
		s.look(s.looks / looksPerStep)
		s.looks++
	}
	s.now = max(s.now, now)
}

// look adds demand and share of all pools at the current state to step i.
func (s *sweep) look(i int) {
	for p, now := range s.standings(s.out.Sharing) {
		c := &s.out.Pools[min(p, len(s.out.Pools)-1)]
		for k := range trace.Kinds {
			c.Demand[k][i] += float64(now.Demand[k]) / looksPerStep
			if c.ShareOf[k] != nil {
				c.ShareOf[k][i] += now.ShareOf[k] / looksPerStep
			}
		}
		if c.Share != nil {
			c.Share[i] += now.Share / looksPerStep
		}
	}
}

// standings returns what each pool uses and wants at the current state, and its fair shares by that
// definition. The result is valid until the next call.
func (s *sweep) standings(sharing slots.Sharing) []Standing {
	for k := range trace.Kinds {
		s.demands[k] = s.demands[k][:0]
		for p := range s.pools {
			pool, q := &s.m.Pools[p], &s.pools[p]
			d := policy.ShareDemand{Demand: q.pending[k] + q.use[k].now, Min: pool.Min(trace.Kind(k)), Weight: pool.Weight}
			if most := pool.Max(trace.Kind(k)); most > 0 {
				d.Demand = min(d.Demand, most)
			}
			s.demands[k] = append(s.demands[k], d)
			s.standing[p].Use[k], s.standing[p].Demand[k] = q.use[k].now, d.Demand
		}
	}
	open := [trace.Kinds]int32{max(0, s.slots[trace.Map]), max(0, s.slots[trace.Reduce])}
	switch sharing {
	case slots.PerKind:
		for k := range trace.Kinds {
			shares(s.demands[k], open[k], func(p int, share float64) { s.standing[p].ShareOf[k] = share })
		}
		for p := range s.standing {
			s.standing[p].Share = s.standing[p].ShareOf[trace.Map] + s.standing[p].ShareOf[trace.Reduce]
		}
	case slots.Together:
		both, total := policy.BothKinds(s.demands, open)
		shares(both, total, func(p int, share float64) { s.standing[p].Share = share })
	}
	return s.standing
}

// shares calls yield with the share of each pool, if the pools share total slots.
func shares(demands []policy.ShareDemand, total int32, yield func(pool int, share float64)) {
	level := policy.LevelOf(demands, total)
	for p, d := range demands {
		n := level.Share(d)
		yield(p, float64(n.Num)/float64(max(1, n.Den)))
	}
}

// count updates the pending tasks of a job, and with them the sum of its pool.
func (s *sweep) count(job int32) {
	j, pool := &s.jobs[job], &s.pools[s.m.Jobs[job].Pool]
	for k := range trace.Kinds {
		// A task that is done or runs is no longer pending. In a broken file there may be more
		// such tasks than tasks that are ready, so n may be negative.
		n := j.ready[k] - j.done[k] - j.tasks[k]
		if j.state != jobRuns || n < 0 || trace.Kind(k) == trace.Reduce && !j.gate {
			n = 0
		}
		pool.pending[k] += n - j.pending[k]
		s.waiting[k] += n - j.pending[k]
		j.pending[k] = n
	}
}

// start counts a bar from its start on. A lent slot also counts as lent, under its home kind.
func (s *sweep) start(b *Bar) {
	pool := &s.pools[s.m.Jobs[b.Job].Pool]
	pool.use[b.Kind].set(s.out, b.From, pool.use[b.Kind].now+1)
	home := b.Kind
	if b.Lent {
		home = home.Other()
		s.lent[home].set(s.out, b.From, s.lent[home].now+1)
	}
	s.busy[home]++
	s.admit(b.Job) // the event of its admission may be lost
	// A copy makes no further running task: its task counts since the first attempt.
	if b.Only {
		s.jobs[b.Job].tasks[b.Kind]++
	}
	s.count(b.Job)
}

// end counts a bar no more, and its task as done if this attempt finished it.
func (s *sweep) end(e *End) {
	b := &s.m.Bars[e.Bar]
	pool := &s.pools[s.m.Jobs[b.Job].Pool]
	pool.use[b.Kind].set(s.out, e.At, pool.use[b.Kind].now-1)
	home := b.Kind
	if b.Lent {
		home = home.Other()
		s.lent[home].set(s.out, e.At, s.lent[home].now-1)
	}
	s.busy[home]--
	if b.Last {
		s.jobs[b.Job].tasks[b.Kind]--
	}
	if b.Done {
		s.jobs[b.Job].done[b.Kind]++
	}
	s.count(b.Job)
}

// change updates the state by a change of a job or of the slots.
func (s *sweep) change(c *change) {
	if c.what == changeSlot {
		s.slots[c.kind] += c.n
		return
	}
	j := &s.jobs[c.id]
	switch c.what {
	case changeReady:
		// The first one is the submission.
		if j.state == jobUnknown {
			invariant.Move(&j.state, jobWaits)
			if !s.full(c.id) {
				s.admit(c.id)
			}
			j.ready[trace.Reduce] = s.m.Jobs[c.id].Reduces
		}
		j.ready[trace.Map] = c.n
	case changeDone:
		j.done[c.kind] += c.n
	case changeGate:
		j.gate = c.n > 0
	case changeAdmit:
		s.admit(c.id)
	case changeEnd:
		if j.state == jobRuns {
			s.countJob(c.id, -1)
		}
		invariant.Reach(&j.state, jobEnded)
	}
	s.count(c.id)
}

// full reports whether a limit on running jobs, of the job's pool or user, lets the job wait. The
// Ledger decides by the same counts. A submission has no event that says so.
func (s *sweep) full(job int32) bool {
	j := &s.m.Jobs[job]
	pool, user := s.m.Pools[j.Pool].MaxRunning, s.m.users[j.User]
	return pool > 0 && s.pools[j.Pool].jobs >= pool || user > 0 && s.users[j.User] >= user
}

// admit ends the wait of a job for a limit on running jobs.
func (s *sweep) admit(job int32) {
	if j := &s.jobs[job]; j.state == jobWaits {
		invariant.Move(&j.state, jobRuns)
		s.countJob(job, 1)
	}
}

// countJob adds n to the running jobs of the pool and of the user of a job.
func (s *sweep) countJob(job, n int32) {
	j := &s.m.Jobs[job]
	s.pools[j.Pool].jobs += n
	s.users[j.User] += n
}

// curves ends the sweep. It turns the sums, which are in slot-nanoseconds, into averages.
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

// divide turns sums in slot-nanoseconds into averages in slots.
func divide(sums []float64, step time.Duration) {
	for i := range sums {
		sums[i] /= float64(step)
	}
}
