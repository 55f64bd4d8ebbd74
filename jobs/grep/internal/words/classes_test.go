package words

import (
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/scan"
)

// sets returns a triple in the words of a pattern.
func sets(triple scan.Triple) string {
	var text strings.Builder
	for _, set := range triple {
		text.WriteByte('[')
		for from := 0; from < 256; from++ {
			to := from
			for to < 256 && set[to] {
				to++
			}
			switch to - from {
			case 0:
				continue
			case 1:
				text.WriteByte(byte(from))
			default:
				text.WriteString(string(rune(from)) + "-" + string(rune(to-1)))
			}
			from = to
		}
		text.WriteByte(']')
	}
	return text.String()
}

func TestTriplesOfPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		`\d{1,3}(\.\d{1,3}){3}`:  "[.][0-9][.] [.][0-9][0-9]",
		`\d+\.\d+`:               "[0-9][.][0-9]",
		`[A-Z]\d+@\w+`:           "[0-9][@][0-9A-Z_a-z]",
		`[A-Z]{3}`:               "[A-Z][A-Z][A-Z]",
		`[0-9]{2}`:               "",
		`(?i)x[0-9]y`:            "[Xx][0-9][Yy]",
		`(?i)k[0-9]y`:            "", // the Kelvin sign folds to k
		`a[bc]+d|e[0-9]?fgh`:     "", // no part of the first branch is three bytes long
		`(ab[0-9]|cd[a-f])x*`:    "[a][b][0-9] [c][d][a-f]",
		`[^a]bc`:                 "",
		`é=`:                     "[\xc3][\xa9][=]",
		`.*`:                     "",
		`(a[0-9]b)*`:             "",
		"x\ufffd[0-9]":           "",
		`(a|b)[0-9](\n|c)`:       "[a-b][0-9][c]",
		`^[0-9]\b:$`:             "",
		`q[0-9][0-9]*z`:          "", // none is certain to be three bytes long
		`[0-9]+(\.[0-9]+)?kg\.`:  "[k][g][.]",
		`([0-9a-f]{2}:){5}[0-9]`: "[0-9a-f][:][0-9]",
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl&^syntax.OneLine)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		all, _ := Triples(tree.Simplify())
		for _, triple := range all {
			got = append(got, sets(triple))
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %q, want %q", pattern, text, want)
		}
	}
}

// Each line that a pattern matches has one of the triples. Each piece of a pattern comes with a text that it matches.
func TestEachMatchHasATriple(t *testing.T) {
	pieces := map[string]string{
		"a": "a", "b": "b", "[0-9]": "2", `\.`: ".", `\d+`: "010", `\w`: "x", "(?i:k)": "K", "(?i:ab)": "aB", "[ab]{1,3}": "ba",
		"(a|bc|[0-2])": "bc", "é": "é", "x?": "", "b*": "bb", `\b`: "", "^": "", "(b.|\\.)": "bé", "(a\\.)+": "a.a.", "[^a]": "\u212a",
	}
	piece := rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(pieces))), 1, 6)
	around := rapid.StringOfN(rapid.SampledFrom([]rune("abcAK\u212a012.xé ")), 0, 5, -1)
	rapid.Check(t, func(rt *rapid.T) {
		drawn := piece.Draw(rt, "pattern")
		pattern, text := strings.Join(drawn, ""), ""
		for _, p := range drawn {
			text += pieces[p]
		}
		if rapid.IntRange(0, 3).Draw(rt, "or") == 0 {
			pattern += "|" + strings.Join(piece.Draw(rt, "other"), "")
		}
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			rt.Fatal(err)
		}
		triples, chance := Triples(tree.Simplify())
		if triples == nil {
			return
		}
		if chance <= 0 || chance >= float64(len(triples)) {
			rt.Errorf("%s: probability %g", pattern, chance)
		}
		match := regexp.MustCompile(pattern)
		for _, line := range []string{text, around.Draw(rt, "before") + text + around.Draw(rt, "behind"), around.Draw(rt, "line")} {
			if match.MatchString(line) && !slices.ContainsFunc(triples, func(w scan.Triple) bool {
				for i := 0; i+3 <= len(line); i++ {
					if w[0][line[i]] && w[1][line[i+1]] && w[2][line[i+2]] {
						return true
					}
				}
				return false
			}) {
				rt.Fatalf("%s matches %q, which has none of its %d triples", pattern, line, len(triples))
			}
		}
	})
}
