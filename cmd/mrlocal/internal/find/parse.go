package find

import "strings"

// language says whose globs a parser reads.
type language uint8

const (
	git language = iota
	gnu
	ripgrep
)

// parser reads one glob without alternatives.
type parser struct {
	language language
	text     string
	at       int // the offset of the next byte
	tokens   []token
}

// Git compiles a glob of an ignore file as git does, with ** for directories. The caller has taken off
// a leading ! and /, and a trailing slash. ok is false if the glob matches nothing because it is
// malformed, as in git.
//
// As in git before version 2.52, two asterisks after text without wildcards match slashes, as in
// doc**/x.
func Git(text string) (g Glob, ok bool) { return one(git, text) }

// GNU compiles a glob as fnmatch of the GNU C library does without flags, in the C locale. An asterisk,
// a question mark and a set match slashes too. ok is false if the glob matches nothing because it is
// malformed.
func GNU(text string) (g Glob, ok bool) { return one(gnu, text) }

// Ripgrep compiles a glob of ripgrep, with {a,b} for alternatives. ok is false if the glob is
// malformed, or has more than mostAlternatives.
func Ripgrep(text string) (g Glob, ok bool) {
	all, ok := alternatives(text)
	for _, text := range all {
		s, valid := one(ripgrep, text)
		ok = ok && valid
		g = append(g, s...)
	}
	return g, ok
}

// mostAlternatives is the largest number of globs without alternatives that a glob may stand for.
const mostAlternatives = 10_000

// one compiles a glob without alternatives.
func one(of language, text string) (Glob, bool) {
	p := parser{language: of, text: text}
	for p.at < len(p.text) {
		if !p.next() {
			return nil, false
		}
	}
	return Glob{compile(p.tokens)}, true
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
	p.add(token{kind: literal, byte: c})
	return true
}

// addSet adds a token for one byte of s. Only fnmatch without flags lets it be a slash.
func (p *parser) addSet(s *set) {
	if p.language != gnu {
		s.remove('/')
	}
	p.add(token{kind: oneOf, set: s})
}

// stars reads a run of asterisks, whose first one is read.
func (p *parser) stars() {
	first := p.at - 1
	rest := strings.TrimLeft(p.text[p.at:], "*")
	run := len(p.text) - len(rest) - first
	p.at = first + run
	// Two asterisks that are a whole part of the path match any number of directories. For git, a part
	// also begins where the text without wildcards ends, because git compares this text by itself.
	begins := first == 0 || p.text[first-1] == '/' || p.language == git && first == strings.IndexAny(p.text, `*?[\`)
	whole := begins && run > 1 && (p.language == git || run == 2)
	switch {
	case p.language == gnu:
		p.add(token{kind: deep})
	case whole && strings.HasPrefix(rest, "/"):
		p.add(token{kind: folders})
		p.at++
	case whole && (rest == "" || p.language == git && strings.HasPrefix(rest, `\/`)):
		p.add(token{kind: deep})
	default:
		p.add(token{kind: star})
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
		lo, ok := p.member()
		if !ok {
			return nil, wrong
		}
		// A dash before the closing bracket stands for itself.
		if rest := p.text[p.at:]; len(rest) < 2 || rest[0] != '-' || rest[1] == ']' {
			s.add(lo, lo)
			continue
		}
		p.at++
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
	if inverted {
		s.invert()
	}
	return s, closed
}

// member reads a byte of a set. In ripgrep, a backslash stands for itself there. ok is false if a
// backslash ends the glob.
func (p *parser) member() (b byte, ok bool) {
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
	// In git, the vertical tab and the form feed are no space.
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

// alternatives returns the globs without alternatives that a glob of ripgrep stands for: a{b,c} stands
// for ab and ac. As in ripgrep, empty alternatives do not count. ok is false if a brace is not closed,
// or if there are more than mostAlternatives.
func alternatives(text string) (all []string, ok bool) {
	open := brace(text, '{')
	if open < 0 {
		// A closing brace alone is malformed too.
		return []string{text}, brace(text, '}') < 0
	}
	// parts has the alternatives, and start is where the next one begins.
	var parts []string
	start, depth, end := open+1, 1, -1
	for i := start; i < len(text) && end < 0; i++ {
		i += skip(text[i:])
		if i >= len(text) {
			break
		}
		switch c := text[i]; {
		case c == '{':
			depth++
		case c == '}':
			depth--
			fallthrough
		case c == ',':
			if depth > 1 || c == '}' && depth == 1 {
				continue
			}
			if start < i {
				parts = append(parts, text[start:i])
			}
			if start = i + 1; c == '}' {
				end = i
			}
		}
	}
	if end < 0 {
		return nil, false
	}
	if len(parts) == 0 {
		parts = []string{""}
	}
	for _, part := range parts {
		more, ok := alternatives(text[:open] + part + text[end+1:])
		if all = append(all, more...); !ok || len(all) > mostAlternatives {
			return nil, false
		}
	}
	return all, true
}

// brace returns the offset of the first such brace that stands for itself neither by a backslash nor by
// brackets, or -1.
func brace(text string, b byte) int {
	for i := 0; i < len(text); i++ {
		if i += skip(text[i:]); i < len(text) && text[i] == b {
			return i
		}
	}
	return -1
}

// skip returns the length of the escapes and sets at the start of text. A set that is not closed has
// none.
func skip(text string) (n int) {
	for n < len(text) {
		switch text[n] {
		case '\\':
			n += 2
		case '[':
			p := parser{language: ripgrep, text: text, at: n + 1}
			if _, found := p.bracket(); found != closed {
				return n
			}
			n = p.at
		default:
			return n
		}
	}
	return n
}
