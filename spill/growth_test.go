package spill

import (
	"fmt"
	"testing"

	"mrlocal/jobs"
)

// TestTablesGrowByBothRules counts words of a vocabulary of 20,000 in a table that starts with
// 64 KiB [Split11, "buffer terms"]. By pfs : tfs = abs : x the table takes more memory than by
// doubling, and grows less often. By both rules it holds all words without a spill.
func TestTablesGrowByBothRules(t *testing.T) {
	const records = 400_000
	grown := func(proportion bool) (s Stats, capacity, used int64) {
		k := newKit(t, 256<<20)
		o, done := k.options(8 << 20)
		o.StartBytes, o.NoGrowth, o.Folder, o.TablesInProportion = 64<<10, false, jobs.Sum{}, proportion
		o.AfmBytes = func() int64 { return 1 << 40 }
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		// A few words are frequent: the n-th draw takes a word below n modulo a growing number.
		state := uint64(1)
		for i := range records {
			if i%100 == 0 {
				b.SetProgress(int64(i)+100, records)
			}
			state = state*6364136223846793005 + 1442695040888963407
			u := float64(state>>11) / (1 << 53)
			b.Emit(fmt.Appendf(nil, "word%05d", int(20_000*u*u*u)), jobs.AppendUint64(nil, 1))
		}
		b.addPending()
		capacity, used, s = b.capacityBytes, b.markBytes-b.room, b.Stats()
		b.Discard()
		done()
		return s, capacity, used
	}
	doubled, doubledTo, used := grown(false)
	inProportion, to, also := grown(true)
	t.Logf("2 * abs: %d expansions to %d KiB, %d KiB used; in proportion: %d to %d KiB, %d KiB used", doubled.Expansions, doubledTo>>10, used>>10, inProportion.Expansions, to>>10, also>>10)
	if doubled.Spills+inProportion.Spills+doubled.Refusals+inProportion.Refusals > 0 || used != also {
		t.Errorf("%+v with %d bytes used, in proportion %+v with %d", doubled, used, inProportion, also)
	}
	if doubledTo >= to || doubled.Expansions <= inProportion.Expansions {
		t.Errorf("2 * abs: %d expansions to %d bytes; in proportion: %d to %d", doubled.Expansions, doubledTo, inProportion.Expansions, to)
	}
}
