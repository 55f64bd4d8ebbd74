package grep

import (
	"bytes"
	"math/bits"
	"unicode/utf8"

	"mrlocal/internal/errs"
	"mrlocal/internal/scan"
	"mrlocal/jobs"
	"mrlocal/jobs/grep/internal/dfa"
	"mrlocal/jobs/grep/internal/words"
)

// search runs a program on blocks. It belongs to one mapper.
//
// If there are literals, it marks one window of the block at a time: hits and newlines. From
// both it computes the newlines that end a line with a hit. Such a line is a match, or a
// candidate, about which the lineMatcher decides once.
//
// A window may show that marking saves nothing: it has many candidates, or finding the hits was
// slow. The lineMatcher then searches the whole window, and some windows behind it.
type search struct {
	*program
	lines  lineMatcher // nil: literals alone decide
	finder *finder     // nil: there are no literals and no triples
	sure   bool        // each hit of the finder in this block is a match
	tuned  int         // length of the sample to which the finder is adapted, in bytes
	spare  []byte      // buffer for frames, kept from mapper to mapper

	data    []byte
	sparse  bool // each hit is a match, and few lines have one: lines are found around hits, without marking newlines
	hits    int  // number of lines found in this way
	at      int  // the lineMatcher, or the finder if sparse, searches from here
	plain   int  // up to here, the start of a line; windows follow
	next    int  // start of the next window
	crowded int  // number of windows that the lineMatcher searches after a crowded one

	// The current window, which is that of the finder.
	newlines, ends [windowWords]uint64
	low            int    // words of newlines and ends before this one are not computed, because no line there has a hit
	marked         int    // words from this one on are not computed either; 0: none is computed
	word           int    // the first word of ends that may still hold a candidate
	candidates     int    // number of candidates that end in the window
	begun          int    // start of the line that contains the first offset of low, or a hit in that line
	carry          uint64 // 1: the line that continues behind the window has a hit
}

// newSearch returns a search for one attempt. It reuses one of an attempt that has ended, if
// there is one. The finder checks the borders of literals only if literals alone decide.
func newSearch(p *program) *search {
	s, used := p.searches.Get().(*search)
	if used {
		// The finder is adapted to the text of another split. A full sample of this one adapts
		// it again.
		s.tuned = min(s.tuned, sampleBytes/2-1)
	} else if s = (&search{program: p}); p.triples != nil {
		s.finder = &finder{marker: scan.NewTriples(p.triples)}
	} else if p.literals != nil {
		b := p.border
		if !p.exact {
			b = scan.Anywhere
		}
		s.finder = newFinder(p.literals, b)
	}
	if p.newLines != nil {
		s.lines = p.matcher()
	}
	return s
}

// account charges the memory of automata to an attempt.
func (s *search) account(a jobs.OwnAttempt) {
	if m, ok := s.lines.(*dfa.Matcher); ok {
		m.Account(a.Charge)
	}
}

// charge charges the memory of the words to an attempt. All attempts share them, but each is charged,
// because any of them may be the last one.
func (p *program) charge(a jobs.OwnAttempt) error {
	if p.words == nil || a.Charge == nil || a.Charge(p.words.Bytes()) {
		return nil
	}
	return errs.Errorf("the strings to search for take %d MiB of memory, and the run has no room for them; raise %s",
		(p.words.Bytes()+1<<20-1)>>20, errs.Field("Options.MemoryBytes"))
}

// end ends the search, and makes it and its lineMatcher available to other mappers.
func (s *search) end() {
	if s.lines != nil {
		s.idle.Put(s.lines)
		s.lines = nil
	}
	s.searches.Put(s)
}

// begin begins a new block, which is borrowed until the next begin.
//
// With folded case, the Kelvin sign matches k, and the long s matches s, but literals only
// match ASCII. Blocks with one of these two runes are rare. They are searched without literals.
func (s *search) begin(data []byte) {
	s.data = data
	s.at, s.plain = 0, 0
	s.next = 0
	s.marked, s.word = 0, 0
	s.carry = 0
	s.crowded = leastCrowded
	s.sure, s.sparse, s.hits = false, false, 0
	if s.finder == nil || s.oddFolds && (bytes.Contains(data, []byte("\u212a")) || bytes.Contains(data, []byte("\u017f"))) {
		s.plain, s.next = len(data), len(data)
		return
	}
	s.sure, s.sparse = s.exact, s.exact && s.finder.many == nil
	s.finder.reset(data)
}

// tune adapts the finder to the first block, and again to a block that is more than twice as
// long, up to sampleBytes.
func (s *search) tune() {
	if sample := min(len(s.data), sampleBytes); s.finder != nil && sample > 2*s.tuned {
		s.tuned = sample
		s.finder.tune(s.data[:sample])
	}
}

// sampleBytes is the length of the sample by which the finder adapts to the text.
const sampleBytes = 16 << 10

// leastCrowded and mostCrowded bound the number of windows that are not marked after a crowded
// one. The number doubles as long as windows are crowded.
const leastCrowded, mostCrowded = 2, 32

// candidate returns the next line that may match. sure says that it does match. start is none
// at the end of the block.
func (s *search) candidate() (start, end int, sure bool) {
	if s.sparse {
		start, end = s.around()
		return start, end, true
	}
	for {
		if s.at < s.plain {
			if start, end = s.lines.NextLine(s.data[:s.plain], s.at); start != none {
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

// around returns the line around the next hit. If many lines of the block have a hit, it leaves
// the rest to windows. The cost of marking them does not depend on the number of hits.
func (s *search) around() (start, end int) {
	hit := s.finder.place(s.at)
	if hit == none {
		return none, none
	}
	start, end = words.LineStart(s.data, s.at, hit), scan.LineEnd(s.data, hit)
	s.at = end + 1
	if s.hits++; (s.hits-sparseHits)*sparseBytes > s.at {
		s.sparse = false
		s.plain = min(s.at, len(s.data))
		s.next = min(s.at, len(s.data))
	}
	return start, end
}

// Marking costs about 1.5 ns for each 64 bytes. Finding the line around a hit costs 15 ns more
// than finding it in marks. So windows are faster if there are more than sparseHits lines, and
// more than one for each sparseBytes.
const sparseHits, sparseBytes = 64, 512

// inWindow returns the next candidate that ends in the current window.
func (s *search) inWindow() (start, end int) {
	for ; s.word < s.marked; s.word++ {
		if e := s.ends[s.word]; e != 0 {
			// Clear the bit, so that the next call continues behind it.
			s.ends[s.word] = e & (e - 1)
			i := bits.TrailingZeros64(e)
			return s.lineStart(s.word, i), s.finder.base + 64*s.word + i
		}
	}
	return none, none
}

// advance moves to the next window that has a part of a candidate, or leaves it to the
// lineMatcher. It returns false at the end of the block.
func (s *search) advance() bool {
	f := s.finder
	for s.next < len(s.data) {
		begun := none
		// If the last line continues, its start is looked up before window overwrites the
		// marks.
		if s.marked > 0 && s.marked == f.words {
			begun = s.lineStart(s.marked, 0)
		}
		found := f.window(s.next)
		s.next, s.marked = f.end(), 0
		if !found && s.carry == 0 {
			continue
		}
		if begun == none {
			begun = words.LineStart(s.data, s.plain, f.base)
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

// narrow excludes the words before the line of the first hit and behind the line of the last
// hit. A small file often has only one hit.
func (s *search) narrow() {
	f := s.finder
	first, last := f.span()
	s.begun = words.LineStart(s.data, s.begun, first)
	s.low = max(s.begun-f.base, 0) / 64
	if end := scan.LineEnd(s.data, last); end < f.end() {
		s.marked = (end-f.base)/64 + 1
	}
}

// isCrowded reports whether marking saves nothing, because too many lines of the window are candidates.
func (s *search) isCrowded() bool {
	lines := 0
	for _, n := range s.newlines[s.low:s.marked] {
		lines += bits.OnesCount64(n)
	}
	return crowd*s.candidates > lines
}

// crowd: a window is crowded if more than one line in crowd is a candidate.
const crowd = 3

// handOver leaves the window, and some windows behind it, to the lineMatcher.
func (s *search) handOver() {
	s.at = s.begun
	s.plain = len(s.data)
	if to := s.finder.base + s.crowded*64*windowWords; to < len(s.data) {
		s.plain = min(scan.LineEnd(s.data, to)+1, len(s.data))
	}
	// The lineMatcher starts at the line of the first hit, so the marks of the window are not
	// used.
	s.next = s.plain
	s.marked, s.word = 0, 0
	s.carry = 0
	// As long as the text is crowded, windows are marked ever more rarely.
	s.crowded = min(2*s.crowded, mostCrowded)
}

// lineStart returns the start of the line that contains bit i of the given word of the current
// window.
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

// line returns the next line that matches, without its newline. start is none at the end of the
// block.
func (s *search) line() (start, end int) {
	for {
		start, end, sure := s.candidate()
		if start == none || sure || s.lines.Match(s.data[start:end]) {
			return start, end
		}
	}
}

// count returns the number of lines from here on that match.
func (s *search) count() (lines int64) {
	s.sparse = false
	for {
		if s.at < s.plain {
			lines += s.lines.CountLines(s.data[s.at:s.plain])
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
			if s.lines.Match(s.data[start:end]) {
				lines++
			}
		}
	}
	if start, _ := s.line(); start != none { // a last line without newline
		lines++
	}
	return lines
}

// walker returns the matches in one line, or in a whole block if literals alone decide. Its
// steps are those of regexp.FindAllIndex: after an empty match, the search continues behind the
// next rune. The strings of a dictionary may begin within a rune, so it is searched from the next byte.
type walker struct {
	search *search
	text   []byte
	at     int // where the next search begins

	empties bool // return empty matches too, except directly behind a match
	last    int  // end of the last match; -1: none
	whole   int  // end of the rune before which the last empty match lies
}

// reset begins a new text, which is borrowed until the next reset.
func (w *walker) reset(s *search, text []byte) {
	*w = walker{search: s, text: text, last: -1}
}

// next returns the next match. start is none at the end.
func (w *walker) next() (start, end int) {
	for w.at <= len(w.text) {
		start, end = w.find()
		if start == none {
			break
		}
		if end > start {
			w.at, w.last = end, end
			return start, end
		}
		w.at = end + 1
		inside := end < w.whole
		if !inside {
			_, width := utf8.DecodeRune(w.text[end:])
			w.whole = end + max(width, 1)
		}
		if w.search.words == nil {
			w.at = w.whole
		}
		if w.empties && !inside && start != w.last {
			return start, end
		}
	}
	return none, none
}

// find returns the next match. If each hit is a match, the finder searches the block. Otherwise
// the lineMatcher searches the line.
func (w *walker) find() (start, end int) {
	if w.search.sure {
		return w.search.finder.find(w.at)
	}
	return w.search.lines.Find(w.text, w.at)
}

// lineMatcher decides about lines if literals cannot. It belongs to one mapper. A line is
// matched by itself, without its newline.
type lineMatcher interface {
	Match(line []byte) bool
	// Find returns the leftmost match that begins at or behind from. from is 0, the end of a
	// match, or the end of the rune behind a match. start is none if there is no match.
	Find(line []byte, from int) (start, end int)
	// CountLines returns the number of lines of data that match. The last line may lack its
	// newline.
	CountLines(data []byte) int64
	// NextLine returns the next line of data that matches, without its newline. from is the
	// start of a line. start is none if there is no such line.
	NextLine(data []byte, from int) (start, end int)
}

// matchers returns a function that makes a lineMatcher of a program for one mapper. longest is as in Options. It fails
// with an options error for a nil program, which stands for a pattern that is too large.
func matchers(program *dfa.Program, longest bool) (func() lineMatcher, error) {
	if program == nil {
		return nil, errs.Fieldf("Options.Patterns", "the expressions distinguish more than 65,535 classes of characters")
	}
	program.Longest = longest
	return func() lineMatcher { return program.NewMatcher() }, nil
}

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
	return scan.Sift(hits, func(at int) bool { return f.length(base+at) > 0 })
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
