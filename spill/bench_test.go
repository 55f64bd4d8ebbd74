package spill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle"
)

// fillRecords fills a chunk with records of 100 bytes, the length of TeraGen's rows.
func fillRecords(data []byte, r *rand.Rand) []jobs.Span { return fillBlock(data, r, 100) }

// fillBlock fills a chunk with records of size bytes, including the newline.
func fillBlock(data []byte, r *rand.Rand, size int) []jobs.Span {
	var spans []jobs.Span
	for at := 0; at+size <= len(data); at += size {
		for i := range size - 1 {
			data[at+i] = byte(' ' + r.Uint32()%95)
		}
		data[at+size-1] = '\n'
		spans = append(spans, jobs.Span{Off: uint32(at), Len: uint32(size - 1)})
	}
	return spans
}

// fillLines fills a chunk with lines like those of text: many equal lines, common prefixes and
// leading blanks.
func fillLines(data []byte, r *rand.Rand) []jobs.Span {
	var spans []jobs.Span
	words := []string{"the ", "of ", "        ", "\t\t", "return ", "if err != nil ", "static ", "int ", "value ", "{", "}", "key "}
	at := 0
	for {
		line := append([]byte(nil), words[2+r.IntN(2)]...)
		for range r.IntN(8) {
			line = append(line, words[r.IntN(len(words))]...)
		}
		if r.IntN(3) == 0 {
			line = fmt.Append(line, r.IntN(100000))
		}
		if at+len(line)+1 > len(data) {
			return spans
		}
		copy(data[at:], line)
		spans = append(spans, jobs.Span{Off: uint32(at), Len: uint32(len(line))})
		at += len(line)
		data[at] = '\n'
		at++
	}
}

// takeAll collects and sorts blocks. It does not measure the time of copying them.
func takeAll(b *testing.B, k *kit, blocks [][]byte, spans [][]jobs.Span, bound int64, appendKey func(dst, record []byte) []byte, codec shuffle.Codec) *shuffle.MapOutput {
	b.StopTimer()
	o, done := k.options(bound)
	o.Cuts, o.AppendKey, o.Codec = [][]byte{}, appendKey, codec
	chunks := make([]*membudget.Chunk, len(blocks))
	for i, data := range blocks {
		c, ok := o.Lease.Chunk()
		if !ok {
			b.Fatal("no chunk")
		}
		copy(c.Data, data)
		chunks[i] = c
	}
	b.StartTimer()
	buf, err := NewBuffer(o)
	if err != nil {
		b.Fatal(err)
	}
	for i, c := range chunks {
		loan := lend(buf, c)
		buf.Take(jobs.Block{Data: c.Data}, spans[i])
		if !reclaim(buf, loan) {
			b.Fatal("not kept")
		}
	}
	out, err := buf.Close()
	if err != nil {
		b.Fatal(err)
	}
	done()
	return out
}

func makeBlocks(fill func([]byte, *rand.Rand) []jobs.Span, total int) (blocks [][]byte, spans [][]jobs.Span, records int) {
	r := rand.New(rand.NewPCG(1, 1))
	for range total / membudget.ChunkBytes {
		data := make([]byte, membudget.ChunkBytes)
		s := fill(data, r)
		blocks, spans, records = append(blocks, data), append(spans, s), records+len(s)
	}
	return blocks, spans, records
}

func BenchmarkTakeAndSort(b *testing.B) {
	const total = 64 << 20
	for _, kind := range []struct {
		name      string
		fill      func([]byte, *rand.Rand) []jobs.Span
		appendKey func(dst, record []byte) []byte
	}{
		{"records", fillRecords, nil},
		{"lines", fillLines, nil},
		{"keyed", fillRecords, func(dst, record []byte) []byte { return append(dst, record[50:60]...) }},
	} {
		b.Run("kind="+kind.name, func(b *testing.B) {
			k := newKit(b, 256<<20)
			blocks, spans, records := makeBlocks(kind.fill, total)
			b.SetBytes(total)
			for b.Loop() {
				takeAll(b, k, blocks, spans, 200<<20, kind.appendKey, shuffle.None).Release()
			}
			b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, ways := range []int{1, 16} {
		for _, where := range []string{"memory", "disk"} {
			b.Run(fmt.Sprintf("ways=%d/in=%s", ways, where), func(b *testing.B) {
				const total = 64 << 20
				k := newKit(b, 512<<20)
				blocks, spans, records := makeBlocks(fillRecords, total)
				var outs []*shuffle.MapOutput
				per := len(blocks) / ways
				for i := range ways {
					out := takeAll(b, k, blocks[i*per:(i+1)*per], spans[i*per:(i+1)*per], 200<<20, nil, shuffle.None)
					if where == "disk" {
						if _, err := out.Evict(); err != nil {
							b.Fatal(err)
						}
					}
					outs = append(outs, out)
				}
				b.SetBytes(total)
				b.ResetTimer()
				for b.Loop() {
					l := k.lease(16 << 20)
					m, err := shuffle.NewMerge(context.Background(), shuffle.MergeOptions{Inputs: outs, Lease: l})
					if err != nil {
						b.Fatal(err)
					}
					n := 0
					dst := make([]byte, 0, 1<<20)
					for m.Next() {
						n++
						if len(dst) > 1<<20-200 {
							dst = dst[:0]
						}
						dst = append(dst, m.Key()...)
						dst = append(dst, '\n')
					}
					if n != records {
						b.Fatalf("%d records of %d: %v", n, records, m.Err())
					}
					m.Close()
					l.Close()
				}
				b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
				release(b, k, outs)
			})
		}
	}
}

func BenchmarkSum(b *testing.B) {
	one := jobs.AppendUint64(nil, 1)
	for _, distinct := range []int{1000, 400_000} {
		b.Run(fmt.Sprintf("distinct=%d", distinct), func(b *testing.B) {
			k := newKit(b, 256<<20)
			r := rand.New(rand.NewPCG(1, 1))
			zipf := rand.NewZipf(r, 1.07, 5, uint64(distinct-1))
			words := make([][]byte, 1<<20)
			for i := range words {
				words[i] = fmt.Appendf(nil, "w%x", zipf.Uint64()*7919)
			}
			o, done := k.options(128 << 20)
			o.Folder = jobs.Sum{}
			buf, err := NewBuffer(o)
			if err != nil {
				b.Fatal(err)
			}
			var e jobs.Emitter = buf
			i := 0
			b.SetBytes(16)
			b.ResetTimer()
			for b.Loop() {
				e.Emit(words[i&(1<<20-1)], one)
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
			b.StopTimer()
			buf.Discard()
			done()
		})
	}
}

func BenchmarkEmit(b *testing.B) {
	k := newKit(b, 256<<20)
	o, done := k.options(200 << 20)
	value := []byte("value")
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key-%d", i*7919)
	}
	buf, err := NewBuffer(o)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	b.SetBytes(int64(len(keys[0]) + len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if buf.Emit(keys[n&(1<<16-1)], value); n&(1<<21-1) == 1<<21-1 {
			buf.free(buf.load)
			buf.begin()
		}
		n++
	}
	buf.Discard()
	done()
}

// The cost of a value in groups of a skewed key.
func BenchmarkValues(b *testing.B) {
	for _, where := range []string{"memory", "disk"} {
		b.Run("in="+where, func(b *testing.B) {
			k := newKit(b, 256<<20)
			o, done := k.options(100 << 20)
			buf, err := NewBuffer(o)
			if err != nil {
				b.Fatal(err)
			}
			const records = 1 << 20
			one := jobs.AppendUint64(nil, 1)
			for i := range records {
				buf.Emit(fmt.Append(nil, "key ", i&3), one)
			}
			out, err := buf.Close()
			if err != nil {
				b.Fatal(err)
			}
			done()
			if where == "disk" {
				if _, err := out.Evict(); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(records * 8)
			b.ResetTimer()
			for b.Loop() {
				l := k.lease(4 << 20)
				m, err := shuffle.NewMerge(context.Background(), shuffle.MergeOptions{Inputs: []*shuffle.MapOutput{out}, Lease: l})
				if err != nil {
					b.Fatal(err)
				}
				total := uint64(0)
				for m.NextGroup() {
					for vs := m.Values(); vs.Next(); {
						total += jobs.Uint64(vs.Value())
					}
				}
				if total != records {
					b.Fatalf("%d values: %v", total, m.Err())
				}
				m.Close()
				l.Close()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/records, "ns/value")
			release(b, k, []*shuffle.MapOutput{out})
		})
	}
}

// The cost of evicting a sorted run, with each codec.
func BenchmarkEvict(b *testing.B) {
	for _, codec := range []shuffle.Codec{shuffle.None, shuffle.S2, shuffle.Zstd} {
		b.Run("codec="+codec.String(), func(b *testing.B) {
			const total = 16 << 20
			k := newKit(b, 128<<20)
			blocks, spans, _ := makeBlocks(fillLines, total)
			b.SetBytes(total)
			for b.Loop() {
				out := takeAll(b, k, blocks, spans, 64<<20, nil, codec)
				if _, err := out.Evict(); err != nil {
					b.Fatal(err)
				}
				out.Release()
			}
		})
	}
}
