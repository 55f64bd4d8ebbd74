package grep

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mrlocal/internal/errs"
	"mrlocal/internal/scan"
	"mrlocal/jobs/grep/dfa"
	"mrlocal/jobs/grep/words"
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
	warn := o.Warn
	if warn == nil {
		warn = func(string) {}
	}
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
	return trees, nil
}

// patternError returns the options error for a wrong pattern.
func patternError(pattern string, err error) error {
	return errs.Fieldf("Options.Patterns", "%q: %s", pattern, dfa.Problem(pattern, err))
}

// alternatives returns the strings that patterns match, in the order of preference; nil: they match
// more than strings.
func alternatives(trees []*syntax.Regexp) []string {
	var list []string
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
