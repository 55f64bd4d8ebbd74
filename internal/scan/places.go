package scan

// kernel marks whole words, by columns or, if there are none, by tables. It is
// no function value, because then the copies below would escape to the heap.
type kernel struct {
	columns []column
	every   bool // the pair stands in many words
	tables  *tables
}

// mark sets a bit in hits for each place of data that may begin a literal, and reports
// whether there is one.
func (k kernel) mark(hits []uint64, data []byte) bool {
	switch {
	case k.tables != nil:
		return kernelMarkSet(hits, data, k.tables)
	case k.every:
		return kernelMarkEvery(hits, data, k.columns)
	}
	return kernelMark(hits, data, k.columns)
}

// mostWidth is the largest distance from a place at which a kernel may read.
const mostWidth = 64

// places marks all places behind which data has width bytes, which the kernel
// reads. For the last word it reads the last 64 such places; if there are fewer
// than 64, it reads a copy.
func (k kernel) places(hits []uint64, data []byte, width int) bool {
	places := max(len(data)-width+1, 0)
	full := min(places/64, len(hits))
	found := full > 0 && k.mark(hits[:full], data)
	if full == len(hits) {
		return found
	}
	clear(hits[full:])
	left := places - 64*full
	if left == 0 {
		return found
	}
	var word [1]uint64
	if places >= 64 {
		k.mark(word[:], data[places-64:])
		hits[full] = word[0] >> (64 - left)
	} else {
		var padded [mostWidth + 63]byte
		copy(padded[:], data)
		k.mark(word[:], padded[:])
		hits[full] = word[0] & (1<<left - 1)
	}
	return found || hits[full] != 0
}
