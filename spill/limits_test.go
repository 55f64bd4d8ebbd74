package spill

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle"
)

// A worked example of the rule [Split11, "buffer terms"]. After 32 of 64 bytes of the split are
// read, the buffer has 100 bytes. So it grows to 200 bytes.
func TestTheBufferGrowsInProportionToTheInput(t *testing.T) {
	const unit = 10 << 10
	for _, c := range []struct {
		name             string
		done, total, afm int64
		want             []shuffle.EventKind
		capacity         int64
	}{
		{"half of the split read: twice as much", 32, 64, 1000 * unit, []shuffle.EventKind{shuffle.Grow}, 200 * unit},
		{"x must stay below afm times threshold", 32, 64, 250 * unit, []shuffle.EventKind{shuffle.Refuse, shuffle.SpillStart, shuffle.SpillEnd}, 100 * unit},
		{"nothing read yet: no growth", 0, 64, 1000 * unit, []shuffle.EventKind{shuffle.SpillStart, shuffle.SpillEnd}, 100 * unit},
		{"a total that is not known: no growth", 32, 0, 1000 * unit, []shuffle.EventKind{shuffle.SpillStart, shuffle.SpillEnd}, 100 * unit},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKit(t, 64<<20)
			o, done := k.options(8 << 20)
			o.StartBytes, o.NoGrowth, o.AfmBytes = 100*unit, false, func() int64 { return c.afm }
			b, err := NewBuffer(o)
			if err != nil {
				t.Fatal(err)
			}
			if len(k.events) != 1 || k.events[0] != (shuffle.Event{Kind: shuffle.Begin, Bytes: 100 * unit, ToBytes: 80 * unit}) {
				t.Fatalf("events %+v, want the beginning", k.events)
			}
			k.events = nil
			b.SetProgress(c.done, c.total)
			for k.events == nil {
				b.Emit([]byte("key"), make([]byte, 1000))
			}
			if used := b.markBytes - b.room; c.want[0] == shuffle.Grow && (used < 77*unit || used > 81*unit) {
				t.Errorf("grew when %d bytes of %d were used", used, 100*unit)
			}
			for i, want := range c.want {
				if i >= len(k.events) || k.events[i].Kind != want {
					t.Fatalf("events %+v, want %v", k.events, c.want)
				}
			}
			if b.capacityBytes != c.capacity {
				t.Errorf("capacity %d, want %d", b.capacityBytes, c.capacity)
			}
			b.Discard()
			done()
		})
	}
}

func TestAfterTheFirstRefusalTheBufferOnlySpills(t *testing.T) {
	k := newKit(t, 64<<20)
	o, done := k.options(8 << 20)
	asked := 0
	o.StartBytes, o.NoGrowth, o.AfmBytes = 64<<10, false, func() int64 { asked++; return 0 }
	b, err := NewBuffer(o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		b.SetProgress(int64(i)+1, 1000)
		b.Emit([]byte("key"), make([]byte, 1000))
	}
	if s := b.Stats(); asked != 1 || s.Refusals != 1 || s.Spills < 10 {
		t.Errorf("asked %d times, %+v", asked, s)
	}
	b.Discard()
	done()
}

func TestWhatFitsNeverTouchesTheDisk(t *testing.T) {
	for _, growth := range []bool{false, true} {
		k := newKit(t, 256<<20)
		k.noDisk = true
		o, done := k.options(8 << 20)
		o.StartBytes, o.NoGrowth = 1<<20, !growth
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		const n = 20_000
		for i := range n {
			b.SetProgress(int64(i)+1, n)
			b.Emit(fmt.Append(nil, i), make([]byte, 1000))
		}
		out, err := b.Close()
		if !growth {
			if !errors.Is(err, os.ErrPermission) {
				t.Errorf("20 MB in a buffer of 1 MiB without a disk: %v", err)
			}
			b.Discard()
			done()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		done()
		if got := k.read([]*shuffle.MapOutput{out}, 0, nil); len(got) != n {
			t.Errorf("%d records", len(got))
		}
		out.Release()
	}
}

// Three records of three quarters of the memory bound differ only in their last bytes. Among
// small records, each of them is spilled alone and read alone.
func TestGiantsAreHeldOneAtATime(t *testing.T) {
	const bound = 16 << 20
	giant := strings.Repeat("g", bound*3/4-membudget.ChunkBytes)
	for _, folded := range []bool{false, true} {
		k := newKit(t, bound)
		o, done := k.options(3 << 20)
		if folded {
			o.Folder = jobs.Sum{}
		}
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		one := jobs.AppendUint64(nil, 1)
		var want []pair
		emit := func(key string) {
			b.Emit([]byte(key), one)
			want = append(want, pair{key, string(one)})
		}
		for i, end := range []string{"z", "a", "a"} {
			emit(fmt.Sprint("small ", i))
			emit(giant + end)
		}
		out, err := b.Close()
		if err != nil {
			t.Fatal(err)
		}
		done()
		outs := []*shuffle.MapOutput{out}
		same(t, "records", k.read(outs, 0, nil), stableSort(want))
		same(t, "groups", k.readGroups(outs, 0, nil), stableSort(want))
		release(t, k, outs)
	}
}

func TestGiantsThatDoNotFitAreAnError(t *testing.T) {
	k := newKit(t, 8<<20)
	out, m, l := k.startMerge(2<<20, func(b *Buffer) {
		b.Emit([]byte("k"), make([]byte, 9<<20))
	})
	if m.Next() || !errors.Is(m.Err(), membudget.ErrNoRoom) {
		t.Errorf("got %v", m.Err())
	}
	m.Close()
	l.Close()
	out.Release()
}

// A buffer with the least lease, in a budget without free memory, accepts any number of
// records.
func TestTheLeastLeaseIsEnough(t *testing.T) {
	for _, mode := range []string{"emit", "sum", "take"} {
		t.Run(mode, func(t *testing.T) {
			k := newKit(t, 4<<20)
			o, done := k.options(LeastBytes + 2*membudget.ChunkBytes)
			rest := k.lease(k.budget.Free())
			if mode == "sum" {
				o.Folder = jobs.Sum{}
			}
			b, err := NewBuffer(o)
			if err != nil {
				t.Fatal(err)
			}
			const n = 100_000
			if mode == "take" {
				takeLines(t, b, o.Lease, n)
			} else {
				for i := range n {
					b.Emit(fmt.Appendf(nil, "%08d", i*7919%n), jobs.AppendUint64(nil, 1))
				}
			}
			out, err := b.Close()
			if err != nil {
				t.Fatal(err)
			}
			done()
			rest.Close()
			got := k.read([]*shuffle.MapOutput{out}, 0, nil)
			for i, x := range got {
				if x.key != fmt.Sprintf("%08d", i) {
					t.Fatalf("record %d is %q", i, x.key)
				}
			}
			if len(got) != n || b.Stats().Spills < 2 {
				t.Errorf("%d records, %d spills", len(got), b.Stats().Spills)
			}
			out.Release()
		})
	}
}

func takeLines(t *testing.T, b *Buffer, l *membudget.Lease, n int) {
	for i := 0; i < n; {
		c, ok := l.Chunk()
		if !ok {
			t.Fatal("no chunk is left to the input")
		}
		var spans []jobs.Span
		data := c.Data[:0]
		for ; i < n && len(data)+9 <= len(c.Data); i++ {
			spans = append(spans, jobs.Span{Off: uint32(len(data)), Len: 8})
			data = fmt.Appendf(data, "%08d\n", i*7919%n)
		}
		loan := lend(b, c)
		b.Take(jobs.Block{Data: data}, spans)
		if !reclaim(b, loan) {
			l.Free(c)
		}
	}
}

func TestAKilledAttemptStopsEmitting(t *testing.T) {
	for _, folder := range []jobs.Folder{nil, jobs.Sum{}} {
		k := newKit(t, 8<<20)
		o, done := k.options(4 << 20)
		killed := false
		o.Folder, o.Killed = folder, func() bool { return killed }
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		b.Emit([]byte("a"), make([]byte, 8))
		killed = true
		stopped := func(emits int) (by any) {
			defer func() { by = recover() }()
			for range emits {
				b.Emit([]byte("a"), make([]byte, 8))
			}
			return nil
		}
		if by := stopped(1_000_000); by != any(jobs.ErrKilled) {
			t.Errorf("stopped by %v", by)
		}
		if err := b.Err(); err != jobs.ErrKilled {
			t.Errorf("got %v", err)
		}
		if _, err := b.Close(); err != jobs.ErrKilled {
			t.Errorf("Close: %v", err)
		}
		b.Discard()
		if by := stopped(1); by != nil { // a goroutine of user code must not end the process
			t.Errorf("after Discard stopped by %v", by)
		}
		done()
	}
}

func TestAPartitionOutOfRangeIsAnError(t *testing.T) {
	for _, p := range []int{-1, 3} {
		k := newKit(t, 8<<20)
		o, done := k.options(4 << 20)
		o.Parts, o.Partition = 3, func([]byte, int) int { return p }
		b, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		b.Emit([]byte("a"), nil)
		if b.Err() == nil {
			t.Error("no error")
		}
		b.Discard()
		done()
	}
}
