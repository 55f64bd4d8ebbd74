package spill

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mrlocal/internal/membudget"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
)

// firstOf keeps one value of each key.
type firstOf struct{}

func (firstOf) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	for vs.Next() {
		out.Emit(key, vs.Value())
		break
	}
	return nil
}

func TestACombinerRunsOverEverySortedRun(t *testing.T) {
	for _, room := range []int64{0, 64 << 20} { // without further memory, the last run is combined to disk
		k := newKit(t, 4<<20+room)
		o, done := k.options(4 << 20)
		o.Parts, o.StartBytes, o.Combiner = 2, 256<<10, func() jobs.Reducer { return firstOf{} }
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50_000 {
			b.Emit(fmt.Append(nil, i%100), fmt.Append(nil, i))
		}
		out, err := b.Close()
		if err != nil {
			t.Fatal(err)
		}
		s := b.Stats()
		done()
		outs := []*shuffle.MapOutput{out}
		first := map[string]bool{}
		n := 0
		for p := range 2 {
			for _, x := range k.readGroups(outs, p, nil) {
				n++
				if !first[x.key] && x.key != x.value {
					t.Errorf("the first value of %s is %s", x.key, x.value)
				}
				first[x.key] = true
			}
		}
		if int64(n) != s.CombineOut || s.CombineIn != 50_000 || len(first) != 100 || n != 100*int(s.Spills) && n != 100*int(s.Spills+1) {
			t.Errorf("%d records of %d keys, %+v", n, len(first), s)
		}
		release(t, k, outs)
	}
}

// TestATableIsKeptAsRecords: a load that is a table is copied, even if its full chunks take
// less than twice the memory of the copy.
func TestATableIsKeptAsRecords(t *testing.T) {
	const keys, keyBytes = 5000, 16
	k := newKit(t, 64<<20)
	o, done := k.options(LeastBytes)
	o.Folder = jobs.Sum{}
	b, err := NewBuffer(o)
	if err != nil {
		t.Fatal(err)
	}
	one := jobs.AppendUint64(nil, 1)
	for i := range keys {
		b.Emit(fmt.Appendf(nil, "%0*d", keyBytes, i), one)
	}
	out, err := b.Close()
	if err != nil {
		t.Fatal(err)
	}
	done()
	part := out.Part(0)
	least := part.Bytes() + part.Records*(2+record.EntryBytes)
	if got := out.MemoryBytes(); part.Records != keys || got > least*5/4 || membudget.ChunkBytes+keys*record.EntryBytes > 2*least {
		t.Errorf("%d records take %d bytes, want about %d", part.Records, got, least)
	}
	release(t, k, []*shuffle.MapOutput{out})
}

// concat is a Folder whose accumulators grow.
type concat struct{}

func (concat) Fold(acc, value []byte) []byte { return append(acc, value...) }

func TestHashCombiningFoldsEveryValueOnce(t *testing.T) {
	for _, kind := range keyKinds {
		for seed := range seeds(testkit.Rounds(6)) {
			r := rand.New(rand.NewPCG(seed, 3))
			t.Run(fmt.Sprint(kind.name, "/", seed), func(t *testing.T) { combines(t, r, seed, kind.make) })
		}
	}
}

func combines(t *testing.T, r *rand.Rand, seed uint64, makeKey func(*rand.Rand) string) {
	k := newKit(t, 64<<20)
	parts := 1 + r.IntN(4)
	sum := r.IntN(2) == 0
	sums := map[string]uint64{}
	var outs []*shuffle.MapOutput
	for range 1 + r.IntN(3) {
		o, done := k.options(int64(10+r.IntN(16)) * membudget.ChunkBytes)
		o.Parts, o.Seed = parts, r.Uint64()
		o.StartBytes = []int64{0, 4 << 10, 256 << 10}[r.IntN(3)]
		o.NoGrowth = r.IntN(2) == 1
		o.Folder = jobs.Folder(concat{})
		if sum {
			o.Folder = jobs.Sum{}
		}
		if r.IntN(2) == 0 {
			spillAside(&o)
		}
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		n := r.IntN(20_000)
		if strings.HasPrefix(kind(makeKey), "kkkk") {
			n /= 20
		}
		for i := 0; i < n; {
			batch := min(n-i, []int{1, 1, 5, 70, 1500}[r.IntN(5)])
			var data []byte
			var spans []jobs.Span
			value := jobs.AppendUint64(nil, r.Uint64())
			for range batch {
				key := makeKey(r)
				sums[key] += jobs.Uint64(value)
				spans = append(spans, jobs.Span{Off: uint32(len(data)), Len: uint32(len(key))})
				data = append(data, key...)
			}
			i += batch
			b.SetProgress(int64(i), int64(n))
			if batch == 1 {
				b.Emit(data, value)
			} else {
				b.EmitSpans(data, spans, value)
			}
			clear(data[:cap(data)]) // Emit has copied the records
		}
		out, err := b.Close()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		done()
		if s := b.Stats(); s.Records != int64(n) || s.CombineIn != int64(n) || s.CombineOut > s.CombineIn {
			t.Fatalf("%d records: %+v", n, s)
		}
		outs = append(outs, out)
		if r.IntN(2) == 0 {
			if _, err := out.Evict(); err != nil {
				t.Fatal(err)
			}
		}
	}
	distinct := 0
	for p := range parts {
		got := map[string]uint64{}
		for _, x := range k.readGroups(outs, p, nil) {
			if HashPartition([]byte(x.key), parts) != p {
				t.Fatalf("%.40q is in part %d", x.key, p)
			}
			for v := []byte(x.value); len(v) > 0; v = v[8:] {
				got[x.key] += binary.LittleEndian.Uint64(v)
			}
		}
		distinct += len(got)
		for key, n := range got {
			if sums[key] != n {
				t.Fatalf("seed %d: %.40q (%d bytes): %d, want %d", seed, key, len(key), n, sums[key])
			}
		}
	}
	if distinct != len(sums) {
		t.Fatalf("seed %d: %d keys, want %d", seed, distinct, len(sums))
	}
	release(t, k, outs)
}

// kind returns a sample of the keys that makeKey makes.
func kind(makeKey func(*rand.Rand) string) string {
	r := rand.New(rand.NewPCG(9, 9))
	longest := ""
	for range 200 {
		if k := makeKey(r); len(k) > len(longest) {
			longest = k
		}
	}
	return longest
}
