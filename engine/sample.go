package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"mrlocal/input"
	"mrlocal/input/feed"
	"mrlocal/internal/guard"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
	"mrlocal/shuffle/record"
	"mrlocal/slots"
)

// Bounds of a sample (after Hadoop 1.0.3, InputSampler).
const (
	samplePlaces     = 64                       // places of the input that are read
	sampleLeaseBytes = 4 * membudget.ChunkBytes // what a sample leases: one place and its copy are in memory

	sampleKeys          = 10_000 // of all places together
	sampleBytesPerPlace = 64 << 10

	recordHeaderBytes = 2 // of a short record in a segment
)

// sampler is the Emitter of a sample. It keeps the sort keys that the job's mapper would put into
// the kvbuffer.
type sampler struct {
	appendKey func(dst, record []byte) []byte // jobs.Job.AppendKey
	group     func(key []byte) int            // jobs.Job.GroupBytes; nil: a group is a key
	seen      map[string]struct{}             // keys, each of which is kept once; nil: each is kept as often as it comes
	keys      [][]byte
	limit     int // of keys, after the current place

	inBytes, outBytes int64 // of the blocks, and of all records that the mapper has emitted

	alive   func() // shows that the mapper works
	emitted int    // records of this try
}

// Emit implements jobs.Emitter. It counts the record and keeps the key.
func (s *sampler) Emit(key, value []byte) {
	s.outBytes += int64(len(key) + len(value) + recordHeaderBytes)
	if s.emitted++; s.emitted%1024 == 1 {
		s.alive()
	}
	s.add(key)
}

// Take implements jobs.Taker. It counts all spans, and keeps copies of the keys of
// evenly spaced ones.
func (s *sampler) Take(b jobs.Block, spans []jobs.Span) {
	for _, span := range spans {
		s.outBytes += int64(span.Len) + recordHeaderBytes
	}
	// A place with short records must not take more than its share of the keys.
	step := max(1, len(spans)/max(1, s.limit-len(s.keys)))
	var key []byte
	for i := 0; i < len(spans); i += step {
		record := b.Data[spans[i].Off : spans[i].Off+spans[i].Len]
		if s.appendKey != nil {
			key = s.appendKey(key[:0], record)
			record = key
		}
		s.add(record)
	}
}

// maxSampleKeyBytes is the length to which long keys are cut. A cut point need not be a whole
// key.
const maxSampleKeyBytes = 256

// add keeps a copy of key, or of its first bytes. It drops keys beyond the limit. If the job
// folds values, it also drops keys that it has already.
func (s *sampler) add(key []byte) {
	if len(s.keys) >= s.limit {
		return
	}
	if s.group != nil {
		key = jobs.GroupOf(key, s.group) // a cut point inside of a group would divide it
	}
	key = key[:min(len(key), maxSampleKeyBytes)]
	if s.seen != nil {
		if _, ok := s.seen[string(key)]; ok {
			return
		}
		s.seen[string(key)] = struct{}{}
	}
	s.keys = append(s.keys, bytes.Clone(key))
}

// Cuts is the function of that name of package mrlocal, with arguments that are checked. User code in it may
// hang, panic or end the goroutine.
func Cuts(ctx context.Context, spec jobs.Job, parts int, o JobOptions) ([][]byte, error) {
	plan, err := input.NewPlan(o.Inputs, o.inputOptions(ctx, &spec))
	if err != nil {
		return nil, err
	}
	if err := mayReread(plan); err != nil {
		return nil, err
	}
	if spec, err = guard.Begun(jobs.Chain{spec}, len(plan.Files)); err != nil {
		return nil, err
	}
	budget, err := membudget.New(4 * sampleLeaseBytes)
	if err != nil {
		return nil, err
	}
	defer budget.Close()
	s, err := sampled{job: &job{spec: spec, plan: plan}}.sample(ctx, budget)
	if err != nil {
		return nil, err
	}
	return record.PadCuts(record.CutPoints(s.keys, parts, false), parts), nil
}

// sampled is what a sample is taken of.
type sampled struct {
	job   *job
	first *feed.Held // first piece of a stream; nil: there is none

	// retry calls place, which maps one place of the input, until it succeeds or must not be tried again.
	// A call that it has left behind does no harm. nil: each place is mapped once, on the goroutine of the
	// caller.
	retry func(place attemptFunc) error
}

// fork returns a sampler for a try that continues s. It shares no memory with other tries that one of them
// may change.
func (s *sampler) fork(alive func()) *sampler {
	t := *s
	t.keys = slices.Clip(s.keys)
	t.alive = alive
	t.emitted = 0
	t.seen = maps.Clone(s.seen)
	return &t
}

// ratio returns how many bytes the mapper emits for each byte that it reads.
func (s *sampler) ratio() float64 { return float64(s.outBytes) / float64(max(s.inBytes, 1)) }

// sample runs the job's mapper over places of the input. It leases sampleLeaseBytes of budget for the input,
// and waits until there is room for them. A long record takes more. If there is no room for a copy of it
// then, its place is left out. sample fails if the input cannot be read, the mapper fails in each try of a
// place, or ctx ends.
func (of sampled) sample(ctx context.Context, budget *membudget.Budget) (*sampler, error) {
	lease, err := budget.Reserve(ctx, sampleLeaseBytes)
	if err != nil {
		return nil, err
	}
	mem := &sampleMemory{lease: lease}
	mem.users.Store(1)
	defer mem.leave()
	j := &of.job.spec
	s := &sampler{appendKey: j.AppendKey, group: j.GroupBytes, alive: func() {}}
	if j.NewFolder != nil {
		s.seen = map[string]struct{}{}
	}
	one := func(b jobs.Block) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		s.limit = len(s.keys) + sampleKeys/samplePlaces
		s.inBytes += int64(len(b.Data))
		err := of.tryPlace(ctx, b, &s, mem)
		if errors.Is(err, membudget.ErrNoRoom) {
			s.inBytes -= int64(len(b.Data))
			return nil
		}
		return err
	}
	if err := of.job.plan.Sample(samplePlaces, sampleBytesPerPlace, feed.Memory{Lease: lease}, one); err != nil {
		return nil, err
	}
	if first := of.first; first != nil {
		for i := 0; i < first.Len(); i += max(1, first.Len()/samplePlaces) {
			if err := one(first.Block(i)); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// tryPlace runs mappers over one place until one succeeds. It continues *s, or replaces it.
func (of sampled) tryPlace(ctx context.Context, b jobs.Block, s **sampler, mem *sampleMemory) error {
	if of.retry == nil {
		return of.mapPlace(ctx, 0, b, *s, mem)
	}
	before, done := **s, atomic.Pointer[sampler]{}
	err := of.retry(func(ctx context.Context, number int, alive func()) error {
		t := before.fork(alive)
		err := of.mapPlace(ctx, number, b, t, mem)
		if err == nil {
			done.CompareAndSwap(nil, t)
		}
		return err
	})
	if err == nil {
		*s = done.Load()
	}
	return err
}

// sampleMemory is the lease of a sample. It stays open while a try that was left behind runs.
type sampleMemory struct {
	lease *membudget.Lease
	users atomic.Int32 // the sample, and tries
}

// enter charges the heap memory of a try. It fails with membudget.ErrNoRoom, or if the sample has ended.
func (m *sampleMemory) enter(bytes int64) error {
	for {
		users := m.users.Load()
		if users == 0 { // the lease is closed
			return jobs.ErrKilled
		}
		if m.users.CompareAndSwap(users, users+1) {
			break
		}
	}
	if !m.lease.Charge(bytes) && !(m.lease.Grow(bytes) && m.lease.Charge(bytes)) {
		m.leave()
		return fmt.Errorf("sample: %d bytes: %w", bytes, membudget.ErrNoRoom)
	}
	return nil
}

// leave counts one user off. The last one closes the lease.
func (m *sampleMemory) leave() {
	if m.users.Add(-1) == 0 {
		m.lease.Close()
	}
}

// mapPlace runs a mapper of its own over one place. The mapper is begun and closed as in an attempt of
// that number. mapPlace fails with membudget.ErrNoRoom if there is no room for a copy of the place.
func (of sampled) mapPlace(ctx context.Context, number int, b jobs.Block, out *sampler, mem *sampleMemory) (err error) {
	bytesOnHeap := int64(len(b.Data))
	if of.job.spec.AppendKey != nil {
		bytesOnHeap *= 2 // the sort key of a record may be as long as the record
	}
	if err := mem.enter(bytesOnHeap); err != nil {
		return err
	}
	defer mem.leave()
	defer mem.lease.Discharge(bytesOnHeap)
	b.Data = bytes.Clone(b.Data) // the mapper may change it, or read it after the try
	m := of.job.spec.NewMapper()
	if a, ok := m.(jobs.Attempter); ok {
		ctx, end := context.WithCancel(ctx)
		defer end()
		// The mapper is closed also if it ends the goroutine. Only a panic of Close fails: the sample is complete by
		// then.
		defer func() {
			if c, ok := m.(io.Closer); ok {
				err = cmp.Or(err, guard.Run("close of a sample", func() error { _ = c.Close(); return nil }))
			}
		}()
		own := jobs.OwnAttempt{Context: ctx, Number: number, Side: of.job.side, Progress: func(int64, int64) { out.alive() }}
		if len(of.job.spec.Outputs) > 0 {
			// The job has reducers, so an attempt that asks for a named output fails. The sample
			// leaves that to the attempt. A sampler without a limit keeps nothing.
			own.Output = func(string) jobs.Emitter { return &sampler{alive: out.alive} }
		}
		if err := guard.Run("begin of a sample", func() error { a.Begin(own); return nil }); err != nil {
			return err
		}
	}
	if err := guard.Run("map of a sample", func() error { return m.Map(b, out) }); err != nil {
		return err
	}
	if f, ok := m.(jobs.Flusher); ok {
		return guard.Run("flush of a sample", func() error { return f.Flush(out) })
	}
	return nil
}

// attemptFunc is one attempt at some work. number counts the attempts, from 0. Work that takes long calls alive.
type attemptFunc func(ctx context.Context, number int, alive func()) error

// retry returns a function that calls a try with the numbers 0, 1 and so on until it succeeds, as often as
// a task may fail (Options.Attempts). Each call takes place apart, so that it may end its goroutine. A call
// that is not alive for Options.TaskTimeout fails, and is left behind. retry notes each failure but the last one. It
// calls the try no more if ctx has ended, or if another try would fail too (permanent, failures).
func retry(ctx context.Context, o *Options, note func(string)) func(attemptFunc) error {
	seen := failures{}
	return func(once attemptFunc) (err error) {
		for n := range o.Attempts {
			err = whileAlive(ctx, max(o.TaskTimeout, guard.LeaveWithin), func(ctx context.Context, alive func()) error { return once(ctx, n, alive) })
			again := o.attemptsByDefault && seen.again(slots.AttemptID{Kind: slots.Map}, err)
			if err == nil || permanent(err) || again || ctx.Err() != nil || n+1 == o.Attempts {
				break
			}
			note(fmt.Sprintf("a sample of the input has failed, and is tried again: %v", err))
		}
		return err
	}
}

// whileAlive calls work apart, until ctx ends or work has not called alive for timeout. It then ends the
// context of work and leaves it behind.
func whileAlive(ctx context.Context, timeout time.Duration, work func(ctx context.Context, alive func()) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(timeout, func() {
		cancel(&guard.Error{What: "map of a sample", Cause: fmt.Errorf("no progress for %v", timeout)})
	})
	defer timer.Stop()
	return guard.ApartUntil(ctx, func() error { return work(ctx, func() { timer.Reset(timeout) }) })
}
