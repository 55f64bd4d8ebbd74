package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// TestSetsOfPatternsAreGNU compares sets of up to 200 patterns of many kinds with GNU grep, on lines whose states
// fill the caches.
func TestSetsOfPatternsAreGNU(t *testing.T) {
	path, dir := gnuGrep(t), t.TempDir()
	t.Chdir(dir)
	testkit.Check(t, func(r *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		flag := rapid.SampledFrom([]string{"-c", "-v", "-i", "-w", "-x", "-o", "-oi", "-ow", "-ox", "-n", "-iw", "-ix"}).Draw(r, "flag")
		kinds := []string{"%s%s", "^%s%s", "%s%s$", "[Aa]%s%s", "%s.%s", ".*%s%s", "%s%s.*", "^.*%s%s", "%s%s.*$", "%s[a-m]*%s", "%sb*%s", "%s.*%s"}
		alphabet, width := rapid.IntRange(2, 26).Draw(r, "letters"), rapid.IntRange(3, 8).Draw(r, "width")
		if flag[1] == 'o' { // if all matches are equally long, the first one is the longest
			kinds, width = rapid.SampledFrom([][]string{kinds[:3], kinds[3:5]}).Draw(r, "kinds"), -width
		}
		word := func() string {
			word := make([]byte, max(-width, 1+rng.IntN(max(width, 1))))
			for i := range word {
				word[i] = 'a' + byte(rng.IntN(alphabet))
			}
			return string(word)
		}
		var patterns, text strings.Builder
		for range 1 + rng.IntN(200) {
			w := word()
			at := rng.IntN(len(w) + 1)
			fmt.Fprintf(&patterns, kinds[rng.IntN(len(kinds))]+"\n", w[:at], w[at:])
		}
		for range rapid.IntRange(1, 4000).Draw(r, "words") {
			text.WriteString(word() + string("Ab_  \n"[rng.IntN(6)]))
		}
		if err := errors.Join(os.WriteFile("p", []byte(patterns.String()), 0o644), os.WriteFile("f", []byte(text.String()), 0o644)); err != nil {
			r.Fatal(err)
		}
		want, wantCode := runGrepOf(t, dir, "", path, flag, "-f", "p", "f")
		got, trouble, code := runGrepTool(1<<20, "", flag, "-f", "p", "f")
		if got != want || code != wantCode {
			r.Fatalf("grep %s, patterns %q\nf: %q\ngot  %d %q %s\nwant %d %q", flag, patterns.String(), text.String(), code, got, trouble, wantCode, want)
		}
	})
}
