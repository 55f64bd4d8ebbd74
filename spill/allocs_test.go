package spill

import (
	"context"
	"fmt"
	"testing"

	"mrlocal/internal/invariant"
	"mrlocal/jobs"
	"mrlocal/shuffle"
)

// Emit, Take and the merge allocate nothing for a record, a value or an entry.
func TestTheHotPathDoesNotAllocate(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checked builds allocate")
	}
	k := newKit(t, 64<<20)
	one := jobs.AppendUint64(nil, 1)
	keys := make([][]byte, 1000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "a key of more than 16 bytes %d", i)[i%2*12:]
	}
	var outs []*shuffle.MapOutput
	for _, folder := range []jobs.Folder{nil, jobs.Sum{}} {
		o, done := k.options(24 << 20)
		o.Folder = folder
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		emit := func() {
			for _, key := range keys {
				b.Emit(key, one)
			}
		}
		emit()
		if n := testing.AllocsPerRun(10, emit); n > 0 {
			t.Errorf("folder %v: %v allocations in 1000 Emits", folder, n)
		}
		out, err := b.Close()
		if err != nil {
			t.Fatal(err)
		}
		done()
		outs = append(outs, out)
	}
	if _, err := outs[0].Evict(); err != nil {
		t.Fatal(err)
	}
	l := k.lease(4 << 20)
	m, err := shuffle.NewMerge(context.Background(), shuffle.MergeOptions{Inputs: outs, Lease: l})
	if err != nil {
		t.Fatal(err)
	}
	m.NextGroup()
	if n := testing.AllocsPerRun(300, func() {
		for vs := m.Values(); vs.Next(); {
			_ = vs.Value()
		}
		m.NextGroup()
	}); n > 0 {
		t.Errorf("%v allocations per group", n)
	}
	m.Close()
	l.Close()
	release(t, k, outs)
}

// A block is kept if its records fill a good part of it. A few records are copied instead.
func TestFewRecordsOfABlockAreCopied(t *testing.T) {
	for _, each := range []uint32{10, 2000} {
		k := newKit(t, 64<<20)
		o, done := k.options(16 << 20)
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := o.Lease.Chunk()
		spans := make([]jobs.Span, 100)
		for i := range spans {
			spans[i] = jobs.Span{Off: uint32(2000 * i), Len: each}
		}
		loan := lend(b, c)
		b.Take(jobs.Block{Data: c.Data}, spans)
		kept := reclaim(b, loan)
		if kept != (each == 2000) {
			t.Errorf("100 records of %d bytes: kept %v", each, kept)
		}
		if !kept {
			o.Lease.Free(c)
		}
		out, err := b.Close()
		if err != nil {
			t.Fatal(err)
		}
		if part := out.Part(0); part.Records != 100 || part.KeyBytes != 100*int64(each) {
			t.Errorf("%d records of %d bytes", part.Records, part.KeyBytes)
		}
		done()
		release(t, k, []*shuffle.MapOutput{out})
	}
}

func TestMergeNextAndTakeDoNotAllocate(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checked builds allocate")
	}
	k := newKit(t, 64<<20)
	o, done := k.options(16 << 20)
	b, err := NewBuffer(o)
	if err != nil {
		t.Fatal(err)
	}
	takeLines(t, b, o.Lease, 100_000)
	c, _ := o.Lease.Chunk()
	spans := make([]jobs.Span, 100)
	for i := range spans {
		spans[i] = jobs.Span{Off: uint32(1000 * i), Len: 1000}
	}
	loan := lend(b, c)
	blk := jobs.Block{Data: c.Data}
	b.Take(blk, spans)
	if n := testing.AllocsPerRun(20, func() { b.Take(blk, spans) }); n > 1 { // the list of the arena may grow
		t.Errorf("%v allocations in a Take of 100 records", n)
	}
	if !reclaim(b, loan) {
		t.Fatal("not kept")
	}
	out, err := b.Close()
	if err != nil {
		t.Fatal(err)
	}
	done()
	for _, where := range []string{"memory", "disk"} {
		if where == "disk" {
			if _, err := out.Evict(); err != nil {
				t.Fatal(err)
			}
		}
		l := k.lease(4 << 20)
		m, err := shuffle.NewMerge(context.Background(), shuffle.MergeOptions{Inputs: []*shuffle.MapOutput{out}, Lease: l})
		if err != nil {
			t.Fatal(err)
		}
		m.Next()
		if n := testing.AllocsPerRun(50, func() {
			for range 1000 {
				m.Next()
			}
		}); n > 0 {
			t.Errorf("%v allocations in 1000 steps of a merge in %s", n, where)
		}
		m.Close()
		l.Close()
	}
	out.Release()
}
