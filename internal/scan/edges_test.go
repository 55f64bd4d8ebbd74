package scan

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"mrlocal/internal/testkit"
)

func blanks() *Bytes {
	return NewBytes(func(c byte) bool { return bytes.IndexByte([]byte(" \t\n\r\f"), c) >= 0 }, true)
}

func letters() *Bytes {
	return NewBytes(func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }, false)
}

// plainEdges finds edges by looking at one byte after the other.
func plainEdges(s *Bytes, data []byte) (edges []uint32) {
	was := uint8(0)
	for i, c := range data {
		if s.in[c] != was {
			edges = append(edges, uint32(i))
		}
		was = s.in[c]
	}
	if was == 1 {
		edges = append(edges, uint32(len(data)))
	}
	return edges
}

func allEdges(s *Bytes, data []byte, room int) (edges []uint32) {
	dst := make([]uint32, room)
	for at := 0; ; {
		n, next := s.Edges(dst, data, at)
		edges = append(edges, dst[:n]...)
		if next == len(data) {
			return edges
		}
		at = next
	}
}

func FuzzEdges(f *testing.F) {
	f.Add([]byte("the quick\tbrown fox  jumps over the lazy dog, and then some more words follow it\n"), uint16(0))
	f.Add(bytes.Repeat([]byte("a "), 200), uint16(0))
	f.Add(bytes.Repeat([]byte("\x80\xff\x00 "), 64), uint16(7))
	f.Fuzz(func(t *testing.T, data []byte, room uint16) {
		data = testkit.Guarded(t, data)
		for _, s := range []*Bytes{blanks(), letters()} {
			want := plainEdges(s, data)
			if got := allEdges(s, data, EdgesRoom+int(room%1000)); !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
			dst := make([]uint32, 2*EdgesRoom)
			n, next, in := s.windows(dst, data, 0, 0)
			other := make([]uint32, 2*EdgesRoom)
			m, next2, in2 := s.windowsPortable(other, data, 0, 0)
			if next != next2 || in != in2 || !slices.Equal(dst[:n], other[:m]) {
				t.Fatalf("%v %d %d, and in Go %v %d %d", dst[:n], next, in, other[:m], next2, in2)
			}
		}
	})
}

func TestSetsMeanWhatTheySay(t *testing.T) {
	for c := range 256 {
		for _, s := range []*Bytes{blanks(), letters()} {
			for _, n := range []int{1, 64, 100} {
				data := bytes.Repeat([]byte{byte(c)}, n)
				if got, want := allEdges(s, data, 200), plainEdges(s, data); !slices.Equal(got, want) {
					t.Fatalf("byte %#x, %d times: %v, want %v", c, n, got, want)
				}
			}
		}
	}
}

// Edges does not read beyond the end of data. The data ends at a guarded page.
func TestEdgesStayWithinTheData(t *testing.T) {
	for n := range 300 {
		data := testkit.Guarded(t, make([]byte, n))
		for i := range data {
			data[i] = " ab\n"[i*7%4]
		}
		if got, want := allEdges(blanks(), data, 128), plainEdges(blanks(), data); !slices.Equal(got, want) {
			t.Fatalf("%d bytes: %v, want %v", n, got, want)
		}
	}
}

func BenchmarkEdges(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	data := make([]byte, 64<<10)
	for i := range data {
		data[i] = 'a'
		if r.IntN(7) == 0 {
			data[i] = ' '
		}
	}
	dst := make([]uint32, 1024)
	s := blanks()
	for _, c := range []struct {
		name string
		f    func([]uint32, []byte, int, uint64) (int, int, uint64)
	}{{"wide", s.windows}, {"portable", s.windowsPortable}} {
		b.Run("kernel="+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				for at, last := 0, uint64(0); at < len(data); {
					_, at, last = c.f(dst, data, at, last)
				}
			}
		})
	}
}
