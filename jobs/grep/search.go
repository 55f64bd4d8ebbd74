package grep

import "bytes"

// search runs a program over blocks; it belongs to one mapper.
type search struct {
	*program
	lines  lineMatcher // nil: literals are all there is
	finder *finder     // nil: there are no literals to look for
	lits   bool        // the finder may be used on this block
	sure   bool        // and what it finds is a match
	tuned  bool
}

func newSearch(p *program) *search {
	s := &search{program: p}
	if p.newLines != nil {
		s.lines = p.newLines()
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

// begin begins a new block. K has the Kelvin sign for a partner and s the long
// s; blocks that hold one of the two, which are few, are searched without
// literals.
func (s *search) begin(data []byte) {
	if s.finder == nil {
		return
	}
	s.lits = !s.oddFolds || !bytes.Contains(data, []byte("\u212a")) && !bytes.Contains(data, []byte("\u017f"))
	s.sure = s.lits && s.exact
	if s.lits {
		s.finder.reset()
	}
}

// tune fits the search to the first text it is shown.
func (s *search) tune(data []byte) {
	if s.lits && !s.tuned {
		s.tuned = true
		s.finder.tune(data[:min(len(data), sampleBytes)])
	}
}

// sampleBytes are looked at to choose the stop bytes.
const sampleBytes = 16 << 10

// candidate is the next line, from the start of a line on, that can match;
// start is none without one.
func (s *search) candidate(data []byte, from int) (start, end int) {
	if from >= len(data) {
		return none, none
	}
	if !s.lits {
		return from, lineEnd(data, from)
	}
	at, _ := s.finder.find(data, from)
	if at == none {
		return none, none
	}
	return lineStart(data, from, at), lineEnd(data, at)
}

// line is the next line that matches.
func (s *search) line(data []byte, from int) (start, end int) {
	for {
		start, end = s.candidate(data, from)
		if start == none || s.sure || s.lines.match(data[start:end]) {
			return start, end
		}
		from = end + 1
	}
}

// count is the number of lines that match.
//
// hot: literals alone decide at the speed of memory.
func (s *search) count(data []byte) (lines int64) {
	if !s.sure {
		for from := 0; ; lines++ {
			start, end := s.line(data, from)
			if start == none {
				return lines
			}
			from = end + 1
		}
	}
	for from := 0; from < len(data); lines++ {
		at, _ := s.finder.find(data, from)
		if at == none {
			return lines
		}
		from = lineEnd(data, at) + 1
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

func (w *walker) find() (start, end int) {
	if w.search.sure {
		return w.search.finder.find(w.text, w.at)
	}
	return w.search.lines.find(w.text, w.at)
}
