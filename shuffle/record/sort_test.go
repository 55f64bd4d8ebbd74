package record

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/invariant"
)

var sortKinds = []struct {
	name string
	make func(r *rand.Rand) string
}{
	{"few distinct", func(r *rand.Rand) string { return fmt.Sprint("w", r.IntN(300)) }},
	{"random bytes", func(r *rand.Rand) string { return string(randomKey(r, 10)) }},
	{"two letters", func(r *rand.Rand) string {
		p := make([]byte, r.IntN(40))
		for i := range p {
			p[i] = "ab"[r.IntN(2)]
		}
		return string(p)
	}},
	{"zeros at the end", func(r *rand.Rand) string { return strings.Repeat("a", r.IntN(10)) + strings.Repeat("\x00", r.IntN(12)) }},
	{"a long common prefix", func(r *rand.Rand) string { return strings.Repeat("prefix/", 20) + fmt.Sprint(r.IntN(100000)) }},
	{"one key", func(*rand.Rand) string { return "the one and only key of them all" }},
	{"empty", func(*rand.Rand) string { return "" }},
}

func randomKey(r *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// The Sorter gives the stable order with a scratch of any length. The shortest one makes it
// divide all entries in place, and the longest one exceeds the entries.
func TestSortIsStableWithAnyScratch(t *testing.T) {
	for _, kind := range sortKinds {
		for seed := range uint64(12) {
			r := rand.New(rand.NewPCG(seed, 4))
			keys := make([]string, r.IntN(3000))
			for i := range keys {
				keys[i] = kind.make(r)
			}
			switch seed % 4 {
			case 1:
				slices.Sort(keys)
			case 2:
				slices.Sort(keys)
				slices.Reverse(keys)
			}
			checkSort(t, fmt.Sprint(kind.name, ", seed ", seed), keys, 1+r.IntN(200))
			checkSort(t, fmt.Sprint(kind.name, ", seed ", seed), keys, 4000)
		}
	}
}

func checkSort(t *testing.T, what string, keys []string, scratch int) {
	t.Helper()
	s := Sorter{Arena: &Arena{}, Scratch: make([]Entry, scratch)}
	e := make([]Entry, len(keys))
	for i, key := range keys {
		data := make([]byte, len(key)+32)
		PutEmitted(data, []byte(key), nil)
		e[i] = Entry{PrefixOf([]byte(key)), s.Arena.Add(data)<<CodeBits | CodeEmitted}
	}
	want := slices.Clone(e)
	slices.SortStableFunc(want, func(x, y Entry) int {
		return strings.Compare(string(s.Arena.Key(x.Ref)), string(s.Arena.Key(y.Ref)))
	})
	s.Sort(e, 0)
	for i := range e {
		if e[i] != want[i] {
			t.Fatalf("%s, scratch %d: entry %d is %q, want %q", what, scratch, i, s.Arena.Key(e[i].Ref), s.Arena.Key(want[i].Ref))
		}
	}
}

// Keys with ever longer common prefixes are the worst case of a radix sort: each level
// separates one key from the rest.
func TestSortIsNotQuadraticInNestedPrefixes(t *testing.T) {
	keys := make([]string, 2000)
	for i := range keys {
		keys[i] = strings.Repeat("a", 9*i) + "b"
	}
	checkSort(t, "nested prefixes", keys, 100)
}

func FuzzSort(f *testing.F) {
	f.Add([]byte("b\na\n\n\x00\na\x00\nabcdefgh\nabcdefghi\nabcdefg"), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, scratch uint8) {
		checkSort(t, "fuzz", strings.Split(string(text), "\n"), int(scratch)+1)
	})
}

func TestSortDoesNotAllocate(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checked builds allocate")
	}
	s := Sorter{Arena: &Arena{}, Scratch: make([]Entry, 4096), counts: make([]uint32, 0, 1<<16)}
	r := rand.New(rand.NewPCG(1, 7))
	data := randomKey(r, 64<<10)
	base := s.Arena.Add(data)
	e := make([]Entry, 4096)
	fill := func() {
		for i := range e {
			at := uint64(i * 16)
			e[i] = Entry{PrefixOf(data[at:]), (base+at)<<CodeBits | 16}
		}
	}
	if n := testing.AllocsPerRun(10, func() { fill(); s.Sort(e, 0) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
