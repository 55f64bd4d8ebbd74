package main

import (
	"errors"
	"io"

	"mrlocal/internal/term"
	"mrlocal/slots/report"
)

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

// Failures writes a note that names the jobs of a run that did not succeed. It reports whether there
// are such jobs.
func (n *Notes) Failures(r *report.Report) bool {
	texts := term.Failures(r)
	for _, text := range texts {
		n.Note(text)
	}
	return len(texts) > 0
}
