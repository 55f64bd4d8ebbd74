package spill

import (
	"bytes"
	"fmt"
	"testing"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle"
)

// TestABlockOfGiantsIsNotHeld: all records of a block have segments of their own. Then the
// buffer does not keep the block, and has room for the next one.
func TestABlockOfGiantsIsNotHeld(t *testing.T) {
	const bound, giant = 8 << 20, 1_200_000
	k := newKit(t, bound)
	o, done := k.options(4 << 20)
	o.StartBytes = LeastBytes
	o.AppendKey = func(dst, record []byte) []byte { return append(dst, record...) }
	b, err := NewBuffer(o)
	if err != nil {
		t.Fatal(err)
	}
	var want []pair
	for i := range 8 {
		n := giant
		if i%3 == 2 {
			n = membudget.ChunkBytes / 2
		}
		c, ok := o.Lease.Big(giant)
		if !ok {
			t.Fatalf("block %d: no memory", i)
		}
		record := append(bytes.Repeat([]byte{'g'}, n-1), byte('z'-i))
		copy(c.Data, record)
		loan := lend(b, c)
		b.Take(jobs.Block{Data: c.Data[:n]}, []jobs.Span{{Len: uint32(n)}})
		if !reclaim(b, loan) {
			o.Lease.Free(c)
		}
		want = append(want, pair{string(record), string(record)})
	}
	out, err := b.Close()
	if err != nil {
		t.Fatal(err)
	}
	done()
	outs := []*shuffle.MapOutput{out}
	same(t, fmt.Sprint("records of ", giant), k.read(outs, 0, nil), stableSort(want))
	release(t, k, outs)
}

// lend lends a chunk of the lease of the buffer.
func lend(b *Buffer, c *membudget.Chunk) *membudget.Loan {
	loan := &membudget.Loan{Chunk: c}
	b.Lend(loan, loan.Chunk.Data)
	return loan
}

// reclaim ends a loan and reports whether the buffer has taken the chunk over.
func reclaim(b *Buffer, loan *membudget.Loan) bool {
	b.Reclaim()
	return loan.Taken()
}
