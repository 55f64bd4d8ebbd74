package grep

import (
	"math/bits"

	"mrlocal/internal/scan"
	"mrlocal/jobs/grep/words"
)

// none is returned as an offset if there is none. It is larger than any offset.
const none = words.None

// windowWords is the number of words of marks that are made at a time, for 32 KiB of text. So
// the text of a window stays in the first-level cache.
const windowWords = 512

// finder finds a set of literals in texts, one after the other. It marks the offsets at which
// they begin, one window at a time. A finder belongs to one mapper.
type finder struct {
	marker scan.Marker
	many   *scan.Set // the same as marker; nil if there is only one literal
	set    []words.Literal
	border scan.Border

	data  []byte
	base  int                 // offset in data of the first mark
	words int                 // number of words of marks in use
	hits  [windowWords]uint64 // a bit for each offset of the window
}

// newFinder makes a finder of set, which must not be empty.
func newFinder(set []words.Literal, b scan.Border) *finder {
	f := &finder{set: set, border: b}
	if len(set) == 1 {
		f.marker = scan.NewNeedle(set[0])
	} else {
		f.many = scan.NewSet(set)
		f.marker = f.many
	}
	return f
}

// tune adapts the finder to sample, a part of the text.
func (f *finder) tune(sample []byte) { f.marker.Tune(sample) }

// reset begins a new text. data is borrowed until the next reset.
func (f *finder) reset(data []byte) { f.data, f.base, f.words = data, 0, 0 }

// end returns the offset behind the window.
func (f *finder) end() int { return f.base + 64*f.words }

// window marks the window that begins at offset base. It reports whether there is a mark.
func (f *finder) window(base int) bool {
	f.base, f.words = base, min((len(f.data)-base+63)/64, windowWords)
	hits := f.hits[:f.words]
	found := f.marker.Mark(hits, f.data[base:])
	if !found || f.border == scan.Anywhere {
		return found
	}
	found = false
	for w, h := range hits {
		// Each round drops the lowest bit, so the loop runs once for each hit.
		for rest := h; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros64(rest)
			if f.length(base+64*w+i) == 0 {
				h &^= 1 << i
			}
		}
		hits[w] = h
		found = found || h != 0
	}
	return found
}

// span returns the first and the last mark of the window. There must be one.
func (f *finder) span() (first, last int) {
	low, high := 0, f.words-1
	for f.hits[low] == 0 {
		low++
	}
	for f.hits[high] == 0 {
		high--
	}
	return f.base + 64*low + bits.TrailingZeros64(f.hits[low]), f.base + 64*high + bits.Len64(f.hits[high]) - 1
}

// slow reports whether marking the window took longer than an automaton takes for its text.
func (f *finder) slow() bool { return f.many != nil && f.many.Compared() > slowPlaces*f.words }

// slowPlaces is a number of comparisons for each word of marks. At 5 ns each, they take as long
// as an automaton takes for the 64 bytes of the word at 1.4 GB/s.
const slowPlaces = 8

// length returns the length of the literal at offset start, or 0 if there is none. If several
// literals begin there, it is the first one of the set.
func (f *finder) length(start int) int {
	for _, l := range f.set {
		end := start + len(l.Text)
		if l.Begins(f.data[start:]) && f.border.Around(f.data, start, end) {
			return len(l.Text)
		}
	}
	return 0
}

// find returns the leftmost literal that begins at or behind from. If several begin at the same
// offset, it is the first one of the set. start is none if there is no literal. from must not
// decrease until reset.
func (f *finder) find(from int) (start, end int) {
	if start = f.place(from); start == none {
		return none, none
	}
	return start, start + f.matched(start)
}

// place returns only the start that find returns.
func (f *finder) place(from int) int {
	from = max(from, f.base)
	for {
		for w := (from - f.base) / 64; w < f.words; w++ {
			h := f.hits[w]
			if at := f.base + 64*w; at < from {
				// Ignore hits before from.
				h &= ^uint64(0) << (from - at)
			}
			if h != 0 {
				return f.base + 64*w + bits.TrailingZeros64(h)
			}
		}
		for from = max(from, f.end()); ; from = f.end() {
			if from >= len(f.data) {
				// An empty window at the end makes the next call return none at once.
				f.base, f.words = from, 0
				return none
			}
			if f.window(from) {
				break
			}
		}
	}
}

// matched returns the length of the literal that is marked at start.
func (f *finder) matched(start int) int {
	if len(f.set) == 1 {
		return len(f.set[0].Text)
	}
	return f.length(start)
}
