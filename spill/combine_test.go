package spill

import (
	"fmt"
	"testing"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/record"
	"mrlocal/spill/runs"
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
	for _, room := range []int64{0, 64 << 20} { // without room beside it, the last run is combined to disk
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
		outs := []*runs.MapOutput{out}
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

// TestATableIsKeptAsRecords: full chunks of a table take less than twice what the records do, and
// are copied all the same.
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
	records, keysTotal, values := out.PartBytes(0)
	least := keysTotal + values + records*(2+record.EntryBytes)
	if got := out.MemoryBytes(); records != keys || got > least*5/4 || membudget.ChunkBytes+keys*record.EntryBytes > 2*least {
		t.Errorf("%d records take %d bytes, want about %d", records, got, least)
	}
	release(t, k, []*runs.MapOutput{out})
}
