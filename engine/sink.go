package engine

import (
	"sync"

	"mrlocal/internal/guard"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/slots"
)

// targetSink is the Sink of the last job of a chain. Its parts are those of
// the chain's output: a part file for each task, or all parts in order in one
// file or stream. The output is begun when the chain is opened or, in a very large
// batch, with the first part.
type targetSink struct {
	job     *job
	inOrder bool // one file or stream gets all parts in order

	// begin begins the output with the first call, and returns it. Attempts begin parts at the same
	// time, and the first one begins the output for all.
	begin func() (*output.Target, error)
}

// newTargetSink makes the sink of the last job of a chain. It also makes the job's Releaser, if
// the job has one: a Releaser gets the parts in order.
func (j *job) newTargetSink() *targetSink {
	s := &targetSink{job: j, inOrder: j.chain.job.OutputDir == "" || j.spec.NewReleaser != nil && j.mapOnly()}
	s.begin = sync.OnceValues(s.beginOnce)
	// The Releaser lives as long as the job: it sees the parts of all attempts in order.
	if j.mapOnly() && j.spec.NewReleaser != nil {
		j.releaser = j.spec.NewReleaser()
	}
	if j.chain.target() != nil {
		_, _ = s.begin() // Part returns the error again
	}
	return s
}

// beginOnce begins the output. It sets the number of parts, the memory of the output, and the
// functions that the output calls when it has released parts.
func (s *targetSink) beginOnce() (*output.Target, error) {
	target, err := s.job.chain.begin()
	if err != nil {
		return nil, err
	}
	j, r := s.job, s.job.chain.run
	p := output.Parts{Count: j.Parts, MapOnly: j.mapOnly(), Memory: r.budget, CreateTemp: r.createTemp("part")}
	p.Compressors = min(r.o.allSlots(), len(r.cores)) // no more cores than the slots have
	if j.mapOnly() {
		// The output calls these functions on its own goroutines. Only the coordinator may
		// change the job, so they go through its inbox.
		inbox := r.coordinator.inbox
		p.OnRelease = func(int) {
			inbox.Post(func() {
				if j.state < jobEnded { // more maps may start
					j.updateReady()
				}
			})
		}
		if j.releaser != nil {
			p.Releaser = guard.Releaser(j.releaser)
			p.OnVerdict = func(task int, v jobs.Verdict) { inbox.Post(func() { j.verdict(task, v) }) }
		}
	}
	target.Expect(p)
	// With a feeder the number of parts is not known before its last map.
	if j.mapOnly() && j.feeder == nil {
		target.Seal(len(j.maps))
	}
	return target, nil
}

// Part begins the part of task t for an attempt. It fails if the output cannot be begun, or if
// another attempt has committed the part.
func (s *targetSink) Part(t, attempt int) (output.Part, error) {
	target, err := s.begin()
	switch {
	case err != nil:
		return nil, err
	// Parts in order share one writer; other parts are files of their own.
	case s.inOrder:
		return target.Part(t, attempt)
	}
	return target.Attempt(t, attempt)
}

// Sizes sets the bytes of every part, so that parts of one file are written in parallel, each
// at its own offset. It does nothing for part files. It also does nothing under a policy that
// runs several attempts of a task: two attempts must not write at one offset.
func (s *targetSink) Sizes(bytes []int64) error {
	if _, speculates := s.job.chain.run.claimed.Inner.(slots.Speculator); speculates || !s.inOrder {
		return nil
	}
	target, err := s.begin()
	if err == nil {
		_, err = target.SetSizes(bytes)
	}
	return err
}
