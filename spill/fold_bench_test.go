package spill

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mrlocal/jobs"
	"mrlocal/shuffle"
)

// manyWords returns the words of one text, by Zipf's law, in the form in which a mapper emits
// them.
func manyWords(distinct int, format string) (data []byte, spans []jobs.Span) {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 1)), 1.07, 5, uint64(distinct-1))
	for range 1 << 20 {
		at := len(data)
		data = fmt.Appendf(data, format, zipf.Uint64()*7919)
		spans = append(spans, jobs.Span{Off: uint32(at), Len: uint32(len(data) - at)})
		data = append(data, ' ')
	}
	return data, spans
}

func benchmarkSpans(b *testing.B, folder jobs.Folder, data []byte, spans []jobs.Span) {
	k := newKit(b, 512<<20)
	o, done := k.options(400 << 20)
	o.Folder = folder
	buf, err := NewBuffer(o)
	if err != nil {
		b.Fatal(err)
	}
	one := jobs.AppendUint64(nil, 1)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for at := 0; at < len(spans); at += 256 {
			buf.EmitSpans(data, spans[at:min(at+256, len(spans))], one)
		}
		n += len(spans)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(n), "ns/word")
	b.StopTimer()
	buf.Discard()
	done()
}

func BenchmarkSumSpans(b *testing.B) {
	for _, c := range []struct {
		name     string
		distinct int
		format   string
	}{
		{"keys=hot", 1000, "w%x"},
		{"keys=cold", 400_000, "w%x"},
		{"keys=long", 400_000, "a/path/of/some/length/%x"},
	} {
		b.Run(c.name, func(b *testing.B) {
			data, spans := manyWords(c.distinct, c.format)
			benchmarkSpans(b, jobs.Sum{}, data, spans)
		})
	}
}

// embedsSum folds as jobs.Sum does, but the kvbuffer does not recognize it.
type embedsSum struct{ jobs.Sum }

// sumsToo is a jobs.Summer. Its own Fold must not be called.
type sumsToo struct{ embedsSum }

func (sumsToo) Sums() {}

func (sumsToo) Fold(_, _ []byte) []byte { panic("Fold of a Summer was called") }

func BenchmarkWrappedSum(b *testing.B) {
	for _, folder := range []jobs.Folder{jobs.Sum{}, sumsToo{}, embedsSum{}} {
		for _, distinct := range []int{1000, 400_000} {
			b.Run(fmt.Sprintf("%T/distinct=%d", folder, distinct), func(b *testing.B) {
				data, spans := manyWords(distinct, "w%x")
				benchmarkSpans(b, folder, data, spans)
			})
		}
	}
}

func TestASummerIsSummedWithoutItsFold(t *testing.T) {
	for i, folder := range []jobs.Folder{jobs.Sum{}, embedsSum{}, sumsToo{}} {
		k := newKit(t, 64<<20)
		o, done := k.options(16 << 20)
		o.Folder = folder
		buf, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		data, spans := manyWords(1000, "w%x")
		buf.EmitSpans(data, spans, jobs.AppendUint64(nil, 3))
		if (buf.mode == sumMode) != (i != 1) {
			t.Errorf("%T: mode %d", folder, buf.mode)
		}
		buf.Discard()
		done()
	}
}

// keepFirst is a Folder whose accumulators have no fixed size.
type keepFirst struct{}

func (keepFirst) Fold(acc, value []byte) []byte {
	if acc == nil {
		return append(acc, value...)
	}
	return acc
}

func BenchmarkFoldSpans(b *testing.B) {
	for _, distinct := range []int{1000, 400_000} {
		b.Run(fmt.Sprint("distinct=", distinct), func(b *testing.B) {
			data, spans := manyWords(distinct, "w%x")
			benchmarkSpans(b, keepFirst{}, data, spans)
		})
	}
}

// Every word is new, so the table grows chunk by chunk, and is then sorted.
func BenchmarkTableGrowth(b *testing.B) {
	const words = 1 << 20
	var data []byte
	var spans []jobs.Span
	for i := range words {
		at := len(data)
		data = fmt.Appendf(data, "%x", uint32(i)*2654435761)
		spans = append(spans, jobs.Span{Off: uint32(at), Len: uint32(len(data) - at)})
	}
	k := newKit(b, 512<<20)
	one := jobs.AppendUint64(nil, 1)
	for _, close := range []bool{false, true} {
		b.Run(fmt.Sprint("sorted=", close), func(b *testing.B) {
			for b.Loop() {
				o, done := k.options(400 << 20)
				o.Folder = jobs.Sum{}
				buf, err := NewBuffer(o)
				if err != nil {
					b.Fatal(err)
				}
				buf.EmitSpans(data, spans, one)
				if close {
					out, err := buf.Close()
					if err != nil {
						b.Fatal(err)
					}
					out.Release()
				} else {
					buf.Discard()
				}
				done()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/words, "ns/word")
		})
	}
}

func TestEmittingSpansDoesNotAllocate(t *testing.T) {
	data, spans := manyWords(1000, "w%x")
	for _, folder := range []jobs.Folder{jobs.Sum{}, keepFirst{}} {
		k := newKit(t, 64<<20)
		o, done := k.options(32 << 20)
		o.Folder = folder
		buf, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		one := jobs.AppendUint64(nil, 1)
		buf.EmitSpans(data, spans, one)
		if n := testing.AllocsPerRun(10, func() { buf.EmitSpans(data, spans[:5000], one) }); n != 0 {
			t.Errorf("%T: %v allocations", folder, n)
		}
		buf.Discard()
		done()
	}
}

// Keys that were made to have one hash collide only if the table has the seed for which they
// were made. There they cost more than others, but the cost is bounded: a chunk of them is
// spilled and not split. The counts and their order do not depend on the seed.
func TestKeysOfOneHashCollideOnlyWithTheirSeed(t *testing.T) {
	const keys, parts = 8000, 3
	one := jobs.AppendUint64(nil, 1)
	var want []pair
	for _, seed := range []uint64{0, 1, 2, 0xffff_ffff_ffff_ffff} {
		k := newKit(t, 64<<20)
		o, done := k.options(16 << 20)
		o.Folder, o.Seed, o.Parts = jobs.Sum{}, seed, parts
		buf, err := NewBuffer(o)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for i := range keys {
				// The second half makes one factor of the product zero.
				buf.Emit(jobs.AppendUint64(jobs.AppendUint64(nil, uint64(i)), mixB), one)
				buf.Emit(fmt.Append(nil, "a key of more than 16 bytes: ", i), one)
			}
		}
		out, err := buf.Close()
		if err != nil {
			t.Fatal(err)
		}
		done()
		var got []pair
		for p := range parts {
			got = append(got, folded(k.readGroups([]*shuffle.MapOutput{out}, p, nil))...)
		}
		if seed == 0 {
			want = got
		}
		same(t, fmt.Sprintf("seed %d", seed), got, want)
		for _, x := range got {
			if n := jobs.Uint64([]byte(x.value)); n != 2 {
				t.Errorf("%q: %d, want 2", x.key, n)
			}
		}
		if len(got) != 2*keys {
			t.Errorf("%d keys, want %d", len(got), 2*keys)
		}
		if s := buf.Stats(); (s.Spills > 0) != (seed == 0) {
			t.Errorf("seed %d: %d spills; keys of one hash are spilled", seed, s.Spills)
		}
		release(t, k, []*shuffle.MapOutput{out})
	}
}

// folded adds the sums of neighbours with the same key.
func folded(sums []pair) (all []pair) {
	for _, x := range sums {
		if n := len(all) - 1; n >= 0 && all[n].key == x.key {
			x.value = string(jobs.AppendUint64(nil, jobs.Uint64([]byte(all[n].value))+jobs.Uint64([]byte(x.value))))
			all = all[:n]
		}
		all = append(all, x)
	}
	return all
}
