package dfa

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// This file prepares expressions in RE2 syntax for package regexp/syntax, and words its errors.
//
// Package syntax refuses a repeat above 1000, also of repeats in each other. Unroll writes such a repeat as several
// that are small enough: a{1500} is a{1000}a{500}. The package keeps no state. Its neighbour is jobs/grep.

const (
	// mostRepeat is the largest count of a repeat, as in GNU grep.
	mostRepeat = 32767
	// most is what package syntax accepts of one repeat, with the repeats in it.
	most = 1000
	// mostBytes bounds an unrolled pattern, and mostCopies the copies of a character in it.
	mostBytes, mostCopies = 4 << 20, 40_000
)

// LargeRepeat reports whether package syntax refuses a pattern for the size of a repeat, or for its order.
func LargeRepeat(err error) bool {
	at, ok := errors.AsType[*syntax.Error](err)
	return ok && at.Code == syntax.ErrInvalidRepeatSize
}

// Unroll returns a pattern that matches what pattern matches, with repeats that package syntax accepts. In all
// other respects the result is right or wrong as pattern is. Unroll fails if a repeat or the result is too large.
func Unroll(pattern string) (string, error) {
	u := unroller{rest: pattern}
	var b strings.Builder
	for {
		text, _ := u.sequence()
		b.WriteString(text)
		if u.err != nil || u.rest == "" {
			return b.String(), u.err
		}
		b.WriteByte(')') // it closes no group, which package syntax refuses
		u.rest = u.rest[1:]
	}
}

// unroller reads a pattern.
type unroller struct {
	rest string
	err  error
}

// take removes n bytes of the rest, and returns them.
func (u *unroller) take(n int) string {
	text := u.rest[:min(n, len(u.rest))]
	u.rest = u.rest[len(text):]
	return text
}

// sequence reads up to the end of the group, and returns it unrolled. copies is how often its most
// repeated part stands in it.
func (u *unroller) sequence() (text string, copies int) {
	var b strings.Builder
	copies = 1
	for u.rest != "" && u.rest[0] != ')' && u.err == nil {
		part, n := u.atom()
		part, n = u.repeat(part, n)
		copies = max(copies, n)
		if b.WriteString(part); b.Len() > mostBytes || copies > mostCopies {
			u.err = fmt.Errorf("its repeats make it too large; at most %d copies of a character", mostCopies)
		}
	}
	return b.String(), copies
}

var (
	// group matches what begins a group: a name, or flags.
	groupSyntax = lazy(`^\((\?P?<[^>]*>|\?[a-zA-Z-]*:)?`)
	// flags matches flags for the rest of a group.
	flags = lazy(`^\(\?[a-zA-Z-]*\)`)
	// single matches a class or an escaped character.
	single = lazy(`^(?:\[\^?\]?(?:\[:[^\]]*:\]|\\.|[^\]\\])*\]|\\x\{[^}]*\}|\\x[0-9A-Fa-f]{2}|\\[pP](?:\{[^}]*\}|.)|\\[0-7]{1,3}|(?s:\\.))`)
	// count matches a repeat with numbers.
	count = lazy(`^\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}(\??)`)
)

// lazy returns a function that compiles expr at its first call, so that no other start of the program does.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// atom reads what a repeat repeats: a group, a class or a character.
func (u *unroller) atom() (text string, copies int) {
	switch {
	case strings.HasPrefix(u.rest, `\Q`): // each of these characters is one atom
		quoted, rest, _ := strings.Cut(u.rest[2:], `\E`)
		u.rest = rest
		runes := []rune(quoted)
		if len(runes) == 0 {
			return "", 1
		}
		last := len(runes) - 1
		// The parts before the last one are taken with it if a repeat does not follow.
		if count().MatchString(rest) {
			u.rest = regexp.QuoteMeta(string(runes[last])) + rest
			return regexp.QuoteMeta(string(runes[:last])), 1
		}
		return regexp.QuoteMeta(quoted), 1
	case flags().MatchString(u.rest):
		text := u.take(len(flags().FindString(u.rest)))
		return text + u.take(len(count().FindString(u.rest))), 1 // package syntax repeats the atom before the flags
	case u.rest[0] == '(':
		begin := u.take(len(groupSyntax().FindString(u.rest)))
		if strings.HasSuffix(begin, ">") { // a copy must not have its name
			begin = "(?:"
		}
		text, copies = u.sequence()
		return begin + text + u.take(1), copies
	}
	if text := single().FindString(u.rest); text != "" {
		return u.take(len(text)), 1
	}
	_, width := utf8.DecodeRuneInString(u.rest)
	return u.take(width), 1
}

// repeat reads the repeat behind an atom, which has the given number of copies of a part, and returns both unrolled.
func (u *unroller) repeat(atom string, copies int) (string, int) {
	of := count().FindStringSubmatch(u.rest)
	if of == nil || atom == "" {
		return atom, copies
	}
	low, high := number(of[1]), number(of[1])
	if of[2] != "" {
		high = number(of[3])
	}
	if low > mostRepeat || high > mostRepeat || of[3] != "" && high < low {
		u.err = &syntax.Error{Code: syntax.ErrInvalidRepeatSize, Expr: strings.TrimSuffix(of[0], "?")}
		return atom, copies
	}
	u.take(len(of[0]))
	lazy, each := of[4], max(most/copies, 1)
	if copies > most { // it is unrolled already
		each = 1
	}
	var b strings.Builder
	for n := low; n > 0 && b.Len() <= mostBytes; n -= each {
		fmt.Fprintf(&b, "%s{%d}", atom, min(n, each))
	}
	switch {
	case of[2] == ",": // without an upper end
		b.WriteString(atom + "*" + lazy)
	case low == 0 && high == 0:
		b.WriteString(atom + "{0}")
	}
	for n := high - low; n > 0 && of[3] != "" && b.Len() <= mostBytes; n -= each {
		fmt.Fprintf(&b, "%s{0,%d}%s", atom, min(n, each), lazy)
	}
	return "(?:" + b.String() + ")", copies * max(high, low, 1)
}

// number returns the number of digits, more than mostRepeat if it is too large, and 0 for none.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil && digits != "" {
		return mostRepeat + 1
	}
	return n
}

// Problem returns an error of package syntax or of Unroll about a pattern in words. It has the position of the
// error in the pattern, counted from 1.
func Problem(pattern string, err error) string {
	at, ok := errors.AsType[*syntax.Error](err)
	if !ok {
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
