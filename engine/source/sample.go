package source

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"

	"mrlocal/errs"
	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/spill/record"
)

// Bounds of a sample: places and keys (after Hadoop 1.0.3, InputSampler). The lease
// holds the place of the input that is sampled at a time.
const (
	SamplePlaces     = 64
	SampleLeaseBytes = 4 * membudget.ChunkBytes

	sampleKeys          = 10_000
	sampleBytesPerPlace = 64 << 10

	recordHeaderBytes = 2 // of a short record in a segment
)

// sampler is an Emitter that keeps the sort keys that a job's own mapper would put
// into the kvbuffer.
type sampler struct {
	appendKey func(dst, record []byte) []byte
	group     func(key []byte) int // nil: a group is a key
	distinct  bool
	seen      map[string]struct{}
	keys      [][]byte
	limit     int // of keys, at this place

	inBytes, outBytes int64 // of the blocks, and of all records that the mapper made of them
}

// Emit implements jobs.Emitter. key is borrowed, so add copies it.
func (s *sampler) Emit(key, value []byte) {
	s.outBytes += int64(len(key) + len(value) + recordHeaderBytes)
	s.add(key)
}

// Take samples the spans of a block evenly.
func (s *sampler) Take(b jobs.Block, spans []jobs.Span) {
	for _, span := range spans {
		s.outBytes += int64(span.Len) + recordHeaderBytes
	}
	// One place gives no more than its share of the keys, however short its records are.
	step := max(1, len(spans)/max(1, s.limit-len(s.keys)))
	for i := 0; i < len(spans); i += step {
		record := b.Data[spans[i].Off : spans[i].Off+spans[i].Len]
		if s.appendKey != nil {
			s.add(s.appendKey(nil, record))
			continue
		}
		s.add(record)
	}
}

// maxSampleKeyBytes cuts giant keys: a cut point need not be a whole key.
const maxSampleKeyBytes = 256

// add keeps a copy of key. It drops keys beyond the limit and, for jobs that fold
// values, keys that it has.
func (s *sampler) add(key []byte) {
	if len(s.keys) >= s.limit {
		return
	}
	if s.group != nil {
		key = key[:s.group(key)] // a cut point inside of a group would divide it
	}
	key = key[:min(len(key), maxSampleKeyBytes)]
	if s.distinct {
		if _, ok := s.seen[string(key)]; ok {
			return
		}
		s.seen[string(key)] = struct{}{}
	}
	s.keys = append(s.keys, bytes.Clone(key))
}

// CutsOf returns the cut points by which map m of maps divides its records. The
// parts between equal cut points all belong to one key. The records of the first
// maps go to the first of these parts, and so on. Several reduces share the key,
// and its records still follow each other in the order of maps.
//
//	cuts         k     k     k    k\0
//	map 0 of 2   k    k\0   k\0   k\0
//	map 1 of 2   k     k    k\0   k\0
func CutsOf(cuts [][]byte, m, maps int) [][]byte {
	own := cuts
	for i, end := 0, 0; i < len(cuts); i = end {
		for end = i + 1; end < len(cuts) && bytes.Equal(cuts[end], cuts[i]); end++ {
		}
		if end-i < 2 || end == len(cuts) || !isNext(cuts[end], cuts[i]) {
			continue
		}
		// The slice of the job is shared by all maps; a copy is made only if a key is divided.
		if &own[0] == &cuts[0] {
			own = slices.Clone(cuts)
		}
		for at := i + 1 + m*(end-i)/maps; at < end; at++ {
			own[at] = cuts[end]
		}
	}
	return own
}

// isNext reports whether a is the next possible key after b.
func isNext(a, b []byte) bool { return len(a) == len(b)+1 && a[len(b)] == 0 && bytes.HasPrefix(a, b) }

// PadCuts repeats the last cut point until there are parts ranges, because the
// user asks for that number. Those between equal cut points are empty.
func PadCuts(cuts [][]byte, parts int) [][]byte {
	last := []byte{}
	if len(cuts) > 0 {
		last = cuts[len(cuts)-1]
	}
	for len(cuts) < parts-1 {
		cuts = append(cuts, last)
	}
	return cuts
}

// Sample runs the job's mapper over places of the input and returns the cut points of a
// total order of parts. It also returns how many bytes the mapper makes of each byte
// that it reads. A key that equals a cut point belongs to the part behind it (Hadoop
// 1.0.3, TotalOrderPartitioner). first is the beginning of a stream; nil: there is none.
// With spread, records of one key may go to several parts (CutsOf). lease is for the
// input, and stays the caller's.
func Sample(j *jobs.Job, plan *input.Plan, first *Held, parts int, spread bool, lease *membudget.Lease) (cuts [][]byte, ratio float64, err error) {
	s, err := sample(j, plan, first, lease)
	if err != nil {
		return nil, 0, err
	}
	return record.CutPoints(s.keys, parts, spread), s.ratio(), nil
}

// ratio returns how many bytes the mapper makes of each byte that it reads.
func (s *sampler) ratio() float64 { return float64(s.outBytes) / float64(max(s.inBytes, 1)) }

// sample runs the mapper over places of the input.
func sample(j *jobs.Job, plan *input.Plan, first *Held, lease *membudget.Lease) (*sampler, error) {
	s := &sampler{appendKey: j.AppendKey, group: j.GroupBytes, distinct: j.NewFolder != nil, seen: map[string]struct{}{}}
	one := func(b jobs.Block) error {
		s.limit = len(s.keys) + sampleKeys/SamplePlaces
		s.inBytes += int64(len(b.Data))
		m := j.NewMapper()
		err := Guard("map of a sample", func() error { return m.Map(b, s) })
		if f, ok := m.(jobs.Flusher); ok && err == nil {
			err = Guard("flush of a sample", func() error { return f.Flush(s) })
		}
		return err
	}
	if err := plan.Sample(SamplePlaces, sampleBytesPerPlace, Memory{lease}, one); err != nil {
		return nil, err
	}
	if first != nil {
		for i := 0; i < len(first.blocks); i += max(1, len(first.blocks)/SamplePlaces) {
			if err := one(first.blocks[i].block); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// ReadSide reads a file of side data (jobs.OwnAttempt.Side); "": there is none. Errors are of
// kind errs.BadInput.
func ReadSide(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, errs.Inputf(name, "%w", errs.Cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, jobs.MaxSideBytes+1))
	switch {
	case err != nil:
		return nil, errs.Inputf(name, "%w", errs.Cause(err))
	case len(data) > jobs.MaxSideBytes:
		return nil, errs.Inputf(name, "side data has at most %dMiB", jobs.MaxSideBytes>>20)
	}
	return data, nil
}

// Sampled returns the job as sampling runs it: its mappers get their side data as in an
// attempt.
func Sampled(ctx context.Context, j *jobs.Job, side []byte) *jobs.Job {
	if side == nil {
		return j
	}
	spec := *j
	spec.NewMapper = func() jobs.Mapper {
		m := j.NewMapper()
		if a, ok := m.(jobs.Attempter); ok {
			a.Begin(jobs.OwnAttempt{Context: ctx, Progress: func(int64, int64) {}, Side: side})
		}
		return m
	}
	return &spec
}

// MayReread returns an error of kind errs.BadInput if the plan has an input that can be read
// only once.
func MayReread(plan *input.Plan) error {
	for _, i := range plan.Streams {
		if f := &plan.Files[i]; !f.Rereadable {
			return errs.Inputf(f.Path, "the job reads its input several times; name a file")
		}
	}
	return nil
}
