package cost

import (
	"iter"
	"math"
	"math/bits"
	"time"

	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/workload"
)

// Shared is L2: the tasks of a tracker share its CPU, disk and network.
type Shared struct {
	Config
	overcommit *workload.Overcommit
	file       *workload.File
	nodes      []node  // by tracker
	needs      []needs // by job of the file
	task       func(id slots.SlotID) *Task
	mapPhase   report.CPUShares // from the start to the latest end of a job's map phase
}

// doing says which resource a Task uses under Shared.
type doing uint8

const (
	nothing doing = iota
	copying       // a reduce uses the network, or waits for outputs
	held          // a reduce has copied everything and waits
	onCPU         // a map computes, a reduce reduces
	onDisk        // a map writes, a reduce sorts
)

// node has the resources that the tasks of a tracker share.
type node struct {
	cpu, disk pool
	net       link
	used      usage
	memory    uint64          // demand of memory of all tasks, in ppm of a tracker
	room      uint64          // memory of the tracker, in the same unit
	looks     [resources]wait // the pending Look events
}

// wait is the Look event of a resource. A Look event with another gen is stale.
type wait struct {
	at  time.Duration
	gen uint32
	on  bool // the event is pending
}

// A resource of a tracker. The id of a Look is that of the tracker times resources,
// plus the resource.
const (
	cpuOf = iota
	diskOf
	netOf
	resources
)

// NewShared returns the model for the trackers of a file. It keeps f and does not change it. own
// are the capacities of trackers that do not have the whole of each resource. task returns the
// Task of a slot.
func NewShared(c Config, f *workload.File, own demand.Capacities, trackers int, task func(id slots.SlotID) *Task) *Shared {
	m := &Shared{Config: c, file: f, overcommit: &f.Cluster.Overcommit, nodes: make([]node, trackers), needs: make([]needs, len(f.Jobs)), task: task}
	cpu, _ := capacities(uint64(f.Cluster.Cores)*uint64(slots.One), 1)
	disk, _ := capacities(uint64(f.Cluster.DiskBytes), 1)
	for i := range m.nodes {
		n, has := &m.nodes[i], own.Of(int32(i))
		n.cpu = pool{capacity: partOf(cpu, has.CPU), speed: whole}
		n.disk = pool{capacity: partOf(disk, has.IO), speed: whole}
		n.room = uint64(has.Memory)
		if rate := f.Cluster.CopyRate(); rate < f.Cluster.NetBytes {
			n.net.share = max(1, uint64(Scaled(rate, shareUnit, f.Cluster.NetBytes)))
		}
	}
	for i := range m.needs {
		flow := c.Flow(int32(i))
		m.needs[i] = newNeeds(&f.Cluster, &f.Jobs[i], flow.Bytes(flow.Maps))
		m.needs[i].filling, m.needs[i].merged = FillingOf(f, i), mergedOf(&f.Cluster.Shuffle, flow)
		m.needs[i].copied = flow.Bytes(flow.Maps)
	}
	return m
}

// Set sets the activity of an attempt from now on. It pushes an EndCopy event for the end of
// CopyRest, and calls Host.End at the end of Working. It returns true if CopyRest is over at
// once.
func (m *Shared) Set(now time.Duration, t *Task, to Activity) (over bool) {
	n, flow := &m.nodes[t.Tracker], m.Flow(t.Job)
	switch to {
	case Copying:
		t.doing = copying
		m.wantMemory(t, m.needs[t.Job].memory[1])
		if flow.MapBytes > 0 {
			n.net.join(now, t.Job, flow, t.Slot)
		}
		m.balance(now, t.Tracker)
	case CopyRest:
		if flow.MapBytes == 0 {
			return true
		}
		n.net.runTo(now)
		if n.net.complete(t.Job, t.Slot) {
			return true
		}
		t.turn = m.Queue.Turn()
		m.endCopying(now, t.Tracker)
	case Held:
		m.leaveNet(now, t)
		t.doing = held
	case Working:
		if t.Kind == slots.Reduce {
			m.leaveAll(now, t)
		}
		m.work(now, t)
	case Idle:
		m.leaveAll(now, t)
	}
	return false
}

// wantMemory sets the demand of memory of a task that has none, and adds it to its tracker's.
func (m *Shared) wantMemory(t *Task, memory uint64) {
	t.memory = memory
	m.nodes[t.Tracker].memory += memory
}

// work begins the work of an attempt. The share of its I/O period is computed from Base, the time
// without slowdown, and then applied to Took.
func (m *Shared) work(now time.Duration, t *Task) {
	needs := &m.needs[t.Job]
	t.turn = m.Queue.Turn()
	t.io = 0
	if t.Base > 0 {
		t.io = Scaled(int64(t.Took), int64(needs.io[t.Kind].of(t.Base)), int64(t.Base))
	}
	t.cpu = t.Took - t.io
	t.alone = t.Took
	// Spills and merges add to the I/O.
	if t.Kind == slots.Map {
		m.prepareSpills(t, &needs.filling)
	} else if needs.merged.WrittenBytes > 0 {
		once := 2 * needs.copied // written and read
		t.io = Scaled(int64(t.io), needs.merged.WrittenBytes+needs.merged.ReadBytes, once)
		t.alone = Later(t.cpu, t.io)
	}
	t.CPU = Scaled(int64(t.cpu), int64(needs.cpuShare[t.Kind]), int64(slots.One))
	memory := needs.memory[0]
	if t.Kind == slots.Reduce {
		memory = needs.memory[2]
	}
	m.wantMemory(t, memory)
	if t.Took == 0 {
		if t.Kind == slots.Reduce {
			m.Host.Phase(t.Slot, slots.PhaseReduce)
		}
		m.endPeriod(now, t.Slot)
		return
	}
	m.nextPeriod(now, t)
}

// EndPeriod handles an EndPeriod event: the next period of an attempt begins, or its
// work is done.
func (m *Shared) EndPeriod(now time.Duration, id int32, gen uint32) {
	if t := m.task(slots.SlotID(id)); t.Gen == gen {
		m.nextPeriod(now, t)
	}
}

// nextPeriod begins the next period of an attempt at work. A map computes and then writes. A
// reduce sorts on the disk and then computes. An attempt without another period ends.
func (m *Shared) nextPeriod(now time.Duration, t *Task) {
	n, needs := &m.nodes[t.Tracker], &m.needs[t.Job]
	computes, writes := slots.PhaseCompute, slots.PhaseIO
	if t.Kind == slots.Reduce {
		computes, writes = slots.PhaseReduce, slots.PhaseSort
	}
	if t.fill.on {
		if t.doing != onCPU {
			m.Host.Phase(t.Slot, computes)
			t.doing = onCPU
		}
		if m.collect(now, t); t.fill.on {
			m.balance(now, t.Tracker)
			return
		}
	}
	switch {
	case t.cpu > 0 && (t.Kind == slots.Map || t.io == 0):
		m.Host.Phase(t.Slot, computes)
		t.doing = onCPU
		n.cpu.join(now, needs.cpu[t.Kind], t.cpu, int32(t.Slot), &t.place)
		t.cpu = 0
	case t.io > 0:
		m.Host.Phase(t.Slot, writes)
		t.doing = onDisk
		n.disk.join(now, needs.disk[t.Kind], t.io, int32(t.Slot), &t.place)
		t.io = 0
	default:
		m.Host.End(t.Slot)
		return
	}
	m.balance(now, t.Tracker)
}

// endPeriod schedules the end of a period for now, in the order in which the attempts
// began their work.
func (m *Shared) endPeriod(now time.Duration, id slots.SlotID) {
	t := m.task(id)
	m.Queue.Insert(now, t.turn, EndPeriod, int32(id), t.Gen)
}

// leaveAll takes an attempt off all resources that it shares.
func (m *Shared) leaveAll(now time.Duration, t *Task) {
	n, needs := &m.nodes[t.Tracker], &m.needs[t.Job]
	switch {
	case t.doing == copying:
		m.leaveNet(now, t)
	case t.doing == onCPU && t.place >= 0:
		n.cpu.leave(now, needs.cpu[t.Kind], &t.place)
	case t.doing == onDisk && t.place >= 0:
		n.disk.leave(now, needs.disk[t.Kind], &t.place)
	}
	if t.fill.spilling && t.fill.place >= 0 {
		n.disk.leave(now, needs.disk[t.Kind], &t.fill.place)
	}
	t.fill = collecting{}
	t.doing = nothing
	n.memory -= t.memory
	t.memory = 0
	m.balance(now, t.Tracker)
}

// balance is called after every change of the tasks on a tracker's resources. It updates speeds,
// usage and Look events of CPU and disk.
func (m *Shared) balance(now time.Duration, t slots.TrackerID) {
	n := &m.nodes[t]
	cpu, disk := n.pressure(m.overcommit)
	if cpu != n.cpu.speed {
		n.cpu.setSpeed(now, cpu)
	}
	if disk != n.disk.speed {
		n.disk.setSpeed(now, disk)
	}
	m.use(now, n)
	m.lookAt(t, cpuOf, n.cpu.next(), n.cpu.sharers > 0)
	m.lookAt(t, diskOf, n.disk.next(), n.disk.sharers > 0)
}

// lookAt inserts a Look event for a resource, unless one is pending that is not later. A Look
// that comes too early ends no task and inserts the next one. If the resource is not busy, a
// pending Look becomes stale.
func (m *Shared) lookAt(t slots.TrackerID, resource int, at time.Duration, busy bool) {
	w := &m.nodes[t].looks[resource]
	if w.on && (!busy || w.at > at) {
		w.on = false
		w.gen++
		m.Queue.Coming--
	}
	if busy && !w.on {
		w.at, w.on = at, true
		m.Queue.Coming++
		m.Queue.Insert(at, 0, Look, int32(t)*resources+int32(resource), w.gen)
	}
}

// Look handles a Look event. Each attempt whose period is over gets an EndPeriod event for now,
// after all Looks of this instant. The events are in the order in which the attempts began
// their work, whatever the order of resources and trackers.
func (m *Shared) Look(now time.Duration, id int32, gen uint32) {
	t := slots.TrackerID(id / resources)
	n := &m.nodes[t]
	w := &n.looks[id%resources]
	if w.gen != gen {
		return
	}
	w.on = false
	w.gen++
	m.Queue.Coming--
	// A map that spills while it computes uses the disk only for the spill.
	ends := func(id int32) { m.endPeriod(now, slots.SlotID(id)) }
	written := func(id int32) {
		if t := m.task(slots.SlotID(id)); t.fill.spilling {
			m.Queue.Insert(now, t.turn, EndSpill, id, t.Gen)
			return
		}
		ends(id)
	}
	switch id % resources {
	case cpuOf:
		n.cpu.due(now, ends)
	case diskOf:
		n.disk.due(now, written)
	case netOf:
		n.net.runTo(now)
		m.endCopying(now, t)
		return
	}
	m.balance(now, t)
}

// leaveNet takes a reduce off the network, because it has copied everything or has ended. It sets
// the CopyTime of the reduce.
func (m *Shared) leaveNet(now time.Duration, t *Task) {
	if m.Flow(t.Job).MapBytes == 0 {
		return
	}
	t.CopyTime = now - t.Started - m.nodes[t.Tracker].net.leave(now, t.Job, t.Slot)
	m.endCopying(now, t.Tracker)
}

// Lose calls drop, which removes lost outputs from a flow. all yields the reduces that copy from
// it. They keep what they could have copied of the other outputs (link.cut).
func (m *Shared) Lose(now time.Duration, all iter.Seq[*Task], drop func()) {
	for t := range all {
		if m.Flow(t.Job).MapBytes > 0 {
			m.nodes[t.Tracker].net.runTo(now)
		}
	}
	drop()
	for t := range all {
		if m.Flow(t.Job).MapBytes == 0 {
			return
		}
		m.nodes[t.Tracker].net.cut(now, t.Job, func(id slots.SlotID) time.Duration { return m.task(id).Started })
		m.endCopying(now, t.Tracker)
	}
}

// endCopying is called after each runTo of a tracker's network. It inserts EndCopy events for the
// reduces that have copied everything, and a Look for the next one.
func (m *Shared) endCopying(now time.Duration, tracker slots.TrackerID) {
	l := &m.nodes[tracker].net
	for _, id := range l.done {
		if t := m.task(id); t.doing == copying {
			m.Queue.Insert(now, t.turn, EndCopy, int32(id), t.Gen)
		}
	}
	l.done = l.done[:0]
	at := l.next()
	m.lookAt(tracker, netOf, at, at < math.MaxInt64)
}

// Done returns the share of its copy, or of its work, that an attempt has done.
func (m *Shared) Done(now time.Duration, t *Task, copying bool) float64 {
	n, needs := &m.nodes[t.Tracker], &m.needs[t.Job]
	if copying {
		return doneCopying(m.Flow(t.Job), func(*Flow) time.Duration {
			n.net.runTo(now)
			had := n.net.copied(t.Job, t.Slot)
			m.endCopying(now, t.Tracker)
			return had
		})
	}
	// Periods and spills that have not begun, and the rest of the current period.
	left := t.cpu + t.io
	if t.fill.on {
		left = Later(left, time.Duration(t.fill.spills)*t.fill.write)
	}
	switch {
	case t.place < 0:
	case t.doing == onCPU:
		left += n.cpu.left(now, needs.cpu[t.Kind], t.place)
	case t.doing == onDisk:
		left += n.disk.left(now, needs.disk[t.Kind], t.place)
	}
	return doneWorking(t.alone, left)
}

// pressure returns the speeds of CPU and disk, which are below whole if tasks demand more than
// the tracker has.
//
// If tasks demand too much memory, computing and I/O overlap less. Let o be the memory of the
// tracker divided by the demand of memory. CPU and disk each run at (1+o)/2 of their speed
// while both are used. At o = 1 they overlap fully; near o = 0 they take turns.
//
// If the cluster has overcommit, too much demand of a resource also costs some of its speed
// (efficiency). The CPU loses speed to context switches, and the disk to seeks between
// streams. Both lose speed to paging if the resource is memory. The demand of a task is what
// it would use alone, and its memory at all times.
func (n *node) pressure(o *workload.Overcommit) (cpu, disk rate) {
	cpu = efficiency(n.cpu.wanted, n.cpu.capacity, o.CPU)
	disk = efficiency(n.disk.wanted, n.disk.capacity, o.IO)
	if n.memory <= n.room {
		return cpu, disk
	}
	both := efficiency(n.memory, n.room, o.Memory)
	if n.cpu.sharers > 0 && n.disk.sharers > 0 {
		both = both.of(whole/2 + fraction(n.room, n.memory)/2)
	}
	return cpu.of(both), disk.of(both)
}

// efficiency returns the speed of a resource whose demand is W = wanted/there times what there is.
// It is 1/(1+k(W−1)) for a loss of k, and whole if W is at most 1 or there is always enough.
func efficiency(wanted, there uint64, loss slots.PPM) rate {
	if loss == 0 || there == 0 || wanted <= there {
		return whole
	}
	// Both numbers are scaled to 32 bits, so that the sum below is precise and fits.
	finer := max(0, bits.LeadingZeros64(wanted)-32)
	there, beyond := there<<finer, (wanted-there)<<finer
	return fraction(there, there+uint64(Scaled(int64(beyond), int64(loss), int64(slots.One))))
}
