package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/sim"
	"mrlocal/slots/report"
	"mrlocal/workload"
)

// allocBytes is the mean number of allocated bytes between two samples during a recording.
const allocBytes = 64 << 10

// sampleNoAllocations turns the sampling of allocations off, which the runtime does by default.
// recordProfile turns it on for its run. main calls sampleNoAllocations first.
func sampleNoAllocations() { runtime.MemProfileRate = 0 }

// profileNames returns the names of the files that recordProfile writes. The runtime writes the first two during the
// run.
func profileNames() []string { return []string{"cpu.pprof", "trace.out", "heap.pprof", "allocs.pprof"} }

// recording writes the profiles of one run into a directory.
type recording struct {
	dir   string
	made  bool       // open has created the directory
	files []*os.File // under temporary names, in the order of profileNames
}

// checkProfile checks that recordProfile can record into dir. It leaves no file behind. If dir is "", there is
// nothing to check.
func checkProfile(dir string) error {
	if dir == "" {
		return nil
	}
	r := &recording{dir: dir}
	err := r.open()
	r.drop()
	return notRecorded(dir, err)
}

// recordProfile calls run and records it into dir, which it creates if necessary. If dir is "", it only
// calls run. on reports whether the run is recorded. It returns the error of run joined with
// its own. A process can record only one run at a time.
func recordProfile(dir string, run func(on bool) error) error {
	if dir == "" {
		return run(false)
	}
	r := &recording{dir: dir}
	err := r.open()
	if err == nil {
		err = r.begin()
	}
	if err != nil {
		r.drop()
		return notRecorded(dir, err)
	}
	var stopped error
	func() {
		// The deferred call stops the profilers even if run panics. After a usage error nothing has
		// run.
		defer func() { stopped = r.stop(errs.IsUsage(err)) }()
		err = run(true)
	}()
	return errors.Join(err, stopped)
}

// notRecorded returns an options error for err, the reason why dir cannot be written. It returns nil if
// err is nil.
func notRecorded(dir string, err error) error {
	if err == nil {
		return nil
	}
	return errs.Optionf("--profile", "%s: %v", dir, errs.Cause(err))
}

// open creates the directory, unless it exists, and the files. After an error the caller must call drop.
func (r *recording) open() error {
	if r.dir == stdout {
		return errors.New("standard output cannot hold a profile, which is four files; name a directory")
	}
	err := os.Mkdir(r.dir, 0o777)
	if r.made = err == nil; err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, name := range profileNames() {
		f, err := disk.Beside(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		r.files = append(r.files, f)
	}
	return nil
}

// begin starts the profilers of the runtime.
func (r *recording) begin() error {
	if err := pprof.StartCPUProfile(r.files[0]); err != nil {
		return err
	}
	if err := trace.Start(r.files[1]); err != nil {
		pprof.StopCPUProfile()
		return err
	}
	// Allocations are sampled only during the run.
	runtime.MemProfileRate = allocBytes
	return nil
}

// stop ends the recording and gives the files their names. If the run was refused before it
// started, stop removes them instead.
func (r *recording) stop(refused bool) (err error) {
	trace.Stop()
	pprof.StopCPUProfile()
	runtime.GC() // the heap profile shows the state after the last collection, so this is one at the end of the run
	runtime.MemProfileRate = 0
	if refused {
		r.drop()
		return nil
	}
	for i, name := range profileNames() {
		f := r.files[i]
		var wrong error
		if kept := pprof.Lookup(strings.TrimSuffix(name, ".pprof")); kept != nil { // the runtime keeps it in memory
			wrong = kept.WriteTo(f, 0)
		}
		if wrong != nil {
			wrong = errors.Join(wrong, f.Close(), os.Remove(f.Name()))
		} else {
			wrong = disk.Publish(disk.Of(f), filepath.Join(r.dir, name))
		}
		err = errors.Join(err, wrong)
	}
	return err
}

// drop closes and removes all files, and removes the directory if open has created it.
func (r *recording) drop() {
	for _, f := range r.files {
		f.Close()
		_ = os.Remove(f.Name())
	}
	// Remove fails if the directory is not empty. Then it has files of the user, and must stay.
	if r.made {
		_ = os.Remove(r.dir)
	}
}

// tuneCommand has the options of mrlocal tune for one job.
type tuneCommand struct {
	Env
	job              *job
	rounds           int
	progress, report string
}

// makeTune returns mrlocal tune, with a subcommand for each job.
func makeTune(e Env) *flags.Command {
	return ForEachJob(flags.Command{Usage: "find the best numbers of slots for a job, by Dynamic Split's guideline", Long: helpText("tune"), Examples: []string{"mrlocal tune wordcount wiki/"}}, nil,
		func(j *job) *flags.Command {
			c := &tuneCommand{Env: e, job: j, rounds: 3}
			own := func(s setting.Setting) bool { return s.Name == "rounds" } // some jobs have rounds of their own
			all := append(slices.DeleteFunc(measured(j, "its cores, at least 2"), own),
				setting.Of("rounds", "", "make `N` runs with each number of slots and take the median", "3", setting.Count(&c.rounds, 1, 1000)))
			reduces := setting.Named(all, "reduce-slots")
			reduces.Help, reduces.Default = "try up to `N` home reduce slots on each tracker", "its cores, at least 2"
			return &flags.Command{Run: c.run, Settings: append(all, setting.In("INPUT AND OUTPUT", []setting.Setting{
				setting.Of("report", "", "write the measurements to `FILE` as JSON", "", setting.Text(&c.report)),
				setting.Of("progress", "", "print a line for each run on standard error: `auto|plain|none`", "auto", setting.Choice(&c.progress, "auto", "plain", "none")),
			})...)}
		})
}

// run measures the job with several numbers of slots and prints the tables.
func (c *tuneCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	// With --progress none, notes are dropped too, so only the table appears.
	m, err := measure(c.Env, c.job, line, c.progress == "none")
	if err != nil {
		return 0, err
	}
	defer c.job.Extra.Close()
	// The path of the report is checked before the runs, which may take minutes.
	file, err := c.openReport(work{Inputs: m.Options.Inputs, Stdout: c.Stdout}, c.report)
	if err != nil {
		return 0, err
	}
	m.Rounds = c.rounds
	found, err := m.Tune(ctx)
	if err != nil {
		return 0, err
	}
	return Done, c.printResult(file, found)
}

// measured returns the settings of a job that runs several times: those of run except those of results,
// policies, pictures and files. They have no effect if results are thrown away and the policy is fixed.
// slots is the default of --map-slots.
func measured(j *job, slots string) []setting.Setting {
	all := slices.Concat(j.Settings(), j.Config.Fields(mrlocal.Bounds()), j.Options.Fields())
	maps := setting.Named(all, "map-slots")
	maps.Help, maps.Default = "try up to `N` home map slots on each tracker", slots
	return setting.Without(all, "output", "overwrite", "output-file", "max-slots", "seed")
}

// measure returns what measures the job, whose options it completes by the line. It fails if an input can
// be read only once. With quiet, notes are dropped.
func measure(e Env, j *job, line *flags.Line, quiet bool) (*study.MeasuredJob, error) {
	if err := j.Given(line); err != nil {
		return nil, err
	}
	if err := readAgain(j.Inputs); err != nil {
		return nil, err
	}
	chain, err := j.Build()
	m := &study.MeasuredJob{Chain: chain, Options: j.Options, Run: runChain, Note: noteOf(e, quiet)}
	for _, n := range j.Notes {
		m.Note(n)
	}
	return m, err
}

// readAgain refuses inputs that can be read only once, such as standard input and pipes.
func readAgain(inputs []string) error {
	for _, path := range inputs {
		// A glob or a missing file passes here. The run reports a missing one.
		info, err := os.Stat(path)
		if path == "-" || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return errs.Optionf(errs.Quote(path), "can be read only once, but the job runs several times; name a file or directory")
		}
	}
	return nil
}

// makeProfileJobs returns mrlocal profile with a subcommand for each job. It measures what tasks need. The
// flag --profile is something else: it records profiles for pprof.
func makeProfileJobs(e Env) *flags.Command {
	return ForEachJob(flags.Command{Usage: "measure what the tasks of a job need, for workload files", Long: helpText("profile-job")}, nil,
		func(j *job) *flags.Command {
			return &flags.Command{Settings: measured(j, "its cores"), Run: func(ctx context.Context, line *flags.Line) (int, error) {
				m, err := measure(e, j, line, false)
				if err != nil {
					return 0, err
				}
				defer j.Extra.Close()
				text, err := m.Profile(ctx)
				if err != nil {
					return 0, err
				}
				return Done, e.Write(text)
			}}
		})
}

// validateCommand has the options of mrlocal validate.
type validateCommand struct {
	Env
	*batch
	shown          shown
	runs           int
	measured, path string // --measured and --report; "": none
}

// makeValidate returns mrlocal validate, which compares simulated runs with real ones on this machine.
func makeValidate(e Env) *flags.Command {
	c := &validateCommand{Env: e, batch: newBatch(), runs: 3}
	return &flags.Command{Usage: "run a workload file for real and simulated, and compare", Args: "WORKLOAD", Long: helpText("validate"), Run: c.run,
		Examples: []string{"mrlocal validate measured.yaml --sched fair,pi-dhfs --runs 5"},
		Settings: append(setting.Without(c.settings(), "seed", "shuffle-bw", "parallel-copies", "copy-bw", "disk-bw"), c.shown.Progress(),
			setting.Of("runs", "", "make `N` real runs under each policy", "3", setting.Count(&c.runs, 1, study.MostRuns)),
			setting.Of("measured", "", "take what was measured from `FILE`, which mrlocal profile has written", "WORKLOAD", setting.Text(&c.measured)),
			setting.Of("report", "", "write the comparison to `FILE` as JSON", "a table on standard output", setting.Text(&c.path)))}
}

// run makes the real and the simulated runs, and prints their comparison.
func (c *validateCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	if err := c.load(c.Env, line.Words); err != nil {
		return 0, err
	}
	defer c.close()
	if err := c.checkRuns(c.runs*len(c.Names), nil); err != nil {
		return 0, err
	}
	measured, err := study.Load(c.file, c.measured)
	if err != nil {
		return 0, err
	}
	file, err := c.openReport(work{Inputs: []string{c.file.Name, cmp.Or(c.measured, c.file.Name)}, Stdout: c.Stdout}, c.path)
	if err != nil {
		return 0, err
	}
	v := study.Validator{File: c.file, Policies: c.Names, Rounds: c.runs, Measured: measured, Probe: study.SpeedProbe(), Note: noteOf(c.Env, c.shown.Mode == "none"),
		Real: func(name string) (*report.Report, error) {
			return c.batch.run(ctx, c.Env, c.shown.Screen(c.Env, nil), name, discard, nil)
		},
		Simulated: func(name string, measured *workload.Measured, real *report.Report, seed uint64) (*report.Report, error) {
			s := simulation{c.Scheduling, sim.Options{Cost: "measured", Measured: measured, Sizes: study.Sizes(real)}}
			o, err := s.options(c.file, name)
			if err != nil {
				return nil, err
			}
			// By default, the slots of a real run depend on the cores of the machine, and those of a
			// simulation do not. So the simulation gets the slots of the real run.
			r := &real.Config
			o.MapSlots, o.ReduceSlots = r.MapSlots, r.ReduceSlots
			o.Trackers, o.MaxSlots = r.Trackers, r.MaxSlots
			o.Seed, o.NoPin = seed, !r.Pin
			return sim.Run(ctx, c.file, o)
		}}
	found, err := v.Compare()
	if err != nil {
		return 0, err
	}
	return Done, c.printResult(file, found)
}

// profileCommand has the options of mrlocal profile with a WORKLOAD.
type profileCommand struct {
	Env
	*batch
	shown shown
	runs  int
	path  string // of --output-file
}

// makeProfile returns mrlocal profile, which measures one job, or each job of a workload file. The
// subcommands with the names of jobs measure that job.
func makeProfile(e Env) *flags.Command {
	c := &profileCommand{Env: e, batch: newBatch(), runs: 5}
	made := makeProfileJobs(e)
	made.Args, made.Long, made.Run = "JOB [FLAGS] [PATH…] | WORKLOAD", helpText("profile"), c.run
	made.Examples = []string{"mrlocal profile wordcount wiki/", "mrlocal profile two.yaml -o measured.yaml"}
	made.Settings = append(setting.Without(c.engine.Fields(), "parallel-copies", "copy-bw", "disk-bw"), c.shown.Progress(), outputFile(&c.path, "write the file, with what was measured,"),
		setting.Of("runs", "", "make each run `N` times; the medians count", "5", setting.Count(&c.runs, 1, study.MostRuns)))
	return made
}

// run measures each job of a workload file, and writes the file with a section "measured".
func (c *profileCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	// The file is read twice: here, and by Profile, which copies its text.
	if len(line.Words) > 0 && line.Words[0] == "-" {
		return 0, errs.Optionf("WORKLOAD", "-: profile copies the text of the file; name a file")
	}
	// Any number of runs above 1 serves for checkRuns, which looks for standard input as an input.
	if err := errors.Join(c.load(c.Env, line.Words), c.checkRuns(2, nil)); err != nil {
		return 0, err
	}
	defer c.close()
	file, err := (&work{Inputs: []string{c.file.Name}, Stdout: c.Stdout}).Open("output-file", cmp.Or(c.path, "-"))
	if err != nil {
		return 0, err
	}
	// The profiler replaces slots and policy, so of the file it needs only the jobs.
	_, submissions := c.file.Lower(c.Config)
	p := study.Profiler{File: c.file, Rounds: c.runs, Work: c.work(submissions, c.Stdin, discard), Engine: c.engine, RunBatch: runBatch, Note: noteOf(c.Env, c.shown.Mode == "none")}
	text, err := p.Profile(ctx)
	if err != nil {
		return 0, c.reader.named(err)
	}
	_, err = io.WriteString(file, text)
	return Done, errors.Join(err, file.Close())
}
