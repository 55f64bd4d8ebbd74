//go:build !amd64 || safe

package scan

// kernelMark marks the places at which all columns match.
func kernelMark(hits []uint64, data []byte, columns []column) bool {
	return portableMark(hits, data, columns)
}

// kernelMarkEvery is kernelMark here.
func kernelMarkEvery(hits []uint64, data []byte, columns []column) bool {
	return portableMark(hits, data, columns)
}

func kernelMarkSet(hits []uint64, data []byte, t *tables) bool {
	return portableMarkSet(hits, data, t)
}

func kernelNewlines(marks []uint64, data []byte) { portableNewlines(marks, data) }

func (s *Bytes) windows(dst []uint32, data []byte, at int, last uint64) (n, next int, inRun uint64) {
	return s.windowsPortable(dst, data, at, last)
}
