package spill

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
)

// seeds returns the number of rounds, at least two.
func seeds(rounds int) uint64 {
	return uint64(max(2, rounds))
}

// spillAside lets spills run on a goroutine of their own. It drops events, because the Notify
// of a test serves one goroutine.
func spillAside(o *Options) {
	o.Background = func(run func()) { go run() }
	o.Notify = func(shuffle.Event) {}
}

// pair is one record of the oracle.
type pair struct{ key, value string }

// kit holds what the buffers and merges of a test need.
type kit struct {
	t      testing.TB
	budget *membudget.Budget
	dir    string // of temp
	temp   *disk.TempRoot
	noDisk bool
	events []shuffle.Event
}

func newKit(t testing.TB, memoryBytes int64) *kit {
	b, err := membudget.New(memoryBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b.Leased() != 0 {
			t.Errorf("%d bytes are still leased", b.Leased())
		}
		b.Close()
	})
	dir := t.TempDir()
	k := &kit{t: t, budget: b, dir: dir, temp: disk.NewTempRoot([]string{dir}, 0)}
	t.Cleanup(func() { k.temp.Close() })
	return k
}

func (k *kit) createTemp() (*disk.TempFile, error) {
	if k.noDisk {
		return nil, os.ErrPermission
	}
	return k.temp.Create("spill-*")
}

func (k *kit) lease(bytes int64) *membudget.Lease {
	k.t.Helper()
	l, err := k.budget.Reserve(context.Background(), bytes)
	if err != nil {
		k.t.Fatal(err)
	}
	return l
}

// options returns options with a lease of floorBytes. done closes the lease.
func (k *kit) options(floorBytes int64) (o Options, done func()) {
	l := k.lease(floorBytes)
	return Options{
		Parts: 1, KVBuffer: KVBuffer{NoGrowth: true}, Lease: l, CreateTemp: k.createTemp, AfmBytes: l.Budget().Free,
		Guard:      func(_ string, call func() error) error { return call() },
		Background: func(spill func()) { spill() },
		Late:       func() {},
		Killed:     func() bool { return false },
		Notify:     func(e shuffle.Event) { k.events = append(k.events, e) },
	}, l.Close
}

// mergeLease returns the lease of a reduce. The budget may evict outs for it.
func (k *kit) mergeLease(outs []*shuffle.MapOutput) *membudget.Lease {
	for _, out := range outs {
		out.Register(k.budget)
	}
	return k.lease(4 << 20)
}

// read merges one partition record by record.
func (k *kit) read(outs []*shuffle.MapOutput, part int, change func(*shuffle.MergeOptions)) []pair {
	k.t.Helper()
	l := k.mergeLease(outs)
	defer l.Close()
	o := shuffle.MergeOptions{Inputs: outs, Part: part, Lease: l, CreateTemp: k.createTemp}
	if change != nil {
		change(&o)
	}
	return k.merged(o, nil)
}

// merged returns all records of a merge. If behind is not nil, it is called after each record
// with the number of records so far.
func (k *kit) merged(o shuffle.MergeOptions, behind func(n int)) []pair {
	k.t.Helper()
	m, err := shuffle.NewMerge(context.Background(), o)
	if err != nil {
		k.t.Fatal(err)
	}
	var got []pair
	for m.Next() {
		got = append(got, pair{string(m.Key()), string(m.Value())})
		if behind != nil {
			behind(len(got))
		}
	}
	if err := m.Close(); err != nil {
		k.t.Fatal(err)
	}
	return got
}

// readGroups merges one partition group by group.
func (k *kit) readGroups(outs []*shuffle.MapOutput, part int, change func(*shuffle.MergeOptions)) []pair {
	k.t.Helper()
	l := k.mergeLease(outs)
	defer l.Close()
	o := shuffle.MergeOptions{Inputs: outs, Part: part, Lease: l, CreateTemp: k.createTemp}
	if change != nil {
		change(&o)
	}
	m, err := shuffle.NewMerge(context.Background(), o)
	if err != nil {
		k.t.Fatal(err)
	}
	var got []pair
	for m.NextGroup() {
		key := string(m.Key())
		if len(got) > 0 && got[len(got)-1].key >= key {
			k.t.Fatalf("group %.40q after %.40q", key, got[len(got)-1].key)
		}
		for vs := m.Values(); vs.Next(); {
			got = append(got, pair{key, string(vs.Value())})
			if string(m.Key()) != key {
				k.t.Fatalf("the key of a group changed from %.40q to %.40q", key, m.Key())
			}
		}
	}
	if err := m.Close(); err != nil {
		k.t.Fatal(err)
	}
	return got
}

func stableSort(p []pair) []pair {
	p = slices.Clone(p)
	slices.SortStableFunc(p, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	return p
}

func same(t testing.TB, what string, got, want []pair) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: record %d is %.60q %.60q, want %.60q %.60q", what, i, got[i].key, got[i].value, want[i].key, want[i].value)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d records, want %d", what, len(got), len(want))
	}
}

// keyKinds makes keys of many kinds that are hard to sort.
var keyKinds = []struct {
	name string
	make func(r *rand.Rand) string
}{
	{"words with few distinct", func(r *rand.Rand) string { return fmt.Sprint("w", r.IntN(300)) }},
	{"random bytes", func(r *rand.Rand) string { return randomBytes(r, 10) }},
	{"lengths from 0 to 40 of two letters", func(r *rand.Rand) string {
		p := make([]byte, r.IntN(40))
		for i := range p {
			p[i] = "ab"[r.IntN(2)]
		}
		return string(p)
	}},
	{"zeros at the end", func(r *rand.Rand) string { return strings.Repeat("a", r.IntN(10)) + strings.Repeat("\x00", r.IntN(12)) }},
	{"a long common prefix", func(r *rand.Rand) string { return strings.Repeat("prefix/", 20) + fmt.Sprint(r.IntN(100000)) }},
	{"one key", func(r *rand.Rand) string { return "the one and only key of them all" }},
	{"empty", func(r *rand.Rand) string { return "" }},
	{"some longer than a block", func(r *rand.Rand) string {
		if r.IntN(50) > 0 {
			return fmt.Sprint(r.IntN(100))
		}
		return strings.Repeat("k", 70_000) + randomBytes(r, r.IntN(3)*70_000)
	}},
}

func randomBytes(r *rand.Rand, n int) string {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return string(p)
}

func TestMergedBuffersAreTheStableSortOfWhatWasEmitted(t *testing.T) {
	for _, kind := range keyKinds {
		t.Run(kind.name, func(t *testing.T) {
			for seed := range seeds(testkit.Rounds(6)) {
				r := rand.New(rand.NewPCG(seed, 1))
				metamorphic(t, r, seed, kind.make)
			}
		})
	}
}

// metamorphic emits the same records through buffers with random options. The merged records
// must not change.
func metamorphic(t *testing.T, r *rand.Rand, seed uint64, makeKey func(*rand.Rand) string) {
	k := newKit(t, 64<<20)
	parts := 1 + r.IntN(4)
	var outs []*shuffle.MapOutput
	want := make([][]pair, parts)
	var cuts [][]byte
	byRange := r.IntN(2) == 0
	if byRange {
		cuts = [][]byte{}
		for range parts - 1 {
			cuts = append(cuts, []byte(makeKey(r)))
		}
		slices.SortFunc(cuts, bytes.Compare)
	}
	for m := range 1 + r.IntN(4) {
		o, done := k.options(int64(8+r.IntN(16)) * membudget.ChunkBytes)
		o.Parts, o.Cuts = parts, cuts
		o.StartBytes = []int64{0, 1 << 10, 64 << 10, 1 << 20}[r.IntN(4)]
		o.NoGrowth = r.IntN(2) == 1
		o.Codec = shuffle.Codec(r.IntN(4))
		if r.IntN(2) == 0 { // no memory beyond the floor, so each index chunk is a slice
			o.SortLate, o.lateLeastBytes = true, 1+int64(r.IntN(2))<<20
		}
		if r.IntN(2) == 0 {
			spillAside(&o)
		}
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		n := r.IntN(8000)
		if o.StartBytes == 1<<10 {
			n = r.IntN(800)
		}
		for i := range n {
			key := makeKey(r)
			value := fmt.Sprint(m, ".", i, strings.Repeat("x", r.IntN(2)*r.IntN(100)))
			if r.IntN(5000) == 0 {
				value += strings.Repeat("y", r.IntN(600_000))
			}
			b.SetProgress(int64(i+1), int64(n))
			b.Emit([]byte(key), []byte(value))
			p := HashPartition([]byte(key), parts)
			if byRange {
				p = 0
				for p < len(cuts) && key >= string(cuts[p]) {
					p++
				}
			}
			want[p] = append(want[p], pair{key, value})
		}
		out, err := b.Close()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		done()
		if s := b.Stats(); s.Records != int64(n) {
			t.Fatalf("%d records counted, %d emitted", s.Records, n)
		}
		outs = append(outs, out)
		if r.IntN(3) == 0 {
			if _, err := out.Evict(); err != nil {
				t.Fatal(err)
			}
		} else if r.IntN(2) == 0 {
			out.Register(k.budget)
		}
	}
	factor := 2 + r.IntN(8)
	for p := range parts {
		sorted := stableSort(want[p])
		set := func(o *shuffle.MergeOptions) { o.Factor, o.FDs = factor, 1+int(seed%3) }
		what := fmt.Sprintf("seed %d, part %d of %d", seed, p, parts)
		same(t, what, k.read(outs, p, set), sorted)
		same(t, what+", groups", k.readGroups(outs, p, set), sorted)
		var got, wanted record.PartStat
		for _, out := range outs {
			got.Add(out.Part(p))
		}
		for _, x := range sorted {
			wanted.Count([]byte(x.key), []byte(x.value))
		}
		if got != wanted {
			t.Fatalf("Part is %+v, want %+v", got, wanted)
		}
	}
	release(t, k, outs)
}

func release(t testing.TB, k *kit, outs []*shuffle.MapOutput) {
	for _, out := range outs {
		out.Release()
		out.Release()
	}
	if left, err := filepath.Glob(filepath.Join(k.dir, "*", "spill-*")); err != nil || len(left) > 0 {
		t.Fatalf("%d files are left, %v", len(left), err)
	}
}

func TestTakenBlocksAreSortedLikeEmittedRecords(t *testing.T) {
	reverse := func(dst, record []byte) []byte {
		for i := len(record) - 1; i >= 0; i-- {
			dst = append(dst, record[i])
		}
		return dst
	}
	for seed := range seeds(testkit.Rounds(16)) {
		r := rand.New(rand.NewPCG(seed, 2))
		k := newKit(t, 64<<20)
		o, done := k.options(int64(10+r.IntN(20)) * membudget.ChunkBytes)
		o.Parts = 1 + r.IntN(3)
		o.StartBytes = []int64{0, 64 << 10, 2 << 20}[r.IntN(3)]
		if r.IntN(2) == 0 {
			o.AppendKey = reverse
		}
		if r.IntN(2) == 0 {
			spillAside(&o)
		}
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		want := make([][]pair, o.Parts)
		var reader *membudget.Chunk
		for range r.IntN(10) {
			if reader == nil {
				var ok bool
				if reader, ok = o.Lease.Chunk(); !ok {
					t.Fatalf("seed %d: no chunk is left to the input", seed)
				}
			}
			n := r.IntN(membudget.ChunkBytes)
			data := reader.Data[:0]
			var spans []jobs.Span
			for len(data) < n {
				size := r.IntN(60)
				if r.IntN(200) == 0 {
					size = r.IntN(50_000)
				}
				if seed%4 == 0 {
					size = 0
				}
				size = min(size, n-len(data))
				spans = append(spans, jobs.Span{Off: uint32(len(data)), Len: uint32(size)})
				for range size {
					data = append(data, byte('a'+r.IntN(3)))
				}
				data = append(data, '\n')
				record := data[len(data)-1-size : len(data)-1]
				key, value := string(record), ""
				if o.AppendKey != nil {
					key, value = string(reverse(nil, record)), key
				}
				p := HashPartition([]byte(key), o.Parts)
				want[p] = append(want[p], pair{key, value})
			}
			if len(data) > membudget.ChunkBytes {
				data = data[:membudget.ChunkBytes]
			}
			loan := lend(b, reader)
			b.Take(jobs.Block{Data: data}, spans)
			if reclaim(b, loan) {
				reader = nil
			}
		}
		if err := b.Err(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		out, err := b.Close()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		done()
		outs := []*shuffle.MapOutput{out}
		for p := range want {
			same(t, fmt.Sprintf("seed %d part %d", seed, p), k.read(outs, p, nil), stableSort(want[p]))
		}
		if _, err := out.Evict(); err != nil {
			t.Fatal(err)
		}
		for p := range want {
			same(t, fmt.Sprintf("seed %d part %d evicted", seed, p), k.readGroups(outs, p, nil), stableSort(want[p]))
		}
		release(t, k, outs)
	}
}

// A merge whose memory is evicted while it reads continues from the disk, at any record, and
// the memory is freed at once.
func TestEvictionWhileAMergeReadsChangesNothing(t *testing.T) {
	for seed := range seeds(testkit.Rounds(40)) {
		r := rand.New(rand.NewPCG(seed, 5))
		k := newKit(t, 64<<20)
		makeKey := keyKinds[r.IntN(len(keyKinds))].make
		var outs []*shuffle.MapOutput
		var want []pair
		for m := range 1 + r.IntN(3) {
			o, done := k.options(16 * membudget.ChunkBytes)
			o.StartBytes = []int64{0, 64 << 10}[r.IntN(2)]
			if r.IntN(2) == 0 { // no room beyond the floor: slices a chunk long
				rest := k.lease(k.budget.Free())
				defer rest.Close()
				done2 := done
				done = func() { done2(); rest.Close() }
			}
			b, err := NewBuffer(o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range r.IntN(12_000) {
				key, value := makeKey(r), fmt.Sprint(m, ".", i)
				if r.IntN(1000) == 0 {
					value += strings.Repeat("v", r.IntN(1000))
				}
				want = append(want, pair{key, value})
				if b.Emit([]byte(key), []byte(value)); len(want) > 100 && len(key) > 60_000 {
					break
				}
			}
			out, err := b.Close()
			if err != nil {
				t.Fatal(err)
			}
			done()
			outs = append(outs, out)
		}
		want = stableSort(want)
		l := k.lease(4 << 20)
		m, err := shuffle.NewMerge(context.Background(), shuffle.MergeOptions{Inputs: outs, Lease: l, CreateTemp: k.createTemp})
		if err != nil {
			t.Fatal(err)
		}
		places := map[int]*shuffle.MapOutput{}
		for _, out := range outs {
			places[r.IntN(len(want)+1)] = out
		}
		var got []pair
		evict := func() {
			if out := places[len(got)]; out != nil {
				if _, err := out.Evict(); err != nil {
					t.Fatal(err)
				}
			}
		}
		evict()
		if seed%2 == 0 {
			for m.Next() {
				got = append(got, pair{string(m.Key()), string(m.Value())})
				evict()
			}
		} else {
			for m.NextGroup() {
				for vs := m.Values(); vs.Next(); {
					got = append(got, pair{string(m.Key()), string(vs.Value())})
					evict()
				}
			}
		}
		if err := m.Close(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		l.Close()
		same(t, fmt.Sprintf("seed %d", seed), got, want)
		release(t, k, outs)
	}
}
