//go:build !amd64 || safe

package scan

func (s *Bytes) windows(dst []uint32, data []byte, at int, last uint64) (n, next int, inRun uint64) {
	return s.windowsPortable(dst, data, at, last)
}
