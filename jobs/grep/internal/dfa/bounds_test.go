package dfa

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/scan"
	"mrlocal/internal/testkit"
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
// cleared again and again, and if walks from each place replace the automata.
func TestNoCacheIsTooSmall(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		pattern := drawPattern(rt, rapid.IntRange(0, 3).Draw(rt, "depth"))
		b := rapid.SampledFrom(borders()).Draw(rt, "border")
		o, err := newOracle(pattern, b)
		if err != nil {
			rt.Skip(err)
		}
		text := drawText(rt)
		for _, most := range []int{0, 4 << 10, cacheBytes} {
			for name, m := range matchersOf(t, pattern, b, most) {
				compare(rt, m, o, name, text)
			}
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
		m := matcherOf(t, `[ab]*a[ab]{12}$`, scan.Anywhere, most)
		m.slow = math.MaxInt
		m.CountLines(text)
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

// longLines returns letters with fewer newlines.
func longLines(size int) []byte {
	text := letters(size)
	for i := range text {
		if text[i] == '\n' && i%16 != 0 {
			text[i] = 'a'
		}
	}
	return text
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
	m := matcherOf(t, `[ab]*a[ab]{12}$`, scan.Anywhere, cacheBytes)
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
	if m.CountLines(text); granted != 0 || m.lines.most != leastCacheBytes {
		t.Errorf("works with %d bytes", m.lines.most)
	}
}

// exploding lists patterns that have a state for almost each offset of text like letters.
var exploding = []string{`[ab]*a[ab]{15}$`, `(a|b)*a(a|b){17}`, `a.{30}b`, `(ab|ba|b|aa){6,12}bb`, `\pL*a(?:\w|é){13}b`, `(?:a.*b.*a|b.{9}aab|ab?a.{11}){2}`,
	`a.{70}b`, `(?i)b\W?(a.*?|[^a]b){30,40}a{3}`}

// TestExplodingPatterns: a pattern with a state for each offset of the text fills the cache again and again. The
// results stay those of package regexp, whether the automaton starts over or gives up, also within a long line.
func TestExplodingPatterns(t *testing.T) {
	for i, pattern := range exploding {
		b := borders()[i%3]
		o, err := newOracle(pattern, b)
		if err != nil {
			t.Fatal(err)
		}
		for name, m := range matchersOf(t, pattern, b, 32<<10) {
			compare(t, m, o, name, longLines(2<<10*testkit.Rounds(2)))
			line := bytes.ReplaceAll(letters(4<<10*testkit.Rounds(2)), []byte{'\n'}, nil)
			if got, want := m.Match(line), o.match(line); got != want {
				t.Errorf("%s: a long line matches: %v, want %v", name, got, want)
			}
		}
	}
}

// TestExplodingPatternsGiveUpSoon: an automaton that makes states without end gives up within little text.
func TestExplodingPatternsGiveUpSoon(t *testing.T) {
	text := letters(1 << 20)
	for _, pattern := range exploding[:3] {
		m := matcherOf(t, pattern, scan.Anywhere, 64<<10)
		m.CountLines(text)
		for line := range bytes.Lines(text[:64<<10]) {
			m.Find(bytes.TrimSuffix(line, []byte{'\n'}), 0)
		}
		if !m.lines.exploded || !m.ends.exploded {
			t.Errorf("%s: automata make states without end: lines %v, ends %v", pattern, m.lines.exploded, m.ends.exploded)
		}
	}
	m := matcherOf(t, `[ab]+a[ab]{2}$`, scan.Anywhere, 64<<10)
	if m.CountLines(text); m.lines.exploded {
		t.Error("an automaton with few states has given up")
	}
}

// TestLargePrograms: patterns with many instructions or many classes have automata, too.
func TestLargePrograms(t *testing.T) {
	var words, runes []string
	for i := range 20_000 {
		words = append(words, fmt.Sprintf("w%d[xy]", i))
	}
	for r := rune(0x4e00); r < 0x4e00+5000; r++ {
		runes = append(runes, string(r)+"+"+string(r+7))
	}
	for name, c := range map[string]struct {
		list []string
		text string
		want int64
	}{
		"instructions": {words, "w17x w20000x\nw20001y\nw200x\n w19999y", 3},
		"classes":      {runes, "\u4e00\u4e00\u4e07\n\u4e01\u4e07\n\u5000\u5007", 2},
	} {
		m := matcherOf(t, strings.Join(c.list, "|"), scan.Anywhere, cacheBytes)
		if got := m.CountLines([]byte(c.text)); got != c.want {
			t.Errorf("%s: %d lines", name, got)
		}
		if start, end := m.Find([]byte(c.text), 0); start != 0 || end < 4 {
			t.Errorf("%s: %d:%d", name, start, end)
		}
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
			m := matcherOf(t, pattern, scan.Anywhere, cacheBytes)
			if got := m.CountLines([]byte(text)); got != want {
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
		m := matcherOf(t, pattern, scan.Anywhere, cacheBytes)
		if matches := m.Match([]byte(text)); matches != regexp.MustCompile(pattern).MatchString(text[len(text)-2000:]) {
			t.Errorf("%.20q: %v", pattern, matches)
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
				compare(t, matcherOf(t, pattern, b, cacheBytes), o, pattern, []byte("a\naa\nab\na b\n ba a\n\xff\n\xe2\x84a\xff\xff"))
			}
		}
	}
}

// A thousand words have more states than fit in the cache. The automaton fills the cache again
// and again.
func TestAThousandWords(t *testing.T) {
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
	lines := Compile(tree.Simplify(), scan.Anywhere).NewMatcher().CountLines(text)
	if want := countByWords(words, text); lines != want {
		t.Errorf("%d lines; %d have one", lines, want)
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
