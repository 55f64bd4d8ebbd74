package dfa

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestGroupsKeepThePreference compares alternatives that begin alike with package regexp.
func TestGroupsKeepThePreference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`([abA.]|\[[ab]\]|\[[aA]\]|\\b|\^|é|\(a\|b\)|\(\?i:a\)|b\*|a\?|\$|ſ|\(\?i:s\)){0,5}`)
		parts := rapid.SliceOfN(word, 1, 12).Draw(t, "alternatives")
		pattern := "(?:" + strings.Join(parts, ")|(?:") + ")"
		if rapid.Bool().Draw(t, "ignore case") {
			pattern = "(?i:" + pattern + ")"
		}
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "A", "é", "ſ", "s", " ", "\n", "\xff"}), 0, 20).Draw(t, "text")
		border := rapid.SampledFrom(borders()).Draw(t, "border")
		o, err := newOracle(pattern, border)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		m := Compile(tree.Simplify(), border).NewMatcher()
		compare(t, m, o, pattern, []byte(strings.Join(text, "")))
	})
}

// TestThousandsOfExpressionsHaveFewThreads: of 5,000 expressions, few begin at each rune.
func TestThousandsOfExpressionsHaveFewThreads(t *testing.T) {
	for _, form := range []string{"%s[0-9]+x", "(%s)[0-9]", `\b%s\d`, `^%s\d`, "[A-Z]%s.", "(?i)%s[0-9]"} {
		parts := make([]string, 5_000)
		for i := range parts {
			parts[i] = fmt.Sprintf(form, fmt.Sprintf("%cx%d", 'a'+i%26, i*7919%5_000))
		}
		tree, err := syntax.Parse("(?:"+strings.Join(parts, ")|(?:")+")", syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		p := Compile(tree.Simplify(), Anywhere).forward
		if n := len(newThreads(p, true).closed([]uint32{p.entry}, edge, noWord)); n > 26 {
			t.Errorf("%s: %d threads begin", form, n)
		}
	}
}
