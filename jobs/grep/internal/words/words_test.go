package words

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mrlocal/internal/scan"
)

// model finds words in the slowest way: it tries each word at each place.
type model struct {
	list []string
	o    Options
}

// begins returns the length of word at the start of text; -1: text does not begin with it.
func (m model) begins(text []byte, word string) int {
	if !m.o.Fold {
		if !bytes.HasPrefix(text, []byte(word)) {
			return -1
		}
		return len(word)
	}
	n := 0
	for len(word) > 0 {
		r, width := utf8.DecodeRuneInString(word)
		s, more := utf8.DecodeRune(text[n:])
		if more == 0 || foldRune(r) != foldRune(s) || r == utf8.RuneError && word[:width] != string(text[n:n+more]) {
			return -1
		}
		word, n = word[width:], n+more
	}
	return n
}

func (m model) find(line []byte, from int) (start, end int) {
	rune := from
	for start := from; start <= len(line); start++ {
		best := None
		for _, w := range m.list {
			n := m.begins(line[start:], w)
			if n < 0 || start != rune && (n == 0 || m.o.Fold) || strings.Contains(w, "\n") || !m.o.Border.Around(line, start, start+n) {
				continue
			}
			if best == None || m.o.Longest && start+n > best {
				best = start + n
			}
		}
		if best != None {
			return start, best
		}
		if start == rune {
			_, width := utf8.DecodeRune(line[start:])
			rune += max(width, 1)
		}
	}
	return None, None
}

// compareWithModel compares a Dictionary with the model: for each line of text, for all matches in it, and for
// the text as a block.
func compareWithModel(t interface{ Fatalf(string, ...any) }, m model, text []byte) {
	matcher := NewDictionary(m.list, m.o).NewMatcher()
	name := fmt.Sprintf("%q, %+v, in %q", m.list, m.o, text)
	count := int64(0)
	for at := 0; at < len(text); {
		end := scan.LineEnd(text, at)
		line := text[at:end]
		for from := 0; from <= len(line); {
			wantStart, wantEnd := m.find(line, from)
			start, end := matcher.Find(line, from)
			if start != wantStart || start != None && end != wantEnd {
				t.Fatalf("%s: in line %q from %d: %d:%d, want %d:%d", name, line, from, start, end, wantStart, wantEnd)
			}
			if start == None {
				break
			}
			if from = wantEnd; wantEnd == wantStart {
				_, width := utf8.DecodeRune(line[from:])
				from += max(width, 1)
			}
		}
		want, _ := m.find(line, 0)
		if want != None {
			count++
		}
		if got := matcher.Match(line); got != (want != None) {
			t.Fatalf("%s: line %q matches: %v", name, line, got)
		}
		start, next := matcher.NextLine(text, at)
		if want != None && (start != at || next != end) || want == None && start == at {
			t.Fatalf("%s: the next line from %d is %d:%d", name, at, start, next)
		}
		at = end + 1
	}
	if got := matcher.CountLines(text); got != count {
		t.Fatalf("%s: %d lines, want %d", name, got, count)
	}
}

// TestWordsAreThoseOfTheModel draws words that share prefixes and suffixes, overlap and repeat.
// Words and text also have runes whose cases differ in length, and bytes that are not UTF-8.
func TestWordsAreThoseOfTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := []string{"a", "b", "ab", "aab", "abcdefgh", "_", "k", "s", "é", "É", "\u212a", "\u017f", "ß", "Ω", "A", "K", "\xff", "abcd", "aaaaaaaaaaaaaaaaaaaaa"}
		piece := rapid.SampledFrom(pieces)
		word := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "word"), "")
		})
		m := model{list: rapid.SliceOfN(word, 0, 40).Draw(t, "list")}
		m.o.Border = rapid.SampledFrom([]scan.Border{scan.Anywhere, scan.WordEnds, scan.WholeLine}).Draw(t, "border")
		m.o.Fold, m.o.Longest = rapid.Bool().Draw(t, "fold"), rapid.Bool().Draw(t, "longest")
		if rapid.IntRange(0, 3).Draw(t, "empty") != 0 { // mostly without the empty word, which hides others
			m.list = withoutEmpty(m.list)
		}
		text := rapid.SliceOfN(rapid.OneOf(word, rapid.SampledFrom([]string{" ", "\n", "\n\n", "x", "日本", "\xe2\x84"})), 0, 60).Draw(t, "text")
		compareWithModel(t, m, []byte(strings.Join(text, "")))
	})
}

func withoutEmpty(list []string) (full []string) {
	for _, w := range list {
		if w != "" {
			full = append(full, w)
		}
	}
	return full
}

func FuzzWords(f *testing.F) {
	f.Add("foo\x00foobar\x00bar", []byte("a foobar\nfoo"), uint8(0))
	f.Add("ſK\x00kk\x00", []byte("sk \u212akk\n\xff"), uint8(7))
	f.Add("the\x00thesis\x00a", []byte("_the thesis a\n\nthe"), uint8(9))
	f.Fuzz(func(t *testing.T, list string, text []byte, bits uint8) {
		if len(list) > 200 || len(text) > 200 {
			return
		}
		m := model{strings.Split(list, "\x00"), Options{scan.Border(bits>>2) % 3, bits&1 != 0, bits&2 != 0}}
		if m.o.Fold && !utf8.ValidString(list) { // a part of a rune has no case
			return
		}
		compareWithModel(t, m, text)
	})
}

// TestLongTextsAreFoldedInParts: a match may begin in one part and end in another, and a part may end
// within a rune.
func TestLongTextsAreFoldedInParts(t *testing.T) {
	long := strings.Repeat("é", 150)
	list := []string{long, "needle", "kkk", "ǅ"}
	for n := range 300 {
		for _, end := range []string{"NEEDLE", strings.ToUpper(long), "\u212aK\u212a", "ǆ", "none"} {
			line := []byte(strings.Repeat("x", n) + "Éſ" + end)
			m := model{list, Options{Fold: true}}
			wantStart, wantEnd := m.find(line, 0)
			if start, stop := NewDictionary(list, m.o).NewMatcher().Find(line, 0); start != wantStart || start != None && stop != wantEnd {
				t.Fatalf("%q: %d:%d, want %d:%d", line, start, stop, wantStart, wantEnd)
			}
		}
	}
}

// TestManyWords: each of a million words is found, and nothing else. The dictionary has the size that
// it reports.
func TestManyWords(t *testing.T) {
	n, mostBytes := 1_000_000, int64(60)
	if testing.Short() {
		n, mostBytes = 50_000, 80 // tables have a power of two of entries
	}
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("user-%07d", 7*i)
	}
	d := NewDictionary(list, Options{})
	m := d.NewMatcher()
	for i := 0; i < 7*n; i += 1001 {
		line := fmt.Appendf(nil, "x user-%07d y", i)
		if start, _ := m.Find(line, 0); (start == 2) != (i%7 == 0) {
			t.Fatalf("%q: %d", line, start)
		}
	}
	if perWord := d.Bytes() / int64(n); perWord < 20 || perWord > mostBytes {
		t.Errorf("%d bytes for each word", perWord)
	}
}

func TestLineStartGoesBackToTheNewline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.SampledFrom([]byte{'\n', 'a', 0, 0x8a, '\v', 9, 0x0b, 0xff}), 0, 40).Draw(t, "data")
		at := rapid.IntRange(0, len(data)).Draw(t, "at")
		from := rapid.IntRange(0, at).Draw(t, "from")
		want := from
		if k := bytes.LastIndexByte(data[from:at], '\n'); k >= 0 {
			want = from + k + 1
		}
		if got := LineStart(data, from, at); got != want {
			t.Fatalf("LineStart(%q, %d, %d) = %d, want %d", data, from, at, got, want)
		}
	})
}
