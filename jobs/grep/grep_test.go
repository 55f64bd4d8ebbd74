package grep

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/errs"
	"mrlocal/jobs/jobtest"
)

func run(t testing.TB, o Options, cut jobtest.Cut, files []jobtest.File) (string, int64) {
	t.Helper()
	chain, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jobtest.Run(chain, files, cut)
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Data), out.Records
}

// named returns files named a, b, c and so on.
func named(texts ...string) []jobtest.File {
	var files []jobtest.File
	for i, text := range texts {
		files = append(files, jobtest.File{Path: string(rune('a' + i)), Data: []byte(text)})
	}
	return files
}

// cuts returns ways to cut the input. None of them may change the output.
func cuts() []jobtest.Cut {
	var all []jobtest.Cut
	for _, block := range []int{0, 1, 5, 12} {
		for _, split := range []int{0, 1, 2, 3} {
			all = append(all, jobtest.Cut{BlockBytes: block, SplitBlocks: split})
		}
	}
	return all
}

//go:fix inline
func max_(n int64) *int64 { return new(n) }

func TestForms(t *testing.T) {
	e := func(p ...string) []string { return p }
	one := named("foo\nbar\nfoo bar foo\n\nbaz foo")
	three := named("foo\nbar\n", "", "bar\nfoo\nfoo")
	for _, c := range []struct {
		name    string
		options Options
		files   []jobtest.File
		want    string
	}{
		{"matches are counted", Options{Patterns: e("foo")}, one, "4\tfoo\n"},
		{"the most frequent first, then byte order", Options{Patterns: e("[a-z]+")}, one, "4\tfoo\n2\tbar\n1\tbaz\n"},
		{"empty matches are not counted", Options{Patterns: e("o*")}, one, "4\too\n"},
		{"without a pattern, the links of a wiki", Options{}, named("[[A]] [[A|b]] [[]] [[A]]\n"), "2\t[[A]]\n1\t[[A|b]]\n"},
		{"a match may hold a TAB", Options{Patterns: e("a\tb")}, named("a\tb\n"), "1\ta\tb\n"},
		{"lines", Options{Patterns: e("foo"), Lines: true}, one, "foo\nfoo bar foo\nbaz foo\n"},
		{"an empty pattern takes all", Options{Patterns: e(""), Lines: true}, one, "foo\nbar\nfoo bar foo\n\nbaz foo\n"},
		{"an empty pattern counts nothing", Options{Patterns: e("")}, one, ""},
		{"a newline separates patterns", Options{Patterns: e("bar\nbaz"), Lines: true}, one, "bar\nfoo bar foo\nbaz foo\n"},
		{"the path, when there are several files", Options{Patterns: e("foo"), Lines: true}, three, "a:foo\nc:foo\nc:foo\n"},
		{"no path", Options{Patterns: e("foo"), Names: NamesNever}, three, "foo\nfoo\nfoo\n"},
		{"the path always", Options{Patterns: e("bar"), Names: NamesAlways}, one, "a:bar\na:foo bar foo\n"},
		{"line numbers", Options{Patterns: e("foo"), LineNumbers: true}, one, "1:foo\n3:foo bar foo\n5:baz foo\n"},
		{"paths and numbers", Options{Patterns: e("foo"), LineNumbers: true}, three, "a:1:foo\nc:2:foo\nc:3:foo\n"},
		{"counts", Options{Patterns: e("foo"), Count: true}, one, "3\n"},
		{"counts of several files", Options{Patterns: e("foo"), Count: true}, three, "a:1\nb:0\nc:2\n"},
		{"names of files", Options{Patterns: e("foo"), ListFiles: true}, three, "a\nc\n"},
		{"-l goes before -c", Options{Patterns: e("foo"), ListFiles: true, Count: true}, three, "a\nc\n"},
		{"inverted", Options{Patterns: e("foo"), Invert: true}, one, "bar\n\n"},
		{"inverted, nothing matched", Options{Patterns: e("x"), Invert: true}, named("a\nb"), "a\nb\n"},
		{"inverted counts", Options{Patterns: e("foo"), Invert: true, Count: true}, three, "a:1\nb:0\nc:1\n"},
		{"inverted names", Options{Patterns: e("foo"), Invert: true, ListFiles: true}, named("foo\n", "", "foo\nx"), "c\n"},
		{"inverted numbers", Options{Patterns: e("foo"), Invert: true, LineNumbers: true}, one, "2:bar\n4:\n"},
		{"ignoring case", Options{Patterns: e("FOO"), IgnoreCase: true, Count: true}, one, "3\n"},
		{"fixed", Options{Patterns: e("."), Fixed: true}, named("a.b\nab\n"), "a.b\n"},
		{"fixed bytes need not be UTF-8", Options{Patterns: e("\xff"), Fixed: true}, named("a\xffb\nab\n"), "a\xffb\n"},
		{"words", Options{Patterns: e("foo"), Word: true}, named("foo\nfoobar\n_foo\n-foo-\nfoofoo foo\n"), "foo\n-foo-\nfoofoo foo\n"},
		{"words, shorter", Options{Patterns: e("foo.?"), Word: true}, named("foo x_\nfoo_x\n"), "foo x_\n"},
		{"words of no length", Options{Patterns: e(" *"), Word: true}, named("a  b\na b\n\n"), "a  b\n\n"},
		{"whole lines", Options{Patterns: e("foo", "b.z foo"), Whole: true}, one, "foo\nbaz foo\n"},
		{"-x goes before -w", Options{Patterns: e("oo "), Whole: true, Word: true}, named("oo \n"), "oo \n"},
		{"only the matches", Options{Patterns: e("foo|ba."), OnlyMatched: true}, one, "foo\nbar\nfoo\nbar\nfoo\nbaz\nfoo\n"},
		{"only the matches, numbered", Options{Patterns: e("foo"), OnlyMatched: true, LineNumbers: true}, one, "1:foo\n3:foo\n3:foo\n5:foo\n"},
		{"the first alternative wins", Options{Patterns: e("ba", "bar"), OnlyMatched: true}, one, "ba\nba\nba\n"},
		{"a caret only matches once per line", Options{Patterns: e("^a"), OnlyMatched: true}, named("aab\n"), "a\n"},
		{"nothing is left of an inverted line", Options{Patterns: e("foo"), OnlyMatched: true, Invert: true}, one, ""},
		{"at most N lines", Options{Patterns: e("foo"), MaxCount: max_(2)}, one, "foo\nfoo bar foo\n"},
		{"at most N per file", Options{Patterns: e("foo"), MaxCount: max_(1), LineNumbers: true}, three, "a:1:foo\nc:2:foo\n"},
		{"at most N counted", Options{Patterns: e("foo"), MaxCount: max_(1), Count: true}, three, "a:1\nb:0\nc:1\n"},
		{"at most N inverted", Options{Patterns: e("foo"), MaxCount: max_(1), Invert: true}, one, "bar\n"},
		{"at most N lines of matches", Options{Patterns: e("foo"), MaxCount: max_(2), OnlyMatched: true, LineNumbers: true}, one, "1:foo\n3:foo\n3:foo\n"},
		{"at most none", Options{Patterns: e("foo"), MaxCount: max_(0), Count: true}, three, ""},
		{"a negative limit is none", Options{Patterns: e("foo"), MaxCount: max_(-1)}, one, "foo\nfoo bar foo\nbaz foo\n"},
		{"quiet", Options{Patterns: e("foo"), Quiet: true, Count: true}, three, ""},
		{"carriage returns belong to the line", Options{Patterns: e("o$"), Lines: true}, named("foo\r\nfoo\n"), "foo\n"},
		{"binary files are skipped", Options{Patterns: e("a"), Count: true}, named("a\x00\n", "a\n"), "b:1\n"},
		{"unless they are text", Options{Patterns: e("a"), Lines: true, Text: true}, named("a\x00\n"), "a\x00\n"},
		{"s and k have partners beyond ASCII", Options{Patterns: e("task"), IgnoreCase: true}, named("TaSK\nta\u017fK\ntas\u212a\ntaxk\n"), "TaSK\nta\u017fK\ntas\u212a\n"},
		{"U+FFFD is any invalid byte", Options{Patterns: e("a\ufffd"), Lines: true}, named("a\xff\na\ufffd\nab\n"), "a\xff\na\ufffd\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range cuts() {
				if got, _ := run(t, c.options, cut, c.files); got != c.want {
					t.Fatalf("cut %+v: %q, want %q", cut, got, c.want)
				}
			}
		})
	}
}

func TestRecordsAreWhatWasSelected(t *testing.T) {
	files := named("foo\nbar\n", "", "bar\nfoo\nfoo")
	for _, c := range []struct {
		options Options
		want    int64
	}{
		{Options{Lines: true}, 3},
		{Options{Count: true}, 3},
		{Options{ListFiles: true}, 2},
		{Options{Quiet: true}, 1},
		{Options{Invert: true, OnlyMatched: true}, 2},
		{Options{MaxCount: max_(1)}, 2},
		{Options{MaxCount: max_(0)}, 0},
	} {
		for _, cut := range cuts() {
			o := c.options
			o.Patterns = []string{"foo"}
			if _, n := run(t, o, cut, files); n != c.want {
				t.Errorf("%+v, cut %+v: %d records, want %d", c.options, cut, n, c.want)
			}
		}
	}
}

func TestLongLinesPassTheBuffers(t *testing.T) {
	long := strings.Repeat("x", frameBytes) + "foo" + strings.Repeat("y", directBytes)
	files := named("foo\n"+long+"\nfoo\n"+long, long+"\n"+long+"\n")
	for _, o := range []Options{{}, {LineNumbers: true}, {Invert: true}, {OnlyMatched: true}, {MaxCount: max_(1)}, {LineNumbers: true, MaxCount: max_(2)}} {
		for _, pattern := range []string{"foo", "xx?foo", "nothing"} {
			o.Patterns, o.Lines = []string{pattern}, true
			want, records := oracle(o, files)
			for _, cut := range []jobtest.Cut{{}, {BlockBytes: 1, SplitBlocks: 1}, {BlockBytes: 1, SplitBlocks: 2}} {
				if got, n := run(t, o, cut, files); got != want || n != records {
					t.Errorf("%+v, cut %+v: %d bytes, %d lines, want %d, %d", o, cut, len(got), n, len(want), records)
				}
			}
		}
	}
}

func TestWrongPatternsSayWhere(t *testing.T) {
	for pattern, want := range map[string]string{
		"a(b(c)":   `Options.Patterns: "a(b(c)": position 2: missing closing )`,
		"ab)":      `Options.Patterns: "ab)": position 3: unexpected )`,
		"[)a)":     `Options.Patterns: "[)a)": position 1: missing closing ]`,
		"ab[":      `Options.Patterns: "ab[": position 3: missing closing ]: "["`,
		"a**":      `Options.Patterns: "a**": position 2: invalid nested repetition operator: "**"`,
		"*":        `Options.Patterns: "*": position 1: missing argument to repetition operator`,
		"ok\na\\y": `Options.Patterns: "a\\y": position 2: invalid escape sequence: "\\y"`,
		"a{32768}": `Options.Patterns: "a{32768}": position 2: invalid repeat count: "{32768}"`,
		"\xff":     `Options.Patterns: "\xff": position 1: invalid UTF-8`,
		`a\`:       `Options.Patterns: "a\\": position 2: trailing backslash at end of expression`,
	} {
		_, err := New(Options{Patterns: []string{"fine", pattern}})
		if !errs.IsUsage(err) || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// drawPattern draws a random expression over a small alphabet.
func drawPattern(t *rapid.T, depth int) string {
	atoms := []string{"a", "b", "ab", "s", "K", "é", ".", `\w`, `\W`, `[ab]`, `[^a]`, "-", " ", "foo", "", `\b`, `\B`, "^", "$", "(?i:k)", "[[:upper:]]", "\ufffd", `\n`, `\x{17f}`,
		"(?m:^)", "(?m:$)", "(?s:.)", `\A`, `\z`, `[a\n]`, "(?i)", "(?U)"}
	if depth == 0 {
		return rapid.SampledFrom(atoms).Draw(t, "atom")
	}
	sub := func() string { return drawPattern(t, depth-1) }
	switch rapid.IntRange(0, 7).Draw(t, "op") {
	case 0, 1, 2:
		return sub() + sub()
	case 3:
		return "(?:" + sub() + "|" + sub() + ")"
	case 4:
		return "(" + sub() + ")"
	case 5, 6:
		op := rapid.SampledFrom([]string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}"}).Draw(t, "repeat")
		return "(?:" + sub() + ")" + op
	}
	return sub()
}

func drawFiles(t *rapid.T) []jobtest.File {
	piece := rapid.SampledFrom([]string{"a", "b", "ab", "s", "S", "k", "K", "\u017f", "\u212a", "é", "É", "-", " ", "foo", "Foo",
		"\n", "\n", "\n", "\r\n", "_", "\xff", "\xe2\x84", "\ufffd", "A", "."})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "text"), "") })
	return named(rapid.SliceOfN(text, 1, 3).Draw(t, "files")...)
}

func drawOptions(t *rapid.T) Options {
	o := Options{}
	for range rapid.IntRange(1, 2).Draw(t, "patterns") {
		o.Patterns = append(o.Patterns, drawPattern(t, rapid.IntRange(0, 3).Draw(t, "depth")))
	}
	rare := func(name string) bool { return rapid.IntRange(0, 4).Draw(t, name) == 0 }
	o.LineNumbers, o.Count, o.ListFiles, o.Quiet = rare("-n"), rare("-c"), rare("-l"), rare("-q")
	o.Invert, o.IgnoreCase, o.Fixed, o.OnlyMatched = rare("-v"), rare("-i"), rare("-F"), rare("-o")
	o.Lines, o.Whole = rare("lines"), rare("-x")
	o.Names = Names(rapid.IntRange(0, 2).Draw(t, "names"))
	if rare("-m") {
		o.MaxCount = new(int64(rapid.IntRange(-1, 4).Draw(t, "limit")))
	}
	return o
}

func TestAnyPatternOnAnyTextAgreesWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o, files := drawOptions(rt), drawFiles(rt)
		for i, p := range o.Patterns {
			if o.Fixed { // bytes, as in GNU grep: the replacement character is itself alone
				o.Patterns[i] = strings.ReplaceAll(p, "\ufffd", "x")
			}
		}
		want, records := oracle(o, files)
		cut := jobtest.Cut{BlockBytes: rapid.IntRange(0, 20).Draw(rt, "block"), SplitBlocks: rapid.IntRange(0, 4).Draw(rt, "split")}
		got, n := run(t, o, cut, files)
		if got != want || o.selects() && n != records {
			rt.Fatalf("%+v on %q:\n%q, %d records, want\n%q, %d", o, files, got, n, want, records)
		}
	})
}

// flags returns the flags of GNU grep for o.
func flags(o Options) []string {
	args := []string{"-a", "-E"}
	if o.Fixed { // as bytes: in GNU grep, U+FFFD only matches itself
		args = args[:1]
	}
	for flag, on := range map[string]bool{"-n": o.LineNumbers, "-H": o.Names == NamesAlways, "-h": o.Names == NamesNever, "-c": o.Count,
		"-l": o.ListFiles, "-v": o.Invert, "-i": o.IgnoreCase, "-F": o.Fixed, "-w": o.Word, "-x": o.Whole, "-o": o.OnlyMatched, "-q": o.Quiet} {
		if on {
			args = append(args, flag)
		}
	}
	if o.MaxCount != nil {
		args = append(args, fmt.Sprint("-m", *o.MaxCount))
	}
	for _, p := range o.Patterns {
		args = append(args, "-e", p)
	}
	return args
}

// TestAnyFlagsAgreeWithGNUGrep uses patterns whose matches do not depend on
// which alternative comes first, and ASCII, where the C locale and UTF-8 agree.
func TestAnyFlagsAgreeWithGNUGrep(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "A", "foo", "Foo", "_", " ", "-", ".", "1", "\n", "\n", "\r\n"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "text"), "") })
	pattern := rapid.SampledFrom([]string{"foo", "a", "fo*", "[ab]+", "a?b", "^a", "o$", "^", "$", "", " *", "-a", "a|foo", "(foo|-)+",
		"a\nb", `\bfoo`, `o\b`, ".", ".*", "a*", "[^a]*", "x"})
	rapid.Check(t, func(rt *rapid.T) {
		o := drawOptions(rt)
		o.Word, o.Lines, o.Text = rapid.Bool().Draw(rt, "-w"), true, true
		o.Patterns = rapid.SliceOfN(pattern, 1, 2).Draw(rt, "patterns")
		if o.MaxCount != nil && *o.MaxCount < 0 {
			o.MaxCount = nil // GNU grep 3.8 reads it as 0 with -v; later releases do not
		}
		if o.Invert && o.Patterns[0] == "" {
			o.Count = false // GNU grep exits at once, without a count
		}
		if o.OnlyMatched && o.Whole {
			o.Word = false // with both, GNU grep 3.8 writes an empty line behind a match
		}
		if o.Fixed || len(o.Patterns) > 1 && o.OnlyMatched {
			o.Patterns = o.Patterns[:1]
		}
		files := named(rapid.SliceOfN(text, 1, 3).Draw(rt, "files")...)
		args := flags(o)
		for _, f := range files {
			args = append(args, f.Path)
		}
		want, code := jobtest.Tool(t, files, "grep", args...)
		cut := jobtest.Cut{BlockBytes: rapid.IntRange(0, 20).Draw(rt, "block"), SplitBlocks: rapid.IntRange(0, 4).Draw(rt, "split")}
		got, n := run(t, o, cut, files)
		if got != string(want) || (n > 0) != (code == 0) {
			rt.Fatalf("grep %q on %q:\n%q, %d records, want\n%q, exit %d", args, files, got, n, want, code)
		}
	})
}
