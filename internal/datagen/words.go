package datagen

import (
	"math"
	"math/bits"
	"unicode/utf8"
)

// rng is the random generator SplitMix64 (Steele, Lea, Flood 2014). It is small enough to be
// inlined.
type rng uint64

// next returns 64 random bits.
func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a random number, uniform in [0, n). n must be above 0.
func (r *rng) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// unitRNG returns the random generator of a unit. Seeds 0 and 1 are the same. The generators of
// units start at places of the sequence that are far apart.
func unitRNG(seed uint64, unit int64) rng {
	r := rng(max(seed, 1) * 0xd1342543de82ef95)
	return rng(r.next() + uint64(unit)*0xa0761d6478bd642f)
}

// The size is a power of two, so that some bits of a draw choose the column.
const (
	// The number of words is a power of two, so that some bits of a draw choose the column.
	vocabularyBits = 17
	vocabularySize = 1 << vocabularyBits
	maxWordBytes   = 15
	// overrunBytes is the scratch behind a unit. Words are copied 16 bytes at a time, so a copy
	// may write there.
	overrunBytes = 32
	// One word in tailOneIn is not in the vocabulary. So the number of different words grows
	// with the text (Heaps' law).
	tailOneIn = 64
)

// word is the first n bytes of text. The array has a fixed length, so that a copy needs no
// loop.
type word struct {
	text [maxWordBytes]byte
	n    uint8
}

// vocabulary draws words by Zipf's law in constant time, with Vose's alias method. Column i
// stands for word i up to its threshold, and for word alias[i] above it. A vocabulary has about
// 3 MB and never changes after it is made.
type vocabulary struct {
	words   [vocabularySize]word
	columns [vocabularySize]column
}

// column is a column of the alias table. The threshold is a share of 2^32.
type column struct{ threshold, alias uint32 }

// newVocabulary makes the vocabulary. All seeds have the same words; they differ in the text.
// The most frequent words are English. The others are invented; a word that occurs already is
// invented anew.
func newVocabulary() *vocabulary {
	v := &vocabulary{}
	seen := make(map[word]bool, vocabularySize)
	r := rng(42)
	for i := range v.words {
		var w word
		w.n = uint8(copy(w.text[:], common(i)))
		for w.n == 0 || seen[w] {
			w = invent(&r, i)
		}
		seen[w] = true
		v.words[i] = w
	}
	v.weigh()
	return v
}

// weigh fills the alias table with the Zipf-Mandelbrot weights 1/(rank+2.7). The part of a
// column above its threshold belongs to a word whose weight is above the average.
func (v *vocabulary) weigh() {
	const n = vocabularySize
	weights := make([]float64, n)
	sum := 0.0
	for i := range weights {
		weights[i] = 1 / (float64(i) + 2.7)
		sum += weights[i]
	}
	var small, large []uint32
	for i := range weights {
		weights[i] *= n / sum
		if weights[i] < 1 {
			small = append(small, uint32(i))
		} else {
			large = append(large, uint32(i))
		}
	}
	for i := range v.columns {
		v.columns[i] = column{math.MaxUint32, uint32(i)}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		v.columns[s] = column{uint32(weights[s] * math.MaxUint32), l}
		weights[l] -= 1 - weights[s]
		if weights[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
}

// put writes a word at dst[at:] and returns its end. It uses up to 16 bytes from at on as
// scratch.
//
// hot: runs once for each word.
func (v *vocabulary) put(dst []byte, at int, r *rng) int {
	x := r.next()
	i := uint32(x >> (64 - vocabularyBits))
	if c := &v.columns[i]; uint32(x) > c.threshold {
		i = c.alias
	}
	w := &v.words[i]
	copy(dst[at:at+16], w.text[:])
	at += int(w.n)
	if x>>32&(tailOneIn-1) == 0 {
		at = putTail(dst, at, r)
	}
	return at
}

// putTail appends one to five letters to the word that ends at at, and returns the new end. The
// result is one of the many rare words.
func putTail(dst []byte, at int, r *rng) int {
	x := r.next()
	for n := x%5 + 1; n > 0; n-- {
		x >>= 5
		dst[at] = 'a' + byte(x&31)%26
		at++
	}
	return at
}

// The last lines of a text have closingLineBytes at most. A letter has maxLetterBytes at most.
const (
	closingLineBytes = 72
	maxLetterBytes   = 4
)

// closeOut fills dst from at to its end with lines of words. It may cut the last word of a line.
// dst has a capacity of maxTextBytes beyond its end: a word that will be cut is written there first.
func (v *vocabulary) closeOut(dst []byte, at int, r *rng) {
	end := len(dst)
	all := dst[:end+maxTextBytes]
	for at < end {
		stop := min(at+closingLineBytes, end)
		for at < stop {
			if at = v.put(all, at, r); at < stop-1 {
				all[at] = ' '
				at++
			}
		}
		at = stop
		// The cut may be inside a letter of several bytes.
		for i := stop - 1; i >= max(stop-1-maxLetterBytes, 0) && all[i] >= utf8.RuneSelf; i-- {
			all[i] = '.'
		}
		dst[stop-1] = '\n'
	}
}

// maxTextBytes is the most bytes of a word with its tail and two separators.
const maxTextBytes = maxWordBytes + 5 + 2

// onsets, nuclei and codas are the parts of an invented syllable. Parts that occur twice are
// more frequent.
var onsets = [...]string{"", "b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "st", "tr", "pr", "ch", "th", "br", "gr", "pl", "qu", "sh", "cr"}

var nuclei = [...]string{"a", "e", "i", "o", "u", "a", "e", "i", "o", "e", "ai", "ea", "ou", "io", "ie"}

var codas = [...]string{"", "", "", "", "n", "r", "s", "l", "t", "nd", "st", "m", "ck", "ng", "rt"}

// foreign has syllables outside of ASCII. One word in fifty has one.
var foreign = [...]string{"é", "ö", "ü", "ñ", "ø", "ł", "ß", "ç", "京", "本", "мир", "ан", "λ", "ία"}

// invent returns a random word. Words with a higher rank are rarer and longer.
func invent(r *rng, rank int) (w word) {
	add := func(s string) {
		if int(w.n)+len(s) <= maxWordBytes {
			w.n += uint8(copy(w.text[w.n:], s))
		}
	}
	syllables := 1 + (bits.Len(uint(rank))+r.below(5))/9
	special := r.below(50) == 0
	for range syllables {
		add(onsets[r.below(len(onsets))])
		add(nuclei[r.below(len(nuclei))])
		add(codas[r.below(len(codas))])
		if special {
			add(foreign[r.below(len(foreign))])
			special = false
		}
	}
	return w
}

// common returns the English word with this rank by frequency, from 0; "" beyond the end of the
// list.
func common(rank int) string {
	words := [...]string{
		"the", "of", "and", "in", "a", "to", "was", "is", "on", "for", "as", "with", "by", "he", "at", "from", "his", "an",
		"it", "that", "were", "are", "which", "this", "or", "be", "first", "had", "has", "also", "one", "their", "its",
		"new", "after", "but", "who", "not", "they", "two", "her", "she", "been", "other", "when", "time", "during",
		"there", "into", "all", "year", "school", "may", "years", "more", "most", "only", "over", "city", "some", "up",
		"between", "about", "used", "then", "where", "later", "out", "world", "known", "made", "under", "state", "would",
		"three", "such", "part", "many", "season", "team", "than", "can", "before", "however", "being", "while", "became",
	}
	if rank < len(words) {
		return words[rank]
	}
	return ""
}

// textUnitBytes is the length of a unit, for all kinds of text and tables.
const textUnitBytes = 1 << 20

// text makes one kind of text. All units share the vocabulary, which never changes.
type text struct {
	kind Kind
	v    *vocabulary
	seed uint64
}

// unitBytes implements generator.
func (text) unitBytes() int { return textUnitBytes }

// fill implements generator. It writes whole lines until the longest line of the kind might not
// fit. It fills the rest with shorter lines.
func (g text) fill(dst []byte, unit int64) {
	w := textWriter{v: g.v, r: unitRNG(g.seed, unit), dst: dst[:cap(dst)]}
	switch g.kind {
	case Wiki:
		fillWiki(&w, len(dst))
	case Lines:
		fillLines(&w, len(dst))
	case Words:
		fillWords(&w, len(dst))
	case Corpus:
		fillCorpus(&w, len(dst), unit)
	}
	g.v.closeOut(dst, w.at, &w.r)
}

// textWriter writes one unit. The caller checks that there is room.
type textWriter struct {
	v   *vocabulary
	r   rng
	dst []byte // memory of the unit, with the scratch behind it
	at  int    // offset in dst of the next byte
}

// text, byte and word write at at and move it.
func (w *textWriter) text(s string) { w.at += copy(w.dst[w.at:], s) }
func (w *textWriter) word()         { w.at = w.v.put(w.dst, w.at, &w.r) }
func (w *textWriter) byte(c byte) {
	w.dst[w.at] = c
	w.at++
}

// capital turns a small letter at offset at into a capital.
func (w *textWriter) capital(at int) {
	if c := w.dst[at]; c >= 'a' && c <= 'z' {
		w.dst[at] = c - 'a' + 'A'
	}
}

// fillWords makes lines of about ten words.
func fillWords(w *textWriter, unitBytes int) {
	const most = 16
	for unitBytes-w.at > most*maxTextBytes {
		for n := 6 + w.r.below(most-6); n > 0; n-- {
			w.word()
			w.byte(' ')
		}
		w.dst[w.at-1] = '\n'
	}
}

// fillLines makes sentences of very different lengths, one on each line.
func fillLines(w *textWriter, unitBytes int) {
	const most = 30
	for unitBytes-w.at > most*maxTextBytes {
		w.sentence(1 + w.r.below(most-1))
		w.byte('\n')
	}
}

// sentence writes n words with a capital letter, some commas and a full stop.
func (w *textWriter) sentence(n int) {
	begin := w.at
	for ; n > 0; n-- {
		w.word()
		if w.r&15 == 0 {
			w.byte(',')
		}
		w.byte(' ')
	}
	w.capital(begin)
	w.dst[w.at-1] = '.'
}
