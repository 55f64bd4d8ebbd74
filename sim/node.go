package sim

import (
	"math"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/workload"
)

// L2 cuts the time that an attempt takes alone, on its tracker and away from its
// input as under L0, into periods: a map computes, then writes its output (its
// I/O period: the last sort, spill and merge); a reduce copies, then sorts (reads
// and writes what it has copied), then reduces. While it computes or reduces it
// shares the CPU, while it writes or sorts the disk, while it copies the
// network of its tracker.

// node is what the tasks of a tracker share.
type node struct {
	cpu, disk pool
	net       link
	memory    uint64          // that they want, in shares of a tracker's
	room      uint64          // memory that there is
	looks     [resources]wait // on the agenda
}

// wait is a look on the agenda; it is void when gen has gone on.
type wait struct {
	at  time.Duration
	gen uint32
	on  bool
}

// A resource of a tracker; the id of a look is that of the tracker times
// resources, plus this.
const (
	cpuOf = iota
	diskOf
	netOf
	resources
)

// needs is what the tasks of a job need.
type needs struct {
	cpu, disk [2]uint64    // by kind: the caps
	cpuShare  [2]slots.PPM // by kind: the cap in cores, 0 where it has none
	io        [2]ioPart    // by kind
	memory    [3]uint64    // of a map, of a reduce while it copies, of a reduce that sorts or reduces
}

// ioPart is how much of a task's time is its I/O period: so long at most, or
// part of whole of it.
type ioPart struct {
	most        time.Duration
	part, whole int64 // whole 0: not given
}

// of is the I/O period of a task that takes so long in all.
func (p *ioPart) of(took time.Duration) time.Duration {
	if p.whole > 0 {
		return scaled(int64(took), p.part, p.whole)
	}
	return min(took, p.most)
}

// newNeeds reads what a job needs of a tracker. cpu and disk say it; where it
// has neither, the profile does, whose shares are of the whole task: a task that
// needs a share c of the CPU and i of the disk on average, one after the other,
// computes for c of c+i of its time and then needs c+i of the CPU, and writes for
// i of c+i, when it needs c+i of the disk.
func newNeeds(c *workload.Cluster, j *workload.Job, copied int64) (n needs) {
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
				n.io[k].most = scaled(bytes[k], int64(time.Second), int64(io))
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

// shareOf is a share of an amount.
func shareOf(amount, share uint64) uint64 {
	if amount == 0 {
		return 0
	}
	return uint64(scaled(int64(amount), int64(min(share, uint64(slots.One))), int64(slots.One)))
}

// layNodes gives every tracker its resources, and every job its needs.
func (d *driver) layNodes() {
	c := &d.file.Cluster
	cpu, _ := capacities(uint64(c.Cores)*uint64(slots.One), 1)
	disk, _ := capacities(uint64(c.DiskBytes), 1)
	own := d.ledger.Config().Capacities
	d.nodes = make([]node, len(d.trackers))
	for i := range d.nodes {
		n, has := &d.nodes[i], own.Of(int32(i))
		n.cpu = pool{capacity: partOf(cpu, has.CPU), speed: whole}
		n.disk = pool{capacity: partOf(disk, has.IO), speed: whole}
		n.room = uint64(has.Memory)
	}
	for i := range d.jobs {
		f := d.jobs[i].flow
		d.jobs[i].needs = newNeeds(c, &d.file.Jobs[i], f.bytes(f.maps))
	}
}

// partOf is a share of a capacity, and not 0, which would be enough for all.
func partOf(capacity uint64, share slots.PPM) uint64 {
	if capacity == 0 || share == slots.One {
		return capacity
	}
	return max(1, uint64(scaled(int64(capacity), int64(share), int64(slots.One))))
}

// share begins the work of an attempt, which takes so long alone, and would take
// base if nothing slowed it down.
func (d *driver) share(id slots.SlotID, base, took time.Duration) {
	r := &d.slots[id]
	j := &d.jobs[d.fileJob[r.attempt.Job]]
	r.turn = d.agenda.turn()
	r.io = 0
	if base > 0 {
		r.io = scaled(int64(took), int64(j.needs.io[r.attempt.Kind].of(base)), int64(base))
	}
	r.cpu = took - r.io
	r.computed = r.cpu
	r.memory = j.needs.memory[0]
	if r.attempt.Kind == slots.Reduce {
		r.memory = j.needs.memory[2]
	}
	d.nodes[r.tracker].memory += r.memory
	if took == 0 {
		if r.attempt.Kind == slots.Reduce {
			d.tellPhase(id, slots.PhaseReduce)
		}
		d.periodEnds(id)
		return
	}
	d.goOn(id)
}

// goOn begins the next period of an attempt, or ends it.
func (d *driver) goOn(id slots.SlotID) {
	r := &d.slots[id]
	n := &d.nodes[r.tracker]
	needs := &d.jobs[d.fileJob[r.attempt.Job]].needs
	k := r.attempt.Kind
	computes, writes := slots.PhaseCompute, slots.PhaseIO
	if k == slots.Reduce {
		computes, writes = slots.PhaseReduce, slots.PhaseSort
	}
	switch {
	case r.cpu > 0 && (k == slots.Map || r.io == 0):
		d.tellPhase(id, computes)
		r.stage = onCPU
		n.cpu.join(d.now, needs.cpu[k], r.cpu, int32(id), &r.place)
		r.cpu = 0
	case r.io > 0:
		d.tellPhase(id, writes)
		r.stage = onDisk
		n.disk.join(d.now, needs.disk[k], r.io, int32(id), &r.place)
		r.io = 0
	default:
		d.end(id)
		return
	}
	d.balance(r.tracker)
}

// periodEnds puts the end of a period on the agenda: now, in the order in which
// the attempts began.
func (d *driver) periodEnds(id slots.SlotID) {
	r := &d.slots[id]
	d.coming++
	d.agenda.insert(d.now, r.turn, endPeriod, int32(id), r.gen)
}

// off takes an attempt off all that it shares.
func (d *driver) off(id slots.SlotID) {
	if d.nodes == nil {
		return
	}
	r := &d.slots[id]
	n := &d.nodes[r.tracker]
	needs := &d.jobs[d.fileJob[r.attempt.Job]].needs
	switch {
	case r.stage == copies:
		d.offNet(id)
	case r.stage == onCPU && r.place >= 0:
		n.cpu.leave(d.now, needs.cpu[r.attempt.Kind], &r.place)
	case r.stage == onDisk && r.place >= 0:
		n.disk.leave(d.now, needs.disk[r.attempt.Kind], &r.place)
	}
	n.memory -= r.memory
	r.memory = 0
	d.balance(r.tracker)
}

// balance follows every change of who needs what of a tracker.
func (d *driver) balance(t slots.TrackerID) {
	n := &d.nodes[t]
	cpu, disk := n.pressure(&d.file.Cluster.Overcommit)
	if cpu != n.cpu.speed {
		n.cpu.run(d.now, cpu)
	}
	if disk != n.disk.speed {
		n.disk.run(d.now, disk)
	}
	d.lookAt(t, cpuOf, n.cpu.next(), n.cpu.sharers > 0)
	d.lookAt(t, diskOf, n.disk.next(), n.disk.sharers > 0)
}

// lookAt puts a look on the agenda, unless there is one that is not later: that
// one will see that it has come too early and ask for another. Where there is
// nothing to look for, none is left.
func (d *driver) lookAt(t slots.TrackerID, resource int, at time.Duration, busy bool) {
	w := &d.nodes[t].looks[resource]
	if w.on && (!busy || w.at > at) {
		w.on = false
		w.gen++
		d.coming--
	}
	if busy && !w.on {
		w.at, w.on = at, true
		d.coming++
		d.agenda.insert(at, 0, look, int32(t)*resources+int32(resource), w.gen)
	}
}

// lookedAt is a look: whose period is over is told, in the order in which they
// began, after all looks of this instant.
func (d *driver) lookedAt(id int32, gen uint32) {
	t := slots.TrackerID(id / resources)
	n := &d.nodes[t]
	w := &n.looks[id%resources]
	if w.gen != gen {
		return
	}
	w.on = false
	w.gen++
	d.coming--
	ends := func(id int32) { d.periodEnds(slots.SlotID(id)) }
	switch id % resources {
	case cpuOf:
		n.cpu.due(d.now, ends)
	case diskOf:
		n.disk.due(d.now, ends)
	case netOf:
		n.net.settle(d.now)
		d.copiesEnd(t)
		return
	}
	d.balance(t)
}

// onNet lets a reduce copy, where its job has something to copy.
func (d *driver) onNet(j *jobRun, id slots.SlotID) {
	r := &d.slots[id]
	r.memory = j.needs.memory[1]
	n := &d.nodes[r.tracker]
	n.memory += r.memory
	if j.flow.mapBytes > 0 {
		n.net.join(d.now, d.fileJob[r.attempt.Job], &j.flow, id)
	}
	d.balance(r.tracker)
}

// offNet takes a reduce off the network: it has copied everything, or has come
// to an end.
func (d *driver) offNet(id slots.SlotID) {
	r := &d.slots[id]
	i := d.fileJob[r.attempt.Job]
	if d.jobs[i].flow.mapBytes == 0 {
		return
	}
	r.copied = d.now - r.started - d.nodes[r.tracker].net.leave(d.now, i, id)
	d.copiesEnd(r.tracker)
}

// copiesUntil is now for a reduce that has copied all outputs of its job, and
// any time later for one that has not: others have a say in when.
func (d *driver) copiesUntil(id slots.SlotID) time.Duration {
	r := &d.slots[id]
	l := &d.nodes[r.tracker].net
	l.settle(d.now)
	if l.complete(d.fileJob[r.attempt.Job], id) {
		return d.now
	}
	return math.MaxInt64
}

// awaitCopy lets a reduce copy the rest of what is all there now.
func (d *driver) awaitCopy(id slots.SlotID) {
	r := &d.slots[id]
	r.turn = d.agenda.turn()
	d.copiesEnd(r.tracker)
}

// cutCopies lets lose take outputs out of a job's flow, and with them what
// reduces have copied of them.
func (d *driver) cutCopies(j *jobRun, lose func()) {
	for id := j.copying.first; id != none; id = d.slots[id].next {
		d.nodes[d.slots[id].tracker].net.settle(d.now)
	}
	lose()
	for id := j.copying.first; id != none; id = d.slots[id].next {
		r := &d.slots[id]
		d.nodes[r.tracker].net.cut(d.now, d.fileJob[r.attempt.Job], func(id slots.SlotID) time.Duration { return d.slots[id].started })
		d.copiesEnd(r.tracker)
	}
}

// copiesEnd follows every settling of a tracker's network: it puts on the agenda
// the copies that are complete, and a look at those that will be.
func (d *driver) copiesEnd(t slots.TrackerID) {
	l := &d.nodes[t].net
	for _, id := range l.done {
		if r := &d.slots[id]; r.stage == copies {
			d.coming++
			d.agenda.insert(d.now, r.turn, endCopy, int32(id), r.gen)
		}
	}
	l.done = l.done[:0]
	at := l.next()
	d.lookAt(t, netOf, at, at < math.MaxInt64)
}
