package cost

import (
	"cmp"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/spill/rule"
	"mrlocal/trace"
	"mrlocal/workload"
)

// MostSpills bounds the spills of a simulated map.
const MostSpills = 10_000

// Filling describes how each map of a job fills and spills its kvbuffer. All maps of a job
// emit the same number of bytes, evenly over their input, so one Filling serves them all.
// A load is what one spill writes. Bytes are of collected records, before any combiner.
type Filling struct {
	EmitsBytes int64 // what one map collects in total
	LoadBytes  int64 // the spill mark: a spill begins when so much is collected
	RoomBytes  int64 // what the map may still collect while a spill is under way
	LastBytes  int64 // the last load, which is written when the map has read all its input

	Spills     int  // loads that are spilled while the map computes; the last load is not counted
	Expansions int  // how often the kvbuffer has grown before its first spill
	Refused    bool // the kvbuffer wanted to grow, and memory or the threshold did not allow it

	MergeBytes int64 // what the merges of the map read and write, in bytes after the combiner
}

// newFilling applies the rules of the kvbuffer to a map that emits so many bytes, of which
// output are left by the combiner. afm is what the kvbuffer does not have of the map's memory.
func newFilling(b *workload.Buffer, emits, output int64) Filling {
	percent, threshold, factor := share(b.SpillPercent, rule.SpillPercent), share(b.Threshold, rule.GrowthThreshold), b.MergeFactor
	factor = cmp.Or(factor, defaultFactor)
	f := Filling{EmitsBytes: emits, LastBytes: emits}
	capacity := b.StartBytes
	mark := rule.MarkBytes(capacity, percent)
	// A millionth is rounding: x was computed for a mark at the very end.
	for b.Growth && !f.Refused && emits-mark > mark/1_000_000 {
		g := rule.Growth{AbsBytes: capacity, PfsBytes: mark, TfsBytes: emits, LeastBytes: int64(float64(mark)/percent) + 1}
		x := g.NeedsBytes()
		if !rule.MayGrow(x, b.MemoryBytes-capacity, threshold) {
			f.Refused = true
			break
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

// merge counts what merging the spills of a map moves: passes, and the last one, which
// writes the output. A single spill is the output.
func (f *Filling) merge(output int64, factor int) {
	if f.Spills == 0 || f.Spills > MostSpills {
		return
	}
	runs := make([]int64, 0, f.Spills+1)
	for range f.Spills {
		runs = append(runs, int64(Scaled(f.LoadBytes, output, f.EmitsBytes)))
	}
	runs = append(runs, int64(Scaled(f.LastBytes, output, f.EmitsBytes)))
	_, read := rule.Passes(runs, factor)
	f.MergeBytes = 2*read + 2*output
}

// defaultFactor is io.sort.factor.
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

// collecting is a map that fills its kvbuffer. Times are those that it takes alone.
type collecting struct {
	on     bool
	waits  bool  // its kvbuffer is full, or its input is at an end, and a spill is under way
	under  bool  // a spill is under way
	place  int32 // of the spill, in the pool of the disk
	spills int32 // to come

	left time.Duration // of computing, until the next spill begins
	room time.Duration // of computing, until the kvbuffer is full

	load, most, write time.Duration // computing of a load, of a full kvbuffer; writing a load
}

// fill prepares a map that spills. io is the time that writing its output once takes; it
// becomes the time of the I/O period at the end.
func (m *Shared) fill(t *Task, f *Filling) {
	t.fill = collecting{}
	// The steps of a kvbuffer that grows have no events, because no event of the queue is
	// theirs.
	if f.EmitsBytes > 0 && f.Expansions == 0 {
		m.Host.Detail(t.Slot, trace.OpBuffer, f.LoadBytes+f.RoomBytes, f.LoadBytes)
	}
	if f.EmitsBytes == 0 || f.Spills == 0 || t.io == 0 {
		return
	}
	once := t.io
	part := func(of time.Duration, bytes int64) time.Duration { return Scaled(int64(of), bytes, f.EmitsBytes) }
	t.fill = collecting{
		on: true, spills: int32(f.Spills), place: -1,
		load: part(t.cpu, f.LoadBytes), most: part(t.cpu, min(f.RoomBytes, f.LoadBytes)), write: part(once, f.LoadBytes),
	}
	t.fill.left = t.fill.load
	t.io = Later(part(once, f.LastBytes), Scaled(int64(once), f.MergeBytes, m.file.Jobs[t.Job].MapOutputBytes))
	t.alone = Later(Later(t.cpu, t.io), Scaled(int64(t.fill.write), int64(f.Spills), 1))
	t.place = -1
}

// collect lets a map compute until its next spill begins, its kvbuffer is full, or its
// input is at an end. A kvbuffer collects while one load of it is spilled; a second spill
// waits for the first (package spill).
func (m *Shared) collect(now time.Duration, t *Task) {
	c, n := &t.fill, &m.nodes[t.Tracker]
	for {
		if c.left == 0 && c.spills > 0 && !c.under {
			n.disk.join(now, m.needs[t.Job].disk[t.Kind], c.write, int32(t.Slot), &c.place)
			m.Host.Detail(t.Slot, trace.OpSpillStart, m.needs[t.Job].filling.LoadBytes, 0)
			c.under, c.room, c.left = true, c.most, c.load
			if c.spills--; c.spills == 0 {
				c.left = t.cpu
			}
			continue
		}
		step := min(c.left, t.cpu)
		if c.under {
			step = min(step, c.room)
		}
		switch {
		case step > 0:
			n.cpu.join(now, m.needs[t.Job].cpu[t.Kind], step, int32(t.Slot), &t.place)
			t.cpu -= step
			c.left -= step
			c.room -= step
			return
		case c.under:
			c.waits = true
			return
		case c.spills == 0:
			c.on = false // the I/O period follows
			return
		}
		c.left = 0 // the computing is over before the last spill has begun
	}
}

// EndSpill handles an EndSpill event: a spill of a map is written, and a map that waits
// for it goes on.
func (m *Shared) EndSpill(now time.Duration, id int32, gen uint32) {
	t := m.task(slots.SlotID(id))
	if t.Gen != gen {
		return
	}
	t.fill.under = false
	f := &m.needs[t.Job].filling
	m.Host.Detail(t.Slot, trace.OpSpillEnd, int64(Scaled(f.LoadBytes, m.file.Jobs[t.Job].MapOutputBytes, f.EmitsBytes)), 0)
	if t.fill.waits {
		t.fill.waits = false
		m.nextPeriod(now, t)
	}
}

// mergedOf returns what the merges of a reduce move by the thresholds of the file.
func mergedOf(s *workload.Shuffle, f *Flow) rule.Merged {
	bytes := f.Bytes(1)
	if s.MemoryBytes == 0 || bytes == 0 {
		return rule.Merged{}
	}
	c := rule.ReduceMerges{MemoryBytes: s.MemoryBytes, MergePercent: share(s.MergePercent, 0), Segments: s.Segments, Factor: s.MergeFactor}
	return c.Merge(int(f.Maps), bytes)
}
