package spill

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mrlocal/internal/membudget"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/shuffle"
)

// lateKinds are kinds of lines that make different cuts: many cuts within one prefix, equal
// cuts, and cuts that differ only in zeros.
var lateKinds = []struct {
	name string
	make func(r *rand.Rand) string
}{
	{"text with leading blanks", func(r *rand.Rand) string {
		words := []string{"return ", "the ", "if err != nil ", "}", "static const ", "int "}
		line := strings.Repeat("    ", r.IntN(5))
		for range r.IntN(6) {
			line += words[r.IntN(len(words))]
		}
		return line + fmt.Sprint(r.IntN(1000))
	}},
	{"a common prefix of 200 bytes", func(r *rand.Rand) string { return strings.Repeat("prefix/20 ", 20) + fmt.Sprint(r.IntN(1_000_000)) }},
	{"zeros at the end", func(r *rand.Rand) string {
		return strings.Repeat("a", r.IntN(4)) + strings.Repeat("\x00", r.IntN(20)) + strings.Repeat("b", r.IntN(2))
	}},
	{"one or two bytes", func(r *rand.Rand) string { return randomBytes(r, r.IntN(3)) }},
	{"three keys", func(r *rand.Rand) string { return strings.Repeat("key", 3+r.IntN(3)) }},
	{"random bytes", func(r *rand.Rand) string { return randomBytes(r, 12) }},
}

// A merge reads outputs that are sorted late in the same order as outputs that are sorted at
// once. The test covers whole sorts, runs that are sorted already, and too little memory to
// sort all runs as one. It also covers evictions before and during the merge.
func TestLateSortingGivesTheStableSort(t *testing.T) {
	eachLateKind(t, testkit.Rounds(6), sortLate)
}

// eachLateKind runs a test with each kind of keys and n seeds.
func eachLateKind(t *testing.T, rounds int, test func(t *testing.T, r *rand.Rand, seed uint64, makeKey func(*rand.Rand) string)) {
	for k, kind := range lateKinds {
		t.Run(kind.name, func(t *testing.T) {
			for seed := range uint64(rounds) {
				seed += uint64(k) // kinds with one round each have different seeds
				test(t, rand.New(rand.NewPCG(seed, 11)), seed, kind.make)
			}
		})
	}
}

func sortLate(t *testing.T, r *rand.Rand, seed uint64, makeKey func(*rand.Rand) string) {
	k := newKit(t, 96<<20)
	parts := 1 + r.IntN(9)
	var cuts [][]byte
	if r.IntN(4) > 0 {
		cuts = [][]byte{}
		for range parts - 1 {
			cuts = append(cuts, []byte(makeKey(r)))
		}
		slices.SortFunc(cuts, bytes.Compare)
	}
	var outs []*shuffle.MapOutput
	want := make([][]pair, parts)
	for m := range 1 + r.IntN(3) {
		o, done := k.options(20 << 20)
		o.Parts, o.Cuts = parts, cuts
		o.SortLate, o.lateLeastBytes = r.IntN(5) > 0, 1
		if r.IntN(4) == 0 {
			o.StartBytes = 2 << 20 // so that it spills after it has divided chunks of its index
		}
		keyed := r.IntN(3) == 0
		if keyed {
			o.AppendKey = func(dst, record []byte) []byte { return append(dst, record[:len(record)-1]...) }
		}
		out := k.takeKeys(o, r, 20_000+r.IntN(20_000), m, makeKey, keyed, want)
		done()
		outs = append(outs, out)
		switch r.IntN(6) {
		case 0:
			if _, err := out.Evict(); err != nil {
				t.Fatal(err)
			}
		case 1:
			out.Register(k.budget)
		}
	}
	tight := r.IntN(3) == 0
	var rest *membudget.Lease
	for p := range parts {
		sorted := stableSort(want[p])
		what := fmt.Sprintf("seed %d, part %d of %d, tight %v", seed, p, parts, tight)
		l := k.mergeLease(outs)
		if tight {
			rest, _ = k.budget.TryReserve(k.budget.Free())
		}
		got := k.merged(shuffle.MergeOptions{Inputs: outs, Part: p, Lease: l, CreateTemp: k.createTemp}, func(n int) {
			if n != 1000 {
				return
			}
			if _, err := outs[0].Evict(); err != nil {
				t.Fatal(err)
			}
		})
		l.Close()
		if rest != nil {
			rest.Close()
		}
		same(t, what, got, sorted)
		same(t, what+", groups", k.readGroups(outs, p, nil), sorted)
	}
	release(t, k, outs)
}

// One merge may sort a partition, because it has too little memory or because of an eviction.
// The next merge then gathers it by whole keys.
func TestLateSortingOfWhatIsSortedAlready(t *testing.T) {
	for _, evicts := range []bool{false, true} {
		for seed := range seeds(testkit.Rounds(8)) {
			r := rand.New(rand.NewPCG(seed, 12))
			k := newKit(t, 96<<20)
			kind := lateKinds[1].make
			cuts := [][]byte{[]byte(kind(r)), []byte(kind(r)), []byte(kind(r))}
			slices.SortFunc(cuts, bytes.Compare)
			want := make([][]pair, len(cuts)+1)
			var outs []*shuffle.MapOutput
			for m := range 3 {
				o, done := k.options(16 << 20)
				o.Parts, o.Cuts = len(want), cuts
				o.SortLate, o.lateLeastBytes = m > 0 || r.IntN(2) > 0, 1
				outs = append(outs, k.takeKeys(o, r, 20_000, m, kind, false, want))
				done()
			}
			for p := range want {
				what := fmt.Sprintf("evicts %v, seed %d, part %d", evicts, seed, p)
				sorted := stableSort(want[p])
				var evicted sync.WaitGroup
				switch {
				case !evicts:
					l := k.mergeLease(outs)
					rest, _ := k.budget.TryReserve(k.budget.Free())
					same(t, what+", tight", k.readRecords(outs, p, l), sorted)
					rest.Close()
				case p == 1:
					delay := time.Duration(r.IntN(1000)) * time.Microsecond
					evicted.Go(func() {
						time.Sleep(delay)
						if _, err := outs[2].Evict(); err != nil {
							t.Error(err)
						}
					})
				}
				same(t, what, k.readRecords(outs, p, k.mergeLease(outs)), sorted)
				evicted.Wait()
			}
			release(t, k, outs)
		}
	}
}

// readRecords merges one partition with the memory of l, and closes l.
func (k *kit) readRecords(outs []*shuffle.MapOutput, p int, l *membudget.Lease) []pair {
	k.t.Helper()
	defer l.Close()
	return k.merged(shuffle.MergeOptions{Inputs: outs, Part: p, Lease: l, CreateTemp: k.createTemp}, nil)
}

// takeKeys makes a map output of n records, in blocks that are taken or copied. With keyed, a
// record is its key, one byte more, and a value.
func (k *kit) takeKeys(o Options, r *rand.Rand, n, m int, makeKey func(*rand.Rand) string, keyed bool, want [][]pair) *shuffle.MapOutput {
	b, err := NewBuffer(o)
	if err != nil {
		k.t.Fatal(err)
	}
	for i := 0; i < n; {
		c, ok := o.Lease.Chunk()
		if !ok {
			c, ok = o.Lease.Big(membudget.ChunkBytes)
		}
		if !ok {
			if !o.Lease.Grow(membudget.ChunkBytes) {
				k.t.Fatal("no chunk")
			}
			continue
		}
		var spans []jobs.Span
		at := 0
		for ; i < n; i++ {
			key := makeKey(r)
			record := key
			if keyed {
				record += string(rune('0' + i%10))
			}
			if at+len(record)+1 > len(c.Data) {
				break
			}
			copy(c.Data[at:], record)
			spans = append(spans, jobs.Span{Off: uint32(at), Len: uint32(len(record))})
			at += len(record)
			c.Data[at] = '\n'
			at++
			p := HashPartition([]byte(key), o.Parts)
			if o.Cuts != nil {
				for p = 0; p < len(o.Cuts) && key >= string(o.Cuts[p]); p++ {
				}
			}
			value := ""
			if keyed {
				value = record
			}
			want[p] = append(want[p], pair{key, value})
		}
		loan := lend(b, c)
		b.Take(jobs.Block{Data: c.Data[:at]}, spans)
		if !reclaim(b, loan) {
			o.Lease.Free(c)
		}
	}
	out, err := b.Close()
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}
