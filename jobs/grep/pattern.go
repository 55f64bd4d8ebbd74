package grep

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"mrlocal/errs"
)

// program holds the compiled patterns. All mappers share it.
type program struct {
	// newLines makes a lineMatcher for one mapper. It is nil if literals decide
	// alone.
	newLines func() lineMatcher
	idle     sync.Pool // lineMatchers of mappers that have ended; their states serve other mappers
	searches sync.Pool // of mappers that have ended; their finders serve other mappers

	literals []literal // each match contains one of these; nil if not known
	border   border
	exact    bool // each of the literals, with its border, is a match, and nothing else is
	oddFolds bool // there is a folded k or s, which has a partner beyond ASCII; see search.begin
}

// matcher returns a lineMatcher for one mapper.
func (p *program) matcher() lineMatcher {
	// The states that an earlier mapper has built are found again.
	if m, ok := p.idle.Get().(lineMatcher); ok {
		return m
	}
	return p.newLines()
}

// compile compiles the patterns of o. They are tried in the order given.
func compile(o Options) (*program, error) {
	patterns := o.Patterns
	if len(patterns) == 0 {
		patterns = []string{DefaultPattern}
	}
	var parts []string
	for _, p := range patterns {
		// A newline divides patterns, as in GNU grep.
		parts = append(parts, strings.Split(p, "\n")...)
	}
	p := &program{}
	switch {
	case o.Whole: // -w then has no effect, as in GNU grep
		p.border = wholeLine
	case o.Word:
		p.border = wordEnds
	}
	// Literals need no automaton. Case can only be ignored by an expression.
	if o.Fixed && !o.IgnoreCase && p.fixed(parts) {
		return p, p.fallBack(parts)
	}
	for i, part := range parts {
		if o.Fixed {
			if !utf8.ValidString(part) {
				// Expressions are in UTF-8, so such a string cannot become one.
				return nil, errs.Optionf(fmt.Sprintf("Options.Patterns %q", part), "is not UTF-8, which these options need")
			}
			part = regexp.QuoteMeta(part)
		} else if err := check(part); err != nil {
			return nil, err
		}
		// The group keeps flags and alternatives of one pattern from reaching the next.
		parts[i] = "(?:" + part + ")"
	}
	// The order of the parts decides which match is preferred.
	text := strings.Join(parts, "|")
	if o.IgnoreCase {
		text = "(?i:" + text + ")"
	}
	return p, p.compileText(text, o.NULEnded)
}

// fixed compiles fixed strings without regular expressions, which cannot
// express all bytes. It reports whether it could.
func (p *program) fixed(parts []string) bool {
	if len(parts) > maxLiterals {
		return false
	}
	for _, part := range parts {
		// The empty string matches every line, which no search for literals finds.
		if part == "" {
			return false
		}
		p.literals = append(p.literals, literal{text: part})
	}
	p.exact = true
	return true
}

// fallBack also compiles fixed strings as a regular expression, for texts in
// which the search for them is slow. A single string is never slow. Strings
// that hold invalid UTF-8 or U+FFFD cannot be expressed.
func (p *program) fallBack(parts []string) error {
	var quoted []string
	for _, part := range parts {
		if len(parts) == 1 || !utf8.ValidString(part) || strings.ContainsRune(part, utf8.RuneError) {
			return nil
		}
		quoted = append(quoted, regexp.QuoteMeta(part))
	}
	text := strings.Join(quoted, "|")
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return patternError(text, err)
	}
	p.newLines, err = newLineMatchers(text, tree.Simplify(), p.border)
	return err
}

// compileText compiles one regular expression in RE2 syntax. If exchanged is set, it is for text
// in which NUL and newline are exchanged.
func (p *program) compileText(text string, exchanged bool) error {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return patternError(text, err)
	}
	if exchanged {
		exchangeRunes(tree)
		text = tree.String()
	}
	tree = tree.Simplify()
	// Literals that each match must contain find candidate lines without an automaton.
	n := analyse(tree)
	p.literals = n.inside()
	p.exact = p.literals != nil && n.exact != nil && n.pure
	// Exact literals are always worth it: no automaton has to look at their lines.
	if !p.exact && chance(p.literals) > maxChance {
		p.literals = nil
	}
	for _, l := range p.literals {
		p.oddFolds = p.oddFolds || l.fold && strings.ContainsAny(l.text, "ks")
	}
	if p.newLines, err = newLineMatchers(text, tree, p.border); err != nil {
		return patternError(text, err)
	}
	return nil
}

// maxChance is the largest probability, at each place, of a literal that is
// worth searching for. Above it most lines hold one, and finding it saves
// nothing.
const maxChance = 0.02

// check compiles one pattern alone, so that the error names it.
func check(pattern string) error {
	if _, err := regexp.Compile(pattern); err != nil {
		return patternError(pattern, err)
	}
	return nil
}

// patternError words why a pattern is refused, with the place in it, counted from 1.
func patternError(pattern string, err error) error {
	object := fmt.Sprintf("Options.Patterns %q", pattern)
	var at *syntax.Error
	if !errors.As(err, &at) {
		return errs.Optionf(object, "%v", err)
	}
	// The parser says which part is wrong but not where; for parentheses it names the whole.
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
	return errs.Optionf(object, "position %d: %s", max(pos, 0)+1, text)
}

// parens returns the place of the last parenthesis that is not closed, and of
// the first that closes none; -1 if there is none.
func parens(pattern string) (open, closed int) {
	// The places of the parentheses that are open.
	var stack []int
	// Inside of brackets, parentheses are plain characters.
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
