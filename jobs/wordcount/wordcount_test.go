package wordcount

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
	"mrlocal/jobs/jobtest"
)

func run(t testing.TB, o Options, cut jobtest.Cut, texts ...string) string {
	t.Helper()
	chain, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var files []jobtest.File
	for i, text := range texts {
		files = append(files, jobtest.File{Path: fmt.Sprint("f", i), Data: []byte(text)})
	}
	out, err := jobtest.Run(chain, files, cut)
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Data)
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		text    string
		want    string
	}{
		{"nothing", Options{}, "", ""},
		{"delimiters alone", Options{}, " \t\n\r\f \n", ""},
		{"byte order of the word", Options{}, "b a é B a\n", "B\t1\na\t2\nb\t1\né\t1\n"},
		{"no final newline", Options{}, "a b", "a\t1\nb\t1\n"},
		{"carriage return and form feed end words", Options{}, "a\r\nb\fa\r\n", "a\t2\nb\t1\n"},
		{"vertical tab and NUL do not", Options{}, "a\vb\x00c\n", "a\vb\x00c\t1\n"},
		{"invalid UTF-8 is bytes", Options{}, "\xff\xfe \xff\xfe\n", "\xff\xfe\t2\n"},
		{"punctuation belongs to words", Options{}, "end. end, end", "end\t1\nend,\t1\nend.\t1\n"},
		{"ignoring case", Options{IgnoreCase: true}, "The THE the É @[`{", "@[`{\t1\nthe\t3\nÉ\t1\n"},
		{"letters and digits", Options{Alnum: true}, "it's x86-64, É_1/:@[`{Az09", "1\t1\n64\t1\nAz09\t1\nit\t1\ns\t1\nx86\t1\n"},
		{"both", Options{Alnum: true, IgnoreCase: true}, "A.a.B", "a\t2\nb\t1\n"},
		{"the most frequent, then byte order", Options{Top: 3}, "d c c b b a a a", "a\t3\nb\t2\nc\t2\n"},
		{"fewer than asked for", Options{Top: 9}, "b a a", "a\t2\nb\t1\n"},
		{"more than the heap holds", Options{Top: 1<<16 + 1}, "b a a", "a\t2\nb\t1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := run(t, c.options, jobtest.Cut{}, c.text); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTopMustNotBeNegative(t *testing.T) {
	if _, err := New(Options{Top: -1}); !errs.IsUsage(err) {
		t.Error(err)
	}
}

// naive counts words byte by byte.
func naive(o Options, text string) map[string]int {
	counts := map[string]int{}
	isWord := func(c byte) bool { return !strings.ContainsRune(" \t\n\r\f", rune(c)) || c >= 0x80 }
	if o.Alnum {
		isWord = func(c byte) bool {
			return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		}
	}
	for begin, i := -1, 0; i <= len(text); i++ {
		if in := i < len(text) && isWord(text[i]); in && begin < 0 {
			begin = i
		} else if !in && begin >= 0 {
			word := text[begin:i]
			if o.IgnoreCase {
				b := []byte(text[begin:i])
				for j, c := range b {
					if 'A' <= c && c <= 'Z' {
						b[j] = c + 32
					}
				}
				word = string(b)
			}
			counts[word]++
			begin = -1
		}
	}
	return counts
}

func TestAnyTextCutAnyWayCountsAsTheNaiveWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{IgnoreCase: rapid.Bool().Draw(t, "ignore"), Alnum: rapid.Bool().Draw(t, "alnum")}
		text := string(rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]byte(" \t\n\r\f\v\x00aAzZ09.\x7f\x80\xff")), rapid.Byte()), 0, 300).Draw(t, "text"))
		counts := naive(o, text)
		var want strings.Builder
		for _, w := range slices.Sorted(maps.Keys(counts)) {
			fmt.Fprintf(&want, "%s\t%d\n", w, counts[w])
		}
		chain, _ := New(o)
		cut := jobtest.Cut{BlockBytes: rapid.IntRange(0, 100).Draw(t, "block"), SplitBlocks: rapid.IntRange(0, 3).Draw(t, "split")}
		out, err := jobtest.Run(chain, []jobtest.File{{Path: "f", Data: []byte(text)}}, cut)
		if err != nil || string(out.Data) != want.String() {
			t.Fatalf("%q %v, want %q", out.Data, err, want.String())
		}
	})
}

func TestTopIsTheHeadOfAllWhateverTheCut(t *testing.T) {
	text := sample(20_000)
	counts := naive(Options{}, text)
	words := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for _, n := range []int{1, 7, 100, len(words)} {
		var want strings.Builder
		for _, w := range words[:n] {
			fmt.Fprintf(&want, "%s\t%d\n", w, counts[w])
		}
		for _, cut := range []jobtest.Cut{{}, {BlockBytes: 300, SplitBlocks: 2}} {
			if got := run(t, Options{Top: int64(n)}, cut, text); got != want.String() {
				t.Errorf("top %d, cut %+v: %.200q, want %.200q", n, cut, got, want.String())
			}
		}
	}
}

func TestMawkAgrees(t *testing.T) {
	text := sample(50_000)
	files := []jobtest.File{{Path: "f0", Data: []byte(text)}}
	out, _ := jobtest.Tool(t, files, "mawk", `{for(i=1;i<=NF;i++)n[$i]++} END{for(w in n)print w"\t"n[w]}`, "f0")
	lines := strings.SplitAfter(strings.TrimSuffix(string(out), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	chain, _ := New(Options{})
	got, err := jobtest.Reference(chain, files)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	ours := strings.SplitAfter(strings.TrimSuffix(string(got), "\n"), "\n")
	ours[len(ours)-1] += "\n"
	slices.Sort(ours)
	if !slices.Equal(lines, ours) {
		t.Errorf("%d lines from mawk, %d from us", len(lines), len(ours))
	}
}

// sample returns random text whose words have a Zipf distribution.
func sample(words int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.2, 3, 20_000)
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "%s%c", word(zipf.Uint64()), " \n"[min(i%9/8, 1)])
	}
	return b.String()
}

func word(n uint64) string {
	p := []byte{}
	for n += 3; n > 0; n /= 20 {
		p = append(p, "etaoinshrdlucmfwypvb"[n%20])
	}
	return string(p)
}

type discard struct{ words, bytes int }

func (d *discard) Emit(key, value []byte) { d.words++; d.bytes += len(key) }

func TestMapDoesNotAllocate(t *testing.T) {
	data := []byte(sample(1000))
	for _, o := range []Options{{}, {Alnum: true, IgnoreCase: true}} {
		m, out := lines.NewWordCounter(o.Alnum, o.IgnoreCase), &discard{}
		if n := testing.AllocsPerRun(50, func() { _ = m.Map(jobs.Block{Data: data}, out) }); n != 0 {
			t.Errorf("%+v: %v allocations per block", o, n)
		}
	}
}

func BenchmarkMap(b *testing.B) {
	text := []byte(sample(200_000))
	for _, c := range []struct {
		name    string
		options Options
	}{{"plain", Options{}}, {"alnum", Options{Alnum: true}}, {"ignorecase", Options{IgnoreCase: true}}} {
		b.Run("words="+c.name, func(b *testing.B) {
			m, out, data := lines.NewWordCounter(c.options.Alnum, c.options.IgnoreCase), &discard{}, bytes.Clone(text)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				_ = m.Map(jobs.Block{Data: data}, out)
			}
			b.ReportMetric(float64(out.words)/b.Elapsed().Seconds()/1e6, "Mwords/s")
		})
	}
}
