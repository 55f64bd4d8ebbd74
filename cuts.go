package mrlocal

import (
	"context"

	"mrlocal/engine/source"
	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// Cuts samples the inputs and returns parts-1 ascending keys of job. They divide the records
// into about equal ranges. A key that equals a cut belongs to the range behind it. Run does this
// for itself. Cuts is for a job that runs elsewhere, such as under package stream. Of o it reads
// Inputs, Stdin, All, NoDecode and HDFS. Inputs must be files, not streams.
func Cuts(ctx context.Context, job jobs.Job, parts int, o JobOptions) ([][]byte, error) {
	plan, err := input.NewPlan(o.Inputs, input.Options{
		RecordBytes: job.RecordBytes, Delim: job.Delim.Byte(), NUL: job.Delim == jobs.NUL, SkipBinary: job.SkipBinary,
		Stdin: o.Stdin, All: o.All, NoDecode: o.NoDecode, HDFS: o.HDFS,
	})
	if err != nil {
		return nil, err
	}
	budget, err := membudget.New(2 * source.SampleLeaseBytes)
	if err != nil {
		return nil, err
	}
	defer budget.Close()
	lease, err := budget.Reserve(ctx, source.SampleLeaseBytes)
	if err != nil {
		return nil, err
	}
	defer lease.Close()
	cuts, _, err := source.Sample(&job, plan, nil, parts, false, lease)
	return source.PadCuts(cuts, parts), err
}
