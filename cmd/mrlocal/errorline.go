package main

import (
	"errors"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/sim"
	"mrlocal/slots/policy"
)

// mostLineBytes is the largest number of bytes of an error line, because a word in it may be very long.
const mostLineBytes = 4096

// ErrorLine returns err as the one line that a user sees, with its newline:
//
//	mrlocal: what: object: cause
//
// what is the command, or "". own are its settings. Libraries name fields in their errors. In the line the
// flags of own stand for them, or else those of runs. Joined errors follow one another in the line.
func ErrorLine(what string, err error, own ...setting.Setting) string {
	text := message(err)
	if strings.Contains(text, "Options.") || strings.Contains(text, "Submission.") { // the tables take time
		var o mrlocal.Options
		text = setting.Fields(slices.Concat(own, new(mrlocal.JobOptions).Fields(), o.Fields(), o.Config.Fields(mrlocal.Bounds()), new(policy.Options).Fields(), new(sim.Options).Fields()))(text)
	}
	if what != "" {
		text = what + ": " + text
	}
	return "mrlocal: " + errs.Shorten(errs.OneLine(text), mostLineBytes) + "\n"
}

// message returns the text of an error. errors.Join puts each of its errors on a line of its own;
// message puts them on one line, with semicolons between.
func message(err error) string {
	if e, ok := err.(*errs.Error); ok {
		return e.Where() + message(e.Cause)
	}
	// An error may wrap several others and have a text of its own, as that of fmt.Errorf. It stays
	// as it is.
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return err.Error()
	}
	var texts []string
	for _, part := range joined.Unwrap() {
		texts = append(texts, message(part))
	}
	return strings.Join(texts, "; ")
}
