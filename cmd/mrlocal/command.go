package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"syscall"

	"mrlocal"
	"mrlocal/bench/study"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/workload"
)

// Exit codes. After a signal, the exit code is that of Interrupted.
const (
	Done    = 0 // the result is complete and durable
	NoMatch = 1 // run grep: nothing matched, and the empty result is committed
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

// openReport checks the file of --report, as Work.Open does. If it is standard output, tables go to standard error.
func (e *Env) openReport(w Work, path string) (*AuxFile, error) {
	file, err := w.Open("report", path)
	if file.OnStdout() {
		e.Stdout = e.Stderr
	}
	return file, err
}

// printResult writes a result of package study to the file of --report, which may be nil, and prints it. The file
// comes first, because the pipe of the text may be closed.
func (e *Env) printResult(file *AuxFile, found interface{ Text() []byte }) error {
	if file != nil {
		if err := errors.Join(study.WriteJSON(file, found), file.Close()); err != nil {
			return err
		}
	}
	return e.Write(found.Text())
}

// Screen returns the screen that shows one run on standard error. mode is a value of --progress.
// picture says whether and how to draw the gantt.
func (e Env) Screen(mode string, picture *term.Picture) *term.Screen {
	return term.NewScreen(e.Stderr, mode, term.TerminalOf(e.Getenv), picture, noteLine)
}

// noteLine returns the line of a note.
func noteLine(err error) string { return ErrorLine("", err) }

// Attach sets the fields Stderr, Note, Warn and Watch of o, so that the run appears on the screen. The
// display ends as soon as ctx ends, even if the run takes longer.
func Attach(ctx context.Context, s *term.Screen, o *mrlocal.Options) {
	context.AfterFunc(ctx, s.Stop)
	o.Stderr, o.Note, o.Warn, o.Watch = s.Stacks(), s.Note, s.Note, s.Watch
}

// Shown says how much of a run standard error shows.
type Shown struct {
	Mode           string // a value of --progress; "": auto
	Verbose, Quiet bool
}

// Progress returns --progress.
func (s *Shown) Progress() setting.Setting {
	return setting.Of("progress", "", "show progress on standard error: `auto|plain|json|none`. auto is a block on a terminal and a line every 10 s elsewhere; json is an object a second for programs", "auto", setting.Choice(&s.Mode, "auto", "plain", "json", "none"))
}

// Settings returns --progress, --verbose and --quiet.
func (s *Shown) Settings() []setting.Setting {
	return setting.In("INPUT AND OUTPUT", []setting.Setting{s.Progress(),
		setting.Of("verbose", "", "show the table of the run, its counters, and the names that were skipped, even in a pipe or after a short run", "", setting.Toggle(&s.Verbose)),
		setting.Of("quiet", "", "show neither progress nor notes nor the table, errors alone", "", setting.Toggle(&s.Quiet)),
	})
}

// Screen returns the screen of one run. picture says whether and how to draw the gantt.
func (s *Shown) Screen(e Env, picture *term.Picture) *term.Screen {
	mode := cmp.Or(s.Mode, "auto")
	if s.Quiet {
		mode = "none"
	}
	screen := e.Screen(mode, picture)
	screen.Verbose, screen.Silent = s.Verbose, s.Quiet
	return screen
}

// First returns the first directory, or "".
func First(dirs []string) string {
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

// Notes writes the notes of several runs, each text once. Runs of the same file give the same
// notes. One goroutine uses it.
type Notes struct {
	w    io.Writer
	seen map[string]bool
}

// NewNotes returns a Notes that writes to w, a line for each note.
func NewNotes(w io.Writer) *Notes { return &Notes{w: w, seen: map[string]bool{}} }

// Note writes text unless it has written the same text before.
func (n *Notes) Note(text string) {
	if !n.seen[text] {
		n.seen[text] = true
		_, _ = io.WriteString(n.w, noteLine(errors.New(text)))
	}
}

// noteOf returns a function that prints a line on standard error. With quiet it prints nothing.
func noteOf(e Env, quiet bool) func(string) {
	if quiet {
		return func(string) {}
	}
	return NewNotes(e.Stderr).Note
}
