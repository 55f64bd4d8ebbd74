package grep

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"mrlocal/errs"
	"mrlocal/jobs/internal/lines"
)

// program holds the compiled patterns. All mappers share it.
type program struct {
	// newLines makes a lineMatcher for one mapper; nil: literals alone decide.
	newLines func() lineMatcher
	idle     sync.Pool // lineMatchers of mappers that have ended; later mappers reuse their states
	searches sync.Pool // searches of mappers that have ended; later mappers reuse their finders

	literals []literal // each match contains one of these; nil if not known
	border   border
	exact    bool // each occurrence of a literal, with its border, is a match, and there are no others
	oddFolds bool // a literal folds k or s, which also match a rune beyond ASCII (search.begin)
}

// matcher returns a lineMatcher for one mapper: one of a mapper that has ended, with its
// states, or a new one.
func (p *program) matcher() lineMatcher {
	if m, ok := p.idle.Get().(lineMatcher); ok {
		return m
	}
	return p.newLines()
}

// compile compiles the patterns of o, in the order of preference. It fails with an options
// error if a pattern is wrong.
func compile(o Options) (*program, error) {
	patterns := o.Patterns
	if len(patterns) == 0 {
		patterns = []string{DefaultPattern}
	}
	var parts []string
	for _, p := range patterns {
		// A newline separates patterns, as in GNU grep.
		parts = append(parts, strings.Split(p, "\n")...)
	}
	p := &program{}
	switch {
	case o.Whole: // -w has no effect together with -x, as in GNU grep
		p.border = wholeLine
	case o.Word:
		p.border = wordEnds
	}
	// Fixed strings need no automaton, unless case is ignored.
	if o.Fixed && !o.IgnoreCase && p.fixed(parts) {
		return p, p.fallBack(parts)
	}
	for i, part := range parts {
		if o.Fixed {
			if !utf8.ValidString(part) {
				// Expressions are in UTF-8.
				return nil, errs.Optionf("Options.Patterns", "%q: is not UTF-8, which these options need", part)
			}
			part = regexp.QuoteMeta(part)
		} else if err := check(part); err != nil {
			return nil, err
		}
		// The group keeps the flags and alternatives of a pattern inside of it.
		parts[i] = "(?:" + part + ")"
	}
	// Of several alternatives that match at one offset, the first one is preferred.
	text := strings.Join(parts, "|")
	if o.IgnoreCase {
		text = "(?i:" + text + ")"
	}
	return p, p.compileText(text, o.NULEnded)
}

// fixed compiles fixed strings to literals, without regular expressions, which cannot express
// all bytes. It returns false if it cannot: there are too many strings, or an empty one.
func (p *program) fixed(parts []string) bool {
	// The empty string matches every line, but a search for literals cannot find it.
	if len(parts) > maxLiterals || slices.Contains(parts, "") {
		return false
	}
	for _, part := range parts {
		p.literals = append(p.literals, literal{text: part})
	}
	p.exact = true
	return true
}

// fallBack also compiles fixed strings to a regular expression, for texts in which the search
// for them is slow. A single string is never slow. Strings with invalid UTF-8 or U+FFFD cannot
// be expressed; then fallBack does nothing.
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

// compileText compiles one regular expression in RE2 syntax. exchanged says that it is for text
// in which NUL and newline are exchanged.
func (p *program) compileText(text string, exchanged bool) error {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return patternError(text, err)
	}
	if exchanged {
		lines.ExchangeRunes(tree)
		text = tree.String()
	}
	tree = tree.Simplify()
	// With literals that each match must contain, candidate lines are found without an
	// automaton.
	n := analyse(tree)
	p.literals = n.inside()
	p.exact = p.literals != nil && n.exact != nil && n.pure
	// Exact literals always pay, because no automaton has to check their lines.
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

// maxChance is the largest probability, at each offset, of a literal that is worth searching
// for. Above it, most lines contain one, and finding it saves nothing.
const maxChance = 0.02

// check compiles one pattern alone, so that the error names that pattern.
func check(pattern string) error {
	if _, err := regexp.Compile(pattern); err != nil {
		return patternError(pattern, err)
	}
	return nil
}

// patternError returns the options error for a wrong pattern. It has the position of the error
// in the pattern, counted from 1.
func patternError(pattern string, err error) error {
	var at *syntax.Error
	if !errors.As(err, &at) {
		return errs.Optionf("Options.Patterns", "%q: %v", pattern, err)
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
	return errs.Optionf("Options.Patterns", "%q: position %d: %s", pattern, max(pos, 0)+1, text)
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
