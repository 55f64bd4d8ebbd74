package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/slots/report"
	"mrlocal/workload"
)

// runCommand has the options of mrlocal run for one job.
type runCommand struct {
	Env
	Scheduling
	job     *job // its Config stays empty until the line is read
	shown   shown
	faults  []string
	picture term.Picture
	page    pageOptions
	out     outputs
}

// makeRun returns mrlocal run, with a subcommand for each job.
func makeRun(e Env) *flags.Command {
	return ForEachJob(flags.Command{Usage: "run a job on real files: wordcount, sort, grep, a job of the papers, or commands as mapper and reducer", Long: helpText("run")}, nil,
		func(j *job) *flags.Command {
			c := Run(e, j)
			for _, args := range j.Examples {
				c.Examples = append(c.Examples, "mrlocal run "+j.Name+" "+args)
			}
			return c
		})
}

// Run returns the command that runs j.
func Run(e Env, j *job) *flags.Command {
	c := &runCommand{Env: e, Scheduling: newScheduling(), job: j}
	run := slices.Concat(c.Settings(mrlocal.Bounds(), false), j.Options.Fields(),
		setting.In("FAULTS AND EFFECTS", []setting.Setting{
			setting.Of("fault", "Faults", "make something go wrong, as an item of faults in a workload file does. `FAULT` is 'at: 5s, tracker: 1, lost: true', 'task: JOB/m/7, fail: 2' or 'at: 5s, task: JOB/m/7, lost: true'; may be repeated", "none", setting.List(&c.faults)),
		}), setting.In("INPUT AND OUTPUT", []setting.Setting{
			setting.Of("resume", "ResumeDir", "keep the outputs of maps with a journal in `DIR`. After a kill or a full disk the same command goes on, and no committed map runs again. The job must have reduces, and inputs that are not streams", "nothing is kept", setting.Text(&j.ResumeDir)),
		}), c.out.Settings("", ""), c.page.RunSettings(), c.out.Pictures(), c.picture.Settings(", on standard error"), c.shown.Settings())
	return &flags.Command{Run: c.run, Settings: append(j.Settings(), setting.Without(run, append(j.Without, "seed")...)...)}
}

// run checks all flags and files, so that a mistake creates no file, and runs the job. After a failed
// run it still writes the report. It returns the exit code Done or noMatch, or the error of the run.
func (c *runCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	if err := c.complete(line); err != nil {
		return 0, err
	}
	// Build may change the inputs, of which no auxiliary file may be one.
	j, beside := c.job, c.beside()
	chain, err := j.Build()
	if err != nil {
		return 0, err
	}
	defer j.Extra.Close()
	c.page.TempDir = first(j.TempDirs)
	return c.page.Run(ctx, c.Stderr, func(p *page) (int, error) { return c.runChain(ctx, p, chain, beside) })
}

// complete completes the options of the job by those of other packages, and by the line.
func (c *runCommand) complete(line *flags.Line) (err error) {
	c.Complete(nil)
	j := c.job
	j.Config = c.Config
	if err := j.Given(line); err != nil {
		return err
	}
	if j.Policy, err = c.NewPolicy(c.Names[0]); err != nil {
		return err
	}
	for _, text := range c.faults {
		f, err := workload.ParseFault("--fault", text, j.Name, max(1, j.Trackers))
		if err != nil {
			return err
		}
		j.Faults = append(j.Faults, f)
	}
	if j.ResumeDir == "-" {
		return errs.Optionf("--resume", "-: standard output cannot hold what a run keeps; name a directory")
	}
	// A journal is valid only for the same version, the same job and the same flags of the job.
	// Otherwise the map outputs may differ.
	j.ResumeSettings = []string{"the version=" + mrlocal.Version, "the job=" + j.Name}
	for _, own := range line.Own(j.Own) {
		name, value, _ := strings.Cut(own, "=")
		j.ResumeSettings = append(j.ResumeSettings, name+"="+value)
	}
	j.Stdin, j.Log = c.Stdin, c.Stderr
	j.Quiet = c.shown.Quiet
	return c.picture.Check(false)
}

// runChain runs the chain of the job. p is the page of --ui, or nil.
func (c *runCommand) runChain(ctx context.Context, p *page, chain jobs.Chain, beside work) (int, error) {
	j := c.job
	// Open checks that no auxiliary file is an input or an output of the run.
	files, err := c.out.Open([]string{j.Name}, beside)
	if err != nil {
		return 0, err
	}
	if e := files.Events(0); e != nil { // a nil *File must not become a non-nil io.Writer
		j.Events = e
	}
	if j.Quiet {
		c.shown.Mode = "none"
	}
	// The notes go through the screen, which shows them above the progress.
	s := c.shown.Screen(c.Env, &c.picture)
	s.Also = files.Watch(0, p.Watch(j.Name, nil))
	for _, n := range j.Notes {
		s.Note(n)
	}
	// done is nil only if the engine has refused the run.
	var done *mrlocal.Report
	err = recordProfile(c.out.Profile, func(on bool) (err error) {
		j.Profile = on
		done, err = runOn(ctx, c.Env, s, chain, j.Options)
		return err
	})
	if files.report != nil && done != nil { // err may be set: a failed run has a report too
		if len(done.Jobs) > 0 {
			j.Extra.Report(&done.Jobs[len(done.Jobs)-1])
		}
		err = errors.Join(err, report.WriteJSON(files.report, []*report.Report{done}), files.report.Close())
	}
	closed := files.CloseEvents(0)
	// The gantt and the table come after the result, because all of them may go to the same terminal. A failed run has
	// a gantt, too.
	if done != nil {
		s.Write(string(c.picture.Of("", 1, c.Stderr, c.Getenv)))
	}
	if closed != nil && err == nil {
		return 0, fmt.Errorf("%w; the result is complete", closed)
	} else if err = errors.Join(err, closed); err != nil {
		return 0, err
	}
	s.Table(done)
	if j.Matches && !done.Matched() { // the empty result is committed
		return noMatch, nil
	}
	if s.Silent || len(done.Jobs) == 0 {
		return Done, nil
	}
	return Done, j.Extra.WriteCounters(c.Stderr, done.Jobs[len(done.Jobs)-1].Counters)
}

// beside returns what the run reads and writes. Work refuses auxiliary files that are among
// these or lie within them. An auxiliary file may be standard output only if the result is not.
func (c *runCommand) beside() work {
	o := &c.job.Options
	w := work{Inputs: o.Inputs, Outputs: []string{o.OutputFile, o.OutputDir, o.ResumeDir}}
	// The result goes to a file or a directory, so standard output is free.
	if o.OutputFile != "" || o.OutputDir != "" {
		w.Stdout = c.Stdout
	}
	return w
}

// runOn runs the chain and shows it on screen s, which it stops. The result goes to standard output
// unless o names a file, other than /dev/stdout, or a directory.
func runOn(ctx context.Context, e Env, s *term.Screen, chain jobs.Chain, o mrlocal.Options) (*mrlocal.Report, error) {
	defer s.Stop()
	o.Stdin, o.PipeMayClose = e.Stdin, o.OutputDir == ""
	if o.OutputDir == "" && (o.OutputFile == "" || output.NamesStdout(o.OutputFile)) {
		o.Stdout = s.Results(e.Stdout)
	}
	// Attach comes last, because it replaces fields of o.
	attach(ctx, s, &o)
	return runChain(ctx, chain, o)
}
