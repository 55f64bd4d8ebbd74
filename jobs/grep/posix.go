package grep

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mrlocal/jobs/grep/dfa"
)

// Syntax is the language of patterns.
type Syntax uint8

const (
	RE2      Syntax = iota
	Basic           // POSIX basic expressions, with the extensions of GNU grep
	Extended        // POSIX extended expressions, with the extensions of GNU grep
)

// posix translates one POSIX expression to RE2 syntax. Where POSIX leaves the meaning open, it does as the automaton of
// GNU grep 3.8 does. RE2 has no syntax for the edges of words. In the result, a group of \b is the start of a word, and
// a group of two \b is the end. All other groups are (?:groups).
type posix struct {
	rest     string // of the expression
	extended bool
	warn     func(text string)

	out  []byte
	open []int // where the open groups begin in out
	atom int   // where the atom begins in out that a repetition repeats; -1: there is none
	last part
}

// part says what stands before the next character.
type part uint8

const (
	nothing    part = iota // an expression, a group or an alternative begins here
	assertions             // there are only assertions since such a beginning
	anAtom
	aRepetition
)

// atStart reports whether nothing but assertions stands before the next character.
func (p *posix) atStart() bool { return p.last <= assertions }

// translate returns pattern, which has the given syntax, in RE2 syntax. It calls warn with each warning of GNU grep.
func (s Syntax) translate(pattern string, warn func(text string)) (string, error) {
	if s == RE2 {
		return pattern, nil
	}
	p := &posix{rest: pattern, extended: s == Extended, warn: warn}
	p.begin()
	for p.rest != "" {
		if err := p.step(); err != nil {
			return "", err
		}
	}
	if len(p.open) > 0 {
		return "", p.unmatched("(")
	}
	return string(p.out), nil
}

// parse parses text in RE2 syntax that translate has made, and simplifies the tree. It also returns the text with
// repeats that package syntax takes.
func (s Syntax) parse(text string) (tree *syntax.Regexp, parsed string, err error) {
	tree, err = syntax.Parse(text, syntax.Perl)
	if err != nil && dfa.LargeRepeat(err) {
		if text, err = dfa.Unroll(text); err == nil {
			tree, err = syntax.Parse(text, syntax.Perl)
		}
	}
	switch at, _ := err.(*syntax.Error); {
	case at != nil && s != RE2: // the rest of the error is about the translation
		return nil, "", errors.New(at.Code.String())
	case err != nil:
		return nil, "", err
	case s != RE2:
		markWords(tree)
	}
	return tree.Simplify(), text, nil
}

// markWords makes assertions about the edges of words of the groups of \b.
func markWords(tree *syntax.Regexp) {
	if tree.Op == syntax.OpCapture {
		tree.Cap = dfa.WordStart
		if tree.Sub[0].Op == syntax.OpConcat {
			tree.Cap, tree.Sub[0] = dfa.WordEnd, tree.Sub[0].Sub[0]
		}
	}
	for _, sub := range tree.Sub {
		markWords(sub)
	}
}

// begin begins an expression, a group or an alternative.
func (p *posix) begin() { p.atom, p.last = -1, nothing }

// put adds an atom.
func (p *posix) put(text string) {
	p.atom, p.last = len(p.out), anAtom
	p.out = append(p.out, text...)
}

// assert adds an assertion. A repetition behind it is still at the start if the assertion is.
func (p *posix) assert(text string) {
	start := p.atStart()
	if p.put(text); start {
		p.last = assertions
	}
}

// unmatched returns the error for a parenthesis or brace without its counterpart.
func (p *posix) unmatched(sign string) error {
	if !p.extended {
		sign = `\` + sign
	}
	return errors.New("unmatched " + sign)
}

// next takes one character. Invalid UTF-8 is taken as it is, and the parser refuses it.
func (p *posix) next() string {
	_, size := utf8.DecodeRuneInString(p.rest)
	c := p.rest[:size]
	p.rest = p.rest[size:]
	return c
}

// escapes are the extensions of GNU grep, without the backslash before them.
var escapes = map[string]string{"w": `\w`, "W": `\W`, "s": `[[:space:]]`, "S": `[^[:space:]]`}

// asserted are the assertions of GNU grep, without the backslash before them.
var asserted = map[string]string{"<": `(\b)`, ">": `(\b\b)`, "b": `\b`, "B": `\B`, "`": `\A`, "'": `\z`}

// step translates one character, operator or bracket expression.
func (p *posix) step() error {
	c, escaped := p.next(), false
	if c == `\` {
		if p.rest == "" {
			return errors.New("trailing backslash")
		}
		c, escaped = p.next(), true
	}
	switch {
	case escaped && "1" <= c && c <= "9":
		return fmt.Errorf(`\%s: back references are not supported`, c)
	case escaped && escapes[c] != "":
		p.put(escapes[c])
	case escaped && asserted[c] != "":
		p.assert(asserted[c])
	case !escaped && c == ".":
		p.put(c)
	case !escaped && c == "[":
		return p.bracket()
	case !escaped && c == "^" && (p.extended || p.last == nothing), !escaped && c == "$" && (p.extended || p.ends()):
		p.assert(c)
	case !escaped && c == "*":
		p.repeat(c, c, escaped)
	case escaped != p.extended && strings.Contains("?+{|()", c): // a backslash makes operators of them, or characters
		return p.operator(c, escaped)
	default:
		p.character(c, escaped && !strings.Contains(`\^$*.[]}?+{|()`, c))
	}
	return nil
}

// ends reports whether a basic expression, a group or an alternative ends here.
func (p *posix) ends() bool {
	return p.rest == "" || strings.HasPrefix(p.rest, `\)`) || strings.HasPrefix(p.rest, `\|`)
}

// character adds a character. stray says that a backslash before it has no meaning.
func (p *posix) character(c string, stray bool) {
	if r, _ := utf8.DecodeRuneInString(c); stray && r == ' ' {
		p.warn(`stray \ before white space`)
	} else if stray && !unicode.IsPrint(r) {
		p.warn(`stray \ before unprintable character`)
	} else if stray {
		p.warn(`stray \ before ` + c)
	}
	p.put(regexp.QuoteMeta(c))
}

// operator translates an operator. Before those of basic expressions a backslash stands.
func (p *posix) operator(c string, escaped bool) error {
	switch c {
	case "{":
		return p.interval(escaped)
	case "|":
		p.out = append(p.out, '|')
		p.begin()
	case "(":
		p.open = append(p.open, len(p.out))
		p.out = append(p.out, "(?:"...)
		p.begin()
	case ")":
		last := len(p.open) - 1
		switch {
		case last < 0 && p.extended:
			p.character(c, false)
			return nil
		case last < 0:
			return p.unmatched(c)
		}
		p.put(c)
		p.atom, p.open = p.open[last], p.open[:last]
	default:
		p.repeat(c, c, escaped)
	}
	return nil
}

// repeat repeats the atom by an operator of RE2. At the start, a basic expression means the character c instead, and an
// extended one repeats assertions, or nothing.
func (p *posix) repeat(operator, c string, escaped bool) {
	switch {
	case p.atStart() && !p.extended:
		p.character(c, escaped)
		return
	case p.atStart() && c == "{":
		p.warn("{...} at start of expression")
	case p.atStart():
		p.warn(c + " at start of expression")
	}
	if p.atom < 0 {
		return
	}
	if p.last == aRepetition { // RE2 has no repetition of a repetition without a group
		p.out = append(p.out[:p.atom], "(?:"+string(p.out[p.atom:])+")"...)
	}
	p.out = append(p.out, operator...)
	p.last = aRepetition
}

// counts is what stands in the braces of a repetition.
var counts = regexp.MustCompile(`^([0-9]*)(,?)([0-9]*)$`)

// mostRepeats is the largest count, as in GNU grep.
const mostRepeats = 32767

// interval translates a repetition with counts.
func (p *posix) interval(escaped bool) error {
	closing := "}"
	if !p.extended {
		closing = `\}`
	}
	text, rest, closed := strings.Cut(p.rest, closing)
	found := counts.FindStringSubmatch(text)
	switch {
	case p.atStart() && !p.extended, p.extended && (!closed || found == nil):
		p.character("{", escaped)
		return nil
	case !closed:
		return p.unmatched("{")
	case found == nil || text == "":
		return fmt.Errorf("invalid content of braces: %q", text)
	}
	// Of a number that is too large, the largest int is returned, and of none 0.
	least, _ := strconv.Atoi(found[1])
	most, _ := strconv.Atoi(found[3])
	repetition := "{" + strconv.Itoa(least) + found[2]
	if found[3] != "" {
		repetition += strconv.Itoa(most)
	}
	switch {
	case found[3] != "" && least > most:
		return fmt.Errorf("invalid content of braces: %q", text)
	case max(least, most) > mostRepeats:
		return fmt.Errorf("{%s}: a repetition has a count of at most %d", text, mostRepeats)
	}
	p.rest = rest
	p.repeat(repetition+"}", "{", escaped)
	return nil
}

// errBracket is the error for a bracket expression that does not end.
var errBracket = errors.New("unmatched [, [^, [:, [., or [=")

var errRange = errors.New("invalid end of a range")

// bracket translates a bracket expression, whose opening bracket is taken.
func (p *posix) bracket() error {
	all, class := p.rest, "["
	if strings.HasPrefix(p.rest, "^") {
		class += p.next()
	}
	plain := true // it has only characters
	for start := p.rest; !strings.HasPrefix(p.rest, "]") || len(p.rest) == len(start); {
		hyphen := strings.HasPrefix(p.rest, "-") && !strings.HasPrefix(p.rest, "-]") && len(p.rest) < len(start)
		first, err := p.element()
		switch {
		case err != nil:
			return err
		case hyphen: // it can only be the end of a range, or stand first or last
			return errRange
		}
		plain = plain && first.kind == 0
		if !strings.HasPrefix(p.rest, "-") || strings.HasPrefix(p.rest, "-]") {
			class += first.text
			continue
		}
		p.next()
		last, err := p.element()
		switch {
		case err != nil:
			return err
		case strings.ContainsRune(":=", first.kind) || strings.ContainsRune(":=", last.kind):
			return errRange
		}
		span := first.text + "-" + last.text
		if _, err := syntax.Parse("["+span+"]", 0); err != nil {
			return errRange
		}
		class, plain = class+span, false
	}
	p.next()
	if text := strings.TrimPrefix(all[:len(all)-len(p.rest)-1], "^"); plain && len(text) > 1 && text[0] == ':' && strings.HasSuffix(text, ":") && strings.Trim(text, ":") != "" {
		return errors.New("the syntax of a class of characters is [[:space:]], not [:space:]")
	}
	p.put(class + "]")
	return nil
}

// element is a part of a class of RE2, with the kind : = or . of its inner brackets, or 0 for a character.
type element struct {
	text string
	kind rune
}

// element takes a character, a class, an equivalence class or a collating symbol.
func (p *posix) element() (e element, err error) {
	if p.rest == "" {
		return e, errBracket
	}
	c := p.next()
	if c == "[" && p.rest != "" && strings.Contains(":=.", p.rest[:1]) {
		inner, rest, closed := strings.Cut(p.rest[1:], p.rest[:1]+"]")
		if !closed {
			return e, errBracket
		}
		e.kind, c = rune(p.rest[0]), inner
		p.rest = rest
		_, known := syntax.Parse("[[:"+inner+":]]", 0)
		switch {
		case e.kind == ':' && (known != nil || inner == "word" || inner == "ascii"):
			return e, fmt.Errorf("%q: no such class of characters", inner)
		case e.kind == ':':
			e.text = "[:" + inner + ":]"
			return e, nil
		case utf8.RuneCountInString(inner) != 1:
			return e, fmt.Errorf("%q: no such character", inner)
		}
	}
	r, size := utf8.DecodeRuneInString(c)
	if r == utf8.RuneError && size == 1 {
		return e, errors.New("invalid UTF-8")
	}
	e.text = fmt.Sprintf(`\x{%x}`, r)
	return e, nil
}
