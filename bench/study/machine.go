package study

import (
	"os"
	"time"
)

// Sizes of the probes of memory and disk. With them a probe takes well under a second.
const (
	probeBytes   = 64 << 20 // that one probe copies or writes
	memoryProbes = 5        // tries, of which the fastest counts
)

// memoryBytes returns how many bytes one core copies in a second. It is the best of a few tries,
// because other programs can only slow a copy down.
func memoryBytes() int64 {
	from, to := make([]byte, probeBytes), make([]byte, probeBytes)
	for i := range from {
		from[i] = byte(i) // Linux maps all pages that were never written to one page, which would fit into a cache
	}
	copy(to, from) // the first copy takes longer, because the kernel has to provide the pages of to
	best := time.Duration(1 << 62)
	for range memoryProbes {
		began := time.Now()
		copy(to, from)
		best = min(best, time.Since(began))
	}
	return int64(probeBytes / max(best, 1).Seconds())
}

// diskBytes returns how many bytes a second can be written to a file in dir and made durable. It
// removes the file. It fails if the file cannot be created or written.
func diskBytes(dir string) (int64, error) {
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 31) // some disks and file systems do not store zeros
	}
	began := time.Now()
	for range probeBytes >> 20 {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	return int64(probeBytes / max(time.Since(began), 1).Seconds()), nil
}
