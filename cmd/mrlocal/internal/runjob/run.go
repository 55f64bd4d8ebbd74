// Package runjob has the commands that run one job on real files: run, tune, and profile with a job.
package runjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/hadoop/streaming"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/slots/report"
)

// Help is the help text with the exit codes of a command that runs a job.
const Help = `Exit codes: 0 done, the result is complete and durable; 1 nothing matched (grep); 2 wrong usage or input, nothing was started; 3 the job failed; 128 plus the number of the signal when interrupted.`

// Command returns mrlocal run, with a subcommand for each job. All of them take command.RunFlags.
func Command() command.Command {
	return command.ForEachJob(command.Command{Name: "run", Usage: "run a job on real files: wordcount, sort, grep, a job of the papers, or commands as mapper and reducer", Long: Help},
		func(j command.NamedJob) []argv.Spec {
			flags := append(command.RunFlags(j.OutputLetter()), command.VerboseFlag(), command.QuietFlag())
			return slices.DeleteFunc(flags, func(f argv.Spec) bool { return slices.Contains(j.Without, f.Name) })
		}, Run)
}

// Run runs a job. It checks all flags and files first, so that a mistake creates no file. After a failed run it still writes the report. It returns the
// exit code Done or NoMatch, or the error of the run.
func Run(ctx context.Context, e command.Env, line argv.Line, j *command.NamedJob) (int, error) {
	if j.Check != nil {
		if err := j.Check(line); err != nil {
			return 0, err
		}
	}
	r := j.Reader(line)
	o, err := r.RunOptions()
	if err != nil {
		return 0, err
	}
	// The flags below are not in o.
	mode := r.Choice("progress", "auto", "plain", "json", "none")
	eventsPath, reportPath := r.Path("events"), r.Path("report")
	profilePath := r.Path("profile")
	gantt := r.Picture(false)
	if o.ResumeDir = r.Path("resume"); o.ResumeDir == "-" {
		r.Keep(errs.Optionf("--resume", "-: standard output cannot hold what a run keeps; name a directory"))
	}
	// A journal is valid only for the same version, the same job and the same flags of the job.
	// Otherwise the map outputs may differ.
	o.ResumeSettings = append([]string{"the version=" + mrlocal.Version, "the job=" + j.Name}, line.Except(append(command.RunFlags(""), command.VerboseFlag(), command.QuietFlag()))...)
	if r.Err != nil {
		return 0, r.Err
	}
	r.Stdin, r.Stderr = e.Stdin, e.Stderr
	chain, err := j.Build(r)
	if err != nil {
		return 0, err
	}
	defer r.Stream.Close()
	// Open checks that no auxiliary file is an input or an output of the run.
	beside := besideRun(e, &o)
	files, err := show.Open(line, []string{j.Name}, eventsPath, reportPath, beside)
	if err != nil {
		return 0, err
	}
	if e := files.Events(0); e != nil { // a nil *File must not become a non-nil io.Writer
		o.Events = e
	}
	notes := j.Settle(r, chain, &o)
	if line.Has("quiet") {
		mode = "none"
	}
	// The notes go through the screen, which shows them above the progress.
	s := e.Screen(mode, gantt)
	s.Verbose, s.Silent, s.Also = line.Has("verbose"), line.Has("quiet") && !slices.Contains(j.Without, "quiet"), files.Watch(0, e.Page.Watch(j.Name, nil))
	for _, n := range notes {
		s.Note(n)
	}
	// done is nil only if the engine has refused the run.
	var done *mrlocal.Report
	err = process.Profile(profilePath, beside, func(on bool) (err error) {
		o.Profile = on
		done, err = runOn(ctx, e, s, chain, o)
		return err
	})
	if files.HasReport() && done != nil { // err may be set: a failed run has a report too
		err = errors.Join(err, files.Report(func(w io.Writer) error { return report.WriteJSON(w, reported(r.Stream, done)) }))
	}
	if closed := files.CloseEvents(0); closed != nil && err == nil {
		return 0, fmt.Errorf("%w; the result is complete", closed)
	} else if err = errors.Join(err, closed); err != nil {
		return 0, err
	}
	// The gantt and the table come after the result, because all of them may go to the same terminal.
	s.Write(string(gantt.Text(show.Width(e.Stderr), false)))
	s.Table(done)
	if j.Matches && !done.Matched() { // the empty result is committed
		return command.NoMatch, nil
	}
	if s.Silent {
		return command.Done, nil
	}
	return command.Done, writeCounters(e.Stderr, r.Stream, done)
}

// besideRun returns what a run with options o reads and writes. process.Work refuses auxiliary
// files that are among these or lie within them. An auxiliary file may be standard output only if
// the result is not.
func besideRun(e command.Env, o *mrlocal.Options) process.Work {
	w := process.Work{Inputs: o.Inputs, Outputs: []string{o.OutputDir, o.ResumeDir}}
	if o.OutputFile != "" {
		w.Files = []string{o.OutputFile}
	}
	// The result goes to a file or a directory, so standard output is free.
	if o.OutputFile != "" || o.OutputDir != "" {
		w.Stdout = e.Stdout
	}
	return w
}

// runOn runs the chain and shows it on screen s, which it stops. The result goes to standard output
// unless o names a file or a directory. OutputFile may be /dev/stdout, so o.Stdout is set with a
// file too.
func runOn(ctx context.Context, e command.Env, s *show.Screen, chain jobs.Chain, o mrlocal.Options) (*mrlocal.Report, error) {
	defer s.Stop()
	o.Stdin = e.Stdin
	if o.OutputDir == "" {
		o.Stdout, o.PipeMayClose = s.Results(e.Stdout), true
	}
	// Attach comes last, because it replaces fields of o.
	s.Attach(ctx, &o)
	return process.RunChain(ctx, chain, o)
}

// reported returns the report of the run for WriteJSON. To the last job it adds the counters and
// the status that the commands of work have written. A streaming job is a chain of one job. A nil
// work adds nothing.
func reported(work *streaming.Work, done *mrlocal.Report) []*report.Report {
	if len(done.Jobs) > 0 {
		work.Report(&done.Jobs[len(done.Jobs)-1])
	}
	return []*report.Report{done}
}

// writeCounters writes the counters of a streaming job after a successful run, in the form of
// Hadoop's client. If work is nil, it does nothing.
func writeCounters(w io.Writer, work *streaming.Work, done *mrlocal.Report) error {
	if work == nil || done == nil || len(done.Jobs) == 0 {
		return nil
	}
	c := done.Jobs[len(done.Jobs)-1].Counters
	return streaming.WriteCounters(w, work.Counters(c, streaming.OutputBytes(c.OutputBytes)))
}
