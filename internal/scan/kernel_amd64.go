//go:build amd64 && !safe

package scan

import "golang.org/x/sys/cpu"

// wide says that the kernels in assembly may run, wideEdges that those of windows may.
var (
	wide      = cpu.X86.HasAVX2
	wideEdges = wide && cpu.X86.HasBMI1 && cpu.X86.HasPOPCNT
)

func kernelMark(hits []uint64, data []byte, columns []column) bool {
	if !wide {
		return portableMark(hits, data, columns)
	}
	return markAVX2(&hits[0], &data[0], len(hits), &columns[0], len(columns)) != 0
}

// kernelMarkEvery is kernelMark for a literal whose pair stands in many words.
func kernelMarkEvery(hits []uint64, data []byte, columns []column) bool {
	if !wide {
		return portableMark(hits, data, columns)
	}
	return markEveryAVX2(&hits[0], &data[0], len(hits), &columns[0], len(columns)) != 0
}

func kernelMarkSet(hits []uint64, data []byte, t *tables) bool {
	if !wide {
		return portableMarkSet(hits, data, t)
	}
	return markSetAVX2(&hits[0], &data[0], len(hits), t) != 0
}

func kernelNewlines(marks []uint64, data []byte) {
	if !wide {
		portableNewlines(marks, data)
		return
	}
	newlinesAVX2(&marks[0], &data[0], len(marks))
}

// markAVX2 reads 64*words bytes behind data, from each column's offset on. It
// returns all hits, or-ed. There are at least one word and two columns.
//
//go:noescape
func markAVX2(hits *uint64, data *byte, words int, columns *column, n int) uint64

// markEveryAVX2 is markAVX2 without a branch that depends on the data: all
// columns are compared everywhere.
//
//go:noescape
func markEveryAVX2(hits *uint64, data *byte, words int, columns *column, n int) uint64

// markSetAVX2 reads as markAVX2 does.
//
//go:noescape
func markSetAVX2(hits *uint64, data *byte, words int, t *tables) uint64

//go:noescape
func newlinesAVX2(marks *uint64, data *byte, words int)

// windows does the same as windowsPortable, 32 bytes at a time.
func (s *Bytes) windows(dst []uint32, data []byte, at int, last uint64) (n, next int, inRun uint64) {
	if !wideEdges {
		return s.windowsPortable(dst, data, at, last)
	}
	return edgesAVX2(dst, data, at, s, last)
}

//go:noescape
func edgesAVX2(dst []uint32, data []byte, at int, s *Bytes, last uint64) (n, next int, inRun uint64)
