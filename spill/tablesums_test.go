package spill

import (
	"bytes"
	"slices"
	"testing"

	"mrlocal/internal/membudget"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
)

// tableOf returns a table of the keys, each with the sum 0.
func tableOf(keys [][]byte, hash uint64) *table {
	t := table{seed: newSeed(hash)}
	chunk := func() *membudget.Chunk { return &membudget.Chunk{Data: make([]byte, membudget.ChunkBytes)} }
	t.start(chunk(), 0)
	for _, key := range keys {
		a, b := words(key)
		meta := metaOf(len(key), t.seed.words(a, b))
		c := t.chunkOf(uint32(meta))
		if _, found := c.find(a, b, meta); found {
			continue
		}
		if c.keys == maxChunkKeys || t.depth < 2 {
			t.split(c, uint32(meta), chunk(), 0)
			c = t.chunkOf(uint32(meta))
		}
		slot := c.vacant(uint32(meta))
		for i, x := range []uint64{a, b, 0, meta} {
			copy(slot[8*i:], jobs.AppendUint64(nil, x))
		}
		c.keys++
	}
	return &t
}

func FuzzSums(f *testing.F) {
	f.Add([]byte("a bc def ghij klmno pqrstu vwxyz01 23456789 abcdefghijklmno abcdefghijklmnop abcdefghijklmnopq the end"), uint8(3), uint8(200))
	f.Add(bytes.Repeat([]byte("ab \x00 c "), 40), uint8(1), uint8(5))
	f.Fuzz(func(t *testing.T, text []byte, absent, room uint8) {
		text = testkit.Guarded(t, text)
		var keys []jobs.Span
		var known [][]byte
		for at := 0; at <= len(text); {
			n := bytes.IndexByte(append(text[at:len(text):len(text)], ' '), ' ')
			keys = append(keys, jobs.Span{Off: uint32(at), Len: uint32(n)})
			if key := text[at : at+n]; n <= inlineKey && len(keys)%(int(absent)+2) != 0 {
				known = append(known, bytes.Clone(key))
			}
			at += n + 1
		}
		table := tableOf(known, uint64(absent))
		dst, want := make([]keySum, room), make([]keySum, room)
		long, wantLong := make([]jobs.Span, len(keys)), make([]jobs.Span, len(keys))
		used, n, longs := table.pack(dst, text, keys, 7, long)
		if len(text) >= inlineKey && room > 0 {
			wantUsed, wantN, wantLongs := packPortable(want, text, keys, 7, wantLong, table.seed)
			if used != wantUsed || n != wantN || longs != wantLongs || !slices.Equal(dst, want) || !slices.Equal(long, wantLong) {
				t.Fatalf("%d %d %d %v, want %d %d %d %v", used, n, longs, dst, wantUsed, wantN, wantLongs, want)
			}
		}
		other := tableOf(known, uint64(absent))
		for rest := dst[:n]; len(rest) > 0; {
			got, want := table.addSums(rest), addSumsPortable(rest, other.bases, uint64(other.shift()))
			if got != want {
				t.Fatalf("%d known, want %d", got, want)
			}
			rest = rest[min(got+1, len(rest)):]
		}
		for i, c := range table.chunks {
			if *c.slots != *other.chunks[i].slots {
				t.Fatal("the sums differ")
			}
		}
	})
}

// The words of a key give back the key, whatever bytes follow it in memory.
func TestWordsDoNotDependOnWhatFollows(t *testing.T) {
	for n := range inlineKey + 1 {
		key := []byte("0123456789abcdef")[:n]
		a, b := words(key)
		x, y := words(slices.Clip(bytes.Clone(key)))
		if a != x || b != y {
			t.Errorf("%d bytes: %x %x, and clipped %x %x", n, a, b, x, y)
		}
	}
}
