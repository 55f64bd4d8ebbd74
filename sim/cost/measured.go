package cost

import (
	"cmp"
	"math"
	"slices"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/sim/events"
	"mrlocal/slots"
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
	places []place       // by slot
	at     time.Duration // the time until which runTo has run
	atWork int           // number of attempts at work
	warmUp time.Duration // additional time of the first attempt on a slot
	look   events.Pending
}

// place is the place of a slot on the machine.
type place struct {
	core    int    // index in cores
	used    bool   // an attempt has worked there
	working bool   // the attempt there has begun its work
	turn    uint64 // its place in Queue.Insert, for the end of that work
}

// demanded is the demand of the attempts of a job and kind.
type demanded struct {
	cpu       uint64 // share of a core that an attempt uses alone, in ppm
	slowdowns []Rate // slowdowns[k-1] is the speed while k attempts are at work; the last holds for more
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
	left Amount // to do
	rate Rate   // its speed from Measured.at on
}

// NewMeasured returns the model for the jobs of a file, on the slots of all trackers. If a slot
// is bound to no core, all slots share all cores.
func NewMeasured(c Config) *Measured {
	f := c.File
	m := &Measured{Alone: *NewAlone(c), jobs: make([][2]demanded, len(f.Jobs)), warmUp: f.Cluster.WarmUp, places: make([]place, len(c.Slots))}
	c.Handlers[events.Look] = m.onLook
	for i := range f.Jobs {
		for kind, use := range f.Jobs[i].Uses {
			d := &m.jobs[i][kind]
			d.cpu = uint64(min(cmp.Or(use.CPU, ppm.One), ppm.One)) // a share of 0 is not known
			for _, s := range use.Slowdown {
				d.slowdowns = append(d.slowdowns, Fraction(uint64(ppm.One), uint64(s)))
			}
		}
	}
	for i, s := range c.Slots {
		if s.Core < 0 {
			m.cores = []core{{capacity: uint64(ppm.One) * uint64(max(1, f.Cluster.Cores))}}
			for i := range m.places {
				m.places[i].core = 0
			}
			return m
		}
		for len(m.cores) <= int(s.Core) {
			m.cores = append(m.cores, core{capacity: uint64(ppm.One)})
		}
		m.places[i].core = int(s.Core)
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
		place := &m.places[t.Slot]
		if !place.used {
			place.used = true
			t.Took = Later(t.Took, m.warmUp)
		}
		place.turn, place.working = m.Queue.Turn(), true
		t.CPU = t.Took
		m.runTo(now)
		c := &m.cores[m.places[t.Slot].core]
		cpu := m.demanded(t).cpu
		// The tasks are in the order of demand. Among equal ones, the new task is the last.
		i, _ := slices.BinarySearchFunc(c.tasks, cpu+1, func(o sharer, cpu uint64) int { return cmp.Compare(m.demanded(o.task).cpu, cpu) })
		c.tasks = slices.Insert(c.tasks, i, sharer{task: t, left: AmountOf(t.Took)})
		m.atWork++
		m.schedule()
	case Idle:
		if m.places[t.Slot].working {
			m.runTo(now)
			c := &m.cores[m.places[t.Slot].core]
			if i := c.find(t); i >= 0 {
				c.tasks = slices.Delete(c.tasks, i, i+1)
				m.atWork--
			}
			m.schedule()
		}
		m.places[t.Slot].working = false
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
			s.left = s.left.Minus(s.rate.During(took))
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
			s.rate = Fraction(rest, d.cpu*others)
			rest -= min(rest/others, d.cpu)
			if k := min(m.atWork, len(d.slowdowns)); k > 0 {
				s.rate = s.rate.Of(d.slowdowns[k-1])
			}
			at = min(at, Later(m.at, s.left.Lasts(s.rate)))
		}
	}
	if m.look.On && (m.atWork == 0 || m.look.At != at) {
		m.look.Drop(m.Queue)
	}
	if m.atWork > 0 && !m.look.On {
		m.look.Push(m.Queue, at, 0)
	}
}

// onLook handles a Look event. Attempts whose work is done get an EndAttempt event at the present
// time, in the order in which they began.
func (m *Measured) onLook(now time.Duration, _ int32, gen uint32) {
	if m.look.Gen != gen {
		return
	}
	m.look.Drop(m.Queue)
	m.runTo(now)
	for i := range m.cores {
		c := &m.cores[i]
		before := len(c.tasks)
		c.tasks = slices.DeleteFunc(c.tasks, func(s sharer) bool {
			if s.left.Lasts(Whole) > 0 {
				return false
			}
			m.Queue.Insert(now, m.places[s.task.Slot].turn, events.EndAttempt, int32(s.task.Slot), s.task.Gen)
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
	c := &m.cores[m.places[t.Slot].core]
	if i := c.find(t); i >= 0 {
		return DoneWorking(t.Took, c.tasks[i].left.Floor())
	}
	return 1
}
