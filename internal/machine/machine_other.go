//go:build !linux

package machine

import "time"

// Portable stand-ins: no per-thread times, no peak, a modest memory.

func ThreadCPU() time.Duration { return 0 }

func PeakRSSBytes() int64 { return 0 }

func MemoryBytes() int64 { return 8 << 30 }

func FDLimit() int { return 256 }
