//go:build !amd64 || safe

package scan

func kernelMark(hits []uint64, data []byte, columns []column) bool {
	return portableMark(hits, data, columns)
}

func kernelMarkEvery(hits []uint64, data []byte, columns []column) bool {
	return portableMark(hits, data, columns)
}

func kernelMarkSet(hits []uint64, data []byte, t *tables) bool {
	return portableMarkSet(hits, data, t)
}

func kernelNewlines(marks []uint64, data []byte) { portableNewlines(marks, data) }
