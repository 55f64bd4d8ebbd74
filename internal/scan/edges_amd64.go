//go:build amd64 && !safe

package scan

import "golang.org/x/sys/cpu"

var wideEdges = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasPOPCNT

// windows does the same as windowsPortable, 32 bytes at a time.
func (s *Bytes) windows(dst []uint32, data []byte, at int, last uint64) (n, next int, inRun uint64) {
	if !wideEdges {
		return s.windowsPortable(dst, data, at, last)
	}
	return edgesAVX2(dst, data, at, s, last)
}

//go:noescape
func edgesAVX2(dst []uint32, data []byte, at int, s *Bytes, last uint64) (n, next int, inRun uint64)
