// Package command has what commands of mrlocal share: the type of a command, its streams, the exit
// codes, and the flags that several of them take, with the options that these stand for. It also has
// the jobs of run with their flags (Jobs).
//
// A function whose name ends in Flags lists flags, for the parser and the help. A method of
// Reader, or a function whose name begins with Read, reads them. The first mistake stays in
// Reader.Err.
//
// The table of commands is in package main, which reads the command line, calls the one that it
// names and writes its error. The package keeps nothing.
package command

import (
	"context"
	"errors"
	"io"
	"syscall"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/pictures"
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/errs"
	"mrlocal/workload"
)

// Exit codes. process.Interrupted has those of signals.
const (
	Done    = 0
	NoMatch = 1
	Differs = 1 // a decision differs from the recorded one, or two runs differ
	Usage   = 2
	Failed  = 3
)

// Env holds the standard streams, which tests replace.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string

	Page *pictures.Page // of --ui; nil: none
}

// Command is a node of the tree of commands: a leaf that runs, or an inner node
// with subcommands.
type Command struct {
	Name  string // the table of commands sets it
	Usage string // one line of help
	Args  string // the words behind the flags, for the help
	Long  string // more help
	Flags []argv.Spec
	More  func() []argv.Spec // flags of a job, made when they are needed; nil: none
	Sub   []Command
	Run   func(ctx context.Context, e Env, line argv.Line) (code int, err error)

	// Raw, in place of Run, reads its own arguments, the words behind the name. If it reports that
	// it is not done, the words are those of a command that asks for its help.
	Raw  func(ctx context.Context, args []string, e Env) (code int, done bool)
	Tool bool // Raw writes the help of "help NAME" as well
}

// IsHelp reports whether word asks for help.
func IsHelp(word string) bool { return word == "--help" || word == "-h" }

// Write writes the result of a command to standard output. If the reader of a
// pipe has gone, that is success.
func (e Env) Write(text []byte) error {
	// One write for the whole text, so that lines of standard error do not tear it.
	if _, err := e.Stdout.Write(text); !Gone(err) {
		return err
	}
	return nil
}

// AllFlags returns the flags, those of More too.
func (c *Command) AllFlags() []argv.Spec {
	if c.More == nil {
		return c.Flags
	}
	return append(c.Flags, c.More()...)
}

// Screen returns the screen of one run; mode is a value of --progress.
func (e Env) Screen(mode string, picture *show.Picture) *show.Screen {
	return show.NewScreen(e.Stderr, mode, show.TerminalOf(e.Getenv), picture)
}

// Workload reads a workload file, or standard input if the name is -.
func (e Env) Workload(name string) (*workload.File, error) {
	// The name of standard input appears in the errors of the parser.
	if name == "-" {
		return workload.Read("standard input", e.Stdin)
	}
	return workload.Load(name)
}

// Gone reports whether err says that the reader has closed the pipe.
func Gone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// NoWords refuses positional words.
func NoWords(line argv.Line) error {
	if len(line.Words) > 0 {
		return errs.Optionf(argv.Quote(line.Words[0]), "one word too many")
	}
	return nil
}
