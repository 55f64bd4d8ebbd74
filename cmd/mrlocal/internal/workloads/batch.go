package workloads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/errs"
	"mrlocal/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

const batchHelp = `WORKLOAD is a YAML file of pools and jobs, or - for standard input; sim runs the same file in virtual time. A flag replaces the value of the file. The args of a job are the flags of mrlocal run JOB that say what the job reads, writes and does. Each job needs output: DIR or output-file: FILE; one job may write to standard output (output-file: -), and the tables then go to standard error. With several policies, every job writes to DIR.POLICY or FILE.POLICY. Relative names start at the current directory. Missing directories above an output are made.

Exit codes: 0 all results are complete and durable; 2 wrong usage or input, nothing was started; 3 a job failed (the others ran); 128 + the signal's number when interrupted.`

// Batch runs a workload file for real.
func Batch() command.Command {
	// A batch is a real run, so it takes the flags of the engine. The flags of virtual time are
	// those of sim alone.
	own := append(command.EngineFlags(), command.BandwidthFlags()...)
	own = append(append(own, pictures.Flags()...), command.VerboseFlag(), command.QuietFlag(), command.ProfileFlag("; with several policies, into DIR.POLICY"),
		argv.ValueSpec("seed", "seed `N` of the placement and of the times of sleep jobs", "1"),
		argv.ValueSpec("events", "write every fact and decision to `FILE`, one JSON object a line; with several policies, to FILE.POLICY; compressed if FILE ends in .gz or .zst", ""),
		argv.ValueSpec("report", "write the report to `FILE` as JSON; with several policies, as an array", "a table on standard output"))
	return command.Command{Usage: "run a workload file for real: many jobs in pools", Args: "WORKLOAD", Long: batchHelp, Run: runBatch, Flags: workloadFlags(own, "")}
}

// batch is a workload file that is run for real, once for each policy. Its fields are set before
// the first run, and a run changes none but warned and the profile.
type batch struct {
	command.Scheduling
	file   *workload.File
	jobs   []batchJob
	engine mrlocal.Options // of command.EngineFlags
	reader *batchReader
	stdout io.Writer // of the job that writes to standard output; nil: none does
	// warned is true once the warnings about the configuration have been written. They are the
	// same for all policies.
	warned bool
}

// readBatch reads the flags. load reads the file.
func readBatch(r *command.Reader) *batch {
	b := &batch{Scheduling: r.Scheduling(command.MostTrackers, command.MostSlots, 1)}
	command.ReadEngine(&r.Reader, &b.engine)
	command.ReadBandwidths(&r.Reader, &b.engine)
	return b
}

// load reads the workload file that the line names, and the args of its jobs. It runs after all
// flags are read, because a flag replaces a value of the file.
func (b *batch) load(e command.Env, line argv.Line) (err error) {
	if b.file, err = loadWorkload(e, line); err != nil {
		return err
	}
	if err := b.Complete(b.file); err != nil {
		return err
	}
	// Sleep jobs draw their times from the seed, as the simulator does. Seed 0 stands for 1.
	b.reader = &batchReader{file: b.file, kinds: command.Jobs(), seed: max(1, b.Seed)}
	b.jobs, err = b.reader.read()
	return err
}

// runBatch runs the file once for each policy. A job that fails gives exit code 3, and the other
// policies run all the same.
func runBatch(ctx context.Context, e command.Env, line argv.Line) (int, error) {
	// All flags are read before the first mistake is reported, and no file is opened for a line
	// with a mistake.
	r := command.NewReader(line)
	b, names, picture := readBatch(r), r.Policies(), r.Picture(false)
	mode := r.Choice("progress", "auto", "plain", "json", "none")
	eventsPath, reportPath, profilePath := r.Path("events"), r.Path("report"), r.Path("profile")
	if r.Err != nil {
		return 0, r.Err
	}
	// The flag --quiet wins over --progress.
	if line.Has("quiet") {
		mode = "none"
	}
	if err := b.load(e, line); err != nil {
		return 0, err
	}
	// No auxiliary file may be an input or output of any of the runs, nor the workload file.
	places := b.places(names)
	if places.Stdout = e.Stdout; b.reader.stdout != "" {
		places.Stdout, b.stdout = nil, e.Stdout
	}
	files, err := pictures.Open(line, names, eventsPath, reportPath, places)
	if err != nil {
		return 0, err
	}
	// One auxiliary file or result at most may be standard output; tables and gantts then go to
	// standard error.
	if files.OnStdout() || b.stdout != nil { // alone
		e.Stdout = e.Stderr
	}
	// The results of all runs are checked now: the third policy must not fail after hours
	// because its directory exists.
	if err := b.checkRuns(len(names), names); err != nil {
		return 0, err
	}
	// profiles has a directory for each policy, or "" for none.
	profiles := make([]string, len(names))
	// A profile is checked before the first run as well, for the same reason.
	for i, name := range names {
		profiles[i] = process.WithSuffix(profilePath, suffix(name, names))
		if err := process.CheckProfile(profiles[i], b.places(names)); err != nil {
			return 0, err
		}
	}
	var reports []*report.Report
	code := command.Done
	for i, name := range names {
		// Each run has a screen of its own, because a screen follows one stream of events.
		s := e.Screen(mode, picture)
		s.Verbose, s.Silent, s.Also = line.Has("verbose"), line.Has("quiet"), files.Watch(i, e.Page.Watch(name, nil))
		var done *report.Report
		err := process.Profile(profiles[i], b.places(names), func(on bool) (err error) {
			// on is false without --profile. Then the function runs as it is.
			b.engine.Profile = on
			done, err = b.run(ctx, e, s, name, suffix(name, names), files.Events(i))
			return err
		})
		err = errors.Join(err, files.CloseEvents(i))
		// Without a report nothing was started. After an interrupt no further policy is run.
		if done == nil || ctx.Err() != nil {
			return 0, err
		}
		if err != nil {
			code = command.Failed
			s.Note(fmt.Sprintf("batch: %s: %v", name, err))
		}
		reports = append(reports, done)
		if err := e.Write(picture.Of(name, len(names), show.Width(e.Stdout), false)); err != nil {
			return 0, err
		}
		// The table follows the picture, and both follow the run that they describe.
		s.Table(done)
	}
	// The report has the runs of all policies, so it is written once, at the end.
	return code, printReports(e, files, reports, false)
}

// suffix returns what the name of a policy adds to the names of files and directories;
// nothing if there is one policy.
func suffix(name string, names []string) string {
	// With one policy the names stay as the user gave them.
	if len(names) > 1 {
		return "." + name
	}
	return ""
}

// places returns all files that the runs read and write, and the workload file.
func (b *batch) places(names []string) process.Work {
	w := process.Work{Inputs: []string{b.file.Name}}
	for i := range b.jobs {
		o := &b.jobs[i].options
		w.Inputs = append(w.Inputs, o.Inputs...)
		// Each policy has results of its own, so that a run never replaces those of the one
		// before.
		for _, name := range names {
			if o.OutputDir != "" {
				w.Outputs = append(w.Outputs, process.WithSuffix(o.OutputDir, suffix(name, names)))
			}
			if o.OutputFile != "" {
				w.Files = append(w.Files, process.WithSuffix(o.OutputFile, suffix(name, names)))
			}
		}
	}
	return w
}

// checkRuns finds, before the first of several runs, what would stop a later one. The
// engine checks each run by itself. names are the policies whose results are kept.
func (b *batch) checkRuns(runs int, names []string) error {
	if runs == 1 {
		return nil
	}
	// Standard input can be read once only, and a directory that exists is refused by the run
	// that comes to it.
	for i := range b.jobs {
		o := &b.jobs[i].options
		if b.jobs[i].stdout && len(names) > 1 {
			return b.reader.at(b.jobs[i].ListedJob, errs.Optionf("--output-file", "-: standard output takes the result of one run, and there are %d policies", len(names)))
		}
		if slices.Contains(o.Inputs, "-") {
			return b.reader.at(b.jobs[i].ListedJob, errs.Optionf("--input", "-: standard input can be read once, and there are %d runs", runs))
		}
		for _, name := range names {
			dir := process.WithSuffix(o.OutputDir, suffix(name, names))
			if _, err := os.Lstat(dir); err == nil && o.OutputDir != "" && !o.Overwrite {
				return b.reader.at(b.jobs[i].ListedJob, errs.Optionf("--output", "%s: exists already; name another or add overwrite: true", argv.Quote(dir)))
			}
		}
	}
	return nil
}

// warn writes, once, the warnings about the configuration.
func (b *batch) warn(s *show.Screen, o mrlocal.Options) {
	if b.warned {
		return
	}
	b.warned = true
	// Setup fills in the defaults, about which some warnings are.
	config := o.Setup()
	for _, w := range config.Warnings() {
		s.Note(w)
	}
}

// run runs all jobs under a policy. suffix is that of work.
func (b *batch) run(ctx context.Context, e command.Env, s *show.Screen, policyName, suffix string, events io.Writer) (done *report.Report, err error) {
	defer s.Stop()
	// A copy: a run sets fields that the next run must not see.
	o := b.engine
	var jobs []setup.Submission
	// Lower is the one way from a workload file to jobs; sim uses it as well.
	o.Config, jobs = b.file.Lower(b.Config)
	if o.Policy, err = b.NewPolicy(policyName); err != nil {
		return nil, err
	}
	if events != nil {
		o.Events = events
	}
	s.Attach(ctx, &o)
	// The screen has set Watch; the batch adds its warnings before it.
	watch := o.Watch
	o.Watch = func(stream *trace.Stream) { // the engine has checked everything by then
		b.warn(s, o)
		watch(stream)
	}
	work := b.work(jobs, e.Stdin, suffix)
	b.onStdout(work, s, suffix)
	var outputs []string
	for i := range work { // a job has one of the two at most
		outputs = append(outputs, work[i].OutputDir+work[i].OutputFile)
	}
	parents, err := process.MakeParents(outputs)
	// Directories that hold a result stay. Those of a run that failed early go, so that a
	// mistake leaves nothing behind.
	defer process.RemoveEmpty(parents)
	if err != nil {
		return nil, err
	}
	for i := range b.jobs {
		b.jobs[i].stream.Forget()
	}
	done, err = process.RunBatch(ctx, work, o)
	b.reported(done)
	// Errors of the engine get the place in the file, as those of the reader have.
	return done, b.reader.named(err)
}

// reported adds to the report what the commands of streaming jobs have reported. Later jobs of a
// chain have other names, and no commands.
func (b *batch) reported(done *report.Report) {
	if done == nil {
		return
	}
	for i := range b.jobs {
		for n := range done.Jobs {
			if done.Jobs[n].Name == b.jobs[i].Name {
				b.jobs[i].stream.Report(&done.Jobs[n])
			}
		}
	}
}

// discard is the suffix of results that are thrown away.
const discard = "\x00"

// work returns the jobs as the engine takes them. Their results go where the jobs say,
// suffix added; with suffix discard they are thrown away.
func (b *batch) work(jobs []setup.Submission, stdin io.Reader, suffix string) []mrlocal.BatchJob {
	all := make([]mrlocal.BatchJob, len(b.jobs))
	for i := range b.jobs {
		o := b.jobs[i].options.JobOptions
		// Every job gets the stream, but only the one with the input - reads it.
		o.Stdin = stdin
		if suffix == discard {
			o.OutputDir, o.OutputFile, o.Overwrite = "", "", false
		} else {
			// The suffix that the user gave compresses, not that of the policy.
			if format, err := o.CompressOutput.Of(o.OutputFile); err == nil && suffix != "" {
				o.CompressOutput = format
			}
			o.OutputDir, o.OutputFile = process.WithSuffix(o.OutputDir, suffix), process.WithSuffix(o.OutputFile, suffix)
		}
		all[i] = mrlocal.BatchJob{Submission: jobs[i], Chain: b.jobs[i].chain, JobOptions: o}
	}
	return all
}

// onStdout sends the result of the job that asks for it to standard output.
func (b *batch) onStdout(work []mrlocal.BatchJob, s *show.Screen, suffix string) {
	for i := range work {
		if b.jobs[i].stdout && b.stdout != nil && suffix != discard {
			work[i].Stdout = s.Results(b.stdout)
		}
	}
}

// named adds the place in the file to an error of the engine about a job.
func (b *batchReader) named(err error) error {
	// Other errors, such as an interrupt, belong to no job.
	var u *errs.Error
	if !errors.As(err, &u) {
		return err
	}
	for i := range b.file.Jobs {
		j := &b.file.Jobs[i]
		// The engine names the job in the object of the error.
		if u.Object != "job "+j.Name {
			continue
		}
		// The engine speaks of fields. The user of a batch writes keys of the file.
		cause := strings.ReplaceAll(u.Cause.Error(), "set Options.Overwrite", "add overwrite: true")
		// If the cause begins with the value of an arg, the place of that arg is the best one.
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
