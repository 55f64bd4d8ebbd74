package grep

import (
	"bytes"
	"iter"
	"unicode/utf8"

	"mrlocal/errs"
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
		return errs.Inputf(b.Path, "a match may span lines, and the file has several splits; raise Options.BlockBytes")
	}
	if need := len(m.held) + len(b.Data); need > cap(m.held) {
		more := max(need, 2*cap(m.held)) - cap(m.held)
		if m.charge != nil && !m.charge(int64(more)) {
			return errs.Inputf(b.Path, "a match may span lines, and the run has no room for the whole file; raise Options.MemoryBytes")
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
				next = min(lineEnd(data, end)+1, len(data))
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

// searchChunk finds the matches of the chunk data[low:high]. Their offsets count from low.
func (m *lineMapper) searchChunk(data []byte, low, high int) {
	m.spanned = m.spanned[:0]
	w := walker{search: m.search, text: data[:min(len(data), high+lookAhead)], at: low, last: -1, empties: true}
	for start, end := w.next(); start != none && start < high; start, end = w.next() {
		m.spanned = append(m.spanned, hit{start - low, end - low, start - low})
	}
}

// hits returns the matches in the line data[low:end], borrowed until the next call.
func (m *lineMapper) hits(data []byte, low, end int) []hit {
	m.inLine = m.inLine[:0]
	if !m.several {
		line := data[low:end]
		m.inner.begin(line)
		m.walker.reset(m.inner, line)
		m.walker.empties = m.json
		for start, stop := m.walker.next(); start != none; start, stop = m.walker.next() {
			m.inLine = append(m.inLine, hit{start, stop, start})
		}
		return m.inLine
	}
	low, end = low-m.chunkAt, end-m.chunkAt
	// The lines of a chunk come in order.
	for len(m.rest) > 0 && m.rest[0].end <= low && m.rest[0].start < low {
		m.rest = m.rest[1:]
	}
	for _, h := range m.rest {
		if h.start > end {
			break
		}
		m.inLine = append(m.inLine, hit{max(h.start, low) - low, min(h.end, end) - low, h.start - low})
	}
	return m.inLine
}

// wholeText searches the text of a file.
func (m *lineMapper) wholeText(data []byte) {
	m.offset = 0
	from := 0
	for low, high := range m.search.chunks(data, m.invert) {
		m.lineRun(data, from, low, m.invert)
		if from = low; !m.done() {
			m.lineRun(data, low, high, !m.invert)
			from = high
		}
		if m.done() {
			break
		}
	}
	if !m.done() {
		m.lineRun(data, from, len(data), m.invert)
	}
}

// lineRun writes or counts a chunk, or the lines between two chunks.
func (m *lineMapper) lineRun(data []byte, low, high int, selected bool) {
	chunk := selected != m.invert
	if low >= high {
		return
	}
	switch {
	case m.want == wantLines && !m.binary:
		if chunk {
			m.searchChunk(data, low, high)
			m.chunkAt, m.rest = low, m.spanned
		} else {
			m.rest = nil
		}
		if chunk && selected {
			m.chunk(data, low, high)
		} else {
			m.stretch(data, low, high, selected)
		}
	case !selected:
	case m.want == wantCounts && chunk: // as in ripgrep, -c counts the matches
		m.searchChunk(data, low, high)
		m.selected = min(m.selected+int64(max(len(m.spanned), 1)), m.limit)
	case m.want == wantCounts:
		m.selected = min(m.selected+countLines(data[low:high]), m.limit)
	case m.want == wantAny:
		m.found = true
		m.frames.frame(frameFound, int64(m.file), nil)
	default:
		m.selected = 1
		m.name()
		m.frames.frame(frameFound, 0, nil)
	}
}

// chunk writes the lines of a chunk, all selected.
func (m *lineMapper) chunk(data []byte, low, high int) {
	m.name()
	m.selected++
	if m.json { // one message
		m.lines++
		m.candidate(itemSelected, 0, m.message(data, low, high-bytes.Count(data[high-1:high], []byte{'\n'}), true))
		m.lines += countLines(data[low:high]) - 1
		return
	}
	flags := byte(itemSelected)
	for low < high {
		end := lineEnd(data[:high], low)
		m.lines++
		m.selectedItem(data, low, end, flags)
		flags |= itemNext
		low = end + 1
	}
}
