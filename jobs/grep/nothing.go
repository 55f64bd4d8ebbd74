package grep

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// MatchNothing is a pattern that never matches: a character outside of the range of all characters.
const MatchNothing = `[^\x00-\x{10FFFF}]`

// SelectsNothing reports whether no line can be selected: there is no pattern, or all lines match and Invert
// leaves them out. GNU grep then opens no file. With ListOthers it does, and so does ripgrep, whose form JSON
// is.
func (o *Options) SelectsNothing() bool {
	switch {
	case o.ListOthers || o.JSON:
		return false
	case slices.Equal(o.Patterns, []string{MatchNothing}):
		return !o.Invert
	}
	return o.Invert && !o.Whole && !o.Word && strings.Trim(strings.Join(o.Patterns, "\n"), "\n") == ""
}

// hasUpper reports whether a pattern has an upper case letter that stands for itself. A letter in an escape
// of RE2, such as \S, \pL or \p{Greek}, does not count.
func hasUpper(pattern string) bool {
	escapes := regexp.MustCompile(`\\(?:[pP](?:\{[^}]*\}|.)|.)`)
	return strings.ContainsFunc(escapes.ReplaceAllString(pattern, ""), unicode.IsUpper)
}
