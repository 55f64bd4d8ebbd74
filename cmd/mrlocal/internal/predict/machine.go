package predict

import (
	"os"
	"time"
)

// Machine probes: few enough to take well under a second.
const (
	probeBytes   = 64 << 20
	memoryProbes = 5
)

// memoryBytes returns what one core copies in a second, the most of a few tries.
func memoryBytes() int64 {
	from, to := make([]byte, probeBytes), make([]byte, probeBytes)
	for i := range from {
		from[i] = byte(i) // pages that were never written are all the same one
	}
	copy(to, from) // the first copy pays for pages that nobody has used
	best := time.Duration(1 << 62)
	for range memoryProbes {
		began := time.Now()
		copy(to, from)
		best = min(best, time.Since(began))
	}
	return int64(probeBytes / max(best, 1).Seconds())
}

// diskBytes returns what is written to a file in dir in a second, until it is durable. The file
// is removed. An error means that it is not known.
func diskBytes(dir string) (int64, error) {
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i * 31) // some disks do not write zeros
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
