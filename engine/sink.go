package engine

import (
	"sync"

	"mrlocal/engine/task"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/slots"
)

// targetSink writes to the work's output: each task a part file of its own, or
// all parts in order in one file or stream. The output is begun at once or, in
// a very large batch, with the first part.
type targetSink struct {
	job     *runningJob
	inOrder bool

	once   sync.Once
	target *output.Target // set by once
	err    error
}

func (j *runningJob) newTargetSink() *targetSink {
	s := &targetSink{job: j, inOrder: j.chain.job.OutputDir == "" || j.Spec.NewReleaser != nil && j.MapOnly()}
	if j.MapOnly() && j.Spec.NewReleaser != nil {
		j.releaser = j.Spec.NewReleaser()
	}
	if j.chain.target() != nil {
		_, _ = s.begin() // the attempts that write parts meet its error
	}
	return s
}

// begin tells the output what the job will write, and how it is heard.
func (s *targetSink) begin() (*output.Target, error) {
	s.once.Do(func() {
		if s.target, s.err = s.job.chain.begin(); s.err != nil {
			return
		}
		j := s.job
		inbox := j.chain.run.coordinator.inbox
		p := output.Parts{Count: j.Parts, MapOnly: j.MapOnly(), Memory: j.chain.run.budget, CreateTemp: j.chain.run.createTemp("part")}
		if j.MapOnly() {
			p.OnRelease = func(int) { inbox.post(func() { j.progressed() }) }
			if j.releaser != nil {
				p.Releaser = j.releaser
				p.OnVerdict = func(task int, v jobs.Verdict) { inbox.post(func() { j.verdict(task, v) }) }
			}
		}
		s.target.Expect(p)
		if j.MapOnly() && j.feeder == nil {
			s.target.Seal(len(j.maps))
		}
	})
	return s.target, s.err
}

func (s *targetSink) Part(t, attempt int) (task.Part, error) {
	target, err := s.begin()
	switch {
	case err != nil:
		return nil, err
	case s.inOrder:
		return target.Part(t, attempt)
	}
	return target.Attempt(t, attempt)
}

func (s *targetSink) Sizes(bytes []int64) error {
	if _, races := s.job.chain.run.o.Policy.(slots.Speculator); races || !s.inOrder {
		return nil // two attempts must not write at one place
	}
	target, err := s.begin()
	if err == nil {
		_, err = target.SetSizes(bytes)
	}
	return err
}

// spoolSink keeps each part for the next job of a chain, in memory where the
// budget allows.
type spoolSink struct {
	run    *run
	mu     sync.Mutex      // while attempts run
	spools []*output.Spool // by task; set once, by the attempt that commits first
}

func (s *spoolSink) Part(t, _ int) (task.Part, error) {
	return &spoolPart{Spool: output.NewSpool(s.run.budget, s.run.createTemp("part")), sink: s, task: t}, nil
}

func (s *spoolSink) Sizes([]int64) error { return nil }

// release frees the parts, which the next job of the chain has read.
func (s *spoolSink) release() {
	for i, sp := range s.spools {
		if sp != nil {
			sp.Release()
			s.spools[i] = nil
		}
	}
}

type spoolPart struct {
	*output.Spool
	sink *spoolSink
	task int
}

func (p *spoolPart) Commit() error {
	if err := p.Seal(); err != nil {
		p.Release()
		return err
	}
	p.sink.mu.Lock()
	defer p.sink.mu.Unlock()
	if p.sink.spools[p.task] != nil {
		p.Release()
		return output.ErrLost
	}
	p.sink.spools[p.task] = p.Spool
	return nil
}

func (p *spoolPart) Abort() { p.Release() }

// discard is a sink for a result that nobody wants.
type discard struct {
	mu   sync.Mutex
	done map[int]struct{} // parts that are committed
}

func (d *discard) Part(t, _ int) (task.Part, error) { return discarded{d, t}, nil }
func (*discard) Sizes([]int64) error                { return nil }

type discarded struct {
	from *discard
	task int
}

func (discarded) Write(p []byte) (int, error) { return len(p), nil }
func (discarded) Abort()                      {}

// Commit: of several attempts the first wins.
func (p discarded) Commit() error {
	p.from.mu.Lock()
	defer p.from.mu.Unlock()
	if _, done := p.from.done[p.task]; done {
		return output.ErrLost
	}
	if p.from.done == nil {
		p.from.done = map[int]struct{}{}
	}
	p.from.done[p.task] = struct{}{}
	return nil
}
