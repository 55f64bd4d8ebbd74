package grep

import (
	"bytes"
	"iter"
	"math"
	"unicode/utf8"

	"mrlocal/internal/errs"
	"mrlocal/internal/scan"
	"mrlocal/jobs"
)

// With Options.Multiline a match may span lines. A mapper then holds the text of a whole file. A chunk is
// a run of neighbouring lines that matches span, as in ripgrep. All its lines are selected, and the limit
// counts it once.

// hit is a match in a line, or the part of a match that lies in it. Offsets count from the start of the
// line. The match begins at begun, which may be negative.
type hit struct{ start, end, begun int }

// hold adds a block to the text of the file. It fails if the split has only a part of the file, or if
// there is no memory.
func (m *lineMapper) hold(b jobs.Block) error {
	if b.Offset != int64(len(m.held)) {
		return errs.Inputf(m.path, "a match may span lines, and the file has several splits; raise %s", errs.Field("Options.BlockBytes"))
	}
	if need := len(m.held) + len(b.Data); need > cap(m.held) {
		more := max(need, 2*cap(m.held)) - cap(m.held)
		if m.charge != nil && !m.charge(int64(more)) {
			return errs.Inputf(m.path, "a match may span lines, and the run has no room for the whole file; raise %s", errs.Field("Options.MemoryBytes"))
		}
		m.held = append(make([]byte, 0, cap(m.held)+more), m.held...)
	}
	m.held = append(m.held, b.Data...)
	return nil
}

// chunks returns the chunks of data, in order. With invert (-v), a match that begins in the last line of a
// chunk does not lengthen it.
func (s *search) chunks(data []byte, invert bool) iter.Seq2[int, int] {
	return func(yield func(low, high int) bool) {
		low, high := none, 0
		for at := 0; at < len(data); {
			start, end := s.lines.Find(data, at)
			if start == none {
				break
			}
			first, next := bytes.LastIndexByte(data[:start], '\n')+1, end
			if end == first || data[end-1] != '\n' {
				next = min(scan.LineEnd(data, end)+1, len(data))
			}
			if low == none || high < first || invert {
				if low != none && !yield(low, high) {
					return
				}
				low = first
			}
			high = max(high, next)
			if at = end; start == end {
				_, width := utf8.DecodeRune(data[at:])
				at += max(width, 1)
			}
			if invert {
				at = max(at, high)
			}
		}
		// A match behind the last newline is in no line.
		if low < high {
			yield(low, high)
		}
	}
}

// lookAhead is the number of bytes behind a chunk that its matches may depend on, as in ripgrep.
const lookAhead = 128

// enterChunk begins a chunk, which ends before high. Then hits returns its matches.
func (m *lineMapper) enterChunk(data []byte, low, high int) {
	m.spanned = walker{search: m.search, text: data[:min(len(data), high+lookAhead)], at: low, last: -1, empties: true}
	m.chunkEnd, m.next = high, hit{none, none, none}
}

// nextSpanned returns the next match in the chunk, with offsets in the text. Its start is none at the end.
func (m *lineMapper) nextSpanned() hit {
	start, end := m.spanned.next()
	if start == none || start >= m.chunkEnd {
		return hit{none, none, none}
	}
	return hit{start, end, start}
}

// measure returns the number of matches in a chunk, at most limit, and the bytes that they have together.
func (m *lineMapper) measure(data []byte, low, high int, limit int64) (matches, matchBytes int64) {
	m.enterChunk(data, low, high)
	for h := m.nextSpanned(); h.start != none && matches < limit; h = m.nextSpanned() {
		matches, matchBytes = matches+1, matchBytes+int64(h.end-h.start)
	}
	return matches, matchBytes
}

// hits returns the matches in the line data[low:end]. It is ranged over once for each line of a chunk, in order.
func (m *lineMapper) hits(data []byte, low, end int) iter.Seq[hit] {
	return func(yield func(hit) bool) {
		if m.several {
			m.spannedHits(low, end, yield)
			return
		}
		line := data[low:end]
		m.inner.begin(line)
		m.walker.reset(m.inner, line)
		m.walker.empties = m.JSON
		for start, stop := m.walker.next(); start != none && yield(hit{start, stop, start}); start, stop = m.walker.next() {
		}
	}
}

// spannedHits is hits for a line of a chunk. A match may go on in the next line, so m.next keeps it.
func (m *lineMapper) spannedHits(low, end int, yield func(hit) bool) {
	for {
		if m.next.start == none {
			if m.next = m.nextSpanned(); m.next.start == none {
				return
			}
		}
		h := m.next
		switch passed := h.end <= low && h.start < low; {
		case h.start > end, !passed && !yield(hit{max(h.start, low) - low, min(h.end, end) - low, h.start - low}), h.end > end:
			return
		}
		m.next.start = none
	}
}

// room charges what the message about a chunk takes, and reports whether there is enough. The share of a mapper
// has room for a message about a few lines.
func (m *lineMapper) room(data []byte, low, high int) bool {
	if high-low <= frameBytes || m.charge == nil {
		return true
	}
	// A byte takes up to six bytes in JSON.
	matches, matchBytes := m.measure(data, low, high, math.MaxInt64)
	need := 6*(int64(high-low)+matchBytes) + 64*matches
	if need <= m.charged || m.charge(need-m.charged) {
		m.charged = max(m.charged, need)
		return true
	}
	m.err = errs.Inputf(m.path, "a match may span lines, and the run has no room for the message about %d of them; raise %s", countLines(data[low:high]), errs.Field("Options.MemoryBytes"))
	return false
}

// wholeText searches the text of a file.
func (m *lineMapper) wholeText(data []byte) {
	m.offset = 0
	from := 0
	for low, high := range m.search.chunks(data, m.Invert) {
		m.lineRun(data, from, low, m.Invert)
		if from = low; !m.done() {
			m.lineRun(data, low, high, !m.Invert)
			from = high
		}
		if m.done() {
			break
		}
	}
	if !m.done() {
		m.lineRun(data, from, len(data), m.Invert)
	}
}

// lineRun writes or counts a chunk, or the lines between two chunks.
func (m *lineMapper) lineRun(data []byte, low, high int, selected bool) {
	chunk := selected != m.Invert
	if low >= high {
		return
	}
	switch {
	case m.want == wantLines && !m.binary:
		if chunk {
			m.enterChunk(data, low, high)
		} else {
			m.enterChunk(nil, 1, 0) // without matches
		}
		if chunk && selected {
			m.chunk(data, low, high)
		} else {
			m.stretch(data, low, high, selected)
		}
	case !selected:
	case m.want == wantCounts && chunk: // as in ripgrep, -c counts the matches
		matches, _ := m.measure(data, low, high, m.limit-m.selected)
		m.selected = min(m.selected+max(matches, 1), m.limit)
	case m.want == wantCounts:
		m.selected = min(m.selected+countLines(data[low:high]), m.limit)
	default:
		m.report()
	}
}

// chunk writes the lines of a chunk, all selected.
func (m *lineMapper) chunk(data []byte, low, high int) {
	m.name()
	m.selected++
	if m.JSON { // one message
		if !m.room(data, low, high) {
			return
		}
		m.enterChunk(data, low, high)
		m.lines++
		m.candidate(itemSelected, 0, m.message(data, low, high-bytes.Count(data[high-1:high], []byte{'\n'}), true))
		m.lines += countLines(data[low:high]) - 1
		return
	}
	flags := byte(itemSelected)
	for low < high {
		end := scan.LineEnd(data[:high], low)
		m.lines++
		m.selectedItem(data, low, end, flags)
		flags |= itemNext
		low = end + 1
	}
}
