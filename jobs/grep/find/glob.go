package find

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file matches paths with globs, byte by byte. The three languages are those of git, for ignore
// files, of GNU's fnmatch, for --include and --exclude, and of ripgrep, for -g and -t. Each has a parser
// of its own. All become regular expressions, whose time is linear. The other files decide which part of a
// path a glob is matched with.

// Glob is a compiled glob. It matches if one of its sequences does. The zero value matches nothing. A
// Glob does not change, so several goroutines may use it.
type Glob []sequence

// sequence is a glob without alternatives: a literal beginning, what stands between, and a literal end. Most
// globs of ignore files are names or suffixes, so few names need the expression.
type sequence struct {
	prefix, suffix string
	between        *regexp.Regexp // of bytes as runes; nil: nothing
}

// token matches a part of a path.
type token struct {
	expression string // of bytes as runes; "": the token matches one byte
	byte       byte
}

// The tokens that are not one byte of a set.
const (
	star    = `[^/]*`     // any number of bytes that are not slashes
	deep    = `(?s:.*)`   // any number of bytes
	folders = `(?s:.*/|)` // nothing, or any number of bytes that end in a slash
)

// set is a set of bytes.
type set [4]uint64

// expression returns a regular expression for one byte of the set.
func (s *set) expression() string {
	var in []rune // ranges
	for b := range rune(256) {
		switch n := len(in); {
		case s[b>>6]>>(b&63)&1 == 0:
		case n > 0 && in[n-1] == b-1:
			in[n-1] = b
		default:
			in = append(in, b, b)
		}
	}
	return (&syntax.Regexp{Op: syntax.OpCharClass, Rune: in}).String()
}

// add puts the bytes from lo to hi into the set.
func (s *set) add(lo, hi byte) {
	for b := int(lo); b <= int(hi); b++ {
		s[b>>6] |= 1 << (b & 63)
	}
}

// remove takes b out of the set.
func (s *set) remove(b byte) { s[b>>6] &^= 1 << (b & 63) }

// invert replaces the set by all bytes that are not in it.
func (s *set) invert() {
	for i := range s {
		s[i] = ^s[i]
	}
}

// Match reports whether the glob matches the whole of name.
func (g Glob) Match(name string) bool {
	return slices.ContainsFunc(g, func(s sequence) bool { return s.match(name) })
}

// match reports whether the sequence matches the whole of name.
func (s *sequence) match(name string) bool {
	if len(name) < len(s.prefix)+len(s.suffix) || !strings.HasPrefix(name, s.prefix) || !strings.HasSuffix(name, s.suffix) {
		return false
	}
	rest := name[len(s.prefix) : len(name)-len(s.suffix)]
	if s.between == nil {
		return rest == ""
	}
	return s.between.MatchString(asRunes(rest))
}

// asRunes returns the text that has a rune for each byte of name.
func asRunes(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		b.WriteRune(rune(name[i]))
	}
	return b.String()
}

// compile returns the sequence of tokens. It moves single bytes at both ends to prefix and suffix. It fails if the
// rest is too large for package regexp.
func compile(tokens []token) (s sequence, err error) {
	single := func(t token) bool { return t.expression == "" }
	for len(tokens) > 0 && single(tokens[0]) {
		s.prefix, tokens = s.prefix+string([]byte{tokens[0].byte}), tokens[1:]
	}
	last := len(tokens)
	for last > 0 && single(tokens[last-1]) {
		last--
	}
	for _, t := range tokens[last:] {
		s.suffix += string([]byte{t.byte})
	}
	if last > 0 {
		var b strings.Builder
		for _, t := range tokens[:last] {
			b.WriteString(cmp.Or(t.expression, regexp.QuoteMeta(string(rune(t.byte)))))
		}
		s.between, err = regexp.Compile(`\A` + b.String() + `\z`)
	}
	return s, err
}

// language says whose globs a parser reads.
type language uint8

const (
	git language = iota
	gnu
	ripgrep
)

// parser reads one glob.
type parser struct {
	language language
	text     string
	at       int // the offset of the next byte
	tokens   []token
	start    int // in ripgrep, the offset of the last alternative that began
	depth    int // in ripgrep, the number of open braces
}

// GitGlob compiles a glob of an ignore file as git does, with ** for directories. The caller has taken off
// a leading ! and /, and a trailing slash. ok is false if the glob matches nothing because it is
// malformed, as in git.
//
// As in git before version 2.52, two asterisks after text without wildcards match slashes, as in
// doc**/x.
func GitGlob(text string) (g Glob, ok bool) { return one(git, text) }

// GNUGlob compiles a glob as fnmatch of the GNU C library does without flags, in the C locale. An asterisk,
// a question mark and a set match slashes too. ok is false if the glob matches nothing because it is
// malformed.
func GNUGlob(text string) (g Glob, ok bool) { return one(gnu, text) }

// RipgrepGlob compiles a glob of ripgrep, with {a,b} for alternatives. ok is false if the glob is
// malformed, or has more than mostAlternatives.
func RipgrepGlob(text string) (g Glob, ok bool) {
	p := parser{language: ripgrep, text: text}
	all, ok := p.alternative()
	for _, tokens := range all {
		s, err := compile(tokens)
		g, ok = append(g, s), ok && err == nil
	}
	// A closing brace alone ends the alternative before the end of the text.
	return g, ok && p.at == len(text)
}

// mostAlternatives is the largest number of globs without alternatives that a glob may stand for.
const mostAlternatives = 10_000

// one compiles a glob of a language without alternatives.
func one(of language, text string) (Glob, bool) {
	p := parser{language: of, text: text}
	for p.at < len(p.text) {
		if !p.next() {
			return nil, false
		}
	}
	s, err := compile(p.tokens)
	return Glob{s}, err == nil
}

// add adds a token.
func (p *parser) add(k token) { p.tokens = append(p.tokens, k) }

// next reads one token. It returns false if the glob is malformed.
func (p *parser) next() bool {
	c := p.text[p.at]
	p.at++
	switch c {
	case '*':
		p.stars()
		return true
	case '?':
		any := &set{}
		any.invert()
		p.addSet(any)
		return true
	case '[':
		start := p.at
		switch s, found := p.bracket(); {
		case found == closed:
			p.addSet(s)
			return true
		case found == open && p.language == gnu:
			// In fnmatch, a bracket that is not closed stands for itself.
			p.at = start
		default:
			return false
		}
	case '\\':
		if p.at == len(p.text) {
			return false
		}
		c = p.text[p.at]
		p.at++
	}
	p.add(token{byte: c})
	return true
}

// addSet adds a token for one byte of s. Only fnmatch without flags lets it be a slash.
func (p *parser) addSet(s *set) {
	if p.language != gnu {
		s.remove('/')
	}
	p.add(token{expression: s.expression()})
}

// stars reads a run of asterisks, whose first one is read.
func (p *parser) stars() {
	first := p.at - 1
	rest := strings.TrimLeft(p.text[p.at:], "*")
	run := len(p.text) - len(rest) - first
	p.at = first + run
	// Two asterisks that are a whole part of the path match any number of directories. For git, a part
	// also begins where the text without wildcards ends, because git compares this text by itself.
	begins := first == p.start || p.text[first-1] == '/' || p.language == git && first == strings.IndexAny(p.text, `*?[\`)
	whole := begins && run > 1 && (p.language == git || run == 2)
	switch {
	case p.language == gnu:
		p.add(token{expression: deep})
	case whole && strings.HasPrefix(rest, "/"):
		p.add(token{expression: folders})
		p.at++
	case whole && (rest == "" || p.language == git && strings.HasPrefix(rest, `\/`)):
		p.add(token{expression: deep})
	// In ripgrep, an alternative that is nothing but two asterisks does not match slashes.
	case whole && p.ends() && first > p.start:
		p.add(token{expression: deep})
	default:
		p.add(token{expression: star})
	}
}

// found is the result of reading a set.
type found uint8

const (
	closed found = iota // a whole set
	open                // the closing bracket is missing
	wrong               // the set is malformed
)

// bracket reads a set, whose opening bracket is read.
func (p *parser) bracket() (*set, found) {
	s := &set{}
	inverted := p.at < len(p.text) && (p.text[p.at] == '!' || p.text[p.at] == '^')
	if inverted {
		p.at++
	}
	// fnmatch stops at a collating symbol that is not a single byte. Only what stands before it can match, and nothing
	// in an inverted set.
	var before *set
	for first := true; ; first = false {
		if p.at == len(p.text) {
			return nil, open
		}
		// A closing bracket at the start stands for itself.
		if p.text[p.at] == ']' && !first {
			p.at++
			break
		}
		if name, isClass := p.class(); isClass {
			switch {
			case s.addClass(name, p.language):
			// In ripgrep, an unknown class stands for its bracket.
			case p.language == ripgrep:
				s.add('[', '[')
			default:
				return nil, wrong
			}
			continue
		}
		// Each byte is equivalent to itself alone, and is not a bound of a range.
		if rest := p.text[p.at:]; p.language == gnu && len(rest) >= 5 && rest[:2] == "[=" && rest[3:5] == "=]" {
			s.add(rest[2], rest[2])
			p.at += 5
			continue
		}
		if p.unknownSymbol() {
			before, s = cmp.Or(before, s), &set{}
			continue
		}
		symbol := p.symbol()
		lo, ok := p.member()
		if !ok {
			return nil, wrong
		}
		// A dash before the closing bracket stands for itself.
		if rest := p.text[p.at:]; len(rest) < 2 || rest[0] != '-' || rest[1] == ']' {
			// fnmatch forgets a collating symbol before such a dash.
			if !symbol || !strings.HasPrefix(rest, "-]") {
				s.add(lo, lo)
			}
			continue
		}
		p.at++
		if p.unknownSymbol() { // it ends a range, of which nothing is in the set
			before, s = cmp.Or(before, s), &set{}
			continue
		}
		hi, ok := p.member()
		if !ok || p.language == ripgrep && hi < lo {
			return nil, wrong
		}
		s.add(lo, hi)
		// In git, the first byte of a range is in the set even if the range is empty.
		if p.language == git {
			s.add(lo, lo)
		}
	}
	switch {
	case before != nil && inverted:
		return &set{}, closed
	case before != nil:
		return before, closed
	case inverted:
		s.invert()
	}
	return s, closed
}

// symbol reports whether a collating symbol of fnmatch follows, as [.a.].
func (p *parser) symbol() bool { return p.language == gnu && strings.HasPrefix(p.text[p.at:], "[.") }

// unknownSymbol reads a collating symbol of fnmatch that is not a single byte, as [.ab.]. If there is none, it reads
// nothing and returns false.
func (p *parser) unknownSymbol() bool {
	if !p.symbol() {
		return false
	}
	name, _, ended := strings.Cut(p.text[p.at+2:], ".]")
	if ended = ended && len(name) != 1; ended {
		p.at += len("[.") + len(name) + len(".]")
	}
	return ended
}

// member reads a byte of a set. In ripgrep, a backslash stands for itself there. ok is false if a
// backslash ends the glob, or a collating symbol is not one byte.
func (p *parser) member() (b byte, ok bool) {
	if p.symbol() {
		name, _, found := strings.Cut(p.text[p.at+2:], ".]")
		if !found || len(name) != 1 {
			return 0, false
		}
		p.at += len("[.a.]")
		return name[0], true
	}
	if p.text[p.at] == '\\' && p.language != ripgrep {
		if p.at++; p.at == len(p.text) {
			return 0, false
		}
	}
	p.at++
	return p.text[p.at-1], true
}

// class reads a class of POSIX, such as [:alpha:]. isClass is false if there is none, and then nothing
// is read.
func (p *parser) class() (name string, isClass bool) {
	rest, ok := strings.CutPrefix(p.text[p.at:], "[:")
	if !ok {
		return "", false
	}
	end := strings.IndexByte(rest, ']')
	if end < 1 || rest[end-1] != ':' {
		return "", false
	}
	p.at += len("[:") + end + 1
	return rest[:end-1], true
}

// addClass puts the bytes of a class of POSIX into the set. It returns false if the class is unknown.
// The classes are those of the C locale, so they have no bytes above 127.
func (s *set) addClass(name string, of language) bool {
	// In git, the vertical tab and the form feed are not space.
	if of == git && name == "space" {
		s.add('\t', '\n')
		s.add('\r', '\r')
		s.add(' ', ' ')
		return true
	}
	ranges, known := map[string]string{
		"alnum": "09AZaz", "alpha": "AZaz", "blank": "  \t\t", "cntrl": "\x00\x1f\x7f\x7f", "digit": "09", "graph": "!~",
		"lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "  \t\r", "upper": "AZ", "xdigit": "09AFaf",
	}[name]
	for i := 0; i < len(ranges); i += 2 {
		s.add(ranges[i], ranges[i+1])
	}
	return known
}

// alternative reads the text up to the end, or up to the comma or the brace that ends this alternative.
// It returns the sequences of tokens that the text stands for: a{b,c} stands for ab and ac. ok is false
// if the text is malformed, or stands for more than mostAlternatives.
func (p *parser) alternative() (all [][]token, ok bool) {
	p.start, all = p.at, [][]token{nil}
	// The matcher wants folders to begin where a part of the path does, and the text before a brace may end
	// within a part. So this asks for nothing, or for any bytes and a slash.
	if p.depth > 0 && strings.HasPrefix(p.text[p.at:], "**/") {
		p.at += len("**/")
		all = [][]token{{{expression: deep}, {byte: '/'}}, nil}
	}
	for p.at < len(p.text) && !p.ends() {
		if p.text[p.at] != '{' {
			p.tokens = p.tokens[:0]
			if !p.next() {
				return nil, false
			}
			for i := range all {
				all[i] = append(all[i], p.tokens...)
			}
			continue
		}
		more, ok := p.braces()
		if !ok || len(all)*len(more) > mostAlternatives {
			return nil, false
		}
		var longer [][]token
		for _, head := range all {
			for _, tail := range more {
				longer = append(longer, slices.Concat(head, tail))
			}
		}
		all = longer
	}
	return all, true
}

// ends reports whether the next byte ends an alternative. A comma does so only in braces.
func (p *parser) ends() bool {
	rest := p.text[p.at:]
	return strings.HasPrefix(rest, "}") || p.depth > 0 && strings.HasPrefix(rest, ",")
}

// braces reads the alternatives between braces. As in ripgrep, empty alternatives do not count. ok is
// false if one of them is malformed, or if the closing brace is missing.
func (p *parser) braces() (all [][]token, ok bool) {
	p.depth++
	for closing := false; !closing; {
		p.at++ // the opening brace or a comma
		some, ok := p.alternative()
		if !ok || p.at == len(p.text) || len(all) > mostAlternatives {
			return nil, false
		}
		if len(some[0]) > 0 {
			all = append(all, some...)
		}
		closing = p.text[p.at] == '}'
	}
	p.at++
	p.depth--
	if len(all) == 0 {
		all = [][]token{nil}
	}
	return all, true
}
