package scan

// kernel is what marks whole words: by columns, or where there are none by
// tables. (A function value would make the copies below escape.)
type kernel struct {
	columns []column
	every   bool // the columns' pair stands in many words
	tables  *tables
}

func (k kernel) mark(hits []uint64, data []byte) bool {
	switch {
	case k.tables != nil:
		return kernelMarkSet(hits, data, k.tables)
	case k.every:
		return kernelMarkEvery(hits, data, k.columns)
	}
	return kernelMark(hits, data, k.columns)
}

// mostWidth bounds how far from a place a kernel may look.
const mostWidth = 64

// places marks all places that have width bytes, which is what the kernel
// reads there, behind them. The last word's are taken from the last 64 places
// there are, and where there are not even so many, from a copy.
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
