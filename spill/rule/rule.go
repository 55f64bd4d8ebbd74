// Package rule holds the rules of kvbuffers, spills and merges as pure functions of sizes.
// They say when a kvbuffer spills, and how far it may grow. They also say how many runs a merge
// takes, and when a reduce merges what it has copied.
//
// The engine applies them to real bytes (spill, spill/runs), and the simulator to
// sizes of a workload file (sim/cost). So both follow one text of each rule. The package
// keeps nothing and owns no memory.
//
// Neighbours: spill and spill/runs hold the data; sim/cost says how long it takes.
package rule

import "cmp"

// The settings of a kvbuffer that nobody has set. The first one is Hadoop's
// io.sort.spill.percent; the slides of Dynamic Split give no threshold [Split11, "buffer
// terms"].
const (
	SpillPercent    = 0.80
	GrowthThreshold = 0.8
)

// MarkBytes returns the spill mark of a kvbuffer: with so many bytes collected it
// grows or spills. percent is a share of the capacity.
func MarkBytes(capacityBytes int64, percent float64) int64 {
	return max(1, int64(float64(capacityBytes)*percent))
}

// Growth is what the rule of Dynamic Split asks at the spill mark [Split11, dynamic
// buffer enlargement]: abs bytes are allocated after pfs of the tfs bytes of the split
// were read. So the whole split needs x bytes, where pfs : tfs = abs : x.
type Growth struct {
	AbsBytes, PfsBytes, TfsBytes int64

	// LeastBytes is a capacity whose mark has room for the next record.
	LeastBytes int64

	// Doubles replaces the proportion by x = 2 * abs: a table of keys grows more slowly
	// than its input [Split11, "buffer terms"].
	Doubles bool
}

// NeedsBytes returns x; 0 if pfs or tfs is not known. x is at least a sixteenth more than abs:
// pfs has the whole block that is being mapped, so the proportion gives a little too little.
func (g *Growth) NeedsBytes() int64 {
	if g.PfsBytes <= 0 || g.TfsBytes <= 0 {
		return 0
	}
	x := int64(float64(g.AbsBytes) * float64(g.TfsBytes) / float64(g.PfsBytes))
	if g.Doubles {
		x = 2 * g.AbsBytes
	}
	return max(x, g.AbsBytes+g.AbsBytes/16, g.LeastBytes)
}

// MayGrow reports whether a kvbuffer may grow to x bytes: x < afm * threshold, where afm
// is the memory that is free for it [Split11, dynamic buffer enlargement].
func MayGrow(xBytes, afmBytes int64, threshold float64) bool {
	return float64(xBytes) < float64(afmBytes)*threshold
}

// FirstPass returns how many of n runs the next pass of a merge takes, so that all passes
// after it take fanIn (Hadoop 1.0.3, Merger.getPassFactor).
func FirstPass(n, fanIn int) int {
	if n <= fanIn {
		return n
	}
	if rest := (n - 1) % (fanIn - 1); rest > 0 {
		return rest + 1
	}
	return fanIn
}

// Lightest returns the first of take neighbouring runs that have the fewest bytes
// together. If several have as few, it returns the first. Only neighbours are merged,
// because equal keys keep the order of their runs.
func Lightest(runBytes []int64, take int) (from int) {
	sum, least := int64(0), int64(-1)
	for i, n := range runBytes {
		sum += n
		if i >= take {
			sum -= runBytes[i-take]
		}
		if i >= take-1 && (least < 0 || sum < least) {
			least, from = sum, i-take+1
		}
	}
	return from
}

// Passes merges runs until at most fanIn are left, and returns those and how many bytes
// all passes together read; they write as many. It changes runBytes.
func Passes(runBytes []int64, fanIn int) (left []int64, readBytes int64) {
	for len(runBytes) > fanIn {
		take := FirstPass(len(runBytes), fanIn)
		runBytes, readBytes = pass(runBytes, take, readBytes)
	}
	return runBytes, readBytes
}

// pass merges the lightest take runs into one, and adds what it reads.
func pass(runBytes []int64, take int, readBytes int64) ([]int64, int64) {
	from, sum := Lightest(runBytes, take), int64(0)
	for _, n := range runBytes[from : from+take] {
		sum += n
	}
	runBytes[from] = sum
	return append(runBytes[:from+1], runBytes[from+take:]...), readBytes + sum
}

// ReduceMerges are the thresholds by which a reduce merges what it copies (Hadoop 1.0.3,
// ReduceTask.ReduceCopier). The zero value of a field means the default that is named.
type ReduceMerges struct {
	// MemoryBytes is what the segments in memory may take (mapred.job.shuffle.input.buffer.percent
	// of the heap); 0: as much as there is.
	MemoryBytes int64

	MergePercent float64 // of MemoryBytes: a merge in memory begins (…shuffle.merge.percent); 0: 0.66
	Segments     int     // in memory: a merge begins (mapred.inmem.merge.threshold); 0: 1000
	Factor       int     // io.sort.factor; 0: 10
}

// segmentPercent is the share of the memory from which on a segment goes straight to disk.
const segmentPercent = 0.25

// withDefaults sets Hadoop's defaults: mapred.job.shuffle.merge.percent and
// mapred.inmem.merge.threshold.
func (c ReduceMerges) withDefaults() ReduceMerges {
	c.MergePercent = cmp.Or(c.MergePercent, 0.66)
	c.Segments = cmp.Or(c.Segments, 1000)
	c.Factor = cmp.Or(c.Factor, 10)
	return c
}

// ToMemory reports whether a segment is copied to memory; else it goes straight to disk.
func (c ReduceMerges) ToMemory(segmentBytes int64) bool {
	return c.MemoryBytes == 0 || float64(segmentBytes) < segmentPercent*float64(c.MemoryBytes)
}

// MergesMemory reports whether the segments in memory are merged to a file now.
func (c ReduceMerges) MergesMemory(segments int, usedBytes int64) bool {
	c = c.withDefaults()
	full := c.MemoryBytes > 0 && segments >= 2 && float64(usedBytes) >= c.MergePercent*float64(c.MemoryBytes)
	return full || segments >= c.Segments
}

// MergesDisk reports whether the lightest Factor of so many files are merged into one now.
func (c ReduceMerges) MergesDisk(files int) bool {
	c = c.withDefaults()
	return files >= 2*c.Factor-1
}

// Merged is what the merges of one reduce move, until it reads its input in one pass.
type Merged struct {
	WrittenBytes, ReadBytes int64
	InMemory, OnDisk        int // number of merges
	Files                   int // that the last pass reads
}

// Merge returns what a reduce moves if it copies the given number of segments, all of one
// size. At the end the segments in memory go to a file too
// (mapred.job.reduce.input.buffer.percent 0), and the reduce reads all files.
func (c ReduceMerges) Merge(segments int, segmentBytes int64) (m Merged) {
	c = c.withDefaults()
	var files []int64
	held := 0
	write := func(bytes int64) {
		files = append(files, bytes)
		m.WrittenBytes += bytes
		if c.MergesDisk(len(files)) {
			before := m.ReadBytes
			files, m.ReadBytes = pass(files, c.Factor, m.ReadBytes)
			m.WrittenBytes += m.ReadBytes - before
			m.OnDisk++
		}
	}
	for range segments {
		if !c.ToMemory(segmentBytes) {
			write(segmentBytes)
			continue
		}
		if held++; c.MergesMemory(held, int64(held)*segmentBytes) {
			write(int64(held) * segmentBytes)
			m.InMemory++
			held = 0
		}
	}
	if held > 0 {
		write(int64(held) * segmentBytes)
		m.InMemory++
	}
	n := len(files)
	files, read := Passes(files, c.Factor)
	if n > len(files) {
		m.OnDisk += (n - len(files) + c.Factor - 2) / (c.Factor - 1)
	}
	m.WrittenBytes += read
	m.ReadBytes += read + int64(segments)*segmentBytes
	m.Files = len(files)
	return m
}
