package cost

import (
	"math"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/workload"
)

// Measured is the cost of a real machine: all tasks of all trackers run on it. Each is the
// slower the more of them run at a time, as mrlocal profile has measured it. The first
// attempt on each slot takes longer, because it touches memory that nobody has used.
// Copying takes no time, as on one machine.
//
// With k attempts at work, one of a job with the slowdown s(k) runs at 1/s(k) of its speed.
// Attempts that wait for map outputs do not count. Beyond the last k that was measured, each
// gets its share of what the cores gave at that k.
type Measured struct {
	Alone
	work   pool // shared by all attempts at work; a cap is a job and kind
	speeds [][2][]rate
	warmUp time.Duration
	used   []bool // by slot: an attempt has worked there
	look   wait
	task   func(id slots.SlotID) *Task
}

// NewMeasured returns the model for the jobs of a file, on so many slots.
func NewMeasured(c Config, f *workload.File, slotCount int, task func(id slots.SlotID) *Task) *Measured {
	m := &Measured{Alone: Alone{c}, speeds: make([][2][]rate, len(f.Jobs)), warmUp: f.Cluster.WarmUp, used: make([]bool, slotCount), task: task}
	for i := range f.Jobs {
		for kind, slowdown := range f.Jobs[i].Slowdown {
			for _, s := range slowdown {
				m.speeds[i][kind] = append(m.speeds[i][kind], fraction(uint64(ppm.One), uint64(s)))
			}
		}
	}
	m.work = pool{capacity: math.MaxUint64, speed: whole, rate: m.rate}
	return m
}

// capOf returns the cap that stands for a job and kind in the pool.
func capOf(job int32, kind slots.Kind) uint64 { return uint64(job)*2 + uint64(kind) + 1 }

// rate returns the speed of the attempts of a cap while so many are at work.
func (m *Measured) rate(cap uint64, atWork int) rate {
	speeds := m.speeds[(cap-1)/2][(cap-1)%2]
	switch n := len(speeds); {
	case n == 0:
		return whole
	case atWork > n:
		return fraction(uint64(n), uint64(atWork)).of(speeds[n-1])
	}
	return speeds[atWork-1]
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
		m.work.join(now, capOf(t.Job, t.Kind), t.Took, int32(t.Slot), &t.place)
		t.doing = onCPU
		m.schedule()
	case Idle:
		if t.doing == onCPU && t.place >= 0 {
			m.work.leave(now, capOf(t.Job, t.Kind), &t.place)
			m.schedule()
		}
		t.doing = nothing
	default:
		return m.Alone.Set(now, t, to)
	}
	return false
}

// schedule pushes a Look at the next end of work, unless one is pending that is not later.
func (m *Measured) schedule() {
	at, busy := m.work.next(), m.work.sharers > 0
	if m.look.on && (!busy || m.look.at > at) {
		m.look.on = false
		m.look.gen++
		m.Queue.Coming--
	}
	if busy && !m.look.on {
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
	m.work.due(now, func(id int32) {
		t := m.task(slots.SlotID(id))
		m.Queue.Insert(now, t.turn, EndAttempt, id, t.Gen)
	})
	m.schedule()
}

// Done returns the share of its copy, or of its work, that an attempt has done.
func (m *Measured) Done(now time.Duration, t *Task, copying bool) float64 {
	switch {
	case copying:
		return m.Alone.Done(now, t, true)
	case t.place < 0:
		return 1
	}
	return doneWorking(t.Took, m.work.left(now, capOf(t.Job, t.Kind), t.place))
}
