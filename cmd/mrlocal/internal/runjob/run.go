// Package runjob has the commands that run one job on real files: run, tune, and profile of a job.
//
// Neighbours: command has the jobs and their flags; measure makes the runs of tune and profile;
// hadoop runs streaming jobs by Run.
package runjob

import (
	"context"
	"errors"
	"io"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/errs"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/streaming"
)

// Help says what the exit codes of a command that runs a job mean.
const Help = `Exit codes: 0 done, the result is complete and durable; 1 nothing matched (grep); 2 wrong usage or input, nothing was started; 3 the job failed; 128 plus the number of the signal when interrupted.`

// Command has a subcommand for each job. All of them share command.RunFlags.
func Command() command.Command {
	return command.ForEachJob(command.Command{Usage: "run a job on real files: wordcount, sort, grep, a job of the papers, or commands as mapper and reducer", Long: Help},
		func(j command.NamedJob) []argv.Spec {
			flags := append(command.RunFlags(j.ShortOutput), command.VerboseFlag())
			if j.Name != "grep" { // whose --quiet is that of GNU grep
				flags = append(flags, command.QuietFlag())
			}
			return flags
		}, Run)
}

// Run runs one job. It checks all flags and files first, so that a mistake
// leaves no file behind. The report is written for a failed run too.
func Run(ctx context.Context, e command.Env, line argv.Line, name string, build func(*command.Reader) (jobs.Chain, error)) (int, error) {
	// The word may be a pattern without -e. A wrong guess would read a file that is not there,
	// so the message suggests -e.
	if name == "grep" {
		if err := command.MissingPattern(line); err != nil {
			return 0, err
		}
	}
	o, err := command.RunOptions(line, name)
	if err != nil {
		return 0, err
	}
	// The flags that are no options of the run itself.
	r := command.NewReader(line)
	mode := r.Choice("progress", "auto", "plain", "json", "none")
	eventsPath, reportPath, profilePath := r.Path("events"), r.Path("report"), r.Path("profile")
	gantt := r.Picture(false)
	if o.ResumeDir = r.Path("resume"); o.ResumeDir == "-" {
		r.Keep(errs.Optionf("--resume", "-: standard output cannot hold what a run keeps; name a directory"))
	}
	// Another version, or other flags of the job, may map otherwise.
	o.ResumeSettings = append([]string{"the version=" + mrlocal.Version, "the job=" + name}, line.Except(append(command.RunFlags(""), command.VerboseFlag(), command.QuietFlag()))...)
	if r.Err != nil {
		return 0, r.Err
	}
	r.Stdin, r.Stderr = e.Stdin, e.Stderr
	// The flags of the job are read last: their mistakes are reported after those of the run.
	chain, err := build(r)
	if err != nil {
		return 0, err
	}
	if err := command.CheckReduces(name, chain, o); err != nil {
		return 0, err
	}
	defer r.Stream.Close()
	// Events, report and profile are checked against inputs and outputs before anything is
	// written.
	beside := besideRun(e, &o)
	files, err := pictures.Open(line, []string{name}, eventsPath, reportPath, beside)
	if err != nil {
		return 0, err
	}
	if e := files.Events(0); e != nil { // a nil *File must not become a non-nil io.Writer
		o.Events = e
	}
	command.ApplyStreaming(r.Stream, &o)
	notes := command.GrepNotes(line, name, chain, &o)
	if line.Has("quiet") {
		mode = "none"
	}
	// The screen exists before the notes, so that they appear above the progress.
	s := e.Screen(mode, gantt)
	s.Verbose, s.Silent, s.Also = line.Has("verbose"), line.Has("quiet") && name != "grep", files.Watch(0, e.Page.Watch(name, nil))
	for _, n := range notes {
		s.Note(n)
	}
	// The run itself. done is nil only if the run was refused.
	var done *mrlocal.Report
	err = process.Profile(profilePath, beside, func(on bool) (err error) {
		o.Profile = on
		done, err = runOn(ctx, e, s, chain, o)
		return err
	})
	if files.HasReport() && done != nil { // also of a run that failed
		err = errors.Join(err, files.Report(func(w io.Writer) error { return report.WriteJSON(w, reported(r.Stream, done)) }))
	}
	if err = errors.Join(err, files.CloseEvents(0)); err != nil {
		return 0, err
	}
	// Pictures and table follow the result, since all of them may share a terminal.
	s.Write(string(gantt.Text(show.Width(e.Stderr), false)))
	s.Table(done)
	if name == "grep" && !done.Matched() { // the empty result was written all the same
		return command.NoMatch, nil
	}
	return command.Done, writeCounters(e.Stderr, r.Stream, done)
}

// besideRun returns what a run reads and writes. No auxiliary file may be an input or
// an output, or lie inside one. Nor may it share standard output with the result.
func besideRun(e command.Env, o *mrlocal.Options) process.Work {
	w := process.Work{Inputs: o.Inputs, Outputs: []string{o.OutputDir, o.ResumeDir}}
	if o.OutputFile != "" {
		w.Files = []string{o.OutputFile}
	}
	// Only a result in files leaves standard output to an auxiliary file.
	if o.OutputFile != "" || o.OutputDir != "" {
		w.Stdout = e.Stdout
	}
	return w
}

// runOn runs the chain and reports on the screen. Results go to standard output
// unless o names a directory. (OutputFile may name standard output as well, as
// /dev/stdout.)
func runOn(ctx context.Context, e command.Env, s *show.Screen, chain jobs.Chain, o mrlocal.Options) (*mrlocal.Report, error) {
	defer s.Stop()
	o.Stdin = e.Stdin
	if o.OutputDir == "" {
		o.Stdout = s.Results(e.Stdout)
	}
	// Attach comes last, because it replaces the fields of o that report to the screen.
	s.Attach(ctx, &o)
	return process.RunChain(ctx, chain, o)
}

// reported returns the report of the run, to which it adds what the commands have reported.
// They belong to the last job: a streaming job is a chain of one.
func reported(work *streaming.Work, done *mrlocal.Report) []*report.Report {
	if len(done.Jobs) > 0 {
		work.Report(&done.Jobs[len(done.Jobs)-1])
	}
	return []*report.Report{done}
}

// writeCounters writes the counters of a job that has ended well, as Hadoop's client prints them.
// It does nothing for a job that is no streaming job.
func writeCounters(w io.Writer, work *streaming.Work, done *mrlocal.Report) error {
	if work == nil || done == nil || len(done.Jobs) == 0 {
		return nil
	}
	c := done.Jobs[len(done.Jobs)-1].Counters
	return streaming.WriteCounters(w, work.Counters(c, streaming.OutputBytes(c.OutputBytes)))
}
