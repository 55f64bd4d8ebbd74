package cost

import (
	"iter"
	"math"
	"math/bits"
	"time"

	"mrlocal/sim/events"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/trace"
	"mrlocal/workload"
)

// This file has the cost model L2 of the simulator.
//
// L2: the tasks of a tracker share its CPU, disk and network. The time of an attempt by the
// file and by L1 is its time alone. L2 divides it into periods of one resource each. A map
// computes, then writes its output. A reduce copies, then sorts (on the disk), then reduces
// (on the CPU). Each resource is shared evenly up to caps, a job's cpu and disk (pool); the
// network has no caps (link). Without contention L2 gives the same times as L1, to the
// nanosecond. It also reports the phases of the periods, which are those of engine:
// compute, io; copy, sort, reduce. The papers do not say how tasks share a tracker. L2
// assumes:
//   - A map writes map_output once. A reduce's sort moves its part of all outputs
//     once. Both go at the job's disk rate, within the time that the file gives; the
//     rest of that time is computing. A job without a disk rate has no such period.
//   - A job with a profile, and neither cpu nor disk, has averages: see newNeeds.
//   - Reduces that copy share the network of the receiving tracker only, and all of them use it,
//     also those of outputs that are there already. Copying needs no CPU and no disk.
//   - With a kvbuffer (Filling), a map spills while it computes, and waits if its kvbuffer
//     is full. Writing its output once is part of its time. The time for further bytes of
//     spills and merges is added. The time for merges of a reduce is added too
//     (rule.ReduceMerges).
//   - If tasks demand more memory than a tracker has (mem of the profile, by phase),
//     computing and I/O overlap less. If the cluster has overcommit, too much demand of any
//     resource reduces speed (node.pressure).
//   - A tracker with a capacity of its own has that share of the cores, disk and memory
//     of the others. A task whose cap is more than the tracker has runs slower in proportion.
//   - After a loss of outputs, a reduce keeps only as much as it could have copied of the
//     other outputs with the network for itself.
//
// The number of events of L2 is proportional to the number of changes in the sets of tasks
// that share a resource. A resource has one virtual time for each cap, and a Look event at
// the time of its next end. So a change costs O(log n). A network goes through the outputs of
// a job once for all its reduces on the tracker, and only when its state is needed. Work is
// counted in 128 bits, so that time times rate is exact (Amount).
//
// Memory: 16 bytes for each available output, about 120 for each slot and 700 for each
// tracker. The package is pure.

// Shared is L2: the tasks of a tracker share its CPU, disk and network.
type Shared struct {
	Config
	Flows
	attempts []sharingAttempt // by slot
	nodes    []node           // by tracker
	needs    []needs          // by job of the file
	mapPhase report.CPUShares // from the start to the latest end of a job's map phase
}

// sharingAttempt is the attempt on a slot, which shares the resources of its tracker.
type sharingAttempt struct {
	*Task
	doing   doing
	place   int32         // index in the pool that it shares; negative: it is in no pool
	turn    uint64        // its place in Queue.Insert, for the ends of its periods
	memory  uint64        // its demand of memory, as a share of a tracker in ppm
	cpu, io time.Duration // computing and I/O that it has not begun, in the time that they take alone
	fill    collecting    // of a map with a kvbuffer
	alone   time.Duration // time of all its work alone
}

// doing says which resource an attempt uses.
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
	memory    uint64                    // demand of memory of all tasks, in ppm of a tracker
	room      uint64                    // memory of the tracker, in the same unit
	looks     [resources]events.Pending // the pending Look events
}

// A resource of a tracker. The id of a Look is that of the tracker times resources,
// plus the resource.
const (
	cpuOf = iota
	diskOf
	netOf
	resources
)

// NewShared returns the model for the jobs and trackers of a file.
func NewShared(c Config) *Shared {
	f, trackers := c.File, 0
	for _, s := range c.Slots {
		trackers = max(trackers, int(s.Tracker)+1)
	}
	if f.Cluster.Cores == 0 && f.Cluster.DiskBytes == 0 {
		c.Note("cost l2: the cluster says nothing of cores and disk, so there is enough for every task; give cluster: {cores: 4, disk: 100MB}")
	}
	m := &Shared{Config: c, Flows: NewFlows(&c), attempts: make([]sharingAttempt, len(c.Slots)), nodes: make([]node, trackers), needs: make([]needs, len(f.Jobs))}
	c.Handlers[events.Look] = m.onLook
	c.Handlers[events.EndPeriod] = m.onEndPeriod
	c.Handlers[events.EndSpill] = m.onEndSpill
	cpu, _ := capacities(uint64(f.Cluster.Cores)*uint64(slots.One), 1)
	disk, _ := capacities(uint64(f.Cluster.DiskBytes), 1)
	for i := range m.nodes {
		n, has := &m.nodes[i], c.Capacities.Of(int32(i))
		n.cpu = pool{capacity: partOf(cpu, has.CPU), speed: Whole}
		n.disk = pool{capacity: partOf(disk, has.IO), speed: Whole}
		n.room = uint64(has.Memory)
		if rate := c.BytesPerSecond; rate < f.Cluster.NetBytes {
			n.net.share = max(1, uint64(Scaled(rate, shareUnit, f.Cluster.NetBytes)))
		}
	}
	for i := range m.needs {
		flow := m.Flow(int32(i))
		m.needs[i] = newNeeds(&f.Cluster, &f.Jobs[i], flow.Bytes(flow.Maps))
		m.needs[i].filling, m.needs[i].merged = FillingOf(f, i), mergedOf(&f.Cluster.Shuffle, flow)
		m.needs[i].copied = flow.Bytes(flow.Maps)
	}
	return m
}

// Set sets the activity of an attempt from now on. It pushes an EndCopy event for the end of
// CopyRest, and calls Host.End at the end of Working. It returns true if CopyRest is over at
// once.
func (m *Shared) Set(now time.Duration, task *Task, to Activity) (over bool) {
	t := &m.attempts[task.Slot]
	t.Task = task
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
func (m *Shared) wantMemory(t *sharingAttempt, memory uint64) {
	t.memory = memory
	m.nodes[t.Tracker].memory += memory
}

// work begins the work of an attempt. The share of its I/O period is computed from Base, the time
// without slowdown, and then applied to Took.
func (m *Shared) work(now time.Duration, t *sharingAttempt) {
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
	m.wantMemory(t, [...]uint64{slots.Map: needs.memory[0], slots.Reduce: needs.memory[2]}[t.Kind])
	if t.Took == 0 {
		if t.Kind == slots.Reduce {
			m.Host.Phase(t.Slot, slots.PhaseReduce)
		}
		m.endPeriod(now, t.Slot)
		return
	}
	m.nextPeriod(now, t)
}

// onEndPeriod handles an EndPeriod event: the next period of an attempt begins, or its
// work is done.
func (m *Shared) onEndPeriod(now time.Duration, id int32, gen uint32) {
	if t := &m.attempts[id]; t.Gen == gen {
		m.nextPeriod(now, t)
	}
}

// nextPeriod begins the next period of an attempt at work. A map computes and then writes. A
// reduce sorts on the disk and then computes. An attempt without another period ends.
func (m *Shared) nextPeriod(now time.Duration, t *sharingAttempt) {
	n, needs := &m.nodes[t.Tracker], &m.needs[t.Job]
	computes, writes := slots.PhaseCompute, slots.PhaseIO
	if t.Kind == slots.Reduce {
		computes, writes = slots.PhaseReduce, slots.PhaseSort
	}
	if t.fill.state != fillsNot {
		if t.doing != onCPU {
			m.Host.Phase(t.Slot, computes)
			t.doing = onCPU
		}
		if m.collect(now, t); t.fill.state != fillsNot {
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
		if f := &needs.filling; t.Kind == slots.Map && f.EmitsBytes > 0 {
			m.Host.Detail(t.Slot, trace.OpSpillStart, f.LastBytes, 0)
		}
		n.disk.join(now, needs.disk[t.Kind], t.io, int32(t.Slot), &t.place)
		t.io = 0
	default:
		if t.Kind == slots.Map && t.doing == onDisk {
			m.endSpill(t, needs.filling.LastBytes)
		}
		m.Host.End(t.Slot)
		return
	}
	m.balance(now, t.Tracker)
}

// endPeriod schedules the end of a period for now, in the order in which the attempts
// began their work.
func (m *Shared) endPeriod(now time.Duration, id slots.SlotID) {
	t := &m.attempts[id]
	m.Queue.Insert(now, t.turn, events.EndPeriod, int32(id), t.Gen)
}

// leaveAll takes an attempt off all resources that it shares.
func (m *Shared) leaveAll(now time.Duration, t *sharingAttempt) {
	n, needs := &m.nodes[t.Tracker], &m.needs[t.Job]
	switch {
	case t.doing == copying:
		m.leaveNet(now, t)
	case t.doing == onCPU && t.place >= 0:
		n.cpu.leave(now, needs.cpu[t.Kind], &t.place)
	case t.doing == onDisk && t.place >= 0:
		n.disk.leave(now, needs.disk[t.Kind], &t.place)
	}
	if t.fill.state >= spillsToo && t.fill.place >= 0 {
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
	cpu, disk := n.pressure(&m.File.Cluster.Overcommit)
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
	if w.On && (!busy || w.At > at) {
		w.Drop(m.Queue)
	}
	if busy && !w.On {
		w.Push(m.Queue, at, int32(t)*resources+int32(resource))
	}
}

// onLook handles a Look event. Each attempt whose period is over gets an EndPeriod event at the
// present time, after all Looks of this instant. The events are in the order in which the attempts
// began their work, whatever the order of resources and trackers.
func (m *Shared) onLook(now time.Duration, id int32, gen uint32) {
	t := slots.TrackerID(id / resources)
	n := &m.nodes[t]
	w := &n.looks[id%resources]
	if w.Gen != gen {
		return
	}
	w.Drop(m.Queue)
	// A map that spills while it computes uses the disk only for the spill.
	ends := func(id int32) { m.endPeriod(now, slots.SlotID(id)) }
	written := func(id int32) {
		if t := &m.attempts[id]; t.fill.state >= spillsToo {
			m.Queue.Insert(now, t.turn, events.EndSpill, id, t.Gen)
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
func (m *Shared) leaveNet(now time.Duration, t *sharingAttempt) {
	if m.Flow(t.Job).MapBytes == 0 {
		return
	}
	t.CopyTime = now - t.Started - m.nodes[t.Tracker].net.leave(now, t.Job, t.Slot)
	m.endCopying(now, t.Tracker)
}

// Lose calls drop, which removes lost outputs from a flow. all yields the reduces that copy from
// it. Each keeps the work that it could have done on the other outputs (link.cut).
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
		m.nodes[t.Tracker].net.cut(now, t.Job, func(id slots.SlotID) time.Duration { return m.attempts[id].Started })
		m.endCopying(now, t.Tracker)
	}
}

// endCopying is called after each runTo of a tracker's network. It inserts EndCopy events for the
// reduces that have copied everything, and a Look for the next one.
func (m *Shared) endCopying(now time.Duration, tracker slots.TrackerID) {
	l := &m.nodes[tracker].net
	for _, id := range l.done {
		if t := &m.attempts[id]; t.doing == copying {
			m.Queue.Insert(now, t.turn, events.EndCopy, int32(id), t.Gen)
		}
	}
	l.done = l.done[:0]
	at := l.next()
	m.lookAt(tracker, netOf, at, at < math.MaxInt64)
}

// Done returns the share of its copy, or of its work, that an attempt has done.
func (m *Shared) Done(now time.Duration, task *Task, copying bool) float64 {
	t := &m.attempts[task.Slot]
	n, needs := &m.nodes[t.Tracker], &m.needs[t.Job]
	if copying {
		return DoneCopying(m.Flow(t.Job), func(*Flow) time.Duration {
			n.net.runTo(now)
			had := n.net.copied(t.Job, t.Slot)
			m.endCopying(now, t.Tracker)
			return had
		})
	}
	// Periods and spills that have not begun, and the rest of the current period.
	left := t.cpu + t.io
	if t.fill.state != fillsNot {
		left = Later(left, time.Duration(t.fill.spills)*t.fill.write)
	}
	switch {
	case t.place < 0:
	case t.doing == onCPU:
		left += n.cpu.left(now, needs.cpu[t.Kind], t.place)
	case t.doing == onDisk:
		left += n.disk.left(now, needs.disk[t.Kind], t.place)
	}
	return DoneWorking(t.alone, left)
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
// streams. Both lose speed to paging if the resource is memory. The demand of a task is its
// use of the resource when it runs alone. Its memory counts at all times.
func (n *node) pressure(o *workload.Overcommit) (cpu, disk Rate) {
	cpu = efficiency(n.cpu.wanted, n.cpu.capacity, o.CPU)
	disk = efficiency(n.disk.wanted, n.disk.capacity, o.IO)
	if n.memory <= n.room {
		return cpu, disk
	}
	both := efficiency(n.memory, n.room, o.Memory)
	if n.cpu.sharers > 0 && n.disk.sharers > 0 {
		both = both.Of(Whole/2 + Fraction(n.room, n.memory)/2)
	}
	return cpu.Of(both), disk.Of(both)
}

// efficiency returns the speed of a resource for a demand of W = wanted/there. It is 1/(1+k(W−1))
// for a loss of k. It is whole if W is at most 1 or there is always enough.
func efficiency(wanted, there uint64, loss slots.PPM) Rate {
	if loss == 0 || there == 0 || wanted <= there {
		return Whole
	}
	// Both numbers are scaled to 32 bits, so that the sum below is precise and fits.
	finer := max(0, bits.LeadingZeros64(wanted)-32)
	there, beyond := there<<finer, (wanted-there)<<finer
	return Fraction(there, there+uint64(Scaled(int64(beyond), int64(loss), int64(slots.One))))
}
