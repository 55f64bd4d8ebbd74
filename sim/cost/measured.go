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
// engine are bound to cores. So those at work on one core share it, and another core may be
// idle meanwhile. Each attempt gets an even part of its core, but none more than the share of a
// core that it uses alone. Beyond that it is slower by slowdown(k) while k attempts are at
// work on the machine, whatever they do. Attempts that wait for map outputs do not count.
// The first attempt on each slot takes longer, because it touches memory that nobody has used.
// Copying takes no time, as on one machine.
//
// All attempts at work are settled whenever one comes or goes. A machine has not more slots
// than a few for each core, so that is fast enough.
type Measured struct {
	Alone
	jobs   [][2]demanded // by job of the file and kind
	cores  []core
	coreOf []int // by slot
	at     time.Duration
	atWork int
	warmUp time.Duration
	used   []bool // by slot: an attempt has worked there
	look   wait
}

// demanded is what the attempts of a job and kind take of the machine.
type demanded struct {
	cpu       uint64 // in parts per million of a core
	slowdowns []rate // while 1, 2, ... attempts are at work
}

// core is one core with the attempts at work on it, those first that use least of it. Slots
// that are bound to no core share one that is as wide as all.
type core struct {
	capacity uint64 // in parts per million of a core
	tasks    []sharer
}

type sharer struct {
	task *Task
	left work
	rate rate
}

// NewMeasured returns the model for the jobs of a file, on the slots of all trackers.
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

// Set says what an attempt does from now on. Events are as those of Alone.
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
		m.settle(now)
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
			m.settle(now)
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

func (m *Measured) demanded(t *Task) *demanded { return &m.jobs[t.Job][t.Kind] }

// find returns the place of an attempt, or -1 if its work is done.
func (c *core) find(t *Task) int {
	return slices.IndexFunc(c.tasks, func(s sharer) bool { return s.task == t })
}

// settle lets all attempts work until now.
func (m *Measured) settle(now time.Duration) {
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

// schedule sets the speed of all attempts, and pushes a Look at the next end of work unless
// one is pending at that time.
func (m *Measured) schedule() {
	at := time.Duration(math.MaxInt64)
	for i := range m.cores {
		c := &m.cores[i]
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

// Look handles a Look event: attempts whose work is done end now, in the order in which they
// began.
func (m *Measured) Look(now time.Duration, gen uint32) {
	if m.look.gen != gen {
		return
	}
	m.look.on = false
	m.look.gen++
	m.Queue.Coming--
	m.settle(now)
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
	m.settle(now)
	c := &m.cores[m.coreOf[t.Slot]]
	if i := c.find(t); i >= 0 {
		return doneWorking(t.Took, c.tasks[i].left.floor())
	}
	return 1
}
