package mrlocal

import (
	"bytes"
	"context"
	"iter"

	"mrlocal/internal/errs"
	"mrlocal/jobs/typed"
)

// RunTyped runs a job, a join or a chain of package jobs/typed. Its results are lines of text, as Options say.
func RunTyped[Out any](ctx context.Context, s typed.Stage[Out], o Options) (*Report, error) {
	chain, err := typed.Jobs(s)
	if err != nil {
		return nil, err
	}
	return RunChain(ctx, chain, o)
}

// Results runs a job, a join or a chain of package jobs/typed, and returns its results as values, in the order in which
// RunTyped writes them. They lie in memory, in addition to Options.MemoryBytes. Options must name no output.
func Results[Out any](ctx context.Context, s typed.Stage[Out], o Options) (iter.Seq[Out], *Report, error) {
	chain, decode, err := typed.Binary(s)
	if err == nil && (o.OutputDir != "" || o.OutputFile != "" || o.Stdout != nil) {
		err = errs.Fieldf("Options.OutputDir, Options.OutputFile, Options.Stdout", "results in memory go nowhere else")
	}
	if err != nil {
		return nil, nil, err
	}
	var written bytes.Buffer
	o.Stdout = &written
	report, err := RunChain(ctx, chain, o)
	return decode(written.Bytes()), report, err
}
