package source

import (
	"context"
	"io"
	"os"

	"mrlocal/errs"
	"mrlocal/input"
	"mrlocal/jobs"
)

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
