package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// Exit codes. After a signal, the exit code is that of Interrupted.
const (
	Done    = 0 // the result is complete and durable
	noMatch = 1 // run grep: nothing matched, and the empty result is committed
	Differs = 1 // replay: a decision differs from the recorded one; compare: the two runs differ
	Usage   = 2 // wrong usage or wrong input; nothing was started
	Failed  = 3 // the job failed, or a job of a batch
)

// Env is the environment of a command: the standard streams and the environment variables. Tests
// replace them.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string // as os.Getenv
	Arg0           string              // os.Args[0]; "" in tests
}

// Write writes the whole result of a command to standard output. It returns nil if the reader of a
// pipe has closed it, because a closed pipe on standard output is success.
func (e Env) Write(text []byte) error {
	// A single write for the whole text keeps lines of standard error from appearing inside it.
	_, err := e.Stdout.Write(text)
	return unlessGone(err)
}

// width returns the number of columns of a line on standard output.
func (e Env) width() int { return term.TerminalOf(e.Getenv).Width(e.Stdout) }

// Print writes text as Write does, laid out for the width of standard output.
func (e Env) Print(text []byte) error { return e.Write([]byte(errs.Fit(string(text), e.width()))) }

// openReport checks the file of --report, as Work.Open does. If it is standard output, tables go to standard error.
func (e *Env) openReport(w work, path string) (*auxFile, error) {
	file, err := w.Open("report", path)
	if file.OnStdout() {
		e.Stdout = e.Stderr
	}
	return file, err
}

// printResult writes a result of package study to the file of --report, which may be nil, and prints it. The file
// comes first, because the pipe of the text may be closed.
func (e *Env) printResult(file *auxFile, found interface{ Text() []byte }) error {
	if file != nil {
		if err := errors.Join(study.WriteJSON(file, found), file.Close()); err != nil {
			return err
		}
	}
	return e.Print(found.Text())
}

// noteLine returns the line of a note.
func noteLine(err error) string { return errorLine("", err) }

// attach sets the fields Stderr, Note, Warn and Watch of o, so that the run appears on the screen. The
// display ends as soon as ctx ends, even if the run takes longer.
func attach(ctx context.Context, s *term.Screen, o *mrlocal.Options) {
	context.AfterFunc(ctx, s.Stop)
	o.Stderr, o.Note, o.Warn, o.Watch = s.Stacks(), s.Note, s.Note, s.Watch
}

// shown says how much of a run standard error shows.
type shown struct {
	Mode           string // a value of --progress; "": auto
	Verbose, Quiet bool
}

// Progress returns --progress.
func (s *shown) Progress() setting.Setting {
	return setting.Of("progress", "", "show progress on standard error: `auto|plain|json|none`. auto is a block on a terminal and a line every 10 s elsewhere; json is an object per second for programs", "auto", setting.Choice(&s.Mode, "auto", "plain", "json", "none"))
}

// Settings returns --progress, --verbose and --quiet.
func (s *shown) Settings() []setting.Setting {
	return setting.In("INPUT AND OUTPUT", []setting.Setting{s.Progress(),
		setting.Of("verbose", "", "show the table of the run, its counters, and the names that were skipped, even in a pipe or after a short run", "", setting.Toggle(&s.Verbose)),
		setting.Of("quiet", "", "show neither progress nor notes nor the table, errors alone", "", setting.Toggle(&s.Quiet)),
	})
}

// Screen returns the screen of one run. picture says whether and how to draw the gantt.
func (s *shown) Screen(e Env, picture *term.Picture) *term.Screen {
	mode := cmp.Or(s.Mode, "auto")
	if s.Quiet {
		mode = "none"
	}
	screen := term.NewScreen(e.Stderr, mode, term.TerminalOf(e.Getenv), picture, noteLine)
	screen.Verbose, screen.Silent = s.Verbose, s.Quiet
	return screen
}

// first returns the first directory, or "".
func first(dirs []string) string {
	if len(dirs) == 0 {
		return ""
	}
	return dirs[0]
}

// Workload reads the workload file of that name, or standard input if the name is -. The error names
// the file, line and column of a mistake.
func (e Env) Workload(name string) (*workload.File, error) {
	if name == "-" {
		// The first argument is the name that errors of the parser show.
		return workload.Read("standard input", e.Stdin)
	}
	return workload.Load(name)
}

// unlessGone returns err, or nil if it comes from a write to a pipe of the system whose reader has closed it.
func unlessGone(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// notes returns a function that writes the notes of several runs to w, a line for each note, and each text once. Runs
// of the same file give the same notes. One goroutine uses it.
func notes(w io.Writer) func(text string) {
	seen := map[string]bool{}
	return func(text string) {
		if !seen[text] {
			seen[text] = true
			_, _ = io.WriteString(w, noteLine(errors.New(text)))
		}
	}
}

// noteOf returns a function that prints a line on standard error. With quiet it prints nothing.
func noteOf(e Env, quiet bool) func(string) {
	if quiet {
		return func(string) {}
	}
	return notes(e.Stderr)
}

// Scheduling has the slots, the placement, and the options of policies. Runs, batches and simulations take
// the same ones. A flag that is not given is 0 or nil in Config, and has its default in PolicyOptions.
type Scheduling struct {
	setup.Config
	PolicyOptions policy.Options
	Names         []string // of --sched
}

// newScheduling returns the settings of a command before it has read its line.
func newScheduling() Scheduling {
	return Scheduling{PolicyOptions: policy.DefaultOptions(), Names: []string{mrlocal.DefaultPolicy}}
}

// Settings returns the settings that say which task may run where: --sched and those of the policies and
// of setup.Config. b has the bounds. With several, --sched takes several policies. Complete must
// follow when the line is read.
func (s *Scheduling) Settings(b setup.Bounds, several bool) []setting.Setting {
	sched := setting.Of("sched", "Policy", "slot policy `NAME`; mrlocal policies lists them", mrlocal.DefaultPolicy,
		setting.Value{Words: registry.Names(), Set: func(text string) error { return s.readPolicies(text, several) }}).InShortHelp()
	if several {
		sched.Help = "slot policies `NAME[,NAME]`, one run each, or all; see mrlocal policies"
	}
	all := append(setting.In("POLICIES", []setting.Setting{sched}), s.Config.Fields(b)...)
	if m := setting.Named(all, "max-slots"); m != nil {
		m.Help += "; " + strings.Join(registry.Openers(), ", ") + " can open extra ones"
	}
	if m := setting.Named(all, "slowstart"); m != nil {
		m.Help += "; " + strings.Join(registry.OwnSlowstart(), ", ") + " have their own"
	}
	return append(all, s.PolicyOptions.Fields()...)
}

// readPolicies reads names of policies with commas between, or all. A single run takes one name.
func (s *Scheduling) readPolicies(text string, several bool) error {
	if text == "all" && several { // the registry has the order of mrlocal policies: simplest first
		s.Names = registry.Names()
		return nil
	}
	names := []string{text}
	if several {
		names = strings.Split(text, ",")
	}
	for i, name := range names {
		switch {
		case name == "all":
			return errors.New("all stands alone, in sim, batch and sweep; run takes one policy")
		// Each policy writes files with its name at the end.
		case slices.Contains(names[:i], name):
			return fmt.Errorf("%s is given twice", errs.Quote(name))
		}
		if err := registry.Check(name); err != nil {
			return err
		}
	}
	s.Names = names
	return nil
}

// Complete completes the settings when the line is read. The cluster needs the delay of the policies, too. The slot
// weights are those of the file if no flag sets them; nil: there is no file.
func (s *Scheduling) Complete(f *workload.File) {
	s.LocalityDelay = s.PolicyOptions.LocalityDelay
	if f != nil && !s.PolicyOptions.SlotWeights.Bound() {
		s.PolicyOptions.SlotWeights = f.SlotWeights()
	}
}

// NewPolicy makes a policy of that name with the options of s. A policy serves one run only. The
// call fails if the name is unknown, or if the policy refuses its options.
func (s *Scheduling) NewPolicy(name string) (slots.Policy, error) {
	return registry.New(name, s.PolicyOptions)
}
