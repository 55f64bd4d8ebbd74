package engine

import (
	"fmt"
	"os"
	"strings"

	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/paths"
	"mrlocal/output"
	"mrlocal/slots/setup"
)

// This file checks the jobs of a run before anything is started. It checks each
// by itself, and then the files that they read and write against each other
// (internal/paths).

// takeJobs makes the chain of each job of a batch, and checks the options of the job. Chains keep
// pointers to the elements of batch.
func (r *run) takeJobs(batch []BatchJob) error {
	if len(batch) == 0 {
		return errs.Optionf("", "no jobs")
	}
	for i := range batch {
		ch := &chain{run: r, index: i, job: &batch[i], lastID: -1}
		if err := ch.validate(len(batch)); err != nil {
			return ch.withJobName(err)
		}
		r.chains = append(r.chains, ch)
	}
	// Chains that wait for each other would never start, and the run would never end.
	if circle := setup.Cycle(len(batch), func(i int) *setup.Submission { return &batch[i].Submission }); circle != nil {
		return r.chains[circle[0]].withJobName(errs.Fieldf("Submission.After", "jobs wait for each other in a circle"))
	}
	return nil
}

// validate checks the chain and options of one of jobCount jobs.
func (ch *chain) validate(jobCount int) error {
	b := ch.job
	if err := b.Chain.Check(); err != nil {
		return err
	}
	if err := b.JobOptions.validate(&b.Chain[0]); err != nil {
		return err
	}
	// If the first job has no reduces, it is the only one (jobs.Chain).
	if b.Chain[0].NewReducer != nil && ch.run.o.NoReduces {
		return errs.Fieldf("Options.NoReduces", "job %s has reduces; they need a reduce slot", b.Chain[0].Name)
	}
	last := &b.Chain[len(b.Chain)-1]
	if len(last.Outputs) > 0 && !ch.discards() && (b.OutputDir == "" || hdfs.Is(b.OutputDir)) {
		return errs.Fieldf("Options.OutputDir", "job %s has named outputs (%s), so its result is a directory on this machine", last.Name, strings.Join(last.Outputs, ", "))
	}
	// Another job may make the file before this one starts.
	if len(b.After) == 0 && b.Side != "" {
		if _, err := os.Stat(b.Side); err != nil {
			return errs.Inputf(b.Side, "%w", errs.Cause(err))
		}
	}
	return b.Submission.Check(jobCount)
}

// withJobName adds the name of the job to an error of a batch. It keeps the kind of the error.
func (ch *chain) withJobName(err error) error {
	if err == nil || ch.run.single() {
		return err
	}
	return &errs.Error{Kind: errs.KindOf(err), Object: "job " + ch.name(), Cause: err}
}

// single reports whether RunChain runs one chain. Messages then need no name of the job.
func (r *run) single() bool { return r.kind == "run" }

// mostKept is the number of jobs up to which a batch keeps the outputs of its check, and begins an
// output when its job is opened. A larger batch may have thousands of jobs. There an output is begun
// with its first part, so that few files are open at a time.
const mostKept = 64

// keepsOutputs reports whether the run keeps outputs (mostKept).
func (r *run) keepsOutputs() bool { return len(r.chains) <= mostKept }

// checkPaths checks the files that jobs read and write. It returns the bytes of all inputs that
// exist, and how many jobs read streams or may read some. It also sets blockBytes, streamed and the
// plans of chains.
func (r *run) checkPaths() (totalBytes int64, streamJobs int, err error) {
	all := make([]paths.JobFiles, len(r.chains))
	for i, ch := range r.chains {
		// At most one of OutputDir and OutputFile is set.
		all[i] = paths.JobFiles{Name: ch.name(), Inputs: ch.job.Inputs, Output: ch.job.OutputDir + ch.job.OutputFile, After: ch.job.After}
	}
	batch, refused, err := paths.CheckBatch(all)
	if err != nil {
		return 0, 0, r.chains[refused].withJobName(err)
	}
	known := map[string]*input.Plan{} // jobs of a batch often read the same input
	stdin := -1                       // index of the job that reads standard input; -1: none does
	for i, ch := range r.chains {
		inputs := batch.Existing[i]
		for _, path := range inputs {
			if path == "-" && stdin >= 0 {
				return 0, 0, ch.withJobName(errs.Optionf("-", "job %s reads standard input too; only one can", r.chains[stdin].name()))
			}
			if path == "-" {
				stdin = i
			}
		}
		// Existing leaves out inputs that an earlier job makes. They cannot be planned yet.
		plan, err := ch.planOf(inputs, known)
		if err == nil {
			err = ch.checkOutput(plan, inputs)
		}
		if err != nil {
			return 0, 0, ch.withJobName(err)
		}
		if ch.job.Found != nil {
			streamJobs++ // any of the files may be a stream
		}
		if plan == nil {
			continue
		}
		totalBytes += plan.Bytes
		if len(plan.Streams) > 0 {
			streamJobs++
			r.streamed = plan
		}
		if r.blockBytes == 0 {
			r.blockBytes = plan.BlockBytes()
		}
		// A job that waits for others is planned again when it is opened, because the others may
		// add files.
		if len(ch.job.After) == 0 {
			ch.plan = plan
		}
		if r.single() {
			ch.noteLeftOut(plan.Notes)
		}
	}
	if batch.Later {
		streamJobs++ // an input that does not exist yet may be a stream
	}
	return totalBytes, streamJobs, nil
}

// planOf returns the plan of inputs; nil: there are none. known has the plans of other jobs.
// planOf returns one of them if it is the same, and else adds its own.
func (ch *chain) planOf(inputs []string, known map[string]*input.Plan) (*input.Plan, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	job := &ch.job.Chain[0]
	// The key has all options on which a plan depends. No path contains NUL.
	key := fmt.Sprint(strings.Join(inputs, "\x00"), ch.job.All, ch.job.NoDecode, ch.job.UTF16, ch.blockBytes(), job.Delim, job.RecordBytes, job.SkipBinary)
	if plan := known[key]; plan != nil {
		return plan, nil
	}
	plan, err := input.NewPlan(inputs, ch.planOptions())
	if err == nil {
		known[key] = plan
	}
	return plan, err
}

// checkOutput fails if the output cannot be made where the options say, as far as that can be
// known before it is begun. If the run keeps outputs, the chain gets it.
func (ch *chain) checkOutput(plan *input.Plan, inputs []string) error {
	if name := ch.job.OutputFile; disk.WritesTo(ch.run.o.Events, name) {
		return errs.Fieldf("Options.Events, Options.OutputFile", "are the same file %s; the result would replace the events", name)
	}
	target, err := output.Open(ch.outputSpec(plan, inputs))
	if err != nil {
		return err
	}
	if ch.run.keepsOutputs() {
		ch.mu.target = target
	}
	return nil
}

// outputSpec returns the description of the output: where it goes, and which inputs it must not
// replace. plan is nil if no input is known.
func (ch *chain) outputSpec(plan *input.Plan, inputs []string) output.Spec {
	o := &ch.job.JobOptions
	spec := output.Spec{Dir: o.OutputDir, File: o.OutputFile, Overwrite: o.Overwrite, Stdout: guard.Writer(o.Stdout), PipeMayClose: o.PipeMayClose, Compress: o.CompressOutput, DirStyle: o.DirStyle, HDFS: hdfs.New(ch.run.ctx, o.HDFS), Inputs: inputs, Stdin: o.Stdin, Kept: ch.run.o.ResumeDir}
	if plan != nil {
		spec.Found = plan
	}
	if plan != nil && o.Overwrite {
		for i := range plan.Files {
			spec.Files = append(spec.Files, plan.Files[i].Path)
		}
	}
	return spec
}
