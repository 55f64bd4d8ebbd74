package errs_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mrlocal/internal/errs"
)

func TestFit(t *testing.T) {
	table := "policy\tmean job time\tmoves\nfair\t12.5s\t0\npi-dhfs\t7s\t120\n"
	for _, c := range []struct {
		what, text string
		width      int
		want       string
	}{
		{"a table that fits", table, 80, "policy   mean job time  moves\nfair             12.5s      0\npi-dhfs             7s    120\n"},
		{"a title that is folded", table, 23, "policy      mean  moves\n             job\n            time\nfair       12.5s      0\npi-dhfs       7s    120\n"},
		{"columns that do not fit", table, 16, "policy      mean\n             job\n            time\nfair       12.5s\npi-dhfs       7s\n\npolicy   moves\nfair         0\npi-dhfs    120\n"},
		{"prose", "  - one two three\nend", 10, "  - one\n    two\n    three\nend"},
		{"a longer word", "a /a/long/path b\n", 8, "a\n  /a/long/path\n  b\n"},
		{"no text", "", 8, ""},
		{"prose, a table, prose", "a\nb\tc\nd", 8, "a\nb  c\nd"},
	} {
		if got := errs.Fit(c.text, c.width); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
}

// TestFitKeepsEveryWord draws texts of words that are shorter than the lines.
func TestFitKeepsEveryWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`((a|bc|1|-|ä|def)[ \t\n]){0,60}`).Draw(t, "text")
		width := rapid.IntRange(12, 40).Draw(t, "width")
		got := errs.Fit(text, width)
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && strings.TrimSpace(line) != "" {
				t.Fatalf("%d characters in a line of\n%s", n, got)
			}
		}
		for _, word := range []string{"bc", "1", "-", "ä", "def"} {
			if a, b := strings.Count(text, word), strings.Count(got, word); b < a {
				t.Fatalf("%q is there %d times, not %d times, in\n%s", word, b, a, got)
			}
		}
	})
}
