package dfa

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// An unrolled pattern matches what the pattern matches, where package regexp takes both.
func TestUnrolledPatternsMatchTheSame(t *testing.T) {
	atoms := []string{"a", "b", ".", "(a|b)", "(?P<n>ab?)", "[ab]", "[]a]", `[\]b]`, "[[:alpha:]]", `\x61`, `\x{62}`, `\pL`, `\p{Lu}`, `\141`, `\.`, `\Qab\E`, `\Q{2}\E`, "(?i)", "(?i:A)", "^", "|", "é", "{", "{x", "a{02}"}
	repeats := []string{"", "", "", "{0}", "{1}", "{2}", "{2,}", "{0,3}", "{1,2}?", "{3}?", "{1,}?", "*", "+?", "?"}
	testkit.Check(t, func(r *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 4).Draw(r, "atoms") {
			part := rapid.SampledFrom(atoms).Draw(r, "atom") + rapid.SampledFrom(repeats).Draw(r, "repeat")
			if rapid.IntRange(0, 3).Draw(r, "group") == 0 {
				part = "(" + part + ")" + rapid.SampledFrom(repeats).Draw(r, "outer")
			}
			b.WriteString(part)
		}
		want, err := regexp.Compile(b.String())
		if err != nil {
			r.Skip(err)
		}
		unrolled, err := Unroll(b.String())
		if err != nil {
			r.Fatal(err)
		}
		got, err := regexp.Compile(unrolled)
		if err != nil {
			r.Fatalf("%s as %s: %v", b.String(), unrolled, err)
		}
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aabbAé{2}].")), 0, 12, -1).Draw(r, "text")
		if w, g := want.FindStringIndex(text), got.FindStringIndex(text); len(w) != len(g) || len(w) > 0 && (w[0] != g[0] || w[1] != g[1]) {
			r.Fatalf("%s as %s in %q: %v instead of %v", b.String(), unrolled, text, g, w)
		}
	})
}

func TestLargeRepeatsAreUnrolledOrRefused(t *testing.T) {
	for _, c := range []struct {
		pattern string
		least   int // the least number of a that matches the whole pattern; 0: it is refused
	}{
		{"a{1001}", 1001}, {"a{32767}", 32767}, {"a{1500,}", 1500}, {"a{1500,3000}", 1500}, {"(a{100}){100}", 10_000}, {"((a{3}){300}b?){7}", 6300}, {"(a{1500}){2}", 3000}, {"[a]{1001}(?:a{2}){600}", 2201},
		{"a{32768}", 0}, {"a{99999999999999999999}", 0}, {"a{2000,1000}", 0}, {"(a{32767}){32767}", 0}, {"((a{1000}){1000}){1000}", 0},
	} {
		_, err := syntax.Parse(c.pattern, syntax.Perl)
		if !LargeRepeat(err) {
			t.Errorf("%s: %v", c.pattern, err)
		}
		unrolled, err := Unroll(c.pattern)
		if c.least == 0 {
			if err == nil || len(unrolled) > 2*mostBytes {
				t.Errorf("%s: %d bytes, %v", c.pattern, len(unrolled), err)
			}
			continue
		}
		re, err := regexp.Compile("^(?:" + unrolled + ")$")
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if c.least < 4000 && (!re.MatchString(strings.Repeat("a", c.least)) || re.MatchString(strings.Repeat("a", c.least-1))) {
			t.Errorf("%s does not begin to match at %d", c.pattern, c.least)
		}
	}
}
