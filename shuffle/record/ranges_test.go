package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// emitted returns an arena of emitted records, from a random address on, and their entries. All
// other bytes of the pieces have a mark.
func emitted(r *rand.Rand, n int, makeKey func(r *rand.Rand, i int) string) (a *Arena, entries []Entry, from, last uint64) {
	a = &Arena{}
	piece := bytes.Repeat([]byte{'x'}, SegBytes)
	base, off := a.Add(piece), 1000
	from = base + uint64(off)
	for i := range n {
		key, value := []byte(makeKey(r, i)), []byte(fmt.Sprint(i))
		if i%1000 == 7 {
			value = bytes.Repeat(value, 100)
		}
		if size := EmittedBytes(key, value); size > SegBytes-off {
			piece, off = bytes.Repeat([]byte{'x'}, SegBytes), 0
			base = a.Add(piece)
		}
		entries = append(entries, Entry{PrefixOf(key), (base+uint64(off))<<CodeBits | CodeEmitted})
		off += PutEmitted(piece[off:], key, value)
	}
	return a, entries, from, base + uint64(off)
}

// recordsOf returns copies of the records of entries.
func recordsOf(a *Arena, entries []Entry) (all []string) {
	for _, e := range entries {
		key, value := a.Record(e.Ref)
		all = append(all, fmt.Sprintf("%q %q", key, value))
	}
	return all
}

func TestArrangePutsRecordsSideBySide(t *testing.T) {
	for _, kind := range kinds {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 31))
			a, entries, from, last := emitted(r, 1+r.IntN(ChunkEntries), kind.make)
			what := fmt.Sprintf("%s, seed %d, %d records", kind.name, seed, len(entries))
			if _, err := NewRangeDivider(&Ranges{}).Divide(a, entries, make([]Entry, len(entries))); err != nil {
				t.Fatal(err)
			}
			want := recordsOf(a, entries)
			before, memory := slices.Clone(entries), slices.Clone(a.At(from))
			if _, ok := a.Arrange(entries, from, last, make([]byte, 100)); ok || !slices.Equal(entries, before) || !bytes.Equal(memory, a.At(from)) {
				if len(entries) > 20 {
					t.Fatalf("%s: arranged by a room of 100 bytes, %v", what, ok)
				}
			}
			end, ok := a.Arrange(entries, from, last, make([]byte, len(a.pieces)*SegBytes))
			if !ok {
				t.Fatalf("%s: not arranged", what)
			}
			if got := recordsOf(a, entries); !slices.Equal(got, want) {
				t.Fatalf("%s: other records than before", what)
			}
			if !slices.IsSortedFunc(entries, func(x, y Entry) int { return bytes.Compare(refBytes(x), refBytes(y)) }) {
				t.Fatalf("%s: addresses do not ascend", what)
			}
			if key, value := a.Record(entries[len(entries)-1].Ref); end != entries[len(entries)-1].Ref>>CodeBits+uint64(EmittedBytes(key, value)) {
				t.Fatalf("%s: the last record does not end at %x", what, end)
			}
			if p := a.pieces[0][:1000]; !bytes.Equal(p, bytes.Repeat([]byte{'x'}, len(p))) {
				t.Fatalf("%s: wrote before the first record", what)
			}
			rest := a.At(max(end, last))
			if !bytes.Equal(rest, bytes.Repeat([]byte{'x'}, len(rest))) {
				t.Fatalf("%s: wrote behind the last record", what)
			}
		}
	}
}

func refBytes(e Entry) []byte { return fmt.Appendf(nil, "%016x", e.Ref) }

// Arrange moves nothing if the records do not fit in the new order, or if one of them was not
// emitted.
func TestArrangeLeavesWhatItCannotArrange(t *testing.T) {
	long := func(n int) string { return strings.Repeat("k", n) }
	lengths := []int{SegBytes / 2, SegBytes/2 - 100, SegBytes - 100, 50} // in this order, three of them fill two pieces
	a, entries, from, last := emitted(rand.New(rand.NewPCG(1, 32)), 3, func(_ *rand.Rand, i int) string { return long(lengths[i] - 1000*(1-min(i, 1))) })
	entries[1], entries[2] = entries[2], entries[1]
	want := recordsOf(a, entries)
	if _, ok := a.Arrange(entries, from, last, make([]byte, 4*SegBytes)); ok || !slices.Equal(recordsOf(a, entries), want) {
		t.Errorf("three records in two pieces, the longest in the middle: arranged %v", ok)
	}
	a, entries, from, last = emitted(rand.New(rand.NewPCG(1, 33)), 100, kinds[0].make)
	entries[50].Ref -= CodeEmitted - 1 // now a taken record of one byte
	if _, ok := a.Arrange(entries, from, last, make([]byte, SegBytes)); ok {
		t.Error("arranged a taken record")
	}
}

func BenchmarkArrange(b *testing.B) {
	a, entries, from, last := emitted(rand.New(rand.NewPCG(1, 2)), ChunkEntries, kinds[0].make)
	if _, err := NewRangeDivider(&Ranges{}).Divide(a, entries, make([]Entry, len(entries))); err != nil {
		b.Fatal(err)
	}
	room, order := make([]byte, len(a.pieces)*SegBytes), slices.Clone(entries)
	for b.Loop() {
		copy(entries, order)
		if _, ok := a.Arrange(entries, from, last, room); !ok {
			b.Fatal("not arranged")
		}
		for i := range order { // the next round begins with another order
			order[i] = entries[i*7919%len(entries)]
		}
		last = max(last, from)
	}
	b.ReportMetric(float64(len(entries))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}

func TestCutPointsAreQuantilesOfTheSample(t *testing.T) {
	for _, c := range []struct {
		name, keys string
		parts      int
		spread     bool
		want       string
	}{
		{"of different keys", "d b a c e f h g", 4, false, "c e g"},
		{"no cut for a key that is the least", "a a a a a a a b", 4, false, ""},
		{"a key twice is one cut", "a b b b b b b c", 4, false, "b"},
		{"none of no keys", "", 4, false, ""},
		{"spread: a key of several shares", "a b b b b b b c", 4, true, `b b b\0`},
		{"spread: all equal", "a a a a", 4, true, `a a a\0`},
		{"spread: a key of one share is one cut", "a b c d", 4, true, "b c d"},
	} {
		var keys [][]byte
		for k := range strings.FieldsSeq(c.keys) {
			keys = append(keys, []byte(k))
		}
		got := string(bytes.ReplaceAll(bytes.Join(CutPoints(keys, c.parts, c.spread), []byte(" ")), []byte{0}, []byte(`\0`)))
		if got != c.want {
			t.Errorf("%s: cuts %s, want %s", c.name, got, c.want)
		}
	}
}
