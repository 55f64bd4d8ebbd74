package dfa

import (
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/scan"
	"mrlocal/internal/testkit"
)

// TestSetsOfExpressions compares sets of short expressions of many kinds with package regexp, for each way to search.
func TestSetsOfExpressions(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]string{"%s%s", "^%s%s", "%s%s$", ".*%s%s", "%s%s.*", "[Aa]%s%s", "%s.%s", "%s[a-m]*%s", "%sa*%s", "^.*%s%s", "%s%s.*$", "(.*%s|b)+%s", "%s.*%s", `\w*%s\b%s`, "a*?%s(%s)?", "(?i)%s%s"})
		word := rapid.StringMatching("[abé ]{0,2}")
		parts := make([]string, rapid.IntRange(1, 12).Draw(rt, "expressions"))
		for i := range parts {
			parts[i] = "(?:" + fmt.Sprintf(kind.Draw(rt, "kind"), word.Draw(rt, "word"), word.Draw(rt, "word")) + ")"
		}
		pattern := strings.Join(parts, "|")
		b := rapid.SampledFrom(borders()).Draw(rt, "border")
		o, err := newOracle(pattern, b)
		if err != nil {
			rt.Fatal(err)
		}
		text := drawText(rt)
		for name, m := range matchersOf(t, pattern, b, 0) {
			compare(rt, m, o, name, text)
		}
	})
}

// mixed returns expressions of many kinds, and lines of words, of which some match.
func mixed(expressions, lines int) (pattern, text string) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 20*expressions)
	for i := range words {
		word := make([]byte, 4+rng.IntN(6))
		for k := range word {
			word[k] = 'a' + byte(rng.IntN(26))
		}
		words[i] = string(word)
	}
	kinds := []string{"%s%s", "^%s%s", "%s%s$", ".*%s%s", "%s%s.*", "[A-C]?%s%s", "%s.%s", "%s[a-m]*%s", "%se*%s"}
	parts := make([]string, expressions)
	for i := range parts {
		at := 1 + rng.IntN(3)
		parts[i] = fmt.Sprintf(kinds[i%len(kinds)], words[i][:at], words[i][at:])
	}
	var b strings.Builder
	for i := range 10 * lines {
		fmt.Fprintf(&b, "%s%c", words[rng.IntN(len(words))], "         \n"[i%10])
	}
	return strings.Join(parts, "|"), b.String()
}

// TestThousandsOfExpressionsTakeFewSteps counts the work for 3,000 expressions whose states have no end.
func TestThousandsOfExpressionsTakeFewSteps(t *testing.T) {
	pattern, text := mixed(3000, 3000)
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range borders() {
		m := Compile(tree.Simplify(), b).NewMatcher()
		matched := m.CountLines([]byte(text))
		if m.slow != 0 || b == scan.Anywhere && !m.lines.exploded {
			t.Errorf("border %d: walks from each place are tried: %v, and are slow: %v", b, m.lines.exploded, m.slow != 0)
		}
		work := 0
		for line := range strings.Lines(text) {
			line := []byte(line[:len(line)-1])
			m.lines.credit = mostCredit
			at, _ := m.lines.firstStart(line, 0)
			work += mostCredit - m.lines.credit
			if at != None {
				matched--
			}
		}
		if matched != 0 || work > 100*len(text) {
			t.Errorf("border %d: %d operations for %d bytes; %d lines are missing", b, work, len(text), matched)
		}
	}
}
