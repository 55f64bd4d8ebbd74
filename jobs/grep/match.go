package grep

import (
	"regexp/syntax"

	"mrlocal/internal/errs"
	"mrlocal/jobs/grep/dfa"
	"mrlocal/jobs/grep/words"
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

// newLineMatchers compiles a pattern, given as its simplified tree. It returns a function that makes
// a lineMatcher for one mapper. It fails with an options error if the pattern is too large.
func newLineMatchers(tree *syntax.Regexp, b words.Border) (func() lineMatcher, error) {
	return matchers(dfa.Compile(tree, dfa.Border(b)))
}

// newTextMatchers is newLineMatchers for texts of several lines. Of the lineMatchers, only Find may be used.
func newTextMatchers(tree *syntax.Regexp, b words.Border) (func() lineMatcher, error) {
	return matchers(dfa.CompileText(tree, dfa.Border(b)))
}

// matchers returns a function that makes a lineMatcher of a program. It fails for a nil program.
func matchers(program *dfa.Program) (func() lineMatcher, error) {
	if program == nil {
		return nil, errs.Optionf("Options.Patterns", "the expressions distinguish more than 65,535 classes of characters")
	}
	return func() lineMatcher { return program.NewMatcher() }, nil
}
