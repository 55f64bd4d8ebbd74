package rule

// Copies are the thresholds by which a reduce merges what it copies (Hadoop 1.0.3,
// ReduceTask.ReduceCopier). The zero value of a field means the default that is named.
type Copies struct {
	// MemoryBytes is what the segments in memory may take (mapred.job.shuffle.input.buffer.percent
	// of the heap); 0: as much as there is.
	MemoryBytes int64

	MergePercent float64 // of MemoryBytes: a merge in memory begins (…shuffle.merge.percent); 0: 0.66
	Segments     int     // in memory: a merge begins (mapred.inmem.merge.threshold); 0: 1000
	Factor       int     // io.sort.factor; 0: 10
}

// segmentPercent is the share of the memory from which on a segment goes straight to disk.
const segmentPercent = 0.25

func (c Copies) withDefaults() Copies {
	if c.MergePercent == 0 {
		c.MergePercent = 0.66
	}
	if c.Segments == 0 {
		c.Segments = 1000
	}
	if c.Factor == 0 {
		c.Factor = 10
	}
	return c
}

// ToMemory reports whether a segment is copied to memory; else it goes straight to disk.
func (c Copies) ToMemory(segmentBytes int64) bool {
	return c.MemoryBytes == 0 || float64(segmentBytes) < segmentPercent*float64(c.MemoryBytes)
}

// MergesMemory reports whether the segments in memory are merged to a file now.
func (c Copies) MergesMemory(segments int, usedBytes int64) bool {
	c = c.withDefaults()
	full := c.MemoryBytes > 0 && segments >= 2 && float64(usedBytes) >= c.MergePercent*float64(c.MemoryBytes)
	return full || segments >= c.Segments
}

// MergesDisk reports whether the lightest Factor of so many files are merged into one now.
func (c Copies) MergesDisk(files int) bool {
	c = c.withDefaults()
	return files >= 2*c.Factor-1
}

// Merged is what the merges of one reduce move, until it reads its input in one pass.
type Merged struct {
	WrittenBytes, ReadBytes int64
	InMemory, OnDisk        int // number of merges
	Files                   int // that the last pass reads
}

// Merge returns what a reduce moves that copies so many segments of one size each. In the
// end what is in memory goes to a file too (mapred.job.reduce.input.buffer.percent 0), and
// the reduce reads all files.
func (c Copies) Merge(segments int, segmentBytes int64) (m Merged) {
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
