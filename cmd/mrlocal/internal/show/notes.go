package show

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/report"
	"mrlocal/slots"
)

// Notes writes each message of several runs once.
type Notes struct {
	w    io.Writer
	seen map[string]bool
}

// NewNotes returns notes that go to w, each on one line.
func NewNotes(w io.Writer) *Notes { return &Notes{w: w, seen: map[string]bool{}} }

// Note writes a message that has not been written yet. Runs of one file give the same warnings
// again and again.
func (n *Notes) Note(text string) {
	if !n.seen[text] {
		n.seen[text] = true
		_, _ = io.WriteString(n.w, argv.ErrorLine("", errors.New(text)))
	}
}

// Failures writes which jobs of a run did not succeed, and returns 1 if there are any, else 0.
func (n *Notes) Failures(r *report.Report) (failed int) {
	for _, text := range Failures(r) {
		n.Note(text)
		failed++
	}
	return failed
}

// Failures says which jobs of a run did not succeed, in one line or none.
func Failures(r *report.Report) []string {
	// The report has them all.
	const mostNamed = 5
	failed := 0
	var names []string
	for i := range r.Jobs {
		if r.Jobs[i].State != slots.Succeeded.String() {
			failed++
			if len(names) < mostNamed {
				names = append(names, r.Jobs[i].Name)
			}
		}
	}
	if failed == 0 {
		return nil
	}
	// The dots say that the report names more jobs.
	more := ""
	if failed > len(names) {
		more = ", …"
	}
	return []string{fmt.Sprintf("under %s %d of %d jobs did not succeed: %s%s", r.Policy, failed, len(r.Jobs), strings.Join(names, ", "), more)}
}
