package cost

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/shuffle/rule"
	"mrlocal/slots"
	"mrlocal/trace"
	"mrlocal/workload"
)

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

// ioPart says how much of a task's time is its I/O period. It is the fraction part/whole of
// the time, or else most, but at most the whole time.
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
// copies. The needs are the job's cpu and disk. If the job has neither, they follow from its load,
// or else from its profile, whose shares are averages over the whole task. For example, a task needs the share
// c of the CPU and i of the disk on average, one after the other. It computes for c/(c+i) of
// its time and then needs c+i of the CPU. It writes for i/(c+i) of its time and then needs c+i
// of the disk.
func newNeeds(c *workload.Cluster, j *workload.ListedJob, copied int64) (n needs) {
	cores, disk := uint64(c.Cores)*uint64(slots.One), uint64(c.DiskBytes)
	profile := cmp.Or(j.Load, j.Profile, &slots.Profile{})
	n.memory = [3]uint64{uint64(profile.Map.Memory), uint64(profile.Shuffle.Memory), uint64(profile.Reduce.Memory)}
	bytes := [2]int64{slots.Map: j.MapOutputBytes, slots.Reduce: copied}
	for k, needs := range [2]slots.Vector{slots.Map: profile.Map, slots.Reduce: profile.Reduce} {
		cpu := uint64(slots.One)
		io := uint64(0)
		both := uint64(needs.CPU) + uint64(needs.IO)
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

// MostSpills bounds the spills of a simulated map, and so its events.
const MostSpills = 10_000

// Filling describes how each map of a job fills and spills its kvbuffer. All maps of a job
// emit the same number of bytes, evenly over their input, so one Filling serves them all.
// Bytes are of collected records, before any combiner.
type Filling struct {
	EmitsBytes int64 // bytes that one map collects in total
	LoadBytes  int64 // the spill mark: a spill begins when this much is collected
	RoomBytes  int64 // bytes that the map may collect while a spill is written
	LastBytes  int64 // the last load, which is written when the map has read all its input

	Spills     int // number of loads that are spilled while the map computes; without the last load
	Expansions int // how often the kvbuffer has grown before its first spill

	MergeBytes int64 // bytes that the merges of the map read and write, after the combiner
}

// newFilling applies the rules of the kvbuffer (shuffle/rule) to a map that emits emits bytes, of
// which output bytes are left after the combiner.
func newFilling(b *workload.Buffer, emits, output int64) Filling {
	percent := share(b.SpillPercent, rule.SpillPercent)
	threshold := share(b.Threshold, rule.GrowthThreshold)
	factor := cmp.Or(b.MergeFactor, defaultFactor)
	f := Filling{EmitsBytes: emits, LastBytes: emits}
	capacity := b.StartBytes
	mark := rule.MarkBytes(capacity, percent)
	// The kvbuffer grows until its mark covers all output, or until growth is refused. A rest of a
	// millionth of the mark is a rounding error, because x is computed to put the mark at the end.
	for b.Growth && emits-mark > mark/1_000_000 {
		g := rule.Growth{AbsBytes: capacity, PfsBytes: mark, TfsBytes: emits, LeastBytes: int64(float64(mark)/percent) + 1}
		x := g.NeedsBytes()
		if !rule.MayGrow(x, b.MemoryBytes-capacity, threshold) {
			break // memory or the threshold does not allow the kvbuffer to grow
		}
		f.Expansions++
		capacity, mark = x, rule.MarkBytes(x, percent)
	}
	f.LoadBytes, f.RoomBytes = mark, capacity-mark
	if emits-mark > mark/1_000_000 {
		f.Spills = int((emits - 1) / mark)
		f.LastBytes = emits - int64(f.Spills)*mark
	}
	f.merge(output, factor)
	return f
}

// merge sets MergeBytes: the bytes that the passes of the merge read and write, and those of the
// last pass, which writes the output. A map with a single load does not merge.
func (f *Filling) merge(output int64, factor int) {
	if f.Spills == 0 || f.Spills > MostSpills {
		return
	}
	runs := slices.Repeat([]int64{ppm.Scaled(f.LoadBytes, output, f.EmitsBytes)}, f.Spills)
	runs = append(runs, ppm.Scaled(f.LastBytes, output, f.EmitsBytes))
	_, read := rule.Passes(runs, factor)
	f.MergeBytes = 2*read + 2*output
}

// defaultFactor is the default of io.sort.factor in Hadoop.
const defaultFactor = 10

// share returns a share as a number, or otherwise if it is not given.
func share(p ppm.Share, otherwise float64) float64 {
	if p == 0 {
		return otherwise
	}
	return float64(p) / float64(ppm.One)
}

// FillingOf returns how a map of a job fills its kvbuffer. EmitsBytes is 0 if the file
// gives no kvbuffer, or the job writes nothing to a disk.
func FillingOf(f *workload.File, job int) Filling {
	b, j := &f.Cluster.Buffer, &f.Jobs[job]
	emits := max(j.MapEmitsBytes, j.MapOutputBytes)
	if b.StartBytes == 0 || j.DiskBytes == 0 || j.MapOutputBytes == 0 {
		return Filling{}
	}
	return newFilling(b, emits, j.MapOutputBytes)
}

// fillState says what a map that fills its kvbuffer does. A map may collect and spill many times.
type fillState uint8

const (
	fillsNot   fillState = iota // the map does not spill, or has begun its I/O period
	collects                    // no spill is under way
	spillsToo                   // a spill is being written, and the map collects meanwhile
	awaitSpill                  // the kvbuffer is full or the input is at an end, and a spill is being written
)

// collecting is the state of a map that fills its kvbuffer. Times are those that computing or
// writing takes alone.
type collecting struct {
	state  fillState
	place  int32 // index of the spill in the pool of the disk
	spills int32 // number of spills that have not begun

	left time.Duration // computing until the next spill begins
	room time.Duration // computing until the kvbuffer is full

	load, most, write time.Duration // computing of a load and of a full kvbuffer; writing of a load
}

// prepareSpills sets the times of a map that spills. Before the call, t.io is the time of writing
// the output once. Afterwards it is the time of the I/O period at the end.
func (m *Shared) prepareSpills(t *sharingAttempt, f *Filling) {
	t.fill = collecting{}
	// A kvbuffer that grows has no events, because the simulator does not queue its steps.
	if f.EmitsBytes > 0 && f.Expansions == 0 {
		m.Host.Detail(t.Slot, trace.OpBuffer, f.LoadBytes+f.RoomBytes, f.LoadBytes)
	}
	if f.EmitsBytes == 0 || f.Spills == 0 || t.io == 0 {
		return
	}
	once := t.io
	part := func(of time.Duration, bytes int64) time.Duration { return Scaled(int64(of), bytes, f.EmitsBytes) }
	t.fill = collecting{
		state: collects, spills: int32(f.Spills), place: -1,
		load: part(t.cpu, f.LoadBytes), most: part(t.cpu, min(f.RoomBytes, f.LoadBytes)), write: part(once, f.LoadBytes),
	}
	t.fill.left = t.fill.load
	t.io = Later(part(once, f.LastBytes), Scaled(int64(once), f.MergeBytes, m.File.Jobs[t.Job].MapOutputBytes))
	t.alone = Later(Later(t.cpu, t.io), Scaled(int64(t.fill.write), int64(f.Spills), 1))
	t.place = -1
}

// collect lets a map compute until its next spill begins, its kvbuffer is full, or its
// input is at an end. A kvbuffer collects while one load of it is spilled. A second spill
// waits for the first, as in package spill.
func (m *Shared) collect(now time.Duration, t *sharingAttempt) {
	c, n := &t.fill, &m.nodes[t.Tracker]
	for {
		if c.left == 0 && c.spills > 0 && c.state == collects {
			n.disk.join(now, m.needs[t.Job].disk[t.Kind], c.write, int32(t.Slot), &c.place)
			m.Host.Detail(t.Slot, trace.OpSpillStart, m.needs[t.Job].filling.LoadBytes, 0)
			c.state = spillsToo
			c.room = c.most
			c.left = c.load
			if c.spills--; c.spills == 0 {
				c.left = t.cpu
			}
			continue
		}
		step := min(c.left, t.cpu)
		if c.state == spillsToo {
			step = min(step, c.room)
		}
		switch {
		case step > 0:
			n.cpu.join(now, m.needs[t.Job].cpu[t.Kind], step, int32(t.Slot), &t.place)
			t.cpu -= step
			c.left -= step
			c.room -= step
			return
		case c.state == spillsToo:
			c.state = awaitSpill
			return
		case c.spills == 0:
			c.state = fillsNot // nextPeriod begins the I/O period
			return
		}
		c.left = 0 // no computing is left, so the next spill begins now
	}
}

// onEndSpill handles an EndSpill event: a spill of a map is written. If the map waits for the
// spill, it goes on.
func (m *Shared) onEndSpill(now time.Duration, id int32, gen uint32) {
	t := &m.attempts[id]
	if t.Gen != gen {
		return
	}
	waits := t.fill.state == awaitSpill
	t.fill.state = collects
	m.endSpill(t, m.needs[t.Job].filling.LoadBytes)
	if waits {
		m.nextPeriod(now, t)
	}
}

// endSpill makes the event for the end of a spill of loadBytes. Without a kvbuffer there is none.
func (m *Shared) endSpill(t *sharingAttempt, loadBytes int64) {
	if emits := m.needs[t.Job].filling.EmitsBytes; emits > 0 {
		m.Host.Detail(t.Slot, trace.OpSpillEnd, ppm.Scaled(loadBytes, m.File.Jobs[t.Job].MapOutputBytes, emits), 0)
	}
}

// mergedOf returns the bytes that the merges of a reduce move, by the thresholds of the file. It
// returns the zero value if the file gives no memory for the shuffle.
func mergedOf(s *workload.Shuffle, f *Flow) rule.Merged {
	bytes := f.Bytes(1)
	if s.MemoryBytes == 0 || bytes == 0 {
		return rule.Merged{}
	}
	c := rule.ReduceMerges{MemoryBytes: s.MemoryBytes, MergePercent: share(s.MergePercent, 0), Segments: s.Segments, Factor: s.MergeFactor}
	return c.Merge(int(f.Maps), bytes)
}
