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
