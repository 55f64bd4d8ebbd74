package workload

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"mrlocal/errs"
	"mrlocal/slots/setup"
)

// ParseFault reads one fault as an item of faults has it, with its braces or without:
// "at: 50s, tracker: 3, lost: true". It is for a run of one job of that name, on so many
// trackers; 0 trackers: any. An error is of kind errs.BadOptions; object names the option.
func ParseFault(object, text, job string, trackers int) (setup.Fault, error) {
	d := &decoder{file: &File{Name: object}, anchors: map[string]ast.Node{}, steps: mostSteps}
	inner := strings.TrimSpace(text)
	if !strings.HasPrefix(inner, "{") {
		inner = "{" + inner + "}"
	}
	if at := invalidUTF8(inner); at >= 0 || strings.ContainsAny(inner, "\n\r") {
		return setup.Fault{}, errs.Optionf(object, "%s: not one line of UTF-8 text", quote(text))
	}
	d.file.Trackers = trackers
	d.file.Jobs = []ListedJob{{Submission: setup.Submission{Name: job}, Job: job}}
	if body := d.parse(part{text: inner}); d.err == nil {
		d.fault(body)
	}
	if d.err == nil {
		d.checkFault(0, map[string]int{job: 0})
	}
	if d.err == nil {
		return d.file.Faults[0], nil
	}
	// The place in so short a text says nothing.
	cause := d.err
	if e := (*errs.Error)(nil); errors.As(d.err, &e) {
		cause = e.Cause
	}
	return setup.Fault{}, errs.Optionf(object, "%s: %v", quote(text), cause)
}
