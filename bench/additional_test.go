package bench_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/internal/datagen"
	"mrlocal/jobs"
	"mrlocal/shuffle"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/spill"
	"mrlocal/trace"
)

// additionalDisk is the speed of a tracker's throttled disk in bytes a second. At this speed maps
// need the disk for about as long as they need one of two cores.
const additionalDisk = 150_000_000

// BenchmarkAdditional measures the additional map slot of [Split11, dynamic slot
// request of map task] on a real machine with a throttled disk. Each map computes,
// writes several times what it reads in one spill near its end, and waits for the
// disk; meanwhile an additional map computes. It runs in turn without and with one
// additional map slot, on one map and one reduce slot. It reports medians of the map
// phase and of the makespan, and how long maps ran on the additional slot. With -judge
// it fails unless the additional slot makes the map phase shorter.
func BenchmarkAdditional(b *testing.B) {
	s := source{"digests", datagen.Words, func() (jobs.Chain, error) {
		return jobs.Chain{{
			Name:       "digests",
			NewMapper:  func() jobs.Mapper { return &digests{words: jobs.BlankSeparated()} },
			NewReducer: func() jobs.Reducer { return count{} },
		}}, nil
	}}
	paths := makeInputs(b, []source{s})
	b.SetBytes(*sizeBytes)
	for b.Loop() {
		var phase, whole, ran [2][]float64 // by the number of additional map slots
		for range *rounds {
			for n := range 2 {
				o := policy.DefaultOptions()
				o.AdditionalMapSlots = int32(n)
				p, err := registry.New("dynsplit", o)
				if err != nil {
					b.Fatal(err)
				}
				var extra onExtra
				r := runWith(b, []source{s}, paths, engine.Options{
					Policy: p, Config: setup.Config{MapSlots: 1, ReduceSlots: 1}, DiskBytesPerSecond: additionalDisk,
					MemoryBytes: max(32<<20, 2**sizeBytes), SortBufferBytes: *sizeBytes * 7 / 32, KVBuffer: spill.KVBuffer{NoGrowth: true, Codec: shuffle.None},
					Watch: func(s *trace.Stream) { s.Attach(&extra) },
				})
				phase[n] = append(phase[n], r.Jobs[0].MapsDoneS-r.Jobs[0].StartS)
				whole[n] = append(whole[n], r.MakespanSeconds)
				ran[n] = append(ran[n], extra.ran.Seconds())
			}
		}
		b.ReportMetric(middle(phase[0]), "none-maps-s")
		b.ReportMetric(middle(phase[1]), "one-maps-s")
		b.ReportMetric(ratio(phase[0], phase[1]), "none/one-maps")
		b.ReportMetric(ratio(whole[0], whole[1]), "none/one")
		b.ReportMetric(middle(ran[1]), "additional-s")
		if middle(ran[0]) > 0 || middle(ran[1]) == 0 {
			b.Errorf("maps ran for %.3f s on an additional slot that is not there, and %.3f s on one that is", middle(ran[0]), middle(ran[1]))
		}
		if *judge && ratio(phase[0], phase[1]) <= 1 {
			b.Errorf("maps take %.3f s with an additional map slot, %.3f s without", middle(phase[1]), middle(phase[0]))
		}
	}
}

// digests is a mapper that computes much and emits more than it reads. It emits each word with a
// digest, and digests that digest again several times.
type digests struct {
	words *jobs.Words
	sum   [sha256.Size]byte
}

// Map implements jobs.Mapper.
func (m *digests) Map(b jobs.Block, out jobs.Emitter) error {
	const again = 4
	for words := range m.words.In(b.Data) {
		for _, w := range words {
			word := b.Data[w.Off:][:w.Len]
			m.sum = sha256.Sum256(word)
			for range again {
				m.sum = sha256.Sum256(m.sum[:])
			}
			out.Emit(word, m.sum[:])
		}
	}
	return nil
}

// count is a reducer that counts the values of a key.
type count struct{}

// Reduce implements jobs.Reducer.
func (count) Reduce(key []byte, values *jobs.Values, out jobs.Emitter) error {
	n := uint64(0)
	for values.Next() {
		n++
	}
	out.Emit(key, jobs.AppendUint64(nil, n))
	return nil
}

// onExtra adds up how long attempts ran on extra slots. Extra slots have higher
// numbers than home slots.
type onExtra struct {
	ran   time.Duration
	since map[int32]time.Duration
	homes int32
}

// Open is called by the stream before the first event.
func (x *onExtra) Open(h *trace.Header) error {
	x.since = map[int32]time.Duration{}
	for _, s := range h.Slots {
		if !s.Extra {
			x.homes++
		}
	}
	return nil
}

// Record implements trace.Sink.
func (x *onExtra) Record(_ *trace.Stream, e *trace.Event) error {
	switch {
	case e.Slot < x.homes:
	case e.Op == trace.OpStart:
		x.since[e.Slot] = e.At
	case e.Op == trace.OpFinish:
		x.ran += e.At - x.since[e.Slot]
	}
	return nil
}
