package show

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"mrlocal/internal/errs"
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
		_, _ = io.WriteString(n.w, ErrorLine("", errors.New(text)))
	}
}

// Failures writes a note that names the jobs of a run that did not succeed. It reports whether there
// are such jobs.
func (n *Notes) Failures(r *report.Report) bool {
	texts := Failures(r)
	for _, text := range texts {
		n.Note(text)
	}
	return len(texts) > 0
}

// Failures returns a line that names the jobs of a run that did not succeed, or nil if there are none.
func Failures(r *report.Report) []string {
	// The line names at most this many jobs. The report has all of them.
	const mostNamed = 5
	failed := r.FailedJobs()
	if len(failed) == 0 {
		return nil
	}
	var names []string
	for _, j := range failed[:min(len(failed), mostNamed)] {
		names = append(names, errs.OneLine(j.Name))
	}
	if len(failed) > mostNamed {
		names = append(names, "…")
	}
	return []string{fmt.Sprintf("under %s %d of %d jobs did not succeed: %s", r.Policy, len(failed), len(r.Jobs), strings.Join(names, ", "))}
}
