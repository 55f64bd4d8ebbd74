package main

import (
	"context"
	"errors"
	"io"
	"os"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/jobflags"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/cmd/mrlocal/internal/streamcmd"
	"mrlocal/errs"
	"mrlocal/jobs"
	"mrlocal/report"
)

const runHelp = `Exit codes: 0 done, the result is complete and durable; 1 nothing matched (grep); 2 wrong usage or input, nothing was started; 3 the job failed; 128 plus the number of the signal when interrupted.`

// runCommand has a subcommand for each job. All of them share runFlags.
func runCommand() command {
	return forEachJob(command{name: "run", usage: "run a job on real files: wordcount, sort, grep, a job of the papers, or commands as mapper and reducer", long: runHelp},
		func(j jobKind) []flagSpec {
			flags := append(runFlags(j.shortOutput), verboseFlag())
			if j.name != "grep" { // whose --quiet is that of GNU grep
				flags = append(flags, quietFlag())
			}
			return flags
		}, runJob)
}

// runJob runs one job. It checks all flags and files first, so that a mistake
// leaves no file behind. The report is written for a failed run too.
func runJob(ctx context.Context, e env, line argv.Line, name string, build func(*reader) (jobs.Chain, error)) (int, error) {
	// The word may be a pattern without -e. A wrong guess would read a file that is not there,
	// so the message suggests -e.
	if name == "grep" {
		if err := jobflags.MissingWord(line); err != nil {
			return 0, err
		}
	}
	o, err := runOptions(line, name)
	if err != nil {
		return 0, err
	}
	// The flags that are no options of the run itself.
	r := newReader(line)
	mode := r.Choice("progress", "auto", "plain", "json", "none")
	eventsPath, reportPath, profilePath := r.Path("events"), r.Path("report"), r.Path("profile")
	gantt := r.picture(false)
	if o.ResumeDir = r.Path("resume"); o.ResumeDir == "-" {
		r.Keep(errs.Optionf("--resume", "-: standard output cannot hold what a run keeps; name a directory"))
	}
	// Another version, or other flags of the job, may map otherwise.
	o.ResumeSettings = append([]string{"the version=" + mrlocal.Version, "the job=" + name}, line.Except(append(runFlags(""), verboseFlag(), quietFlag()))...)
	if r.Err != nil {
		return 0, r.Err
	}
	r.stderr = e.stderr
	// The flags of the job are read last: their mistakes are reported after those of the run.
	chain, err := build(r)
	if err != nil {
		return 0, err
	}
	if err := checkReduces(name, chain, o); err != nil {
		return 0, err
	}
	defer r.stream.Close()
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
	streamcmd.Apply(r.stream, &o)
	notes := jobflags.GrepNotes(line, name, chain, &o)
	if line.Has("quiet") {
		mode = "none"
	}
	// The screen exists before the notes, so that they appear above the progress.
	s := newScreen(e, mode, gantt)
	s.Verbose, s.Silent, s.Also = line.Has("verbose"), line.Has("quiet") && name != "grep", files.Watch(0, e.page.Watch(name, nil))
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
		err = errors.Join(err, files.Report(func(w io.Writer) error { return report.WriteJSON(w, []*report.Report{done}) }))
	}
	if err = errors.Join(err, files.CloseEvents(0)); err != nil {
		return 0, err
	}
	// Pictures and table follow the result, since all of them may share a terminal.
	s.Write(string(gantt.Text(show.Width(e.stderr), false)))
	s.Table(done)
	if name == "grep" && !done.Matched() { // the empty result was written all the same
		return exitNoMatch, nil
	}
	return exitDone, streamcmd.Counters(e.stderr, r.stream, done)
}

// besideRun returns what a run reads and writes. No auxiliary file may be an input or
// an output, or lie inside one. Nor may it share standard output with the result.
func besideRun(e env, o *mrlocal.Options) process.Work {
	w := process.Work{Inputs: o.Inputs, Outputs: []string{o.OutputDir}}
	if o.OutputFile != "" {
		w.Files = []string{o.OutputFile}
	}
	// Only a result in files leaves standard output to an auxiliary file.
	if o.OutputFile != "" || o.OutputDir != "" {
		w.Stdout = e.stdout
	}
	return w
}

// checkReduces refuses flags that leave a job without the reduces that it
// needs. A map-only job, such as grep --lines, accepts them.
func checkReduces(name string, chain jobs.Chain, o mrlocal.Options) error {
	for i := range chain {
		switch {
		// This job of the chain has no reduces.
		case chain[i].NewReducer == nil:
		// A reduce without a slot would wait for ever.
		case o.NoReduces:
			return errs.Optionf("--reduce-slots", "0: %s has reduces; at least 1", name)
		case o.MapOnly:
			return errs.Optionf("--reducers", "0: %s needs its reduces; at least 1", name)
		}
	}
	return nil
}

// verboseFlag and quietFlag say how much of a run appears on standard error.
func verboseFlag() flagSpec {
	return toggle("verbose", "", "show the table of the run, its counters, and the names that were skipped, even in a pipe or after a short run")
}

// quietFlag silences all but errors. For grep the name belongs to GNU grep.
func quietFlag() flagSpec {
	return toggle("quiet", "", "show neither progress nor notes nor the table, errors alone")
}

// newScreen returns the screen of one run; mode is a value of --progress.
func newScreen(e env, mode string, picture *show.Picture) *show.Screen {
	return show.NewScreen(e.stderr, mode, show.TerminalOf(os.Getenv), picture)
}

// runOn runs the chain and reports on the screen. Results go to standard output
// unless o names a directory. (OutputFile may name standard output as well, as
// /dev/stdout.)
func runOn(ctx context.Context, e env, s *show.Screen, chain jobs.Chain, o mrlocal.Options) (*mrlocal.Report, error) {
	defer s.Stop()
	o.Stdin = e.stdin
	if o.OutputDir == "" {
		o.Stdout = s.Results(e.stdout)
	}
	// Attach comes last, because it replaces the fields of o that report to the screen.
	s.Attach(ctx, &o)
	return process.RunChain(ctx, chain, o)
}
