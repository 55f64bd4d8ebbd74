package grep

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mrlocal/internal/errs"
	"mrlocal/internal/scan"
	"mrlocal/jobs/grep/internal/dfa"
	"mrlocal/jobs/grep/internal/words"
	"mrlocal/jobs/internal/lines"
)

// program holds the compiled patterns. All mappers share it.
type program struct {
	// newLines makes a lineMatcher for one mapper; nil: literals alone decide.
	newLines func() lineMatcher
	idle     sync.Pool // lineMatchers of mappers that have ended; later mappers reuse their states
	searches sync.Pool // searches of mappers that have ended; later mappers reuse their finders

	literals []words.Literal   // each match contains one of these; nil if not known
	triples  []scan.Triple     // each match contains one of these; nil if not known, or if there are literals
	several  bool              // matches may span lines
	words    *words.Dictionary // the patterns, if they are strings that are too many for literals; otherwise nil
	border   scan.Border
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
	parts := strings.Split(strings.Join(o.Patterns, "\n"), "\n") // a newline separates patterns, as in GNU grep
	if len(o.Patterns) == 0 {
		parts = []string{DefaultPattern}
	}
	p := &program{}
	switch {
	case o.Whole: // -w has no effect together with -x, as in GNU grep
		p.border = scan.WholeLine
	case o.Word:
		p.border = scan.WordEnds
	}
	if o.Fixed {
		return p, p.fixed(parts, o)
	}
	trees, err := parse(parts, o)
	if err != nil {
		return nil, err
	}
	if o.Multiline {
		if p.several, err = p.compileSeveral(parts, o); p.several || err != nil {
			return p, err
		}
	}
	if list := alternatives(trees); len(list) > words.Most {
		return p, p.useWords(list, o)
	}
	return p, p.compileParts(parts, o)
}

// compileSeveral compiles patterns whose matches may span lines. several is false if none can.
func (p *program) compileSeveral(parts []string, o Options) (several bool, err error) {
	tree, err := simplified(joined(parts, "(?m:", o.IgnoreCase), o.Syntax, false)
	if err != nil || !dfa.Spans(tree) && !o.Whole {
		return false, err
	}
	p.newLines, err = matchers(dfa.CompileText(tree, p.border), o.Longest)
	return true, err
}

// joined returns a pattern of which any of parts may match. The groups, which begin with the given text, keep
// the flags and alternatives of a part inside of it. Of several alternatives that match at one offset, the first
// one is preferred.
func joined(parts []string, group string, ignoreCase bool) string {
	text := group + strings.Join(parts, ")|"+group) + ")"
	if ignoreCase {
		text = "(?i:" + text + ")"
	}
	return text
}

// simplified parses a pattern in RE2 syntax that was translated from s. exchanged says that it is for text in which NUL
// and newline are exchanged.
func simplified(text string, s Syntax, exchanged bool) (*syntax.Regexp, error) {
	tree, _, err := s.parse(text)
	if err != nil {
		return nil, patternError(text, err)
	}
	if exchanged {
		lines.ExchangeRunes(tree)
	}
	return tree, nil
}

// fixed compiles fixed strings. A few of them become literals, and an expression for texts in which
// the search for literals is slow. Of many, or of some that no expression describes, it makes a
// dictionary.
func (p *program) fixed(parts []string, o Options) error {
	if o.Longest {
		// Then the first one that matches is the longest. If case is ignored, the number of bytes says
		// less than that of runes.
		length := func(s string) int { return len(s) }
		if o.IgnoreCase {
			length = utf8.RuneCountInString
		}
		slices.SortStableFunc(parts, func(a, b string) int { return length(b) - length(a) })
	}
	sorted := o
	sorted.Longest = false
	few, plain := len(parts) <= words.Most, true
	var quoted []string
	for _, part := range parts {
		// In an expression U+FFFD stands for each invalid byte, too.
		plain = plain && utf8.ValidString(part) && !strings.ContainsRune(part, utf8.RuneError)
		if few {
			quoted = append(quoted, regexp.QuoteMeta(part))
		}
	}
	// The empty string matches every line, but a search for literals cannot find it.
	switch empty := slices.Contains(parts, ""); {
	case few && plain && (o.IgnoreCase || empty):
		return p.compileParts(quoted, sorted)
	case !few || o.IgnoreCase || empty || o.NULEnded && strings.Contains(strings.Join(parts, ""), "\x00"):
		return p.useWords(parts, o)
	case plain && len(parts) > 1: // the search for a single literal is never slow
		if err := p.fallBack(strings.Join(quoted, "|")); err != nil {
			return err
		}
	}
	for _, part := range parts {
		p.literals = append(p.literals, words.Literal{Text: part})
	}
	p.exact = true
	return nil
}

// useWords compiles strings to a dictionary.
func (p *program) useWords(list []string, o Options) error {
	if o.NULEnded {
		list = slices.Clone(list)
		for i := range list {
			text := []byte(list[i])
			lines.Exchange(text)
			list[i] = string(text)
		}
	}
	p.words = words.NewDictionary(list, words.Options{Border: p.border, Fold: o.IgnoreCase, Longest: o.Longest})
	if p.words == nil {
		return errs.Fieldf("Options.Patterns", "the strings to search for have more than 4 GiB")
	}
	p.newLines = func() lineMatcher { return p.words.NewMatcher() }
	return nil
}

// fallBack compiles fixed strings to an expression, too.
func (p *program) fallBack(text string) error {
	tree, err := simplified(text, RE2, false)
	if err != nil {
		return err
	}
	p.newLines, err = matchers(dfa.Compile(tree, p.border), false)
	return err
}

// compileParts compiles patterns, of which any may match.
func (p *program) compileParts(parts []string, o Options) error {
	tree, err := simplified(joined(parts, "(?:", o.IgnoreCase), o.Syntax, o.NULEnded)
	if err != nil {
		return err
	}
	// With literals that each match must contain, candidate lines are found without an
	// automaton.
	n := words.Few.Analyse(tree)
	p.literals = n.Inside()
	p.exact = p.literals != nil && n.Exact != nil && n.Pure
	if p.exact && o.Longest {
		slices.SortStableFunc(p.literals, func(a, b words.Literal) int { return len(b.Text) - len(a.Text) })
	}
	// Exact literals always pay, because no automaton has to check their lines.
	if !p.exact {
		least := maxChance
		if chance := words.Chance(p.literals); p.literals == nil || chance > least {
			p.literals = nil
		} else {
			least = chance / rarer
		}
		if triples, chance := words.Triples(tree); triples != nil && chance < least {
			p.triples, p.literals = triples, nil
		}
	}
	for _, l := range p.literals {
		p.oddFolds = p.oddFolds || l.Fold && strings.ContainsAny(l.Text, "ks")
	}
	p.newLines, err = matchers(dfa.Compile(tree, p.border), o.Longest)
	return err
}

// maxChance is the largest probability, at each offset, of a literal that is worth searching
// for. Above it, most lines contain one, and finding it saves nothing.
const maxChance = 0.02

// rarer says how often literals must occur for each time that triples do. A triple takes more time to find, and other
// bytes than those of its sets pass.
const rarer = 8

// parse parses each pattern alone, so that an error names that pattern. It sets parts to the patterns in RE2 syntax.
func parse(parts []string, o Options) (trees []*syntax.Regexp, err error) {
	var warnings []string // a pattern that is refused has only its error
	warn := func(text string) { warnings = append(warnings, text) }
	for i, part := range parts {
		var tree *syntax.Regexp
		if parts[i], err = o.Syntax.translate(part, warn); err == nil {
			tree, parts[i], err = o.Syntax.parse(parts[i])
		}
		if err != nil {
			return nil, patternError(part, err)
		}
		trees = append(trees, tree)
	}
	for _, text := range warnings {
		if o.Warn != nil {
			o.Warn(text)
		}
	}
	return trees, nil
}

// patternError returns the options error for a wrong pattern.
func patternError(pattern string, err error) error {
	return errs.Fieldf("Options.Patterns", "%q: %s", pattern, dfa.Problem(pattern, err))
}

// alternatives returns the strings that patterns match, in the order of preference; nil: they match
// more than strings.
func alternatives(trees []*syntax.Regexp) (list []string) {
	for _, tree := range trees {
		n := mostWords.Analyse(tree)
		if n.Exact == nil || !n.Pure || len(list)+len(n.Exact) > int(mostWords) {
			return nil
		}
		for _, l := range n.Exact {
			if l.Fold {
				return nil
			}
			list = append(list, l.Text)
		}
	}
	return list
}

// mostWords bounds the number of strings that are taken from expressions.
const mostWords words.Limit = 1 << 20

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
	repeatedAssertions
	anAtom
	aRepetition
)

// atStart reports whether nothing but assertions stands before the next character.
func (p *posix) atStart() bool { return p.last <= repeatedAssertions }

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
	case !escaped && c == "^" && (p.extended || p.last == nothing), !escaped && c == "$" && (p.extended || p.rest == "" || strings.HasPrefix(p.rest, `\)`) || strings.HasPrefix(p.rest, `\|`)): // $ ends the expression, a group or an alternative
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
	start := p.atStart()
	if p.last == aRepetition || p.last == repeatedAssertions { // RE2 has no repetition of a repetition without a group
		p.out = append(p.out[:p.atom], "(?:"+string(p.out[p.atom:])+")"...)
	}
	p.out = append(p.out, operator...)
	if p.last = aRepetition; start {
		p.last = repeatedAssertions
	}
}

// counts is what stands in the braces of a repetition. GNU grep refuses a second comma, and takes other mistakes of an
// extended expression for characters.
var (
	counts    = regexp.MustCompile(`^([0-9]*)(,?)([0-9]*)$`)
	twoCommas = regexp.MustCompile(`^[0-9]*,[0-9]*,`)
)

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
	if found == nil {
		found = make([]string, 4)
	}
	// Of a number that is too large, the largest int is returned, and of none 0.
	least, _ := strconv.Atoi(found[1])
	most, _ := strconv.Atoi(found[3])
	repetition := "{" + strconv.Itoa(least) + found[2]
	if found[3] != "" {
		repetition += strconv.Itoa(most)
	}
	valid := closed && found[0] != "" && (found[3] == "" || least <= most)
	switch {
	case p.atStart() && !(p.extended && valid), p.extended && (!closed || found[0] == "" && text != "") && !twoCommas.MatchString(p.rest):
		p.character("{", escaped)
		return nil
	case !closed && !p.extended:
		return p.unmatched("{")
	case !valid:
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
