package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// batchCommand has the options of mrlocal batch.
type batchCommand struct {
	Env
	*batch
	shown   shown
	picture term.Picture
	page    pageOptions
	out     outputs
}

// makeBatch returns mrlocal batch, which runs a workload file for real.
func makeBatch(e Env) *flags.Command {
	c := &batchCommand{Env: e, batch: newBatch()}
	return &flags.Command{Usage: "run a workload file for real: many jobs in pools", Args: "WORKLOAD", Long: helpText("batch"), Run: c.run,
		Examples: []string{"mrlocal batch two.yaml --sched fair,pi-dhfs --gantt", "mrlocal batch two.yaml --events run.jsonl"},
		Settings: slices.Concat(c.settings(), c.shown.Settings(), c.picture.Settings(""), c.page.RunSettings(), c.out.Settings("policies", "a table on standard output"), c.out.Pictures())}
}

// batch is a workload file that is run for real, once for each policy. settings and load set its
// fields. A run changes only noted and engine.Profile. The runs follow one another.
type batch struct {
	Scheduling
	file   *workload.File
	jobs   []batchJob      // in the order of the file
	engine mrlocal.Options // without those of jobs, the cluster and the policy
	reader *batchReader    // names the place in the file of an error
	stdout io.Writer       // for the job that writes to standard output; nil: no job does
	noted  map[string]bool // the notes that a run has written; other runs do not write them again
}

// newBatch returns a batch before its settings are set. load must follow.
func newBatch() *batch {
	return &batch{Scheduling: newScheduling(), engine: mrlocal.Options{TempAtNeed: true}, noted: map[string]bool{}}
}

// settings returns the flags of scheduling and of the engine.
func (b *batch) settings() []setting.Setting {
	bounds := mrlocal.Bounds()
	bounds.Reduces, bounds.Otherwise = 1, "the value in the file, otherwise "
	return append(b.Settings(bounds, true), b.engine.Fields()...)
}

// load reads the workload file that the words of a line name, and the args of its jobs. It comes after
// the flags, because some of them replace values of the file. It fails if the file or an arg is wrong.
// After the runs, the caller closes b.
func (b *batch) load(e Env, words []string) error {
	name, err := workloadName(words)
	if err != nil {
		return err
	}
	if b.file, err = e.Workload(name); err != nil {
		return err
	}
	b.Complete(b.file)
	if err := b.file.CheckTrackers(cmp.Or(b.Trackers, b.file.Trackers, 1)); err != nil {
		return err
	}
	// Sleep jobs draw their times from the seed, as the simulator does. Without --seed it is 1.
	b.reader = &batchReader{file: b.file, kinds: Jobs(), seed: max(1, b.Seed)}
	b.jobs, err = b.reader.read()
	return err
}

// close removes the temporary files that the streaming jobs keep between two runs.
func (b *batch) close() {
	for i := range b.jobs {
		_ = b.jobs[i].made.Extra.Close()
	}
}

// run runs the file once for each policy, and prints gantts and tables. If a job fails, the exit code is
// 3, and the other policies still run.
func (c *batchCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	if err := c.picture.Check(false); err != nil {
		return 0, err
	}
	if err := c.load(c.Env, line.Words); err != nil {
		return 0, err
	}
	defer c.close()
	c.page.TempDir = first(c.engine.TempDirs)
	return c.page.Run(ctx, c.Stderr, func(p *page) (int, error) { return c.runAll(ctx, p) })
}

// runAll makes the runs. p is the page of --ui, or nil.
func (c *batchCommand) runAll(ctx context.Context, p *page) (int, error) {
	// No auxiliary file may be an input or an output of any run, or the workload file.
	places := c.places(c.Names)
	if places.Stdout = c.Stdout; c.reader.stdout != "" {
		places.Stdout, c.stdout = nil, c.Stdout
	}
	files, err := c.out.Open(c.Names, places)
	if err != nil {
		return 0, err
	}
	// At most one auxiliary file or result may be standard output. Tables and gantts then go to
	// standard error, so that they do not mix with it.
	if files.toStdout || c.stdout != nil {
		c.Stdout = c.Stderr
	}
	// All runs are checked before the first one. Otherwise a later policy could fail after hours because
	// its directory exists.
	err = c.checkRuns(len(c.Names), c.Names)
	profiles := make([]string, len(c.Names)) // of each policy; "": --profile is not given
	for i, name := range c.Names {
		profiles[i] = withSuffix(c.out.Profile, suffix(name, c.Names))
		err = cmp.Or(err, checkProfile(profiles[i]))
	}
	if err != nil {
		return 0, err
	}
	var reports []*report.Report
	code := Done
	for i, name := range c.Names {
		// Each run has a screen of its own, because a screen follows one stream of events.
		s := c.shown.Screen(c.Env, &c.picture)
		s.Also = files.Watch(i, p.Watch(name, nil))
		var done *report.Report
		err := recordProfile(profiles[i], func(on bool) (err error) {
			c.engine.Profile = on
			done, err = c.batch.run(ctx, c.Env, s, name, suffix(name, c.Names), files.Events(i))
			return err
		})
		err = errors.Join(err, files.CloseEvents(i))
		// If done is nil, the engine has refused the run, and nothing was started. After a signal no
		// further policy runs.
		if done == nil || ctx.Err() != nil {
			return 0, err
		}
		if err != nil {
			code = Failed
			s.Note(fmt.Sprintf("batch: %s: %v", name, err))
		}
		reports = append(reports, done)
		if err := c.Write(c.picture.Of(name, len(c.Names), c.Stdout, c.Getenv)); err != nil {
			return 0, err
		}
		s.Table(done)
	}
	// The report is one JSON array for all policies, so it is written at the end.
	return code, printReports(c.Env, files, reports, false)
}

// suffix returns the text that is added to the names of files and directories of the run under the
// policy name. names has all policies of the command. With one policy, the text is empty.
func suffix(name string, names []string) string {
	if len(names) > 1 {
		return "." + name
	}
	return ""
}

// places returns all inputs and outputs of the runs under the policies names. The workload file
// counts as an input.
func (b *batch) places(names []string) work {
	w := work{Inputs: []string{b.file.Name}}
	for i := range b.jobs {
		o := b.jobs[i].made
		w.Inputs = append(w.Inputs, o.Inputs...)
		// Each policy has its own outputs, so that a run does not replace those of the run before.
		for _, name := range names {
			w.Outputs = append(w.Outputs, withSuffix(o.OutputDir, suffix(name, names)), withSuffix(o.OutputFile, suffix(name, names)))
		}
	}
	return w
}

// checkRuns returns an options error if a later one of the given number of runs could not start. It comes
// before the first run. names has the policies whose results are kept; nil: all results are thrown
// away. For a single run it checks nothing, because the engine checks each run by itself.
func (b *batch) checkRuns(runs int, names []string) error {
	if runs == 1 {
		return nil
	}
	for i := range b.jobs {
		o := b.jobs[i].made
		if b.jobs[i].stdout && len(names) > 1 {
			return b.reader.at(&b.jobs[i], errs.Optionf("--output-file", "-: standard output takes the result of one run, and there are %d policies", len(names)))
		}
		if slices.Contains(o.Inputs, "-") {
			return b.reader.at(&b.jobs[i], errs.Optionf("--input", "-: standard input can be read once, and there are %d runs", runs))
		}
		for _, name := range names {
			dir := withSuffix(o.OutputDir, suffix(name, names))
			if _, err := os.Lstat(dir); err == nil && o.OutputDir != "" && !o.Overwrite {
				return b.reader.at(&b.jobs[i], errs.Optionf("--output", "%s: exists already; name another or add overwrite: true", errs.Quote(dir)))
			}
		}
	}
	return nil
}

// run runs all jobs under the policy of that name and returns the report of the engine. suffix is
// as in work. events gets the event file; nil: none is written. run stops the screen s. The report
// is not nil if the run has started, also after an error.
func (b *batch) run(ctx context.Context, e Env, s *term.Screen, policyName, suffix string, events io.Writer) (done *report.Report, err error) {
	defer s.Stop()
	// A run sets fields of a copy, so that the next run starts from the same options.
	o := b.engine
	var jobs []setup.Submission
	// The simulator calls Lower too, so both make the same jobs and the same configuration of a file.
	o.Config, jobs = b.file.Lower(b.Config)
	if o.Policy, err = b.NewPolicy(policyName); err != nil {
		return nil, err
	}
	if events != nil {
		o.Events = events
	}
	attach(ctx, s, &o)
	o.Note = func(text string) {
		if !b.noted[text] {
			b.noted[text] = true
			s.Note(text)
		}
	}
	work := b.work(jobs, e.Stdin, suffix)
	for i := range work {
		if b.jobs[i].stdout && b.stdout != nil && suffix != discard {
			work[i].Stdout = s.Results(b.stdout)
		}
	}
	// If the run fails early, the new directories are still empty and are removed. Directories with a
	// result stay.
	var parents []string
	defer func() { disk.RemoveEmpty(parents) }()
	for i := range work {
		out := cmp.Or(work[i].OutputDir, work[i].OutputFile) // at most one of the two names is set
		if out == "" {
			continue
		}
		made, err := disk.MakeParents(out)
		if parents = append(made, parents...); err != nil {
			return nil, errs.Optionf("output "+errs.OneLine(out), "%w", errs.Cause(err))
		}
	}
	// A job of Hadoop Streaming counts over one run only.
	for i := range b.jobs {
		b.jobs[i].made.Extra.Forget()
	}
	done, err = runBatch(ctx, work, o)
	b.reported(done)
	return done, b.reader.named(b.file.Keyed(err, b.Config))
}

// reported adds to the report the counters and the status that commands of streaming jobs have
// written. In a chain it changes only the first job, because only this one has the name of the
// file. A nil report stays nil.
func (b *batch) reported(done *report.Report) {
	if done == nil {
		return
	}
	for i := range b.jobs {
		for n := range done.Jobs {
			if done.Jobs[n].Name == b.jobs[i].Name {
				b.jobs[i].made.Extra.Report(&done.Jobs[n])
			}
		}
	}
}

// discard is a suffix for work: all results are thrown away. No name of a file can end in NUL.
const discard = "\x00"

// work returns the jobs of the file for the engine. jobs has their submissions, in the same order.
// suffix is added to the name of each output; with discard there are no outputs.
func (b *batch) work(jobs []setup.Submission, stdin io.Reader, suffix string) []mrlocal.BatchJob {
	all := make([]mrlocal.BatchJob, len(b.jobs))
	for i := range b.jobs {
		o := b.jobs[i].made.JobOptions
		// Only a job with the input - reads it.
		o.Stdin = stdin
		if suffix == discard {
			o.OutputDir, o.OutputFile = "", ""
			o.Overwrite = false
		} else {
			// The end of the name that the user gave sets the compression. After this, the name
			// ends in the name of the policy.
			if format, err := o.CompressOutput.Of(o.OutputFile); err == nil && suffix != "" {
				o.CompressOutput = format
			}
			o.OutputDir, o.OutputFile = withSuffix(o.OutputDir, suffix), withSuffix(o.OutputFile, suffix)
		}
		all[i] = mrlocal.BatchJob{Submission: jobs[i], Chain: b.jobs[i].chain, JobOptions: o}
	}
	return all
}

// named adds the place in the file to an error of the engine that names a job. It returns any other
// error, such as a signal, and nil, as it is.
func (b *batchReader) named(err error) error {
	u, ok := errors.AsType[*errs.Error](err)
	if !ok {
		return err
	}
	for i := range b.file.Jobs {
		j := &b.file.Jobs[i]
		// The engine puts the name of the job into the object of the error.
		if u.Object != "job "+j.Name {
			continue
		}
		// The engine names a field of Options. A user of batch sets a key of the file.
		cause := errs.Word(u.Cause, func(field string) string {
			if field == "Options.Overwrite" {
				return "overwrite: true"
			}
			return flagOf(nil)(field)
		})
		// If the cause begins with the value of an arg, the error has the place of this arg.
		for n := range j.Args {
			a := &j.Args[n]
			for _, v := range a.Values {
				if rest, ok := strings.CutPrefix(strings.TrimPrefix(cause, "output "), v); ok && strings.HasPrefix(rest, ":") {
					return b.errorf(a.Pos, j, a.Name, "%s", strings.TrimPrefix(cause, "output "))
				}
			}
		}
		return b.errorf(j.Pos, j, "", "%s", cause)
	}
	return err
}
