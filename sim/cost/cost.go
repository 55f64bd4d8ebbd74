// Package cost holds the cost models of the simulator. Cost models compute how long attempts copy
// and work. Alone is L0 and L1, Shared is L2, and Measured is the cost of a real machine. A model
// pushes queued events into the queue, as the driver does.
//
// L0 and L1: a map takes its map_time. A reduce first copies each map output as it
// becomes available, at the net bandwidth of its tracker, which it has for itself
// (Flow). Then it takes its reduce_time. L0 is L1 with outputs of no bytes.
//
// Memory: 16 bytes for each available output, and 8 for each slot. The package is pure.
package cost

import (
	"iter"
	"math"
	"math/bits"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/sim/events"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/trace"
	"mrlocal/workload"
)

// Task is the attempt on a slot, as cost models see it. The driver owns the Tasks, one for
// each slot, and sets the first group of fields.
type Task struct {
	Slot       slots.SlotID
	Tracker    slots.TrackerID
	Job        int32 // its index in the file
	Kind       slots.Kind
	Gen        uint32        // generation of the slot, for queued events about the attempt
	Started    time.Duration // start of the attempt
	Base, Took time.Duration // time of its work: as the file has it, and on this tracker

	// CPU and CopyTime are results: CPU time of the work, and time spent copying
	// without waits for outputs.
	CPU, CopyTime time.Duration
}

// Activity says what an attempt does.
type Activity uint8

const (
	Idle     Activity = iota // nothing any more: it has ended
	Copying                  // a reduce copies what is available and waits for more
	CopyRest                 // a reduce copies the rest: all outputs are available
	Held                     // a reduce has copied everything, and does not work yet
	Working                  // a map, or a reduce that has copied everything
)

// Host is the simulation that a model is part of. A model calls its methods during a call of its
// own.
type Host interface {
	Phase(id slots.SlotID, p slots.Phase) // the attempt on a slot is in another phase
	End(id slots.SlotID)                  // its work is done

	// Detail reports a step of the kvbuffer of a map: OpBuffer, OpSpillStart or OpSpillEnd.
	// first and second are the values of the event.
	Detail(id slots.SlotID, op trace.Op, first, second int64)
}

// Config connects a model with its simulation.
type Config struct {
	Queue      *events.Queue
	Handlers   *events.Handlers // a model sets those of its own events
	Host       Host
	File       *workload.File   // a model does not change it
	Slots      []slots.Slot     // of all trackers
	Capacities slots.Capacities // of trackers that do not have the whole of each resource

	BytesPerSecond int64        // that a reduce copies at most; 0: copying takes no time
	Note           func(string) // prints a warning of one line
}

// Alone is L0 and L1: every attempt has all resources that it needs for itself.
type Alone struct {
	Config
	Flows
	ends []time.Duration // by slot: end of the work of its attempt
}

// NewAlone returns the model for the jobs of a file.
func NewAlone(c Config) *Alone {
	return &Alone{Config: c, Flows: NewFlows(&c), ends: make([]time.Duration, len(c.Slots))}
}

// Set sets the activity of an attempt from now on. It pushes an EndCopy or EndAttempt event for
// the end of CopyRest or Working. It returns true if CopyRest is over at once.
func (m *Alone) Set(now time.Duration, t *Task, to Activity) (over bool) {
	switch f := m.Flow(t.Job); to {
	case CopyRest:
		at := f.Copied(t.Started)
		if at <= now {
			return true
		}
		m.Queue.Push(at, events.EndCopy, int32(t.Slot), t.Gen)
	case Held:
		t.CopyTime = f.Copying(f.Maps)
	case Working:
		m.ends[t.Slot] = Later(now, t.Took)
		if t.Kind == slots.Reduce {
			m.Host.Phase(t.Slot, slots.PhaseReduce)
		}
		m.Queue.Push(m.ends[t.Slot], events.EndAttempt, int32(t.Slot), t.Gen)
	}
	return false
}

// Lose calls drop, which removes lost outputs from a flow. A Flow is all the state of copies.
func (m *Alone) Lose(_ time.Duration, _ iter.Seq[*Task], drop func()) { drop() }

// Describe does nothing, because there are neither kvbuffers nor shared cores.
func (m *Alone) Describe(time.Duration, *report.Report, func(id slots.JobID) (job int32, maps int64)) {
}

// Done returns the share of its copy, or else of its work, that an attempt has done.
func (m *Alone) Done(now time.Duration, t *Task, copying bool) float64 {
	if copying {
		return DoneCopying(m.Flow(t.Job), func(f *Flow) time.Duration { return f.Reached(t.Started, now) })
	}
	return DoneWorking(t.Took, m.ends[t.Slot]-now)
}

// DoneCopying returns the share of a copy that is done. reached returns the part that is copied,
// in the time that it takes alone. It is called only if copying takes time.
func DoneCopying(f *Flow, reached func(f *Flow) time.Duration) float64 {
	all := f.Copying(f.Maps)
	switch {
	case f.Maps == 0:
		return 1
	case all == 0:
		return float64(f.There) / float64(f.Maps)
	}
	return float64(reached(f)) / float64(all)
}

// DoneWorking returns the share of the work that is done, if left of all is still to do.
func DoneWorking(all, left time.Duration) float64 {
	if all <= 0 {
		return 1
	}
	return 1 - float64(left)/float64(all)
}

// What follows is the arithmetic of the cost models of the simulator, in which attempts share a
// resource: amounts of work and rates, in fixed point.
//
// The package is pure, and its values are plain numbers.

// Scaled is ppm.Scaled for times.
func Scaled(n, num, den int64) time.Duration { return time.Duration(ppm.Scaled(n, num, den)) }

// Later returns at + d, or the largest time if the sum does not fit. d must not be negative.
func Later(at, d time.Duration) time.Duration {
	if at > math.MaxInt64-d {
		return math.MaxInt64
	}
	return at + d
}

// Amount is an amount of work, or a moment of the virtual time in which a resource serves work.
// The unit is the work of a task alone on its tracker in 2^-63 ns, and the value has 128 bits. The
// product of a time and a rate is exact, so no work is lost however often rates change. Only rates
// are rounded down, to 63 bits.
type Amount struct{ Hi, Lo uint64 }

// Rate is a speed between 0 and Whole; Whole is the speed of a task alone.
type Rate uint64

// Whole is the speed of a task alone.
const Whole Rate = 1 << 63

// Crumb is an amount of work that is too small to count: 2^-12 ns. Errors by rounded rates
// stay below it for weeks of virtual time. So an end on a whole nanosecond is not taken
// for an end just after it.
func Crumb() Amount { return Amount{0, 1 << 51} }

// AmountOf returns the work that a task alone does in d, which is not negative.
func AmountOf(d time.Duration) Amount { return Amount{uint64(d) >> 1, uint64(d) << 63} }

// During returns the work that is done in d at rate r.
func (r Rate) During(d time.Duration) Amount {
	hi, lo := bits.Mul64(uint64(d), uint64(r))
	return Amount{hi, lo}
}

// Less reports whether w < o.
func (w Amount) Less(o Amount) bool { return w.Hi < o.Hi || w.Hi == o.Hi && w.Lo < o.Lo }

// Plus returns w + o, or Most if the sum does not fit.
func (w Amount) Plus(o Amount) Amount {
	lo, carry := bits.Add64(w.Lo, o.Lo, 0)
	hi, over := bits.Add64(w.Hi, o.Hi, carry)
	if over > 0 {
		return Most()
	}
	return Amount{hi, lo}
}

// Most returns the largest amount of work.
func Most() Amount { return Amount{math.MaxUint64, math.MaxUint64} }

// Minus returns w − o, or nothing if o is more.
func (w Amount) Minus(o Amount) Amount {
	if w.Less(o) {
		return Amount{}
	}
	lo, borrow := bits.Sub64(w.Lo, o.Lo, 0)
	hi, _ := bits.Sub64(w.Hi, o.Hi, borrow)
	return Amount{hi, lo}
}

// Times returns w·n, or Most if the product does not fit.
func (w Amount) Times(n uint64) Amount {
	carry, lo := bits.Mul64(w.Lo, n)
	over, hi := bits.Mul64(w.Hi, n)
	hi, c := bits.Add64(hi, carry, 0)
	if over > 0 || c > 0 {
		return Most()
	}
	return Amount{hi, lo}
}

// Among returns w divided by n, rounded down. n must be above 0.
func (w Amount) Among(n uint64) Amount {
	hi, rest := w.Hi/n, w.Hi%n
	lo, _ := bits.Div64(rest, w.Lo, n)
	return Amount{hi, lo}
}

// Floor returns the time that w takes alone, in whole nanoseconds, rounded down.
func (w Amount) Floor() time.Duration {
	if w.Hi >= 1<<62 {
		return math.MaxInt64
	}
	return time.Duration(w.Hi<<1 | w.Lo>>63)
}

// Ceil returns the first whole nanosecond at which no more than a crumb of w is left.
func (w Amount) Ceil() time.Duration { return w.Lasts(Whole) }

// Lasts returns how long w takes at rate r until no more than a crumb is left, in whole
// nanoseconds, rounded up.
func (w Amount) Lasts(r Rate) time.Duration {
	w = w.Minus(Crumb())
	if w.Hi >= uint64(r) {
		if w.Hi == 0 && w.Lo == 0 {
			return 0
		}
		return math.MaxInt64
	}
	q, rest := bits.Div64(w.Hi, w.Lo, uint64(r))
	if rest > 0 {
		q++
	}
	return time.Duration(min(q, math.MaxInt64))
}

// Fraction returns num/den as a rate, at most Whole.
func Fraction(num, den uint64) Rate {
	if num >= den {
		return Whole
	}
	q, _ := bits.Div64(num>>1, num<<63, den)
	return Rate(q)
}

// Of returns the product of the rates r and s: the rate r on a resource that runs at speed s.
func (r Rate) Of(s Rate) Rate {
	if s == Whole {
		return r
	}
	hi, lo := bits.Mul64(uint64(r), uint64(s))
	return Rate(hi<<1 | lo>>63)
}

// Nanoseconds returns the time that w takes alone, in nanoseconds.
func (w Amount) Nanoseconds() float64 { return float64(float64(w.Hi)*2) + float64(w.Lo)/(1<<63) }

// usage is the use of a tracker's cores and disk, counted until at.
type usage struct {
	at                     time.Duration
	user, waited           float64 // in nanoseconds of one core
	diskBytes              float64
	computing, io          int     // number of tasks from at on
	diskBytesPerNanosecond float64 // from at on
}

// runTo counts until now. A task that computes uses one core, as long as there is a free
// one. A core that is idle while a task reads or writes waits for I/O.
func (u *usage) runTo(now time.Duration, cores int) {
	if took := float64(now - u.at); took > 0 {
		user := min(cores, u.computing)
		u.user += float64(took * float64(user))
		u.waited += float64(took * float64(min(cores-user, u.io)))
		u.diskBytes += float64(took * u.diskBytesPerNanosecond)
	}
	u.at = now
}

// use counts the usage of a tracker until now, and sets the rates from now on.
func (m *Shared) use(now time.Duration, n *node) {
	cores := m.File.Cluster.Cores
	if cores == 0 {
		return
	}
	n.used.runTo(now, cores)
	n.used.computing, n.used.io = n.cpu.sharers, n.disk.sharers
	if m.File.Cluster.KernelBytes > 0 {
		n.used.diskBytesPerNanosecond = n.disk.perSecond() / float64(time.Second)
	}
}

// MapEnded is Flows.MapEnded. At the end of a job's last map, it also notes how the cores have
// spent the time until now. This time is the map phase of the run. A later note replaces the
// result.
func (m *Shared) MapEnded(now time.Duration, t *Task, task slots.TaskID, done, total int32) (complete bool) {
	if done == total {
		if m.File.Cluster.KernelBytes > 0 {
			m.runLinks(now)
		}
		m.mapPhase, _ = m.shares(now)
	}
	return m.Flows.MapEnded(now, t, task, done, total)
}

// Describe adds to r the kvbuffer of the cluster, the spills of the jobs, and how the cores have
// spent the time until now. maps returns, for a job of the report, its index in the file and the
// number of its maps that have written their output.
func (m *Shared) Describe(now time.Duration, r *report.Report, maps func(id slots.JobID) (job int32, maps int64)) {
	if b := &m.File.Cluster.Buffer; b.StartBytes > 0 {
		r.Config.KVBuffer = &report.KVBuffer{StartBytes: b.StartBytes, MemoryBytes: b.MemoryBytes, Growth: b.Growth}
	}
	if run, ok := m.shares(now); ok {
		r.CPU = &report.CPU{Source: "model", Cores: m.File.Cluster.Cores * len(m.nodes), Run: run, MapPhase: m.mapPhase}
	}
	for id := range r.Jobs {
		job, written := maps(slots.JobID(id))
		// The last load is a spill, too (nextPeriod).
		if f := &m.needs[job].filling; f.EmitsBytes > 0 {
			c := &r.Jobs[id].Counters
			c.Spills += written * int64(f.Spills+1)
			c.SpilledBytes += written * (m.File.Jobs[job].MapOutputBytes + f.MergeBytes/2)
			c.KVBufferExpansions += written * int64(f.Expansions)
		}
	}
}

// shares returns how the cores of the cluster have spent the time until now; false if the
// file does not say how many there are.
//
// The file may say how many bytes a core moves in a second of kernel time. Then the bytes
// of disks and networks take that time from the cores that do not compute: kernel time
// does not make computing slower.
func (m *Shared) shares(now time.Duration) (s report.CPUShares, ok bool) {
	c := &m.File.Cluster
	all := float64(c.Cores*len(m.nodes)) * float64(now)
	if all == 0 {
		return s, false
	}
	// Sums over all trackers: nanoseconds of cores, bytes of disks, nanoseconds of copying.
	var user, waited, bytes, copied float64
	for i := range m.nodes {
		n := &m.nodes[i]
		n.used.runTo(now, c.Cores)
		user += n.used.user
		waited += n.used.waited
		bytes += n.used.diskBytes
		copied += n.net.moved.Nanoseconds()
	}
	// From here on copied is in bytes.
	copied = float64(copied * float64(c.CopyRate()) / float64(time.Second))
	s = report.CPUShares{User: user / all, IOWait: waited / all, NetBytesPerSecond: copied / now.Seconds()}
	free := max(0, 1-s.User)
	if c.KernelBytes > 0 {
		s.System = min(free, (bytes+copied)/float64(c.KernelBytes)*float64(time.Second)/all)
	}
	if free > 0 {
		s.IOWait *= 1 - s.System/free
	}
	s.Idle = max(0, free-s.System-s.IOWait)
	return s, true
}

// runLinks lets all networks copy until now, so that shares counts copied bytes until now.
func (m *Shared) runLinks(now time.Duration) {
	for i := range m.nodes {
		m.nodes[i].net.runTo(now)
		m.endCopying(now, slots.TrackerID(i))
	}
}
