// Package cost holds the cost models of the simulator, which compute how long attempts copy
// and work. Alone is L0 and L1, Shared is L2, and Measured is the cost of a real machine.
// A model pushes queued events into the Queue, as the driver does.
//
// L0 and L1: a map takes its map_time. A reduce first copies each map output as it
// becomes available, at the net bandwidth of its tracker, which it has for itself
// (Flow). Then it takes its reduce_time. L0 is L1 with outputs of no bytes.
//
// L2: the tasks of a tracker share its CPU, disk and network. The time of an attempt by the
// file and by L1 is its time alone. L2 divides it into periods of one resource each. A map
// computes, then writes its output. A reduce copies, then sorts (on the disk), then reduces
// (on the CPU). Each resource is shared evenly up to caps, a job's cpu and disk (pool); the
// network has no caps (link). Without contention L2 gives the same times as L1, to the
// nanosecond. It also reports the phases of the periods, which are those of engine/task:
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
//     spills and merges is added, and so is that of merges of a reduce (rule.ReduceMerges).
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
// the time of its next end, so a change costs O(log n). A network goes through the outputs of
// a job once for all reduces of that job on the tracker, and only when its state is needed.
// Work is counted in 128 bits, so that time times rate is exact (work).
//
// Memory: 16 bytes for each available output; under L2 about 120 bytes for each task
// that runs and 700 for each tracker. The package is pure.
//
// Neighbours: sim is the driver, and owns Tasks, Flows and the Queue; workload has the numbers.
package cost

import (
	"iter"
	"time"

	"mrlocal/report"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/spill/rule"
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

	ends time.Duration // under Alone: end of its work

	// Under Shared.
	doing   doing
	place   int32         // index in the pool that it shares; negative: it is in no pool
	turn    uint64        // its place in Queue.Insert, for the ends of its periods
	memory  uint64        // its demand of memory, as a share of a tracker in ppm
	cpu, io time.Duration // computing and I/O that it has not begun, in the time that they take alone
	fill    collecting    // of a map with a kvbuffer
	alone   time.Duration // time of all its work alone
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
	Queue *Queue
	Host  Host
	Flow  func(job int32) *Flow // returns the Flow of a job, by its index in the file
}

// Alone is L0 and L1: every attempt has all resources that it needs for itself.
type Alone struct{ Config }

// Set sets the activity of an attempt from now on. It pushes an EndCopy or EndAttempt event for
// the end of CopyRest or Working. It returns true if CopyRest is over at once.
func (m *Alone) Set(now time.Duration, t *Task, to Activity) (over bool) {
	switch f := m.Flow(t.Job); to {
	case CopyRest:
		at := f.Copied(t.Started)
		if at <= now {
			return true
		}
		m.Queue.Push(at, EndCopy, int32(t.Slot), t.Gen)
	case Held:
		t.CopyTime = f.Copying(f.Maps)
	case Working:
		t.ends = Later(now, t.Took)
		if t.Kind == slots.Reduce {
			m.Host.Phase(t.Slot, slots.PhaseReduce)
		}
		m.Queue.Push(t.ends, EndAttempt, int32(t.Slot), t.Gen)
	}
	return false
}

// Lose calls drop, which removes lost outputs from a flow. A Flow is all the state of copies.
func (m *Alone) Lose(_ time.Duration, _ iter.Seq[*Task], drop func()) { drop() }

// MapsDone does nothing, because attempts do not share cores.
func (m *Alone) MapsDone(time.Duration) {}

// Count does nothing, because there are no kvbuffers.
func (m *Alone) Count(int32, int64, *report.Counters) {}

// Describe does nothing, because there are neither kvbuffers nor cores.
func (m *Alone) Describe(time.Duration, *report.Report) {}

// Done returns the share of its copy, or else of its work, that an attempt has done.
func (m *Alone) Done(now time.Duration, t *Task, copying bool) float64 {
	if copying {
		return doneCopying(m.Flow(t.Job), func(f *Flow) time.Duration { return f.Reached(t.Started, now) })
	}
	return doneWorking(t.Took, t.ends-now)
}

// doneCopying returns the share of a copy that is done. reached returns the part that is copied,
// in the time that it takes alone. It is called only if copying takes time.
func doneCopying(f *Flow, reached func(f *Flow) time.Duration) float64 {
	all := f.Copying(f.Maps)
	switch {
	case f.Maps == 0:
		return 1
	case all == 0:
		return float64(f.There) / float64(f.Maps)
	}
	return float64(reached(f)) / float64(all)
}

// doneWorking returns the share of the work that is done, if left of all is still to do.
func doneWorking(all, left time.Duration) float64 {
	if all <= 0 {
		return 1
	}
	return 1 - float64(left)/float64(all)
}

// needs holds the needs of a job's tasks.
type needs struct {
	cpu, disk [2]uint64    // by kind: the caps in the units of a pool
	cpuShare  [2]slots.PPM // by kind: the cap in cores
	io        [2]ioPart    // by kind
	filling   Filling      // of a map
	merged    rule.Merged  // bytes that a reduce merges; zero: it moves its copied bytes once
	copied    int64        // bytes that a reduce copies
	memory    [3]uint64    // of a map, of a reduce while it copies, of a reduce that sorts or reduces; in ppm of a tracker
}

// ioPart says how much of a task's time is its I/O period: most, if the task takes so long, or
// the fraction part/whole of its time.
type ioPart struct {
	most        time.Duration
	part, whole int64 // whole 0: most counts
}

// of returns the length of the I/O period of a task that takes took in total.
func (p *ioPart) of(took time.Duration) time.Duration {
	if p.whole > 0 {
		return Scaled(int64(took), p.part, p.whole)
	}
	return min(took, p.most)
}

// newNeeds returns the needs of a job's tasks. copied is the number of bytes that each reduce
// copies. The needs are the job's cpu and disk. If the job has neither, they follow from its
// profile, whose shares are averages over the whole task. For example, a task needs the share
// c of the CPU and i of the disk on average, one after the other. It computes for c/(c+i) of
// its time and then needs c+i of the CPU. It writes for i/(c+i) of its time and then needs c+i
// of the disk.
func newNeeds(c *workload.Cluster, j *workload.ListedJob, copied int64) (n needs) {
	cores, disk := uint64(c.Cores)*uint64(slots.One), uint64(c.DiskBytes)
	profile := j.Profile
	if profile == nil {
		profile = &demand.Profile{}
	}
	n.memory = [3]uint64{uint64(profile.Map.Memory), uint64(profile.Shuffle.Memory), uint64(profile.Reduce.Memory)}
	bytes := [2]int64{slots.Map: j.MapOutputBytes, slots.Reduce: copied}
	for k, needs := range [2]demand.Vector{slots.Map: profile.Map, slots.Reduce: profile.Reduce} {
		cpu, io, both := uint64(slots.One), uint64(0), uint64(needs.CPU)+uint64(needs.IO)
		switch {
		case j.CPU > 0 || j.DiskBytes > 0 || both == 0:
			if j.CPU > 0 {
				cpu = uint64(j.CPU)
			}
			if io = uint64(j.DiskBytes); io > 0 {
				if disk > 0 {
					io = min(io, disk)
				}
				n.io[k].most = Scaled(bytes[k], int64(time.Second), int64(io))
			}
		default:
			cpu = shareOf(cores, both)
			io = shareOf(disk, both)
			n.io[k].part, n.io[k].whole = int64(needs.IO), int64(both)
		}
		if cores > 0 {
			cpu = min(cpu, cores)
		}
		n.cpuShare[k] = slots.PPM(cpu)
		_, n.cpu[k] = capacities(cores, cpu)
		_, n.disk[k] = capacities(disk, io)
	}
	return n
}

// shareOf returns a share, capped at the whole, of an amount.
func shareOf(amount, share uint64) uint64 {
	if amount == 0 {
		return 0
	}
	return uint64(Scaled(int64(amount), int64(min(share, uint64(slots.One))), int64(slots.One)))
}

// partOf returns a share of a capacity. It is never 0, which would mean no limit.
func partOf(capacity uint64, share slots.PPM) uint64 {
	if capacity == 0 || share == slots.One {
		return capacity
	}
	return max(1, uint64(Scaled(int64(capacity), int64(share), int64(slots.One))))
}

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
	cores := m.file.Cluster.Cores
	if cores == 0 {
		return
	}
	n.used.runTo(now, cores)
	n.used.computing, n.used.io = n.cpu.sharers, n.disk.sharers
	if m.file.Cluster.KernelBytes > 0 {
		n.used.diskBytesPerNanosecond = n.disk.perSecond() / float64(time.Second)
	}
}

// MapsDone notes how the cores have spent the time until now, the map phase of the run. A later
// call replaces the result.
func (m *Shared) MapsDone(now time.Duration) {
	if m.file.Cluster.KernelBytes > 0 {
		m.runLinks(now)
	}
	m.mapPhase, _ = m.shares(now)
}

// Count adds the spills of the given number of maps of a job to c. The last load counts as a
// spill, too.
func (m *Shared) Count(job int32, maps int64, c *report.Counters) {
	if f := &m.needs[job].filling; f.EmitsBytes > 0 {
		c.Spills += maps * int64(f.Spills+1)
		c.SpilledBytes += maps * (m.file.Jobs[job].MapOutputBytes + f.MergeBytes/2)
		c.KVBufferExpansions += maps * int64(f.Expansions)
	}
}

// Describe adds the kvbuffer of the cluster to r, and how the cores have spent the time until now.
func (m *Shared) Describe(now time.Duration, r *report.Report) {
	if b := &m.file.Cluster.Buffer; b.StartBytes > 0 {
		r.Config.KVBuffer = &report.KVBuffer{StartBytes: b.StartBytes, MemoryBytes: b.MemoryBytes, Growth: b.Growth}
	}
	if run, ok := m.shares(now); ok {
		r.CPU = &report.CPU{Source: "model", Cores: m.file.Cluster.Cores * len(m.nodes), Run: run, MapPhase: m.mapPhase}
	}
}

// shares returns how the cores of the cluster have spent the time until now; false if the
// file does not say how many there are.
//
// The file may say how many bytes a core moves in a second of kernel time. Then the bytes
// of disks and networks take that time from the cores that do not compute: kernel time
// does not make computing slower.
func (m *Shared) shares(now time.Duration) (s report.CPUShares, ok bool) {
	c := &m.file.Cluster
	all := float64(c.Cores*len(m.nodes)) * float64(now)
	if all == 0 {
		return s, false
	}
	// Sums over all trackers: nanoseconds of cores, bytes of disks, nanoseconds of copying.
	var user, waited, bytes, copied float64
	for i := range m.nodes {
		n := &m.nodes[i]
		n.used.runTo(now, c.Cores)
		user, waited, bytes = user+n.used.user, waited+n.used.waited, bytes+n.used.diskBytes
		copied += n.net.movedNanoseconds()
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
