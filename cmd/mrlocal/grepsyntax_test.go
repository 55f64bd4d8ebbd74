package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// drawExpression draws an expression of POSIX. Operators have a backslash before them in a basic one. In a repetition
// there are no assertions, because the second time GNU grep 3.8 does not check them with -o.
func drawExpression(r *rapid.T, slash string, depth int, repeated bool) string {
	kind := rapid.IntRange(0, 9).Draw(r, "kind")
	if depth == 0 {
		kind %= 4
	}
	if repeated && kind == 3 {
		kind = 2
	}
	sub := func() string { return drawExpression(r, slash, depth-1, repeated) }
	group := func() string {
		repeated = repeated || kind == 6
		return slash + "(" + sub() + slash + ")"
	}
	switch kind {
	case 0, 1:
		return rapid.SampledFrom([]string{"a", "b", "ab", "_", "-", "A", ".", "é", `\.`, `\*`}).Draw(r, "characters")
	case 2:
		return rapid.SampledFrom([]string{"[ab]", "[^a]", "[[:alpha:]]", "[a-]", "[]b]", `[\b]`, "[[.-.]a]", "[[=a=]]", "[A-Z_]", "[^[:punct:]b]", `\w`, `\W`, `\s`, `\S`, "[*.]"}).Draw(r, "set")
	case 3:
		return rapid.SampledFrom([]string{`\<`, `\>`, `\b`, `\B`, "^", "$", "\\`", `\'`}).Draw(r, "assertion") + rapid.SampledFrom([]string{"a", "b", ""}).Draw(r, "more")
	case 4, 5:
		return group()
	case 6:
		return group() + rapid.SampledFrom([]string{"*", slash + "+", slash + "?", slash + "{1" + slash + "}", slash + "{,2" + slash + "}", slash + "{2," + slash + "}", slash + "{0,1" + slash + "}"}).Draw(r, "repetition")
	case 7:
		return "a" + rapid.SampledFrom([]string{"*", slash + "+", slash + "?", slash + "{2" + slash + "}", "**", "*" + slash + "?"}).Draw(r, "repetition")
	case 8:
		return sub() + slash + "|" + sub()
	}
	return sub() + sub()
}

// TestExpressionsAreGNU compares selected lines and matches with GNU grep, on expressions from a grammar.
func TestExpressionsAreGNU(t *testing.T) {
	path, dir := gnuGrep(t), t.TempDir()
	t.Chdir(dir)
	testkit.Check(t, func(r *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "A", "_", "-", " ", "*", ".", "\n", "\n"}), 1, 40).Draw(r, "text"), "") + "\n"
		if err := os.WriteFile("f", []byte(text), 0o644); err != nil {
			r.Fatal(err)
		}
		language := rapid.SampledFrom([]string{"-G", "-E"}).Draw(r, "language")
		slash := map[string]string{"-G": `\`}[language]
		args := []string{language, "-n"}
		for _, flag := range []string{"-i", "-w", "-x", "-o", "-c", "-z"} {
			// GNU grep 3.8 takes the newline for a part of the match if both -x and -w are given.
			if rapid.IntRange(0, 3).Draw(r, flag) == 3 && !(flag == "-x" && slices.Contains(args, "-w")) {
				args = append(args, flag)
			}
		}
		for range rapid.IntRange(1, 2).Draw(r, "expressions") {
			args = append(args, "-e", drawExpression(r, slash, 3, false))
		}
		args = append(args, "f")
		want, wantCode := runGrepOf(t, dir, "", path, args...)
		got, trouble, code := runGrepTool(rapid.SampledFrom([]int64{0, 7}).Draw(r, "block"), "", args...)
		if got != want || code != wantCode {
			r.Fatalf("grep %q, text %q: %q %s and %d, want %q and %d", args, text, got, trouble, code, want, wantCode)
		}
	})
}

// TestPatternsAreGNU compares selected lines, matches and refusals with GNU grep, on tables of expressions.
func TestPatternsAreGNU(t *testing.T) {
	path, patterns := gnuGrep(t), 0
	t.Chdir("testdata/patterns")
	for language, table := range map[string]string{"-G": "basic", "-E": "extended"} {
		text, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for pattern := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
			patterns++
			forms := []string{"-n", "-no", "-nix", "-nw"}
			if !testkit.Long() {
				if patterns%2 > 0 {
					continue
				}
				forms = forms[patterns/2%4:][:1]
			}
			for _, form := range forms {
				args := []string{language, form, "-e", pattern, "sample"}
				want, wantCode := runGrepOf(t, ".", "", path, args...)
				if got, trouble, code := runGrepTool(0, "", args...); got != want || code != wantCode {
					t.Errorf("grep %q: %q %s and %d, want %q and %d", args, got, trouble, code, want, wantCode)
				}
			}
		}
	}
	if patterns < 300 {
		t.Errorf("the tables have %d patterns, want 300", patterns)
	}
}
