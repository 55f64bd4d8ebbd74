package run

import (
	"bytes"
	"slices"
	"testing"

	"mrlocal/internal/guarded"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// tableOf has the keys, each with the sum 0.
func tableOf(keys [][]byte) *Table {
	var t Table
	chunk := func() *membudget.Chunk { return &membudget.Chunk{Data: make([]byte, membudget.ChunkBytes)} }
	t.Start(chunk(), 0)
	for _, key := range keys {
		a, b := Words(key)
		meta := SlotMetaOf(len(key), HashWords(a, b))
		c := t.ChunkOf(uint32(meta))
		if _, found := c.Find(a, b, meta); found {
			continue
		}
		if c.Keys == MaxChunkKeys || t.depth < 2 {
			t.Split(c, uint32(meta), chunk(), 0)
			c = t.ChunkOf(uint32(meta))
		}
		slot := c.Vacant(uint32(meta))
		for i, x := range []uint64{a, b, 0, meta} {
			copy(slot[8*i:], jobs.AppendUint64(nil, x))
		}
		c.Keys++
	}
	return &t
}

func FuzzSums(f *testing.F) {
	f.Add([]byte("a bc def ghij klmno pqrstu vwxyz01 23456789 abcdefghijklmno abcdefghijklmnop abcdefghijklmnopq the end"), uint8(3), uint8(200))
	f.Add(bytes.Repeat([]byte("ab \x00 c "), 40), uint8(1), uint8(5))
	f.Fuzz(func(t *testing.T, text []byte, absent, room uint8) {
		text = guarded.Copy(t, text)
		var keys []jobs.Span
		var known [][]byte
		for at := 0; at <= len(text); {
			n := bytes.IndexByte(append(text[at:len(text):len(text)], ' '), ' ')
			keys = append(keys, jobs.Span{Off: uint32(at), Len: uint32(n)})
			if key := text[at : at+n]; n <= InlineKey && len(keys)%(int(absent)+2) != 0 {
				known = append(known, bytes.Clone(key))
			}
			at += n + 1
		}
		table := tableOf(known)
		dst, want := make([]Sum, room), make([]Sum, room)
		long, wantLong := make([]jobs.Span, len(keys)), make([]jobs.Span, len(keys))
		used, n, longs := table.Pack(dst, text, keys, 7, long)
		if len(text) >= InlineKey && room > 0 {
			wantUsed, wantN, wantLongs := packPortable(want, text, keys, 7, wantLong)
			if used != wantUsed || n != wantN || longs != wantLongs || !slices.Equal(dst, want) || !slices.Equal(long, wantLong) {
				t.Fatalf("%d %d %d %v, want %d %d %d %v", used, n, longs, dst, wantUsed, wantN, wantLongs, want)
			}
		}
		other := tableOf(known)
		for rest := dst[:n]; len(rest) > 0; {
			got, want := table.AddSums(rest), addSumsPortable(rest, other.bases, uint64(other.shift()))
			if got != want {
				t.Fatalf("%d known, want %d", got, want)
			}
			rest = rest[min(got+1, len(rest)):]
		}
		for i, c := range table.Chunks {
			if *c.Slots != *other.Chunks[i].Slots {
				t.Fatal("the sums differ")
			}
		}
	})
}

// Keys that are built from words are those that went in, wherever they lie.
func TestWordsDoNotDependOnWhatFollows(t *testing.T) {
	for n := range InlineKey + 1 {
		key := []byte("0123456789abcdef")[:n]
		a, b := Words(key)
		x, y := Words(slices.Clip(bytes.Clone(key)))
		if a != x || b != y {
			t.Errorf("%d bytes: %x %x, and clipped %x %x", n, a, b, x, y)
		}
	}
}
