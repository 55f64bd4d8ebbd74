package grep

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"mrlocal/internal/scan"
	"mrlocal/jobs"
	"mrlocal/jobs/grep/internal/words"
	"mrlocal/jobs/jobtest"

	"pgregory.net/rapid"
)

func TestFinderFindsTheLeftmostAndThenTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set []words.Literal
		var parts []string
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aAb-")), 1, 3, -1)
		for range rapid.IntRange(1, 4).Draw(t, "literals") {
			l := words.NewLiteral(text.Draw(t, "literal"), rapid.Bool().Draw(t, "fold"))
			if l.Fold {
				l.Text = strings.ToLower(l.Text)
				parts = append(parts, "(?i:"+l.Text+")")
			} else {
				parts = append(parts, regexp.QuoteMeta(l.Text))
			}
			set = append(set, l)
		}
		data := []byte(rapid.StringOfN(rapid.SampledFrom([]rune("aAb-\nx")), 0, 40, -1).Draw(t, "data"))
		f := newFinder(set, scan.Anywhere)
		f.tune(data)
		f.reset(data)
		re := regexp.MustCompile(strings.Join(parts, "|"))
		from := 0
		for _, want := range re.FindAllIndex(data, -1) {
			start, end := f.find(from)
			if start != want[0] || end != want[1] {
				t.Fatalf("%s in %q from %d: %d:%d, want %v", re, data, from, start, end, want)
			}
			from = end
		}
		if start, _ := f.find(from); start != none {
			t.Fatalf("%s in %q from %d: %d, want none", re, data, from, start)
		}
	})
}

func TestLiteralsOfPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"foo":                    "exact foo",
		"foo|bar":                "exact foo bar",
		"foo|foobar":             "exact foo foobar",
		"(?i)fo-o":               "exact /fo-o/",
		"(?i:x)yz":               "needs /xyz/",
		"(?i:foo)bar":            "needs /foobar/",
		"[ab]c?":                 "exact ac a bc b",
		"[ab]c??":                "exact a ac b bc",
		`\[\[[^]]+\]\]`:          "needs [[",
		`[A-Z][a-z]+ing\b`:       "needs ing",
		`\bfoo\b`:                "needs foo",
		`^foo$`:                  "needs foo",
		`(foo)+x*`:               "needs foo",
		`(foo){2,3}x`:            "exact foofoofoox foofoox",
		`\w{5}\s+\w{5}`:          "nothing",
		"foo|.*":                 "nothing",
		"foo|a.*qua":             "needs foo qua",
		"(foo)?":                 "nothing",
		"fo\ufffdobar":           "needs obar",
		`fo\nobar`:               "needs obar",
		"(?i:É)tude":             "needs tude",
		"":                       "nothing",
		"a|b|c|d|e|f|g|h|i|j|kl": "exact a b c d e f g h i j kl",
	} {
		p, err := compile(Options{Patterns: []string{pattern}})
		if err != nil {
			t.Fatal(err)
		}
		got := "nothing"
		if p.literals != nil {
			got = "needs"
			if p.exact {
				got = "exact"
			}
			for _, l := range p.literals {
				if l.Fold {
					l.Text = "/" + l.Text + "/"
				}
				got += " " + l.Text
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", pattern, got, want)
		}
	}
}

// FuzzSelect compares both ways of searching, with literals and without, with the standard
// library.
func FuzzSelect(f *testing.F) {
	for _, seed := range [][2]string{
		{"foo|bar", "foo\nbar baz\n"}, {`\bs.*k\b`, "S k\nſ \u212a"}, {"(?i)straße", "STRASSE\nstraße"},
		{`[[:^word:]]+`, "a-\xff\n"}, {"a*?b|", "aab\n\nb"}, {`\d{1,3}(\.\d{1,3}){3}`, "1.2\n1.2.3.4\n"}, {"[a-f]+[0-9]k", "b1k\n1kcc"}, {`(?m)^$`, "a\n\n"}, {"[^\\x00-\\x{10ffff}]|é", "é"},
	} {
		for _, bits := range []uint8{0, 1, 2, 4 + 32, 8, 16, 64, 64 + 4} {
			f.Add(seed[0], []byte(seed[1]), bits)
		}
	}
	f.Fuzz(func(t *testing.T, pattern string, text []byte, bits uint8) {
		if strings.Contains(pattern, "\n") || len(pattern) > 100 {
			return
		}
		o := Options{Patterns: []string{pattern}, Text: true, Lines: bits&1 != 0, OnlyMatched: bits&2 != 0, IgnoreCase: bits&4 != 0,
			Whole: bits&8 != 0, Invert: bits&16 != 0, LineNumbers: bits&32 != 0, Word: bits&64 != 0}
		if _, err := regexp.Compile(pattern); err != nil {
			return // such as a repeat of more than 1,000, which the oracle cannot read
		}
		if o.Word && o.OnlyMatched {
			return // the oracle finds the lines that -w selects, but not the matches in them; FuzzEqualsRegexp of dfa checks those
		}
		chain, err := New(o)
		if err != nil {
			return
		}
		files := []jobtest.File{{Path: "f", Data: text}}
		want, _ := oracle(o, files)
		out, err := jobtest.Run(chain, files, jobtest.Cut{BlockBytes: int(bits)})
		if err != nil || string(out.Data) != want {
			t.Fatalf("%+v on %q: %q %v, want %q", o, text, out.Data, err, want)
		}
	})
}

type rawCounter struct{ bytes int }

func (r *rawCounter) Emit(key, value []byte) { r.bytes += len(key) }
func (r *rawCounter) WriteRaw(p []byte)      { r.bytes += len(p) }

// prose returns random text like English, with a rare and a common word.
func prose(size int) []byte {
	rng := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("the of and a to in is was he for it with as his on be at by I this had not are but from or have an they " +
		"which one you were her all she there would their we him been has when who will more no if out so said what up its about into " +
		"than them can only other new some could time these two may then do first any my now such like our over man me even most made " +
		"Holmes Watson London street evening morning [[link]] window something walking Sing-song question")
	var b bytes.Buffer
	for b.Len() < size {
		for range 3 + rng.IntN(20) {
			b.WriteString(words[min(rng.IntN(len(words)), rng.IntN(len(words)))])
			b.WriteByte(' ')
		}
		if rng.IntN(20_000) == 0 {
			b.WriteString("Moriarty")
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func benchCases() []struct {
	name    string
	options Options
} {
	e := func(p ...string) []string { return p }
	return []struct {
		name    string
		options Options
	}{
		{"rare", Options{Patterns: e("Moriarty"), Count: true}},
		{"common", Options{Patterns: e("with"), Count: true}},
		{"ignorecase", Options{Patterns: e("holmes"), IgnoreCase: true, Count: true}},
		{"five", Options{Patterns: e("Holmes", "Watson", "London", "window", "question"), Count: true}},
		{"inner", Options{Patterns: e(`[A-Z][a-z]+ing\b`), Count: true}},
		{"none", Options{Patterns: e(`\w{5}\s+\w{5}\s+\w{5}`), Count: true}},
		{"lines", Options{Patterns: e("with"), Lines: true}},
		{"numbered", Options{Patterns: e("with"), LineNumbers: true}},
		{"inverted", Options{Patterns: e("Moriarty"), Invert: true}},
		{"matches", Options{Patterns: e("with")}},
		{"links", Options{}},
	}
}

func TestSearchesDoNotAllocate(t *testing.T) {
	data := prose(64 << 10)
	for _, c := range benchCases() {
		chain, err := New(c.options)
		if err != nil {
			t.Fatal(err)
		}
		m, out := chain[0].NewMapper(), &rawCounter{}
		off := int64(0)
		if n := testing.AllocsPerRun(20, func() {
			_ = m.Map(jobs.Block{Data: data, Offset: off}, out)
			off++
		}); n != 0 {
			t.Errorf("%s: %v allocations per block", c.name, n)
		}
	}
}

func BenchmarkMap(b *testing.B) {
	data := prose(1 << 20)
	for _, c := range benchCases() {
		b.Run("pattern="+c.name, func(b *testing.B) {
			chain, err := New(c.options)
			if err != nil {
				b.Fatal(err)
			}
			m, out := chain[0].NewMapper(), &rawCounter{}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			off := int64(0)
			for b.Loop() {
				_ = m.Map(jobs.Block{Data: data, Offset: off}, out)
				off++
			}
		})
	}
}

func BenchmarkRelease(b *testing.B) {
	data := prose(1 << 20)
	for name, o := range map[string]Options{"lines": {Lines: true}, "numbered": {LineNumbers: true}} {
		b.Run("form="+name, func(b *testing.B) {
			o.Patterns = []string{""}
			chain, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			var split bytes.Buffer
			m := chain[0].NewMapper()
			spool := &spool{&split}
			_ = m.Map(jobs.Block{Data: data, Offset: 1}, spool) // inside a file, so the releaser computes line numbers
			_ = m.(jobs.Flusher).Flush(spool)
			r, out := chain[0].NewReleaser(), &rawCounter{}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = r.Release(bytes.NewReader(split.Bytes()), writerFunc(out.WriteRaw))
			}
		})
	}
}

type spool struct{ *bytes.Buffer }

func (s *spool) Emit(key, value []byte) { panic("not raw") }
func (s *spool) WriteRaw(p []byte)      { s.Write(p) }

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

func ExampleNew() {
	chain, err := New(Options{Patterns: []string{"o+"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := jobtest.Reference(chain, []jobtest.File{{Path: "f", Data: []byte("foo boot dog\n")}})
	fmt.Print(string(out), err)
	// Output:
	// 2	oo
	// 1	o
	// <nil>
}

func TestADecimalHasTheDigitsOfItsNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d decimal
		n := int64(0)
		for range 30 {
			n += rapid.OneOf(rapid.Int64Range(0, 12), rapid.Int64Range(80, 1100)).Draw(t, "step")
			if got := string(d.set(n)); got != fmt.Sprint(n) {
				t.Fatalf("%s, want %d", got, n)
			}
		}
	})
}
