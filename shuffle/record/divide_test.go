package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/invariant"
)

// kinds makes keys of different kinds, in the order of arrival. i is the number of the key.
var kinds = []struct {
	name string
	make func(r *rand.Rand, i int) string
}{
	{"text with leading blanks", func(r *rand.Rand, _ int) string {
		words := []string{"return ", "the ", "if err != nil ", "}", "static const ", "int "}
		line := strings.Repeat("    ", r.IntN(5))
		for range r.IntN(6) {
			line += words[r.IntN(len(words))]
		}
		return line + fmt.Sprint(r.IntN(1000))
	}},
	{"all equal", func(*rand.Rand, int) string { return "the same line again and again" }},
	{"two keys", func(r *rand.Rand, _ int) string { return "the same line again and " + "ab"[r.IntN(2):] }},
	{"in order", func(_ *rand.Rand, i int) string { return fmt.Sprintf("%012d", i) }},
	{"in reverse", func(_ *rand.Rand, i int) string { return fmt.Sprintf("%012d", 1<<30-i) }},
	{"a prefix of 200 bytes", func(r *rand.Rand, _ int) string {
		return strings.Repeat("prefix/20 ", 20) + fmt.Sprint(r.IntN(1_000_000))
	}},
	{"one or two bytes", func(r *rand.Rand, _ int) string { return randomBytes(r, 1+r.IntN(2)) }},
	{"zeros at the end", func(r *rand.Rand, _ int) string {
		return strings.Repeat("a", r.IntN(4)) + strings.Repeat("\x00", r.IntN(20))
	}},
	{"random bytes", func(r *rand.Rand, _ int) string { return randomBytes(r, 12) }},
}

func randomBytes(r *rand.Rand, n int) string {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return string(p)
}

// keyed has the keys of one map and their entries.
type keyed struct {
	arena   Arena
	keys    []string
	entries []Entry
}

func collect(r *rand.Rand, n int, make func(r *rand.Rand, i int) string) *keyed {
	k := &keyed{}
	var data []byte
	var base uint64
	for i := range n {
		key := make(r, i)
		if len(key) > cap(data)-len(data) {
			data = append([]byte(nil), bytes.Repeat([]byte{'x'}, SegBytes)...)[:0]
			base = k.arena.Add(data[:cap(data):cap(data)])
		}
		at := len(data)
		if data = append(data, key...); key == "" {
			at = 0 // the address of the very end belongs to the next piece
		}
		k.keys = append(k.keys, key)
		k.entries = append(k.entries, Entry{Prefix: PrefixOf([]byte(key)), Ref: (base+uint64(at))<<CodeBits | uint64(len(key))})
	}
	return k
}

// drawCuts draws n cuts from keys. Some may be equal.
func drawCuts(r *rand.Rand, keys []string, n int) [][]byte {
	cuts := make([][]byte, n)
	for i := range cuts {
		cuts[i] = []byte(keys[r.IntN(len(keys))])
	}
	slices.SortFunc(cuts, bytes.Compare)
	return cuts
}

func partOf(cuts [][]byte, key string) (p int) {
	for p < len(cuts) && key >= string(cuts[p]) {
		p++
	}
	return p
}

// byPart returns the expected keys of each partition, in the order of arrival.
func byPart(cuts [][]byte, keys []string) [][]string {
	parts := make([][]string, len(cuts)+1)
	for _, key := range keys {
		p := partOf(cuts, key)
		parts[p] = append(parts[p], key)
	}
	return parts
}

func keysOf(a *Arena, entries []Entry) (keys []string) {
	for _, e := range entries {
		keys = append(keys, string(a.Key(e.Ref)))
	}
	return keys
}

func wantKeys(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %d keys %.60q, want %d %.60q", what, len(got), got, len(want), want)
	}
}

func eachKind(t *testing.T, seeds uint64, do func(t *testing.T, r *rand.Rand, what string, make func(*rand.Rand, int) string)) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			for seed := range seeds {
				do(t, rand.New(rand.NewPCG(seed, 21)), fmt.Sprint("seed ", seed), kind.make)
			}
		})
	}
}

// In a divided chunk, the keys of each range lie side by side, in the order of arrival.
// Prefixes begin where the keys of the range begin to differ. After Restore, they are those of
// whole keys. CutEnds finds the same ranges in sorted entries.
func TestDividing(t *testing.T) {
	eachKind(t, 10, func(t *testing.T, r *rand.Rand, what string, make func(*rand.Rand, int) string) {
		k := collect(r, 1+r.IntN(3000), make)
		cuts := drawCuts(r, k.keys, r.IntN(20))
		d := NewDivider(len(cuts)+1, cuts, nil)
		ends, err := d.Divide(&k.arena, k.entries, append([]Entry(nil), k.entries...))
		if err != nil {
			t.Fatal(err)
		}
		slice := Slice{Entries: k.entries, Ends: ends}
		for p, want := range byPart(cuts, k.keys) {
			got := slice.Part(p)
			wantKeys(t, fmt.Sprint(what, ", part ", p), keysOf(&k.arena, got), want)
			depth := d.Unsorted().Depth(p)
			for i, e := range got {
				if e.Prefix != PrefixOf([]byte(want[i][depth:])) {
					t.Fatalf("%s, part %d: prefix %x of %q at depth %d", what, p, e.Prefix, want[i], depth)
				}
			}
		}
		d.Restore(slice)
		for _, e := range k.entries {
			if key := k.arena.Key(e.Ref); e.Prefix != PrefixOf(key) {
				t.Fatalf("%s: prefix %x of %q after Restore", what, e.Prefix, key)
			}
		}
		sorter := Sorter{Arena: &k.arena, Scratch: append([]Entry(nil), k.entries...)}
		sorter.Sort(k.entries, 0)
		if got := CutEnds(cuts, len(cuts)+1, &k.arena, k.entries); !slices.Equal(got, ends) {
			t.Errorf("%s: sorted ranges end at %v, divided ones at %v", what, got, ends)
		}
	})
}

func TestDividingByWhatTheJobSays(t *testing.T) {
	k := collect(rand.New(rand.NewPCG(1, 1)), 1000, kinds[0].make)
	byLength := func(a *Arena, ref uint64) (int, error) { return len(a.Key(ref)) % 5, nil }
	ends, err := NewDivider(5, nil, byLength).Divide(&k.arena, k.entries, make([]Entry, 1000))
	if err != nil {
		t.Fatal(err)
	}
	for p := range 5 {
		var want []string
		for _, key := range k.keys {
			if len(key)%5 == p {
				want = append(want, key)
			}
		}
		wantKeys(t, fmt.Sprint("part ", p), keysOf(&k.arena, Slice{Entries: k.entries, Ends: ends}.Part(p)), want)
	}
	wrong := errors.New("out of range")
	_, err = NewDivider(5, nil, func(*Arena, uint64) (int, error) { return 0, wrong }).Divide(&k.arena, k.entries, make([]Entry, 1000))
	if !errors.Is(err, wrong) {
		t.Errorf("error %v, want %v", err, wrong)
	}
}

// Several runs, each of several divided chunks, are gathered and sorted range by range. The
// result is the stable sort of the partition. If a run was sorted meanwhile, it is gathered by
// whole keys, or not at all.
func TestGathering(t *testing.T) {
	eachKind(t, 12, func(t *testing.T, r *rand.Rand, what string, make func(*rand.Rand, int) string) {
		var maps []*keyed
		var all []string
		for range 1 + r.IntN(4) {
			k := collect(r, 1+r.IntN(3000), make)
			maps, all = append(maps, k), append(all, k.keys...)
		}
		cuts := drawCuts(r, all, r.IntN(6))
		d := NewDivider(len(cuts)+1, cuts, nil)
		p := r.IntN(len(cuts) + 1)
		var states []*Unsorted
		var slicesOf [][]Slice
		for _, k := range maps {
			states = append(states, d.Unsorted())
			slicesOf = append(slicesOf, divideChunks(t, d, k, 1+r.IntN(1000)))
		}
		lists := func() (whole Arena, lists []List, total int) {
			for i, k := range maps {
				shift := whole.Append(&k.arena)
				for _, s := range slicesOf[i] {
					if e := s.Part(p); len(e) > 0 {
						lists, total = append(lists, List{Entries: e, Unsorted: states[i], Shift: shift}), total+len(e)
					}
				}
			}
			return whole, lists, total
		}
		want := slices.Clone(byPart(cuts, all)[p])
		slices.SortStableFunc(want, strings.Compare)
		gathered := func(what string, depth int) bool {
			arena, lists, total := lists()
			if total == 0 {
				return true
			}
			out := append([]Entry(nil), lists[0].Entries...)
			out = slices.Grow(out, total)[:total]
			ends, ok := Gather(out, lists, p, depth)
			if !ok {
				return false
			}
			sorter := Sorter{Arena: &arena, Scratch: append([]Entry(nil), out...)}
			at := 0
			for _, end := range ends {
				sorter.Sort(out[at:end], depth)
				at = end
			}
			wantKeys(t, what, keysOf(&arena, out), want)
			for i := 1; i < total; i++ {
				if want[i] != "" && want[i-1] == want[i] && out[i-1].Ref >= out[i].Ref {
					t.Fatalf("%s: records %d and %d of key %q are not in the order of arrival", what, i-1, i, want[i])
				}
			}
			return true
		}
		depth := states[0].Depth(p)
		if !gathered(what+", divided", depth) {
			t.Fatalf("%s: not gathered", what)
		}
		_, some, _ := lists()
		states[0].Sort(p, slicesOf[0], &Sorter{Arena: &maps[0].arena, Scratch: append([]Entry(nil), maps[0].entries...)})
		if ok := gathered(what+", one sorted", depth); !ok && depth == 0 || ok && depth > 0 && len(some) > 0 && some[0].Unsorted == states[0] {
			t.Fatalf("%s: one of %d sorted, depth %d: gathered %v", what, len(maps), depth, ok)
		}
		for i, k := range maps {
			states[i].Sort(p, slicesOf[i], &Sorter{Arena: &k.arena, Scratch: append([]Entry(nil), k.entries...)})
		}
		if !gathered(what+", all sorted", 0) {
			t.Fatalf("%s: not gathered by whole keys", what)
		}
	})
}

func divideChunks(t *testing.T, d *Divider, k *keyed, each int) (divided []Slice) {
	scratch := make([]Entry, each)
	for chunk := range slices.Chunk(k.entries, each) {
		ends, err := d.Divide(&k.arena, chunk, scratch)
		if err != nil {
			t.Fatal(err)
		}
		divided = append(divided, Slice{Entries: chunk, Ends: ends})
	}
	return divided
}

// benchmarkCuts returns the cuts of 16 reduces.
func benchmarkCuts(k *keyed) [][]byte {
	sorted := slices.Clone(k.keys)
	slices.Sort(sorted)
	var cuts [][]byte
	for i := 1; i < 16; i++ {
		cuts = append(cuts, []byte(sorted[len(sorted)*i/16]))
	}
	return cuts
}

func benchmarkKinds(b *testing.B, entries int, do func(b *testing.B, k *keyed)) {
	for _, kind := range kinds[:7] {
		b.Run("keys="+strings.ReplaceAll(kind.name, " ", "-"), func(b *testing.B) {
			do(b, collect(rand.New(rand.NewPCG(1, 2)), entries, kind.make))
			b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
		})
	}
}

func BenchmarkDivide(b *testing.B) {
	benchmarkKinds(b, ChunkEntries, func(b *testing.B, k *keyed) {
		d := NewDivider(16, benchmarkCuts(k), nil)
		work, scratch := slices.Clone(k.entries), make([]Entry, len(k.entries))
		b.SetBytes(EntryBytes * ChunkEntries)
		for b.Loop() {
			copy(work, k.entries)
			if _, err := d.Divide(&k.arena, work, scratch); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The cost of restoring a divided chunk that is written to disk after all.
func BenchmarkRestore(b *testing.B) {
	k := collect(rand.New(rand.NewPCG(1, 2)), ChunkEntries, kinds[5].make)
	d := NewDivider(16, benchmarkCuts(k), nil)
	ends, err := d.Divide(&k.arena, k.entries, make([]Entry, len(k.entries)))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(EntryBytes * ChunkEntries)
	for b.Loop() {
		d.Restore(Slice{Entries: k.entries, Ends: ends})
	}
}

func BenchmarkGather(b *testing.B) {
	const entries = 16 * ChunkEntries
	benchmarkKinds(b, entries, func(b *testing.B, k *keyed) {
		var lists []List
		for chunk := range slices.Chunk(k.entries, ChunkEntries) {
			lists = append(lists, List{Entries: chunk})
		}
		out := make([]Entry, entries)
		b.SetBytes(EntryBytes * entries)
		for b.Loop() {
			Gather(out, lists, 0, 0)
		}
	})
}

// The work of a reduce on its partition: gather and sort.
func BenchmarkGatherAndSort(b *testing.B) {
	const entries = 16 * ChunkEntries
	benchmarkKinds(b, entries, func(b *testing.B, k *keyed) {
		out, scratch := make([]Entry, entries), make([]Entry, entries)
		sorter := Sorter{Arena: &k.arena, Scratch: scratch}
		b.SetBytes(EntryBytes * entries)
		for b.Loop() {
			ends, _ := Gather(out, []List{{Entries: k.entries}}, 0, 0)
			at := 0
			for _, end := range ends {
				sorter.Sort(out[at:end], 0)
				at = end
			}
		}
	})
}

func TestHotLoopsDoNotAllocate(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checked builds allocate")
	}
	k := collect(rand.New(rand.NewPCG(1, 2)), 5000, kinds[0].make)
	d := NewDivider(16, benchmarkCuts(k), nil)
	scratch := make([]Entry, 5000)
	if n := testing.AllocsPerRun(20, func() { _, _ = d.Divide(&k.arena, k.entries, scratch) }); n > 1 { // the slice of ends
		t.Errorf("%v allocations in a Divide", n)
	}
	lists := []List{{Entries: k.entries}}
	if n := testing.AllocsPerRun(20, func() { Gather(scratch, lists, 0, 0) }); n > 1 { // the slice of ends
		t.Errorf("%v allocations in a Gather", n)
	}
}
