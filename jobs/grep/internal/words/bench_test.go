package words

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// dictionaryAndText returns n random words, the shortest of which have least letters, and text. One
// word in twenty of the text is in the dictionary.
func dictionaryAndText(n, least, size int) (list []string, text []byte) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		w := make([]byte, least+rng.IntN(9))
		for i := range w {
			w[i] = "etaoinshrdlucmfwypvbgkjqxz"[min(rng.IntN(26), rng.IntN(26))]
		}
		return string(w)
	}
	for range n {
		list = append(list, word())
	}
	var b bytes.Buffer
	for b.Len() < size {
		for range 1 + rng.IntN(12) {
			w := word()
			if rng.IntN(20) == 0 {
				w = list[rng.IntN(n)]
			}
			b.WriteString(w + " ")
		}
		b.WriteByte('\n')
	}
	return list, b.Bytes()
}

// searches returns a search for each hot loop, by name.
func searches() map[string]func(m *Matcher, text []byte) {
	return map[string]func(m *Matcher, text []byte){
		"count": func(m *Matcher, text []byte) { m.CountLines(text) },
		"find": func(m *Matcher, text []byte) {
			for start, end := m.Find(text, 0); start != None; start, end = m.Find(text, end) {
			}
		},
	}
}

// This test runs the hot loops: candidate and shortCandidate.
func TestSearchesDoNotAllocate(t *testing.T) {
	for _, least := range []int{1, 4} {
		list, text := dictionaryAndText(100, least, 64<<10)
		for name, search := range searches() {
			m := NewDictionary(list, Options{Longest: true}).NewMatcher()
			if n := testing.AllocsPerRun(5, func() { search(m, text) }); n != 0 {
				t.Errorf("%s of words from %d letters on: %v allocations", name, least, n)
			}
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{100, 20_000} {
		for _, least := range []int{1, 4} {
			list, text := dictionaryAndText(n, least, 1<<20)
			for name, search := range searches() {
				b.Run(fmt.Sprintf("%s/words=%d/least=%d", name, n, least), func(b *testing.B) {
					m := NewDictionary(list, Options{Longest: true}).NewMatcher()
					b.SetBytes(int64(len(text)))
					b.ReportAllocs()
					for b.Loop() {
						search(m, text)
					}
				})
			}
		}
	}
}
