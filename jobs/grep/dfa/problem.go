package dfa

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// Problem returns an error of package syntax or of Unroll about a pattern in words. It has the position of the
// error in the pattern, counted from 1.
func Problem(pattern string, err error) string {
	var at *syntax.Error
	if !errors.As(err, &at) {
		return err.Error()
	}
	// The parser names the wrong part but not its position. For parentheses it names the whole
	// pattern.
	pos := strings.Index(pattern, at.Expr)
	switch at.Code {
	case syntax.ErrTrailingBackslash:
		pos = len(pattern) - 1
	case syntax.ErrMissingParen:
		pos, _ = parens(pattern)
	case syntax.ErrUnexpectedParen:
		_, pos = parens(pattern)
	}
	text := at.Code.String()
	if at.Expr != pattern && at.Expr != "" {
		text += fmt.Sprintf(": %q", at.Expr)
	}
	return fmt.Sprintf("position %d: %s", max(pos, 0)+1, text)
}

// parens returns the offset of the last parenthesis that is not closed, and of the first one
// that closes nothing; -1: there is none.
func parens(pattern string) (open, closed int) {
	// Offsets of the parentheses that are open.
	var stack []int
	// In a class in brackets, parentheses are ordinary characters.
	class := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
			if strings.HasPrefix(pattern[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(pattern[i+1:], "]") {
				i++
			}
		case c == '(':
			stack = append(stack, i)
		case c == ')' && len(stack) == 0:
			return -1, i
		case c == ')':
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) == 0 {
		return -1, -1
	}
	return stack[len(stack)-1], -1
}
