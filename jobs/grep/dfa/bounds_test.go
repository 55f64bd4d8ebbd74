package dfa

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawPattern draws a random expression over a small alphabet.
func drawPattern(t *rapid.T, depth int) string {
	if depth == 0 {
		return rapid.SampledFrom([]string{"a", "b", "ab", "é", ".", `\w`, `\W`, `[^a]`, " ", "", `\b`, `\B`, "^", "$", "(?i:k)", "\ufffd", `\p{L}`, "[а-я]",
			`[\x{800}-\x{fffe}]`, "(?m:^)", "(?m:$)", "(?s:.)", "日"}).Draw(t, "atom")
	}
	sub := func() string { return drawPattern(t, depth-1) }
	switch rapid.IntRange(0, 6).Draw(t, "op") {
	case 0, 1, 2:
		return sub() + sub()
	case 3:
		return "(?:" + sub() + "|" + sub() + ")"
	case 4, 5:
		return "(?:" + sub() + ")" + rapid.SampledFrom([]string{"*", "+", "?", "*?", "+?", "??", "{3}", "{1,2}"}).Draw(t, "repeat")
	}
	return sub()
}

// drawText draws random lines. Some are long enough to be cut into streams.
func drawText(t *rapid.T) []byte {
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "aaaaaaaaaaaaaaaaa", "k", "\u212a", "é", "ж", "日本", "😀", " ", "_", "\n", "\n", "\n\n\n\n\n\n\n\n\n",
		"\xff", "\xe2\x84", "\xf0\x9f", "\x80", "\xed\xa0\x80", "\ufffd"})
	return []byte(strings.Join(rapid.SliceOfN(piece, 0, 100).Draw(t, "text"), ""))
}

// TestNoCacheIsTooSmall: the results are the same for every size of the cache, also if it is
// cleared again and again.
func TestNoCacheIsTooSmall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pattern := drawPattern(rt, rapid.IntRange(0, 3).Draw(rt, "depth"))
		b := rapid.SampledFrom(borders()).Draw(rt, "border")
		o, err := newOracle(pattern, b)
		if err != nil {
			rt.Skip(err)
		}
		text := drawText(rt)
		for _, most := range []int{0, 4 << 10, cacheBytes} {
			compare(rt, matcherOf(t, pattern, b, most, 0), o, fmt.Sprintf("%q, %d bytes", pattern, most), text)
		}
	})
}

// letters returns random lines of a and b.
func letters(size int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, size)
	for i := range text {
		text[i] = "aabab\nbaabbaababbaababbaabab"[rng.IntN(28)]
	}
	return text
}

func TestStatesStayInTheirBound(t *testing.T) {
	text := letters(200 << 10)
	for _, most := range []int{64 << 10, cacheBytes} {
		m := matcherOf(t, `[ab]*a[ab]{12}$`, Anywhere, most, 0)
		if _, ok := m.CountLines(text); !ok {
			t.Error("gave up")
		}
		for line := range bytes.Lines(text) {
			m.Find(bytes.TrimSuffix(line, []byte{'\n'}), 0)
		}
		for name, c := range map[string]*cache{"lines": &m.lines.cache, "ends": &m.ends.cache, "starts": &m.starts.cache} {
			table := len(c.table) * 4
			if rowBytes := int(c.width) * 4; c.used > most+1000 || table > most+(c.fixed+1)*rowBytes {
				t.Errorf("%s with %d bytes: %d in use, a table of %d", name, most, c.used, table)
			}
		}
	}
}

// TestAutomataAreCharged: each automaton takes the memory that charge has granted. The next
// user of the Matcher is charged for its automata, or builds new ones.
func TestAutomataAreCharged(t *testing.T) {
	text, line, granted := letters(200<<10), []byte("abab"), int64(0)
	upTo := func(most int64) func(int64) bool {
		return func(bytes int64) bool {
			if bytes > most {
				return false
			}
			granted += bytes
			return true
		}
	}
	m := matcherOf(t, `[ab]*a[ab]{12}$`, Anywhere, cacheBytes, 0)
	m.Account(upTo(300 << 10))
	m.CountLines(text)
	m.Find(line, 0)
	if c := &m.lines.cache; granted != 3*256<<10 || c.most != 256<<10 || c.used > c.most+1000 {
		t.Errorf("%d bytes are charged, the automaton for lines has %d of %d", granted, c.used, c.most)
	}
	granted = 0
	if m.Account(upTo(1 << 20)); granted != 3*256<<10 || m.lines == nil {
		t.Errorf("%d bytes are charged to the next mapper", granted)
	}
	granted = 0
	m.Account(upTo(0))
	if m.lines != nil || m.ends != nil || m.starts != nil {
		t.Error("automata are kept that were refused")
	}
	if _, ok := m.CountLines(text); !ok || granted != 0 || m.lines.most != leastCacheBytes {
		t.Errorf("works %v with %d bytes", ok, m.lines.most)
	}
}

// TestGivingUp: the automaton gives up if, and only if, states are removed as fast as they are
// made. It never recovers.
func TestGivingUp(t *testing.T) {
	text := letters(300 << 10)
	grown := matcherOf(t, `[ab]*a[ab]{15}$`, Anywhere, 64<<10, leastFilled)
	if _, ok := grown.CountLines(text); ok {
		t.Error("CountLines has not given up")
	}
	if _, ok := grown.Match([]byte("a")); ok {
		t.Error("Match goes on")
	}
	if _, _, ok := grown.NextLine(text, 0); ok {
		t.Error("NextLine goes on")
	}
	if _, _, ok := grown.Find([]byte("ba"), 0); !ok {
		t.Error("Find, which has states of its own, has given up")
	}
	small := matcherOf(t, `[ab]*a[ab]{3}$`, Anywhere, 64<<10, leastFilled)
	if n, ok := small.CountLines(text); !ok || n == 0 {
		t.Errorf("%d lines, %v", n, ok)
	}
}

// TestLongLines: a text that is cut into pieces may have no end of a line near the cuts.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, pattern := range []string{"a", "x$", "^x*$", "y|^b", `\Ax{400}$|b`, "", "^$"} {
		re := regexp.MustCompile(pattern)
		for _, text := range []string{long, long + "a\n", "b\n" + long, "\n" + long + "\n\n", strings.Repeat(long+"\n", 3), "b\nb\nb\n" + long + "a\nb"} {
			want := int64(0)
			for line := range bytes.Lines([]byte(text)) {
				if re.Match(bytes.TrimSuffix(line, []byte{'\n'})) {
					want++
				}
			}
			m := matcherOf(t, pattern, Anywhere, cacheBytes, leastFilled)
			if got, ok := m.CountLines([]byte(text)); !ok || got != want {
				t.Errorf("%q in %d bytes: %d, want %d", pattern, len(text), got, want)
			}
		}
	}
}

// TestTimeIsLinear: patterns that take exponential time in other engines take linear time here.
func TestTimeIsLinear(t *testing.T) {
	var words []string
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		words = append(words, fmt.Sprintf("%x", rng.Uint64()>>uint(rng.IntN(40))))
	}
	for pattern, text := range map[string]string{
		"(a*)*b":                 strings.Repeat("a", 1<<18),
		"(a|aa)+$":               strings.Repeat("a", 1<<18) + "b",
		"(x+x+)+y":               strings.Repeat("x", 1<<18),
		`\w{1000}\W`:             strings.Repeat("a", 1<<18),
		"((a{0,30}){0,30})*b":    strings.Repeat("a", 1<<16),
		`\p{L}+\d`:               strings.Repeat("汉字", 1<<17),
		strings.Join(words, "|"): strings.Repeat("0123456789 ", 1<<14),
	} {
		m := matcherOf(t, pattern, Anywhere, cacheBytes, leastFilled)
		if matches, ok := m.Match([]byte(text)); !ok || matches != regexp.MustCompile(pattern).MatchString(text[len(text)-2000:]) {
			t.Errorf("%.20q: %v, %v", pattern, matches, ok)
		}
	}
}

// TestLoopsAroundAssertions: if an assertion turns out to be true, its loop is left and not
// repeated.
func TestLoopsAroundAssertions(t *testing.T) {
	for _, assertion := range []string{`\b`, `\B`, "^", "$", "(?m:$)", ""} {
		for _, form := range []string{"(?:%s|a)+", "(?:a|%s)+", "(?:%s|a)*", "(?:%s|a)+?", "(?:a*%s)+", "(?:%s|\ufffd)+", "(?:(?:%s|a)*|b)+b?"} {
			pattern := fmt.Sprintf(form, assertion)
			for _, b := range borders() {
				o, err := newOracle(pattern, b)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, matcherOf(t, pattern, b, cacheBytes, leastFilled), o, pattern, []byte("a\naa\nab\na b\n ba a\n\xff\n\xe2\x84a\xff\xff"))
			}
		}
	}
}

// A thousand words have more states than fit in the cache. The automaton fills the cache again
// and again, because regexp would take ten microseconds for each byte.
func TestAThousandWordsAreNotGivenUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	words := make([]string, 1000)
	for i := range words {
		word := make([]byte, 6+rng.IntN(8))
		for k := range word {
			word[k] = byte('a' + rng.IntN(26))
		}
		words[i] = string(word)
	}
	tree, err := syntax.Parse(strings.Join(words, "|"), syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for i := range 40_000 {
		word := words[rng.IntN(len(words))]
		if i%8 != 0 {
			word = word[:len(word)-1]
		}
		text = append(append(text, word...), " \n"[i%2])
	}
	lines, ok := Compile(tree.Simplify(), Anywhere).NewMatcher().CountLines(text)
	if want := countByWords(words, text); !ok || lines != want {
		t.Errorf("%d lines, %v; %d have one", lines, ok, want)
	}
}

func countByWords(words []string, text []byte) (lines int64) {
	for line := range bytes.Lines(text) {
		for _, word := range words {
			if bytes.Contains(line, []byte(word)) {
				lines++
				break
			}
		}
	}
	return lines
}
