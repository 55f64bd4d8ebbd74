package grep

import (
	"bytes"
	"math/bits"

	"mrlocal/internal/scan"
)

// search runs a program over blocks; it belongs to one mapper.
//
// Where there are literals, a window of the block at a time is marked: hits,
// newlines, and from both of these the newlines that end a line with a hit.
// Those lines match, or are candidates that the lineMatcher decides about, each
// once. Where a window shows that marking spares nothing, because candidates
// crowd or finding them was slow, the lineMatcher gets it and some that follow
// as a whole.
type search struct {
	*program
	lines  lineMatcher // nil: literals have to do
	finder *finder     // nil: there are no literals to look for
	sure   bool        // what the finder finds in this block is a match
	tuned  int         // bytes of the sample that the finder is fitted to

	data    []byte
	at      int // the lineMatcher gets what lies between here
	plain   int // and here, both starts of lines; then come windows
	next    int // where the next window begins
	crowded int // windows that a crowded one takes with it

	// Of the window at hand, which is the finder's:
	newlines, ends [windowWords]uint64
	low            int    // words of both before here are not made: nothing there is of interest
	marked         int    // nor are those from here on; 0 when nothing at all is
	word           int    // of ends, the first that may hold a candidate yet
	candidates     int    // lines that end in it
	begun          int    // where the line begins that the first place of low lies in, or a hit in it
	carry          uint64 // 1: the line that goes on behind it has a hit
}

func newSearch(p *program) *search {
	s := &search{program: p}
	if p.newLines != nil {
		s.lines = p.matcher()
	}
	if p.literals != nil {
		b := p.border
		if !p.exact {
			b = anywhere
		}
		s.finder = newFinder(p.literals, b)
	}
	return s
}

// end leaves the lineMatcher to other mappers; the search is over.
func (s *search) end() {
	if s.lines != nil {
		s.idle.Put(s.lines)
		s.lines = nil
	}
}

// begin begins a new block. K has the Kelvin sign for a partner and s the long
// s; blocks that hold one of the two, which are few, are searched without
// literals.
func (s *search) begin(data []byte) {
	s.data, s.at, s.plain, s.next = data, 0, 0, 0
	s.marked, s.word, s.carry, s.crowded = 0, 0, 0, leastCrowded
	s.sure = false
	if s.finder == nil || s.oddFolds && (bytes.Contains(data, []byte("\u212a")) || bytes.Contains(data, []byte("\u017f"))) {
		s.plain, s.next = len(data), len(data)
		return
	}
	s.sure = s.exact
	s.finder.reset(data)
}

// tune fits the search to the text: to the first of it, or the first that is
// longer, up to sampleBytes.
func (s *search) tune() {
	if sample := min(len(s.data), sampleBytes); s.finder != nil && sample > 2*s.tuned {
		s.tuned = sample
		s.finder.tune(s.data[:sample])
	}
}

// sampleBytes are looked at to fit the search to the text.
const sampleBytes = 16 << 10

// leastCrowded and mostCrowded bound the windows that are not marked because
// one was crowded; while that goes on they double.
const leastCrowded, mostCrowded = 2, 32

// candidate is the next line that can match; sure says that it does. start is
// none at the end.
func (s *search) candidate() (start, end int, sure bool) {
	for {
		if s.at < s.plain {
			if start, end = s.lines.nextLine(s.data[:s.plain], s.at); start != none {
				s.at = end + 1
				return start, end, true
			}
			s.at = s.plain
		}
		if start, end = s.inWindow(); start != none {
			return start, end, s.sure
		}
		if s.advance() {
			continue
		}
		if s.carry != 0 {
			s.carry = 0
			return s.lineStart(s.marked, 0), len(s.data), s.sure
		}
		return none, none, false
	}
}

// inWindow is the next candidate that ends in the window at hand.
func (s *search) inWindow() (start, end int) {
	for ; s.word < s.marked; s.word++ {
		if e := s.ends[s.word]; e != 0 {
			s.ends[s.word] = e & (e - 1)
			i := bits.TrailingZeros64(e)
			return s.lineStart(s.word, i), s.finder.base + 64*s.word + i
		}
	}
	return none, none
}

// advance goes on to the next window that holds part of a candidate, and
// perhaps hands over to the lineMatcher; it is false at the end of the block.
func (s *search) advance() bool {
	f := s.finder
	for s.next < len(s.data) {
		begun := none
		if s.marked > 0 && s.marked == f.words {
			begun = s.lineStart(s.marked, 0)
		}
		found := f.window(s.next)
		s.next, s.marked = f.end(), 0
		if !found && s.carry == 0 {
			continue
		}
		if begun == none {
			begun = lineStart(s.data, s.plain, f.base)
		}
		s.begun, s.low, s.marked = begun, 0, f.words
		if s.sure && s.carry == 0 {
			s.narrow()
		}
		s.word = s.low
		newlines := s.newlines[s.low:s.marked]
		scan.Newlines(newlines, s.data[f.base+64*s.low:])
		s.candidates, s.carry = scan.Ends(s.ends[s.low:s.marked], f.hits[s.low:s.marked], newlines, s.carry)
		if s.lines != nil && (f.slow() || !s.sure && s.isCrowded()) {
			s.handOver()
		} else {
			s.crowded = leastCrowded
		}
		return true
	}
	return false
}

// narrow leaves out the words before the line of the first hit and behind that
// of the last: in a small file there often are no others.
func (s *search) narrow() {
	f := s.finder
	first, last := f.span()
	s.begun = lineStart(s.data, s.begun, first)
	s.low = max(s.begun-f.base, 0) / 64
	if end := lineEnd(s.data, last); end < f.end() {
		s.marked = (end-f.base)/64 + 1
	}
}

// isCrowded reports whether too many lines of the window are candidates for
// marks to spare anything.
func (s *search) isCrowded() bool {
	lines := 0
	for _, n := range s.newlines[s.low:s.marked] {
		lines += bits.OnesCount64(n)
	}
	return crowd*s.candidates > lines
}

// crowd: a window is crowded when one line of so many is a candidate.
const crowd = 3

// handOver leaves the window, and some that follow, to the lineMatcher.
func (s *search) handOver() {
	s.at = s.begun
	s.plain = len(s.data)
	if to := s.finder.base + s.crowded*64*windowWords; to < len(s.data) {
		s.plain = min(lineEnd(s.data, to)+1, len(s.data))
	}
	s.next, s.marked, s.word, s.carry = s.plain, 0, 0, 0
	s.crowded = min(2*s.crowded, mostCrowded)
}

// lineStart is where the line begins that place i of word lies in, in the
// window at hand.
func (s *search) lineStart(word, i int) int {
	if word < s.marked {
		if m := s.newlines[word] & (1<<i - 1); m != 0 {
			return s.finder.base + 64*word + bits.Len64(m)
		}
	}
	for word--; word >= s.low; word-- {
		if m := s.newlines[word]; m != 0 {
			return s.finder.base + 64*word + bits.Len64(m)
		}
	}
	return s.begun
}

// line is the next line that matches; start is none at the end of the block.
func (s *search) line() (start, end int) {
	for {
		start, end, sure := s.candidate()
		if start == none || sure || s.lines.match(s.data[start:end]) {
			return start, end
		}
	}
}

// count is the number of lines that match.
func (s *search) count() (lines int64) {
	for {
		if s.at < s.plain {
			lines += s.lines.countLines(s.data[s.at:s.plain])
			s.at = s.plain
		}
		if !s.advance() {
			break
		}
		if s.sure && s.marked > 0 {
			lines += int64(s.candidates)
			s.word = s.marked
			continue
		}
		for start, end := s.inWindow(); start != none; start, end = s.inWindow() {
			if s.lines.match(s.data[start:end]) {
				lines++
			}
		}
	}
	if start, _ := s.line(); start != none { // the last line, when it has no newline
		lines++
	}
	return lines
}

// walker hands out the matches that are not empty of one line, or, where
// literals alone decide, of a whole block.
//
// The steps are those of regexp.FindAllIndex: after an empty match the search
// goes on behind the next rune.
type walker struct {
	search *search
	text   []byte
	at     int
}

func (w *walker) reset(s *search, text []byte) { w.search, w.text, w.at = s, text, 0 }

// next is the next match; start is none at the end.
func (w *walker) next() (start, end int) {
	for w.at <= len(w.text) {
		start, end = w.find()
		if start == none {
			break
		}
		if end > start {
			w.at = end
			return start, end
		}
		w.at = end + runeWidth(w.text[end:])
	}
	return none, none
}

// find finds in the whole block where the search is sure of it, in a line
// where it is not.
func (w *walker) find() (start, end int) {
	if w.search.sure {
		return w.search.finder.find(w.at)
	}
	return w.search.lines.find(w.text, w.at)
}
