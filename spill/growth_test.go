package spill

import (
	"fmt"
	"testing"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// TestTheBufferGrowsOnceIfItsInputIsEven maps 1 MiB in four blocks of records of one length, with a
// buffer that starts with 64 KiB. pfs counts what the mapper has processed of the first block, so
// x is right at the first growth [Split11, "buffer terms"].
func TestTheBufferGrowsOnceIfItsInputIsEven(t *testing.T) {
	const record, split = 64, 1 << 20
	var spans []jobs.Span
	for at := uint32(0); at < membudget.ChunkBytes; at += record {
		spans = append(spans, jobs.Span{Off: at, Len: record})
	}
	for name, pass := range map[string]func(b *Buffer, data []byte){
		"blocks that the buffer takes over": func(b *Buffer, data []byte) { b.Take(jobs.Block{Data: data}, spans) },
		"keys that are parts of the block":  func(b *Buffer, data []byte) { b.EmitSpans(data, spans, nil) },
		"values that are parts of the block": func(b *Buffer, data []byte) {
			for _, s := range spans {
				b.Emit([]byte("key"), data[s.Off:s.Off+s.Len])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, 64<<20)
			o, done := k.options(8 << 20)
			o.StartBytes, o.NoGrowth, o.AfmBytes = 64<<10, false, func() int64 { return 1 << 40 }
			b, err := NewBuffer(o)
			if err != nil {
				t.Fatal(err)
			}
			for read := int64(membudget.ChunkBytes); read <= split; read += membudget.ChunkBytes {
				c, ok := o.Lease.Big(membudget.ChunkBytes)
				if !ok {
					t.Fatal("no memory for a block")
				}
				b.SetProgress(read, split)
				loan := lend(b, c)
				if pass(b, c.Data); !reclaim(b, loan) {
					o.Lease.Free(c)
				}
			}
			if s := b.Stats(); s.Expansions != 1 || s.Spills != 0 {
				t.Errorf("%d growths to %d bytes, %d spills; want one growth", s.Expansions, b.capacityBytes, s.Spills)
			}
			b.Discard()
			done()
		})
	}
}

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
