package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/cmd/mrlocal/internal/profile"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/cmd/mrlocal/internal/side"
	"mrlocal/engine"
	"mrlocal/errs"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/trace"
)

const runHelp = `Exit codes: 0 done, whole and durable; 1 nothing matched (grep); 2 wrong usage or input, nothing was started; 3 the job failed; 128 + the signal's number when interrupted.`

func runCommand() command {
	return forEachJob(command{name: "run", usage: "run a job for real: wordcount, sort or grep", long: runHelp},
		func(j jobKind) []flagSpec { return runFlags(j.shortOutput) }, runJob)
}

// runJob runs one job: check everything, run, report.
func runJob(ctx context.Context, e env, line argv.Line, name string, build func(*reader) (jobs.Chain, error)) (int, error) {
	if name == "grep" {
		if err := missingWord(line); err != nil {
			return 0, err
		}
	}
	o, err := runOptions(line)
	if err != nil {
		return 0, err
	}
	r := newReader(line)
	mode := r.Choice("progress", "auto", "plain", "none")
	eventsPath, reportPath, profilePath := r.Path("events"), r.Path("report"), r.Path("profile")
	gantt := r.picture()
	if r.Err != nil {
		return 0, r.Err
	}
	chain, err := build(r)
	if err != nil {
		return 0, err
	}
	if err := checkReduces(name, chain, o); err != nil {
		return 0, err
	}
	beside := side.Work{Inputs: o.Inputs, Outputs: []string{o.OutputDir}}
	if o.OutputFile != "" {
		beside.Files = []string{o.OutputFile}
	}
	files, err := side.OpenSet([]string{name}, eventsPath, reportPath, beside)
	if err != nil {
		return 0, err
	}
	if e := files.Events(0); e != nil {
		o.Events = e
	}
	var notes []string
	if name == "grep" {
		var ignore bool
		if notes, ignore = grepNotes(line, chain); ignore {
			o.Reducers, o.MapOnly = 0, false
		}
	}
	if line.Has("quiet") {
		mode = "none"
	}
	s := newScreen(e, mode)
	s.picture = gantt
	for _, n := range notes {
		s.note(n)
	}
	var done *engine.Report
	err = profile.Around(profilePath, beside, func(on bool) (err error) {
		o.Profile = on
		done, err = s.run(ctx, chain, o)
		return err
	})
	if files.HasReport() && done != nil { // also of a run that failed
		err = errors.Join(err, files.Report(func(w io.Writer) error { return report.WriteJSON(w, []*report.Report{done}) }))
	}
	if err = errors.Join(err, files.CloseEvents(0)); err != nil {
		return 0, err
	}
	s.write(string(gantt.Text(show.Width(e.stderr), false)))
	s.table(done)
	if name == "grep" && !done.Matched() {
		return exitNoMatch, nil
	}
	return exitDone, nil
}

// checkReduces refuses to leave out the reduces that a job needs. Selecting
// lines has none, whatever --reducers says.
func checkReduces(name string, chain jobs.Chain, o engine.Options) error {
	for i := range chain {
		switch {
		case chain[i].NewReducer == nil:
		case o.NoReduces:
			return errs.Optionf("--reduce-slots", "0: %s has reduces; at least 1", name)
		case o.MapOnly:
			return errs.Optionf("--reducers", "0: %s needs its reduces; at least 1", name)
		}
	}
	return nil
}

// screen is standard error during a run: notes, progress and, at the end, the
// table. Its methods may be called from any goroutine.
type screen struct {
	e        env
	quiet    bool // no table
	follower *show.Follower
	picture  *show.Picture
	display  show.Display
	mu       sync.Mutex // orders notes and the end of the display
}

// newScreen chooses the display: live on a terminal, plain lines elsewhere.
func newScreen(e env, mode string) *screen {
	s := &screen{e: e, quiet: mode == "none"}
	switch {
	case mode == "none":
		return s
	case mode == "auto" && canDraw(e.stderr):
		s.display = show.NewLive(e.stderr)
	default:
		s.display = show.NewPlain(e.stderr)
	}
	s.follower = show.Follow(s.display)
	return s
}

// run runs the chain and takes the display away.
func (s *screen) run(ctx context.Context, chain jobs.Chain, o engine.Options) (*engine.Report, error) {
	defer s.stop()
	o.Stdin = s.e.stdin
	if o.OutputDir == "" { // --output-file may name it too: /dev/stdout
		o.Stdout = s.e.stdout
		if s.follower != nil && isTerminal(s.e.stdout) {
			o.Stdout = show.BeforeFirst(s.e.stdout, s.stop)
		}
	}
	s.attach(&o)
	return process.RunChain(ctx, chain, o)
}

// attach has a run tell the screen what happens.
func (s *screen) attach(o *engine.Options) {
	o.Stderr, o.Note = show.Lines(s.write), s.note
	o.Watch = func(stream *trace.Stream) {
		s.picture.Watch(stream)
		if s.follower != nil {
			s.follower.Watch(stream)
		}
	}
}

func (s *screen) stop() {
	if s.follower == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follower.Stop()
}

// note tells a one-line message of the run.
func (s *screen) note(text string) {
	s.write(argv.ErrorLine("", errors.New(text)))
}

// write puts whole lines on the screen, above a live block.
func (s *screen) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.follower != nil && !s.follower.Stopped() {
		s.display.Note(text)
		return
	}
	_, _ = io.WriteString(s.e.stderr, text)
}

func (s *screen) table(r *engine.Report) {
	if !s.quiet {
		_ = show.Table(s.e.stderr, r)
	}
}

// canDraw reports whether w is a terminal that can go back and has room.
func canDraw(w io.Writer) bool {
	const leastWidth = 40
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return false
	}
	width, _, err := term.GetSize(int(w.(*os.File).Fd()))
	return err == nil && width >= leastWidth
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
