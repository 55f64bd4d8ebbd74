package output

import (
	"os"
	"testing"

	"mrlocal/internal/invariant"
)

func TestWriteAllocatesNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checked builds allocate")
	}
	w := newKit(t, 1<<20)
	target := w.begin(Spec{File: w.path("result")}, w.parts(1))
	p, err := target.Part(0, 0)
	must(t, err)
	record := []byte("key\tvalue\n")
	p.Write(record)
	if n := testing.AllocsPerRun(100_000, func() { p.Write(record) }); n != 0 {
		t.Errorf("%v allocations a write", n)
	}
}

// For comparison: the kernel zeroes and fills pages of tmpfs at about 2 GB/s on one core.
func BenchmarkWrite(b *testing.B) {
	const dir, bytesEach = "/dev/shm", 256 << 20
	if _, err := os.Stat(dir); err != nil {
		b.Skip("no tmpfs here")
	}
	text := make([]byte, 1<<20)
	for name, piece := range map[string]int{"piece=64KiB": 64 << 10, "piece=1MiB": 1 << 20} {
		for _, place := range []string{"part", "order", "region"} {
			b.Run("place="+place+"/"+name, func(b *testing.B) {
				home, err := os.MkdirTemp(dir, "mrlocal-output-")
				must(b, err)
				defer os.RemoveAll(home)
				b.SetBytes(bytesEach)
				for b.Loop() {
					writeOnce(b, home+"/out", place, text[:piece], bytesEach)
					must(b, os.RemoveAll(home+"/out"))
				}
			})
		}
	}
}

func writeOnce(b *testing.B, path, place string, piece []byte, bytesEach int) {
	spec := Spec{File: path}
	if place == "part" {
		spec = Spec{Dir: path}
	}
	target, err := Open(spec)
	must(b, err)
	must(b, target.Start())
	target.Expect(Parts{Count: 1})
	bytesEach -= bytesEach % len(piece)
	if place == "region" {
		_, err := target.SetSizes([]int64{int64(bytesEach)})
		must(b, err)
	}
	make := target.Part
	if place == "part" {
		make = target.Attempt
	}
	p, err := make(0, 0)
	must(b, err)
	for written := 0; written < bytesEach; written += len(piece) {
		p.Write(piece)
	}
	must(b, p.Commit())
	must(b, target.Commit())
}
