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

// TestFitCountsColumns: a wide character takes two columns of a terminal, and a combining mark none.
func TestFitCountsColumns(t *testing.T) {
	for _, c := range []struct {
		what, text string
		width      int
		want       string
	}{
		{"wide characters", "世界 世界 世界", 9, "世界 世界\n  世界"},
		{"combining marks", "e\u0301e\u0301 e\u0301e\u0301 x", 7, "e\u0301e\u0301 e\u0301e\u0301 x"},
		{"a table", "job\tmaps\n世界\t1\nab\t2\n", 80, "job   maps\n世界     1\nab       2\n"},
	} {
		if got := errs.Fit(c.text, c.width); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
}

// TestFitKnowsItsMarks has lists, commands and choices.
func TestFitKnowsItsMarks(t *testing.T) {
	list := "  -a\x02one two three\n  --long-name X\x02four\n  -b\x02\n"
	for _, c := range []struct {
		what, text string
		width      int
		want       string
	}{
		{"a list", list, 80, "  -a             one two three\n  --long-name X  four\n  -b\n"},
		{"a list with a name above its text", list, 24, "  -a  one two three\n  --long-name X\n      four\n  -b\n"},
		{"a word that does not fit behind its name", "  -a\x02" + "123456789 x\n", 12, "  -a\n    123456789\n    x\n"},
		{"paragraphs", "   \x02one two three\n\x02one two three\n", 12, "   one two\n   three\none two\nthree\n"},
		{"a command that fits", "   \x03a 'b  c' | d\n", 20, "   a 'b  c' | d\n"},
		{"a longer command", "   \x03run -e 'b  c' --to out\n", 19, "   run -e 'b  c' \\\n       --to out\n"},
		{"choices that fit", "--way a|\x01b|\x01c", 20, "--way a|b|c"},
		{"choices below", "--way aa|\x01bb|\x01cc", 12, "--way\n  aa|bb|cc"},
		{"choices that are longer than a line", "--way aa|\x01bb|\x01cc|\x01dd", 12, "--way aa|bb|\n  cc|dd"},
		{"things side by side", "  -a, --all   -b, --bare   -c", 20, "  -a, --all\n  -b, --bare\n  -c"},
	} {
		if got := errs.Fit(c.text, c.width); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.what, got, c.want)
		}
	}
}
