package find

import (
	"embed"
	"strings"
)

// This file matches paths with globs, byte by byte. The three languages are those of git, for ignore
// files, of GNU's fnmatch, for --include and --exclude, and of ripgrep, for -g and -t. Each has a parser
// in parse.go. All share one matcher, whose time is bounded by the product of the lengths, squared for
// globs with **. The other files decide which part of a path a glob is matched with.

// Glob is a compiled glob. It matches if one of its sequences does. The zero value matches nothing. A
// Glob does not change, so several goroutines may use it.
type Glob []sequence

// sequence is a glob without alternatives: a literal beginning, tokens, and a literal end. Most globs
// of ignore files are names or suffixes, so they have at most one token.
type sequence struct {
	prefix, suffix string
	tokens         []token
}

// token matches a part of a path.
type token struct {
	kind kind
	byte byte // of literal
	set  *set // of oneOf
}

// kind says what a token matches.
type kind uint8

const (
	literal kind = iota // one given byte
	oneOf               // one byte of a set
	star                // any number of bytes that are not slashes
	deep                // any number of bytes
	folders             // nothing, or any number of bytes that end in a slash
)

// set is a set of bytes.
type set [4]uint64

// has reports whether b is in the set.
func (s *set) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

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
	for i := range g {
		if g[i].match(name) {
			return true
		}
	}
	return false
}

// match reports whether the sequence matches the whole of name.
func (s *sequence) match(name string) bool {
	return len(name) >= len(s.prefix)+len(s.suffix) && strings.HasPrefix(name, s.prefix) && strings.HasSuffix(name, s.suffix) &&
		matchTokens(s.tokens, name[len(s.prefix):len(name)-len(s.suffix)])
}

// matchTokens reports whether the tokens match the whole of text.
//
// After a mismatch, it lets the last star take one more byte, and if that star stands before a slash,
// the last deep or folders. Earlier ones need not take more. A later token of the same kind can take
// those bytes instead.
func matchTokens(tokens []token, text string) bool {
	// near is the last star and far the last deep or folders: the token behind it, and the end of the
	// bytes that it takes. The token is 0 if there is none.
	var near, far struct{ token, end int }
	for t, i := 0, 0; ; {
		if t == len(tokens) && i == len(text) {
			return true
		}
		if t < len(tokens) {
			switch k := &tokens[t]; {
			case k.kind == star:
				t++
				near.token, near.end = t, i
				continue
			case k.kind == deep || k.kind == folders:
				t++
				far.token, far.end, near.token = t, i, 0
				continue
			case i < len(text) && k.takes(text[i]):
				t, i = t+1, i+1
				continue
			}
		}
		switch {
		case near.token > 0 && near.end < len(text) && text[near.end] != '/':
			near.end++
			t, i = near.token, near.end
		case far.token > 0 && far.end < len(text):
			step := 1
			if tokens[far.token-1].kind == folders {
				step = strings.IndexByte(text[far.end:], '/') + 1
			}
			if step == 0 {
				return false
			}
			far.end += step
			near.token = 0
			t, i = far.token, far.end
		default:
			return false
		}
	}
}

// takes reports whether a literal or oneOf matches b.
func (k *token) takes(b byte) bool {
	if k.kind == literal {
		return k.byte == b
	}
	return k.set.has(b)
}

// compile returns the sequence of tokens. It moves literals at both ends to prefix and suffix.
func compile(tokens []token) sequence {
	var s sequence
	from, to := 0, len(tokens)
	for from < to && tokens[from].kind == literal {
		from++
	}
	for to > from && tokens[to-1].kind == literal {
		to--
	}
	s.prefix = text(tokens[:from])
	s.suffix = text(tokens[to:])
	s.tokens = tokens[from:to:to]
	return s
}

// text returns the bytes of literals.
func text(literals []token) string {
	var b strings.Builder
	for _, k := range literals {
		b.WriteByte(k.byte)
	}
	return b.String()
}

// Name is one --include, --exclude or --exclude-dir of GNU grep.
type Name struct {
	Kind NameKind
	Glob string
}

// NameKind says what a Name does with the files or directories that match it.
type NameKind uint8

// The kinds of a Name.
const (
	Include    NameKind = iota // files that match are searched
	Exclude                    // files that match are left out
	ExcludeDir                 // directories that match are left out
)

// PatternsOf returns the lines of a file of --exclude-from as globs for Exclude. As in GNU grep, blanks
// at the end of a line are dropped, and then empty lines.
func PatternsOf(text string) (globs []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimRight(line, " \t\v\f\r"); line != "" {
			globs = append(globs, line)
		}
	}
	return globs
}

// names are the compiled Names of one sort of entry, files or directories, in their order.
type names []namePattern

// namePattern is a compiled Name.
type namePattern struct {
	include bool
	literal bool   // the glob has no wildcards
	text    string // of a literal, without escapes
	glob    Glob
}

// compileNames compiles the Names for files and those for directories.
func compileNames(all []Name) (files, directories names) {
	for _, n := range all {
		text := n.Glob
		if n.Kind == ExcludeDir {
			// As in GNU grep, slashes at the end are dropped, except a lone one.
			if text = strings.TrimRight(text, "/"); text == "" && n.Glob != "" {
				text = "/"
			}
		}
		p := namePattern{include: n.Kind == Include}
		if p.literal = !hasWildcards(text); p.literal {
			p.text = unescape(text)
		} else {
			// A malformed glob matches nothing, but it counts as the first one in takes.
			p.glob, _ = GNUGlob(text)
		}
		if n.Kind == ExcludeDir {
			directories = append(directories, p)
		} else {
			files = append(files, p)
		}
	}
	return files, directories
}

// takes reports whether an entry is searched. name is its last name, or for an entry that the user
// named, the path as given. As in GNU grep, the last pattern that matches decides. If none matches, an
// entry is left out only if the first pattern is an Include.
func (all names) takes(name string, given bool) bool {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].matches(name, given) {
			return all[i].include
		}
	}
	return len(all) == 0 || !all[0].include
}

// matches reports whether the pattern matches a name. For one that is given, it also tries what stands
// behind each slash.
func (p *namePattern) matches(name string, given bool) bool {
	if p.whole(name) {
		return true
	}
	for i := 0; given && i < len(name); i++ {
		// As in GNU grep, a glob with wildcards is not tried behind the first of two slashes.
		if name[i] == '/' && (p.literal || !strings.HasPrefix(name[i+1:], "/")) && p.whole(name[i+1:]) {
			return true
		}
	}
	return false
}

// whole reports whether the pattern matches the whole of name.
func (p *namePattern) whole(name string) bool {
	if p.literal {
		return name == p.text
	}
	return p.glob.Match(name)
}

// hasWildcards reports whether a glob of GNU has a wildcard that no backslash precedes.
func hasWildcards(glob string) bool {
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// unescape returns the text that a glob without wildcards matches.
func unescape(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		if glob[i] == '\\' && i+1 < len(glob) {
			i++
		}
		b.WriteByte(glob[i])
	}
	return b.String()
}

// types has the file types.txt with the types that -t knows. They are the types of ripgrep 15, with
// ripgrep's globs. A line has the name of a type, then the globs of its files.
//
//go:embed types.txt
var types embed.FS

// typeGlobs returns the globs of the type of that name. As in ripgrep, all is each type. known is false if
// there is no such type.
func typeGlobs(name string) (globs []string, known bool) {
	text, err := types.ReadFile("types.txt")
	if err != nil {
		return nil, false // impossible, because the file is embedded
	}
	// A search through the text takes microseconds, so types is not a map, which each start would
	// have to build.
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); words[0] == name || name == "all" {
			globs = append(globs, words[1:]...)
		}
	}
	return globs, len(globs) > 0
}
