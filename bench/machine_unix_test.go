//go:build unix

package bench_test

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// machineTouch writes to each page of newly mapped memory, as the first use of a buffer does.
func machineTouch(b *testing.B, size, cores int) {
	b.SetBytes(int64(size))
	part := size / cores
	for b.Loop() {
		var all sync.WaitGroup
		for range cores {
			all.Go(func() {
				mem, err := unix.Mmap(-1, 0, part, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
				if err != nil {
					b.Error(err)
					return
				}
				for i := 0; i < len(mem); i += 4096 {
					mem[i] = 1
				}
				if err := unix.Munmap(mem); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	}
}
