package bench_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// BenchmarkMachine measures what one core and two cores of the hardware can do. These
// are the limits with which docs/performance.md compares the jobs.
func BenchmarkMachine(b *testing.B) {
	const size = 256 << 20
	for _, cores := range []int{1, 2} {
		of := func(name string, prepare func(b *testing.B) func(core int, part []byte)) {
			b.Run(fmt.Sprintf("%s/cores=%d", name, cores), func(b *testing.B) {
				run := prepare(b)
				data := machineBytes(size)
				part := size / cores
				b.SetBytes(size)
				for b.Loop() {
					var all sync.WaitGroup
					for core := range cores {
						all.Go(func() { run(core, data[core*part:(core+1)*part]) })
					}
					all.Wait()
				}
			})
		}
		of("newlines", func(*testing.B) func(int, []byte) {
			return func(_ int, part []byte) { bytes.Count(part, []byte("\n")) }
		})
		of("copy", func(*testing.B) func(int, []byte) {
			other := machineBytes(size)
			return func(core int, part []byte) { copy(other[core*len(part):], part) }
		})
		of("read", machineRead)
		of("write", machineWrite)
		b.Run(fmt.Sprintf("touch/cores=%d", cores), func(b *testing.B) { machineTouch(b, size, cores) })
		b.Run(fmt.Sprintf("random/cores=%d", cores), func(b *testing.B) { machineRandom(b, cores) })
	}
}

// machineBytes returns n bytes of 40-byte lines. All pages of it are mapped already.
func machineBytes(n int) []byte {
	return bytes.Repeat([]byte("a line of text of a technical corpus...\n"), n/40+1)[:n]
}

// memoryDir returns a temporary directory, in memory if the machine has /dev/shm.
func memoryDir(b *testing.B) string {
	dir, err := os.MkdirTemp("/dev/shm", "mrlocal-machine-*")
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// machineRead reads a file from the page cache, 1 MiB at a time.
func machineRead(b *testing.B) func(int, []byte) {
	path := filepath.Join(memoryDir(b), "read")
	if err := os.WriteFile(path, machineBytes(256<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	buffers := [2][]byte{make([]byte, 1<<20), make([]byte, 1<<20)}
	return func(core int, part []byte) {
		from := int64(core * len(part))
		for at := int64(0); at < int64(len(part)); at += 1 << 20 {
			if _, err := f.ReadAt(buffers[core], from+at); err != nil && err != io.EOF {
				b.Error(err)
			}
		}
	}
}

// machineWrite writes new files, so that the system has to find memory for their pages.
func machineWrite(b *testing.B) func(int, []byte) {
	dir := memoryDir(b)
	return func(core int, part []byte) {
		path := filepath.Join(dir, fmt.Sprint(core))
		f, err := os.Create(path)
		if err != nil {
			b.Error(err)
			return
		}
		for at := 0; at < len(part); at += 1 << 20 {
			if _, err := f.Write(part[at : at+1<<20]); err != nil {
				b.Error(err)
			}
		}
		f.Close()
		os.Remove(path)
	}
}

// machineRandom loads words of a 256 MiB table at random places, each independent of
// the others, as a large hash table does.
func machineRandom(b *testing.B, cores int) {
	table := make([]uint64, 32<<20)
	for i := range table {
		table[i] = uint64(i)
	}
	const loads = 1 << 22
	var sums [2]uint64
	loops := 0
	for b.Loop() {
		loops++
		var all sync.WaitGroup
		for core := range cores {
			all.Go(func() {
				var sum uint64
				x := uint64(core + 1)
				for range loads / cores {
					x = x*6364136223846793005 + 1442695040888963407
					sum += table[x>>32&(32<<20-1)]
				}
				sums[core] = sum // so that the loads are needed
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(loops)/loads, "ns/load")
}
