package dfa

import (
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/scan"
	"mrlocal/internal/testkit"
)

// TestGroupsKeepThePreference compares alternatives that begin alike with package regexp.
func TestGroupsKeepThePreference(t *testing.T) {
	testkit.Check(t, func(t *rapid.T) {
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

// TestThousandsOfExpressionsHaveFewThreads: of thousands of expressions, few begin or go on at each rune.
func TestThousandsOfExpressionsHaveFewThreads(t *testing.T) {
	for _, form := range []string{"%s.*9x", "%s[0-9]+x", "(%s)[0-9]", `\b%s\d`, `^%s\d`, "[A-Z]%s.", "(?i)%s[0-9]"} {
		random := rand.New(rand.NewPCG(1, 2))
		parts := make([]string, 1250*testkit.Rounds(4))
		for i := range parts {
			word := make([]byte, 4+random.IntN(6))
			for k := range word {
				word[k] = 'a' + byte(random.IntN(26))
			}
			parts[i] = fmt.Sprintf(form, word)
		}
		tree, err := syntax.Parse("(?:"+strings.Join(parts, ")|(?:")+")", syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		both := Compile(tree.Simplify(), scan.Anywhere)
		back := newThreads(both.backward, false)
		list := slices.Clone(back.closed([]uint32{both.backward.entry}, edge, word))
		for i, r := range "x9aba" {
			if list = slices.Clone(back.stepped(list, both.backward.classes.of(r))); len(list) > 40 {
				t.Errorf("%s: %d threads before the last %d runes of a match", form, len(list), i+1)
			}
		}
		p := both.forward
		threads := newThreads(p, true)
		list = threads.closed([]uint32{p.entry}, edge, word)
		for i, r := range "Aab" {
			if r == 'A' && form[0] != '[' {
				continue
			}
			if len(list) == 0 || len(list) > 4 {
				t.Errorf("%s: %d threads before rune %d", form, len(list), i)
			}
			list = threads.stepped(slices.Clone(list), p.classes.of(r))
		}
	}
}
