package scan

import (
	"bytes"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
)

// marks returns words that mark the places of data for which at is true.
func marks(data []byte, words int, at func(data []byte) bool) []uint64 {
	hits := make([]uint64, words)
	for i := range min(len(data), 64*words) {
		if at(data[i:]) {
			hits[i/64] |= 1 << (i % 64)
		}
	}
	return hits
}

func draw(t *rapid.T) (lits []Literal, data []byte) {
	letters := rapid.SampledFrom([]rune("aAbk\x00-\u00e9"))
	for range rapid.IntRange(1, MaxSet).Draw(t, "literals") {
		l := Literal{Text: rapid.StringOfN(letters, 1, 5, -1).Draw(t, "literal"), Fold: rapid.Bool().Draw(t, "fold")}
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			l.Text = strings.Repeat(l.Text, 20)
		}
		if l.Fold {
			l.Text = strings.ToLower(l.Text)
		}
		lits = append(lits, l)
	}
	n := rapid.IntRange(0, 300).Draw(t, "bytes")
	data = rapid.SliceOfN(rapid.SampledFrom([]byte("aAbBk\x00-\n\xc3\xa9")), n, n).Draw(t, "data")
	if rapid.Bool().Draw(t, "one") {
		at := rapid.IntRange(0, n).Draw(t, "at")
		data = append(data[:at:at], append([]byte(lits[0].Text), data[at:]...)...)
	}
	return lits, data
}

func TestMarksAreWhereALiteralBegins(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lits, data := draw(rt)
		data = testkit.Guarded(t, data)
		words := rapid.IntRange(0, len(data)/64+2).Draw(rt, "words")
		for _, m := range []struct {
			name   string
			marker Marker
			lits   []Literal
		}{{"needle", NewNeedle(lits[0]), lits[:1]}, {"set", NewSet(lits), lits}} {
			want := marks(data, words, func(p []byte) bool {
				for _, l := range m.lits {
					if l.Begins(p) {
						return true
					}
				}
				return false
			})
			for _, sample := range [][]byte{nil, data} {
				m.marker.Tune(sample)
				hits := make([]uint64, words)
				for w := range hits {
					hits[w] = ^uint64(0)
				}
				found := m.marker.Mark(hits, data)
				some := false
				for w := range hits {
					if hits[w] != want[w] {
						rt.Fatalf("%s of %v in %q, word %d: %b, want %b", m.name, m.lits, data, w, hits[w], want[w])
					}
					some = some || hits[w] != 0
				}
				if found != some {
					rt.Fatalf("%s of %v in %q: found %v", m.name, m.lits, data, found)
				}
			}
		}
	})
}

func TestEndsAreTheNewlinesOfLinesWithAHit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.SliceOfN(rapid.SampledFrom([]byte("..x\n")), 0, 300).Draw(rt, "data")
		data = testkit.Guarded(t, data)
		words := (len(data) + 63) / 64
		hits := marks(data, words, func(p []byte) bool { return p[0] == 'x' })
		newlines := make([]uint64, words)
		Newlines(newlines, data)
		want, wantCount, hit := make([]uint64, words), 0, false
		for i, c := range data {
			if c == '\n' && hit {
				want[i/64] |= 1 << (i % 64)
				wantCount++
			}
			hit = hit && c != '\n' || c == 'x'
		}
		wantCarry := uint64(0)
		if hit && len(data)%64 == 0 { // else it stops in the last word, where no text is
			wantCarry = 1
		}
		cut := rapid.IntRange(0, words).Draw(rt, "cut")
		ends := make([]uint64, words)
		count, carry := Ends(ends[:cut], hits, newlines, 0)
		more, carry := Ends(ends[cut:], hits[cut:], newlines[cut:], carry)
		if len(data)%64 == 0 && carry != wantCarry || count+more != wantCount {
			rt.Fatalf("%q: %d and %d, carry %d, want %d and %d", data, count, more, carry, wantCount, wantCarry)
		}
		for w := range ends {
			if ends[w] != want[w] {
				rt.Fatalf("%q, word %d: %b, want %b", data, w, ends[w], want[w])
			}
		}
	})
}

// FuzzKernels compares the kernels with their twins in Go.
func FuzzKernels(f *testing.F) {
	f.Add([]byte("the cat\nsat on\nthe mat\n"), "the", "at", true, uint8(7))
	f.Add(bytes.Repeat([]byte("ab\n"), 100), "b\x00a", "\xc3\xa9", false, uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, a, b string, fold bool, sample uint8) {
		if a == "" || b == "" {
			return
		}
		lits := []Literal{{a, false}, {b, false}}
		if fold {
			lits = []Literal{{lower(a), true}, {lower(b), true}}
		}
		data = testkit.Guarded(t, data)
		n, s := NewNeedle(lits[0]), NewSet(lits)
		n.Tune(data[:min(len(data), int(sample))])
		s.Tune(data[:min(len(data), int(sample))])
		words := len(data) / 64
		got, want := make([]uint64, words), make([]uint64, words)
		check := func(name string, words int, found, wantFound bool) {
			t.Helper()
			if found != wantFound {
				t.Fatalf("%s of %v in %q: found %v, want %v", name, lits, data, found, wantFound)
			}
			for w := range words {
				if got[w] != want[w] {
					t.Fatalf("%s of %v in %q, word %d: %b, want %b", name, lits, data, w, got[w], want[w])
				}
			}
		}
		if words := max(len(data)-n.width()+1, 0) / 64; words > 0 {
			found := kernelMark(got[:words], data, n.columns)
			check("needle", words, found, portableMark(want[:words], data, n.columns))
			found = kernelMarkEvery(got[:words], data, n.columns)
			check("every", words, found, portableMark(want[:words], data, n.columns))
		}
		if words := max(len(data)-s.width+1, 0) / 64; words > 0 {
			found := kernelMarkSet(got[:words], data, &s.tables)
			check("set", words, found, portableMarkSet(want[:words], data, &s.tables))
		}
		if words > 0 {
			kernelNewlines(got, data)
			portableNewlines(want, data)
			check("newlines", words, true, true)
		}
	})
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// benchText has lines of about forty bytes, with words of evenly spread letters.
func benchText() []byte {
	var text []byte
	x := uint64(1)
	for len(text) < 256<<10 {
		x = x*6364136223846793005 + 1442695040888963407
		switch r := x >> 33; {
		case r%40 == 0:
			text = append(text, '\n')
		case r%7 == 0:
			text = append(text, ' ')
		case r%1000 == 1:
			text = append(text, "handle"...)
		default:
			text = append(text, byte('a'+r%26))
		}
	}
	return text
}

func BenchmarkMark(b *testing.B) {
	data := benchText()
	lits := []Literal{{"handle", false}, {"window", false}, {"question", false}, {"Holmes", false}, {"letter", false}}
	for _, c := range []struct {
		name   string
		marker Marker
	}{
		{"needle=rare", NewNeedle(Literal{Text: "Moriarty"})},
		{"needle=common", NewNeedle(lits[0])},
		{"needle=letter", NewNeedle(Literal{Text: "e"})},
		{"needle=fold", NewNeedle(Literal{"handle", true})},
		{"set=5", NewSet(lits)},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.marker.Tune(data[:16<<10])
			hits := make([]uint64, 512)
			b.SetBytes(int64(len(data)))
			places := 0
			for b.Loop() {
				places = 0
				for at := 0; at < len(data); at += 64 * len(hits) {
					if c.marker.Mark(hits, data[at:]) {
						for _, h := range hits {
							places += bits.OnesCount64(h)
						}
					}
				}
			}
			b.ReportMetric(float64(places)/float64(len(data))*1000, "hits/KB")
		})
	}
	b.Run("lines", func(b *testing.B) {
		hits, newlines, ends := make([]uint64, 512), make([]uint64, 512), make([]uint64, 512)
		m := NewNeedle(lits[0])
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			carry := uint64(0)
			for at := 0; at < len(data); at += 64 * len(hits) {
				m.Mark(hits, data[at:])
				Newlines(newlines, data[at:])
				_, carry = Ends(ends, hits, newlines, carry)
			}
		}
	})
}

// These measure each kernel alone, and its twin.
func BenchmarkKernels(b *testing.B) {
	data := benchText()
	n, s := NewNeedle(Literal{Text: "handle"}), NewSet([]Literal{{"handle", false}, {"window", false}, {"question", false}})
	n.Tune(data[:16<<10])
	s.Tune(data[:16<<10])
	hits := make([]uint64, len(data)/64-1)
	for _, c := range []struct {
		name           string
		wide, portable func()
	}{
		{"needle", func() { kernelMark(hits, data, n.columns) }, func() { portableMark(hits, data, n.columns) }},
		{"set", func() { kernelMarkSet(hits, data, &s.tables) }, func() { portableMarkSet(hits, data, &s.tables) }},
		{"newlines", func() { kernelNewlines(hits, data) }, func() { portableNewlines(hits, data) }},
	} {
		for name, kernel := range map[string]func(){"wide": c.wide, "portable": c.portable} {
			b.Run(c.name+"/kernel="+name, func(b *testing.B) {
				b.SetBytes(int64(64 * len(hits)))
				for b.Loop() {
					kernel()
				}
			})
		}
	}
}

// Triples mark each place at which one of them begins. They mark no other place if the parts of their sets fit in the
// eight buckets of the kernel.
func TestTriplesAreMarked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var all []Triple
		most := 0
		for range rapid.IntRange(1, 12).Draw(rt, "triples") {
			var triple Triple
			parts := 1
			for k := range triple {
				for range rapid.IntRange(1, 3).Draw(rt, "ranges") {
					from := rapid.Byte().Draw(rt, "from")
					for c := int(from); c < min(256, int(from)+rapid.IntRange(1, 30).Draw(rt, "size")); c++ {
						triple[k][c] = true
					}
				}
				parts *= len(triple[k].products())
			}
			all = append(all, triple)
			most += parts
		}
		data := testkit.Guarded(t, rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "data"))
		words := len(data)/64 + 1
		want := marks(data, words, func(data []byte) bool {
			return slices.ContainsFunc(all, func(triple Triple) bool {
				return len(data) >= 3 && triple[0][data[0]] && triple[1][data[1]] && triple[2][data[2]]
			})
		})
		got := make([]uint64, words)
		NewTriples(all).Mark(got, data)
		for w := range got {
			if got[w]&want[w] != want[w] || most <= 8 && got[w] != want[w] {
				rt.Fatalf("word %d: %b, want %b, %d parts", w, got[w], want[w], most)
			}
		}
	})
}
