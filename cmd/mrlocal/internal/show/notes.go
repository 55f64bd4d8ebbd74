package show

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/report"
	"mrlocal/slots"
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
		_, _ = io.WriteString(n.w, argv.ErrorLine("", errors.New(text)))
	}
}

// Failures writes a note that names the jobs of a run that did not succeed. It returns 1 if there
// are such jobs, else 0.
func (n *Notes) Failures(r *report.Report) (failed int) {
	for _, text := range Failures(r) {
		n.Note(text)
		failed++
	}
	return failed
}

// Failures returns a line that names the jobs of a run that did not succeed, or nil if there are none.
func Failures(r *report.Report) []string {
	// The line names so many jobs at most. The report has all of them.
	const mostNamed = 5
	failed := 0
	var names []string
	for i := range r.Jobs {
		if r.Jobs[i].State != slots.Succeeded.String() {
			failed++
			if len(names) < mostNamed {
				names = append(names, errs.OneLine(r.Jobs[i].Name))
			}
		}
	}
	if failed == 0 {
		return nil
	}
	more := ""
	if failed > len(names) {
		more = ", …"
	}
	return []string{fmt.Sprintf("under %s %d of %d jobs did not succeed: %s%s", r.Policy, failed, len(r.Jobs), strings.Join(names, ", "), more)}
}
