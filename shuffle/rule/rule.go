// Package rule holds the rules of kvbuffers, spills and merges as pure functions of sizes in
// bytes. They say when a kvbuffer spills, and how far it may grow. They also say how many runs a
// merge takes, and when a reduce merges the segments that it has copied.
//
// The engine applies the rules to real data (spill, shuffle), and the simulator to the sizes
// in a workload file (sim/cost). So each rule has one implementation. The package has no state
// and owns no memory.
package rule

import "cmp"

// The defaults of a kvbuffer. The first one is Hadoop's io.sort.spill.percent. The slides of
// Dynamic Split give no number for the threshold [Split11, "buffer terms"].
const (
	SpillPercent    = 0.80
	GrowthThreshold = 0.8
)

// MarkBytes returns the spill mark of a kvbuffer: the number of collected bytes at which it
// grows or spills. percent is a share of the capacity, 0 to 1. The mark is rounded down to whole
// bytes. A floating-point product may be too small by two units in the last place: 0.58 of 3,000,000
// is 1,739,999.9999999998.
func MarkBytes(capacityBytes int64, percent float64) int64 {
	const twoUnits = 4e-16
	return max(1, int64(float64(capacityBytes)*percent*(1+twoUnits)))
}

// Growth is the input of the rule of Dynamic Split at the spill mark [Split11, dynamic buffer
// enlargement]. abs bytes are allocated after pfs of the tfs bytes of the split were processed. So
// the whole split needs x bytes, where pfs : tfs = abs : x.
type Growth struct {
	AbsBytes, PfsBytes, TfsBytes int64

	// LeastBytes is a capacity whose spill mark leaves room for the next record.
	LeastBytes int64

	// Doubles sets x = 2 * abs instead of the proportion. It is for hash tables, which grow
	// more slowly than their input [Split11, "buffer terms"].
	Doubles bool
}

// NeedsBytes returns x, or 0 if pfs or tfs is not known. x is at least a sixteenth more than
// abs. Otherwise a buffer whose last records are longer than its first ones would grow by a few
// bytes many times.
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

// MayGrow reports whether a kvbuffer may grow to x bytes [Split11, dynamic buffer
// enlargement]. The rule is x < afm * threshold, where afm is the memory that is free for
// it.
func MayGrow(xBytes, afmBytes int64, threshold float64) bool {
	return float64(xBytes) < float64(afmBytes)*threshold
}

// FirstPass returns how many of n runs the next pass of a merge reads, so that every later pass
// reads fanIn runs (Hadoop 1.0.3, Merger.getPassFactor). fanIn is at least 2.
func FirstPass(n, fanIn int) int {
	if n <= fanIn {
		return n
	}
	if rest := (n - 1) % (fanIn - 1); rest > 0 {
		return rest + 1
	}
	return fanIn
}

// Lightest returns the index of the first of take neighbouring runs that have the fewest bytes
// together. Among equal sums it returns the first. Only neighbours are merged, so that equal
// keys keep the order of their runs.
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

// Passes merges runs until at most fanIn are left. It returns the sizes of those runs, and the
// bytes that all passes together read; they write as many. It changes runBytes.
func Passes(runBytes []int64, fanIn int) (left []int64, readBytes int64) {
	for len(runBytes) > fanIn {
		take := FirstPass(len(runBytes), fanIn)
		runBytes, readBytes = pass(runBytes, take, readBytes)
	}
	return runBytes, readBytes
}

// pass merges the lightest take neighbouring runs into one. It returns the runs that are left,
// and readBytes plus the bytes that the pass reads.
func pass(runBytes []int64, take int, readBytes int64) ([]int64, int64) {
	from, sum := Lightest(runBytes, take), int64(0)
	for _, n := range runBytes[from : from+take] {
		sum += n
	}
	runBytes[from] = sum
	return append(runBytes[:from+1], runBytes[from+take:]...), readBytes + sum
}

// ReduceMerges holds the thresholds by which a reduce merges what it copies (Hadoop 1.0.3,
// ReduceTask.ReduceCopier). A field that is 0 means the default that is named.
type ReduceMerges struct {
	// MemoryBytes bounds the segments in memory (mapred.job.shuffle.input.buffer.percent of the
	// heap); 0: no bound.
	MemoryBytes int64

	MergePercent float64 // share of MemoryBytes at which a merge in memory begins (mapred.job.shuffle.merge.percent); 0: 0.66
	Segments     int     // in memory, at which a merge begins (mapred.inmem.merge.threshold); 0: 1000
	Factor       int     // runs that one merge of files reads (io.sort.factor); 0: 10
}

// segmentPercent is a share of MemoryBytes. A segment of at least this size goes straight to
// disk (Hadoop 1.0.3, ReduceTask.ReduceCopier).
const segmentPercent = 0.25

// WithDefaults returns c with Hadoop's default for each field that is 0, except MemoryBytes.
func (c ReduceMerges) WithDefaults() ReduceMerges {
	c.MergePercent = cmp.Or(c.MergePercent, 0.66)
	c.Segments = cmp.Or(c.Segments, 1000)
	c.Factor = cmp.Or(c.Factor, 10)
	return c
}

// ToMemory reports whether a segment is copied to memory. Otherwise it goes straight to disk.
func (c ReduceMerges) ToMemory(segmentBytes int64) bool {
	return c.MemoryBytes == 0 || float64(segmentBytes) < segmentPercent*float64(c.MemoryBytes)
}

// MergesMemory reports whether a reduce merges the segments in memory to a file now. segments
// is their number, and usedBytes the memory that they take.
func (c ReduceMerges) MergesMemory(segments int, usedBytes int64) bool {
	c = c.WithDefaults()
	full := c.MemoryBytes > 0 && segments >= 2 && float64(usedBytes) >= c.MergePercent*float64(c.MemoryBytes)
	return full || segments >= c.Segments
}

// MergesDisk reports whether a reduce merges files now: the lightest Factor of them into one.
// files is their number. At 2*Factor-1 files, one merge leaves Factor files for the last pass.
func (c ReduceMerges) MergesDisk(files int) bool {
	c = c.WithDefaults()
	return files >= 2*c.Factor-1
}

// Merged is the work of all merges of one reduce, until it reads its input in one pass.
type Merged struct {
	WrittenBytes, ReadBytes int64
	InMemory, OnDisk        int // number of merges
	Files                   int // files that the last pass reads
}

// Merge returns the work of a reduce that copies the given number of segments, each of
// segmentBytes. At the end the reduce writes the segments in memory to a file too
// (mapred.job.reduce.input.buffer.percent 0), and reads all files.
func (c ReduceMerges) Merge(segments int, segmentBytes int64) (m Merged) {
	c = c.WithDefaults()
	var files []int64
	held := 0 // segments in memory
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
	// Each pass leaves fewer files, by at most Factor-1. Only the first pass may be smaller.
	if n > len(files) {
		m.OnDisk += (n - len(files) + c.Factor - 2) / (c.Factor - 1)
	}
	m.WrittenBytes += read
	m.ReadBytes += read + int64(segments)*segmentBytes
	m.Files = len(files)
	return m
}
