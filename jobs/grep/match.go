package grep

import (
	"mrlocal/internal/errs"
	"mrlocal/jobs/grep/dfa"
)

// lineMatcher decides about lines if literals cannot. It belongs to one mapper. A line is
// matched by itself, without its newline.
type lineMatcher interface {
	Match(line []byte) bool
	// Find returns the leftmost match that begins at or behind from. from is 0, the end of a
	// match, or the end of the rune behind a match. start is none if there is no match.
	Find(line []byte, from int) (start, end int)
	// CountLines returns the number of lines of data that match. The last line may lack its
	// newline.
	CountLines(data []byte) int64
	// NextLine returns the next line of data that matches, without its newline. from is the
	// start of a line. start is none if there is no such line.
	NextLine(data []byte, from int) (start, end int)
}

// matchers returns a function that makes a lineMatcher of a program for one mapper. longest is as in Options. It fails
// with an options error for a nil program, which stands for a pattern that is too large.
func matchers(program *dfa.Program, longest bool) (func() lineMatcher, error) {
	if program == nil {
		return nil, errs.Fieldf("Options.Patterns", "the expressions distinguish more than 65,535 classes of characters")
	}
	program.Longest = longest
	return func() lineMatcher { return program.NewMatcher() }, nil
}
