package dfa

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"mrlocal/internal/scan"
	"mrlocal/internal/testkit"
)

// FuzzWalks compares the walk of this machine with the walk in Go. Only some transitions of the
// automaton are known. The streams have any length and end with a page of memory.
func FuzzWalks(f *testing.F) {
	f.Add([]byte("foo\nbar\n\n\nabcabcabcabcabcabc\n"), []byte("foo bar\n"), uint16(7))
	f.Add(bytes.Repeat([]byte("ab\n\n"), 30), bytes.Repeat([]byte("ab\n"), 5), uint16(0xffff))
	f.Fuzz(func(t *testing.T, text, known []byte, lengths uint16) {
		d := matcherOf(t, `b\b|^$|(?i)K`, scan.Anywhere, cacheBytes).automaton()
		d.count(known)
		text = append(text, '\n')
		var pieces [streams][]byte
		n := len(text)
		for i := range pieces {
			pieces[i] = testkit.Guarded(t, text[:max(len(text)-int(lengths>>(4*i)&15), 0)])
			n = min(n, len(pieces[i]))
			d.live[i] = d.begin
		}
		at, began := d.walkAll(&pieces, n)
		after := d.live
		for i := range d.live {
			d.live[i] = d.begin
		}
		wantAt, wantBegan := d.walkBytes(&pieces, n)
		if at != wantAt || began != wantBegan || after != d.live {
			t.Fatalf("%q knowing %q: %d bytes, %d lines, %v, want %d, %d, %v", text, known, at, began, after, wantAt, wantBegan, d.live)
		}
	})
}

// prose returns random text with words of all lengths.
func prose(size int) []byte {
	rng := rand.New(rand.NewPCG(5, 6))
	words := strings.Fields("the of and a to in is was he for it with as his on be at by I this had not are but from which one you were " +
		"could these their would there other about when into Holmes Watson London evening morning Something walking question Ünter naïve")
	var b bytes.Buffer
	for b.Len() < size {
		for range rng.IntN(14) {
			b.WriteString(words[min(rng.IntN(len(words)), rng.IntN(len(words)))])
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// searches returns a search for each hot loop, by name.
func searches() map[string]func(m *Matcher, text []byte) {
	return map[string]func(m *Matcher, text []byte){
		"count/streams=4": func(m *Matcher, text []byte) { m.CountLines(text) },
		"count/streams=1": func(m *Matcher, text []byte) {
			d := m.automaton()
			d.live[0] = d.begin
			d.finish(0, text)
		},
		"next": func(m *Matcher, text []byte) {
			for at := 0; ; {
				start, end := m.NextLine(text, at)
				if start == None {
					return
				}
				at = end + 1
			}
		},
		"find": func(m *Matcher, text []byte) {
			for len(text) > 0 {
				line := text[:scan.LineEnd(text, 0)]
				for from := 0; ; {
					start, end := m.Find(line, from)
					if start == None {
						break
					}
					from = end
				}
				text = text[min(len(line)+1, len(text)):]
			}
		},
	}
}

var searched = []string{`[A-Z][a-z]+ing\b`, `\w{5}\s+\w{5}\s+\w{5}`}

// This test runs the hot loops: walk, walkAll, end, start.
func TestSearchesDoNotAllocate(t *testing.T) {
	text := prose(64 << 10)
	for name, search := range searches() {
		for _, pattern := range searched {
			m := matcherOf(t, pattern, scan.Anywhere, cacheBytes)
			if n := testing.AllocsPerRun(5, func() { search(m, text) }); n != 0 {
				t.Errorf("%s of %s: %v allocations", name, pattern, n)
			}
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	text := prose(1 << 20)
	for _, pattern := range searched {
		for name, search := range searches() {
			b.Run(name+"/pattern="+pattern, func(b *testing.B) {
				m := matcherOf(b, pattern, scan.Anywhere, cacheBytes)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					search(m, text)
				}
			})
		}
		b.Run("regexp/pattern="+pattern, func(b *testing.B) {
			re := regexp.MustCompile(pattern)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				for rest := text; len(rest) > 0; {
					line, next, _ := bytes.Cut(rest, []byte{'\n'})
					re.Match(line)
					rest = next
				}
			}
		})
	}
}
