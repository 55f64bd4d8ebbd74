package cost

import (
	"math"
	"slices"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/workload"
)

// Measured is the cost of a real machine, as mrlocal profile has measured it. The slots of the
// engine are bound to cores. So the attempts at work on one core share it, while another core
// may be idle. Each attempt gets an even part of its core, but none more than the share of a
// core that it uses alone. In addition it is slower by slowdown(k) as long as k attempts are at
// work on the machine, whatever they do. Attempts that wait for map outputs do not count.
// The first attempt on each slot takes longer, because it touches fresh memory. Copying takes
// no time, as on one machine.
//
// Each change costs O(slots), because it brings all attempts at work up to now. A machine has
// only a few slots per core, so that is fast enough.
type Measured struct {
	Alone
	jobs   [][2]demanded // by job of the file and kind
	cores  []core
	coreOf []int         // by slot: index in cores
	at     time.Duration // the time until which runTo has run
	atWork int           // number of attempts at work
	warmUp time.Duration // additional time of the first attempt on a slot
	used   []bool        // by slot: an attempt has worked there
	look   wait
}

// demanded is the demand of the attempts of a job and kind.
type demanded struct {
	cpu       uint64 // share of a core that an attempt uses alone, in ppm
	slowdowns []rate // slowdowns[k-1] is the speed while k attempts are at work; the last holds for more
}

// core is one core with the attempts at work on it, in ascending order of their demand. Slots
// that are bound to no core share one core with the capacity of all.
type core struct {
	capacity uint64 // in ppm of a core
	tasks    []sharer
}

// sharer is an attempt at work.
type sharer struct {
	task *Task
	left work // to do
	rate rate // its speed from Measured.at on
}

// NewMeasured returns the model for the jobs of a file, on the slots of all trackers. If a slot
// is bound to no core, all slots share all cores. It does not keep f or all.
func NewMeasured(c Config, f *workload.File, all []slots.Slot) *Measured {
	m := &Measured{Alone: Alone{c}, jobs: make([][2]demanded, len(f.Jobs)), warmUp: f.Cluster.WarmUp, used: make([]bool, len(all)), coreOf: make([]int, len(all))}
	for i := range f.Jobs {
		for kind, use := range f.Jobs[i].Uses {
			d := &m.jobs[i][kind]
			if d.cpu = uint64(min(use.CPU, ppm.One)); d.cpu == 0 {
				d.cpu = uint64(ppm.One) // it is not known
			}
			for _, s := range use.Slowdown {
				d.slowdowns = append(d.slowdowns, fraction(uint64(ppm.One), uint64(s)))
			}
		}
	}
	for i, s := range all {
		if s.Core < 0 {
			m.cores = []core{{capacity: uint64(ppm.One) * uint64(max(1, f.Cluster.Cores))}}
			clear(m.coreOf)
			return m
		}
		for len(m.cores) <= int(s.Core) {
			m.cores = append(m.cores, core{capacity: uint64(ppm.One)})
		}
		m.coreOf[i] = int(s.Core)
	}
	return m
}

// Set sets the activity of an attempt from now on. It pushes events as Alone.Set does.
func (m *Measured) Set(now time.Duration, t *Task, to Activity) (over bool) {
	switch to {
	case Working:
		if t.Kind == slots.Reduce {
			m.Host.Phase(t.Slot, slots.PhaseReduce)
		}
		if !m.used[t.Slot] {
			m.used[t.Slot] = true
			t.Took = Later(t.Took, m.warmUp)
		}
		t.turn = m.Queue.Turn()
		t.CPU = t.Took
		m.runTo(now)
		c := &m.cores[m.coreOf[t.Slot]]
		cpu := m.demanded(t).cpu
		i := slices.IndexFunc(c.tasks, func(o sharer) bool { return m.demanded(o.task).cpu > cpu })
		if i < 0 {
			i = len(c.tasks)
		}
		c.tasks = slices.Insert(c.tasks, i, sharer{task: t, left: alone(t.Took)})
		m.atWork++
		t.doing = onCPU
		m.schedule()
	case Idle:
		if t.doing == onCPU {
			m.runTo(now)
			c := &m.cores[m.coreOf[t.Slot]]
			if i := c.find(t); i >= 0 {
				c.tasks = slices.Delete(c.tasks, i, i+1)
				m.atWork--
			}
			m.schedule()
		}
		t.doing = nothing
	default:
		return m.Alone.Set(now, t, to)
	}
	return false
}

// demanded returns the demand of an attempt.
func (m *Measured) demanded(t *Task) *demanded { return &m.jobs[t.Job][t.Kind] }

// find returns the place of an attempt, or -1 if its work is done.
func (c *core) find(t *Task) int {
	return slices.IndexFunc(c.tasks, func(s sharer) bool { return s.task == t })
}

// runTo lets all attempts work until now.
func (m *Measured) runTo(now time.Duration) {
	took := now - m.at
	m.at = now
	if took == 0 {
		return
	}
	for i := range m.cores {
		for n := range m.cores[i].tasks {
			s := &m.cores[i].tasks[n]
			s.left = s.left.minus(s.rate.during(took))
		}
	}
}

// schedule sets the speeds of all attempts. It inserts a Look at the next end of work, unless one
// is pending for that time; a Look for another time becomes stale.
func (m *Measured) schedule() {
	at := time.Duration(math.MaxInt64)
	for i := range m.cores {
		c := &m.cores[i]
		// An attempt with less demand than an even part of the rest leaves more to the others,
		// which come later in the order of demand.
		rest := c.capacity
		for n := range c.tasks {
			s, others := &c.tasks[n], uint64(len(c.tasks)-n)
			d := m.demanded(s.task)
			s.rate = fraction(rest, d.cpu*others)
			rest -= min(rest/others, d.cpu)
			if k := min(m.atWork, len(d.slowdowns)); k > 0 {
				s.rate = s.rate.of(d.slowdowns[k-1])
			}
			at = min(at, Later(m.at, s.left.lasts(s.rate)))
		}
	}
	if m.look.on && (m.atWork == 0 || m.look.at != at) {
		m.look.on = false
		m.look.gen++
		m.Queue.Coming--
	}
	if m.atWork > 0 && !m.look.on {
		m.look.at, m.look.on = at, true
		m.Queue.Coming++
		m.Queue.Insert(at, 0, Look, 0, m.look.gen)
	}
}

// Look handles a Look event. Attempts whose work is done get an EndAttempt event for now, in the
// order in which they began.
func (m *Measured) Look(now time.Duration, gen uint32) {
	if m.look.gen != gen {
		return
	}
	m.look.on = false
	m.look.gen++
	m.Queue.Coming--
	m.runTo(now)
	for i := range m.cores {
		c := &m.cores[i]
		before := len(c.tasks)
		c.tasks = slices.DeleteFunc(c.tasks, func(s sharer) bool {
			if s.left.lasts(whole) > 0 {
				return false
			}
			m.Queue.Insert(now, s.task.turn, EndAttempt, int32(s.task.Slot), s.task.Gen)
			return true
		})
		m.atWork -= before - len(c.tasks)
	}
	m.schedule()
}

// Done returns the share of its copy, or of its work, that an attempt has done.
func (m *Measured) Done(now time.Duration, t *Task, copying bool) float64 {
	if copying {
		return m.Alone.Done(now, t, true)
	}
	m.runTo(now)
	c := &m.cores[m.coreOf[t.Slot]]
	if i := c.find(t); i >= 0 {
		return doneWorking(t.Took, c.tasks[i].left.floor())
	}
	return 1
}
