//go:build !linux

package engine

import "time"

// Portable stand-ins: no per-thread times, no peak, a modest memory.

func threadCPU() time.Duration { return 0 }

func peakRSSBytes() int64 { return 0 }

func machineMemoryBytes() int64 { return 8 << 30 }

func fdLimit() int { return 256 }
