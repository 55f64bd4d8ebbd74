//go:build amd64 && !safe

package scan

import "golang.org/x/sys/cpu"

// wide reports whether the processor can run the kernels in assembly. wideEdges is the same for
// edgesAVX2.
var (
	wide      = cpu.X86.HasAVX2
	wideEdges = wide && cpu.X86.HasBMI1 && cpu.X86.HasPOPCNT
)

// kernelMark marks the places at which all columns match.
func kernelMark(hits []uint64, data []byte, columns []column) bool {
	if !wide {
		return portableMark(hits, data, columns)
	}
	return markAVX2(&hits[0], &data[0], len(hits), &columns[0], len(columns)) != 0
}

// kernelMarkEvery is kernelMark for a literal whose first two columns match in many words.
func kernelMarkEvery(hits []uint64, data []byte, columns []column) bool {
	if !wide {
		return portableMark(hits, data, columns)
	}
	return markEveryAVX2(&hits[0], &data[0], len(hits), &columns[0], len(columns)) != 0
}

// kernelMarkSet marks the places that pass the tables of a Set.
func kernelMarkSet(hits []uint64, data []byte, t *tables) bool {
	if !wide {
		return portableMarkSet(hits, data, t)
	}
	return markSetAVX2(&hits[0], &data[0], len(hits), t) != 0
}

// kernelNewlines marks the newlines.
func kernelNewlines(marks []uint64, data []byte) {
	if !wide {
		portableNewlines(marks, data)
		return
	}
	newlinesAVX2(&marks[0], &data[0], len(marks))
}

// markAVX2 writes words words of hits. It reads 64*words bytes of data from the offset of each
// column on. It returns the bitwise or of all hits. words is at least 1, and n, the number of
// columns, at least 2.
//
//go:noescape
func markAVX2(hits *uint64, data *byte, words int, columns *column, n int) uint64

// markEveryAVX2 is markAVX2 without a branch that depends on the data: it compares all
// columns at each place.
//
//go:noescape
func markEveryAVX2(hits *uint64, data *byte, words int, columns *column, n int) uint64

// markSetAVX2 reads as markAVX2 does.
//
//go:noescape
func markSetAVX2(hits *uint64, data *byte, words int, t *tables) uint64

//go:noescape
func newlinesAVX2(marks *uint64, data *byte, words int)

// windows is windowsPortable, 32 bytes at a time.
func (s *Bytes) windows(dst []uint32, data []byte, at int, last uint64) (n, next int, inRun uint64) {
	if !wideEdges {
		return s.windowsPortable(dst, data, at, last)
	}
	return edgesAVX2(dst, data, at, s, last)
}

//go:noescape
func edgesAVX2(dst []uint32, data []byte, at int, s *Bytes, last uint64) (n, next int, inRun uint64)
