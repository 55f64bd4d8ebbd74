package words

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"mrlocal/internal/scan"
)

// Matcher searches for the words of a Dictionary. Only one goroutine at a time may use it.
type Matcher struct {
	d      *Dictionary
	folder folder
	folded []byte // text of the current view
	places []int  // of the current view
}

// NewMatcher returns a Matcher.
func (d *Dictionary) NewMatcher() *Matcher { return &Matcher{d: d} }

// leastView and mostView bound the part of a text that is folded at a time, in bytes. A search
// begins with little, because its match may be near, and doubles it.
const leastView, mostView = 128, 64 << 10

// Match reports whether line, without its newline, matches.
func (m *Matcher) Match(line []byte) bool {
	start, _ := m.Find(line, 0)
	return start != None
}

// Find returns the leftmost match in a line that begins at or behind from, which must be the start
// of a rune. start is None if there is no match.
func (m *Matcher) Find(line []byte, from int) (start, end int) {
	switch {
	case m.d.options.Border == scan.WholeLine && from == 0 && m.whole(line):
		return 0, len(line)
	case m.d.options.Border == scan.WholeLine:
		return None, None
	case !m.d.options.Fold:
		v := view{text: line, data: line}
		return m.d.find(&v, from, len(line))
	}
	// A match that begins in a part may end behind it.
	more := mostGrowth*m.d.longest + utf8.UTFMax
	for size := leastView; ; size = min(2*size, mostView) {
		to := runeStart(line, from+size)
		v := m.view(line, from, min(to+more, len(line)))
		if start, end = m.d.find(&v, 0, to); start != None {
			return v.place(start), v.place(end)
		}
		if to == len(line) {
			return None, None
		}
		from = to
	}
}

// runeStart returns the first offset from at on at which a rune begins, or len(text).
func runeStart(text []byte, at int) int {
	for n := 1; n < utf8.UTFMax && at < len(text) && !utf8.RuneStart(text[at]); n++ {
		at++
	}
	return min(at, len(text))
}

// CountLines returns the number of lines of data that match. The last line may lack its newline.
func (m *Matcher) CountLines(data []byte) (lines int64) {
	for from := 0; from < len(data); {
		if m.d.options.Border == scan.WholeLine {
			end := scan.LineEnd(data, from)
			if m.whole(data[from:end]) {
				lines++
			}
			from = end + 1
			continue
		}
		v := m.lines(data, from, mostView)
		for at := 0; at <= len(v.text); {
			start, _ := m.d.find(&v, at, len(data))
			if start == None {
				break
			}
			lines++
			at = scan.LineEnd(v.text, start) + 1
		}
		from = v.place(len(v.text)) + 1
	}
	return lines
}

// NextLine returns the next line of data that matches, without its newline. from is the start of a
// line. start is None if there is no such line.
func (m *Matcher) NextLine(data []byte, from int) (start, end int) {
	for size := leastView; from < len(data); size = min(2*size, mostView) {
		if m.d.options.Border == scan.WholeLine {
			if end = scan.LineEnd(data, from); m.whole(data[from:end]) {
				return from, end
			}
			from = end + 1
			continue
		}
		v := m.lines(data, from, size)
		if at, _ := m.d.find(&v, 0, len(data)); at != None {
			at = v.place(at)
			return LineStart(data, from, at), scan.LineEnd(data, at)
		}
		from = v.place(len(v.text)) + 1
	}
	return None, None
}

// lines returns a view of whole lines of data, from the start of a line on, without the last
// newline. It is about size bytes long if case is ignored; otherwise it is the rest of data.
func (m *Matcher) lines(data []byte, from, size int) view {
	to := len(data)
	if m.d.options.Fold && to-from > size {
		to = scan.LineEnd(data, from+size)
	} else if data[to-1] == '\n' {
		to--
	}
	return m.view(data, from, to)
}

// find returns the leftmost match in v.text that begins at or behind at, and in v.data before limit.
func (d *Dictionary) find(v *view, at, limit int) (start, end int) {
	if d.empty >= 0 {
		return d.findEmpty(v, at, limit)
	}
	for at = d.filter.candidate(v.text, at); at < len(v.text); at = d.filter.candidate(v.text, at+1) {
		place := v.place(at)
		if place >= limit {
			break
		}
		if d.options.Border == scan.WordEnds && place > 0 && scan.IsWord(v.data[place-1]) {
			continue
		}
		if end := d.match(v, at); end != None {
			return at, end
		}
	}
	return None, None
}

// findEmpty is find for a dictionary with the empty word, which matches at the start of a rune and
// at the end.
func (d *Dictionary) findEmpty(v *view, at, limit int) (start, end int) {
	for rune := at; at <= len(v.text) && v.place(at) <= limit; at++ {
		end := d.match(v, at)
		if end > at && end != None || end == at && at == rune {
			return at, end
		}
		if at == rune {
			_, width := utf8.DecodeRune(v.text[at:])
			rune += max(width, 1)
		}
	}
	return None, None
}

// match returns the end of the preferred match that begins at offset start of v.text; None: there is
// none.
func (d *Dictionary) match(v *view, start int) int {
	best := int32(-1)
	for k := d.at(v.text[start:]); k >= 0; k = d.parent[k] {
		if best >= 0 && d.rank[k] > d.rank[best] {
			continue
		}
		if d.options.Border == scan.Anywhere || d.options.Border.Around(v.data, v.place(start), v.place(start+d.length(k))) {
			if best = k; d.options.Longest {
				break
			}
		}
	}
	if best < 0 {
		return None
	}
	return start + d.length(best)
}

// LineStart returns the start of the line that contains offset at. from is the start of that line or
// of an earlier one. It goes back eight bytes at a time.
func LineStart(data []byte, from, at int) int {
	for at-from >= 8 {
		v := binary.LittleEndian.Uint64(data[at-8:]) ^ '\n'*lows
		// A byte of v is zero where data has a newline. zero has the high bit of exactly these bytes.
		if zero := ^((v&^highs + ^uint64(highs)) | v) & highs; zero != 0 {
			return at - bits.LeadingZeros64(zero)/8
		}
		at -= 8
	}
	for at > from && data[at-1] != '\n' {
		at--
	}
	return at
}

// hashLines makes the table of words that are whole lines.
func (d *Dictionary) hashLines() {
	size := 1
	for size < 2*d.count() {
		size *= 2
	}
	d.lines = make([]uint32, size)
	for k := range d.count() {
		w := d.word(k)
		d.sizes |= 1 << min(len(w), 63)
		i := int(xxhash.Sum64(w)) & (size - 1)
		for d.lines[i] != 0 && string(d.word(int(d.lines[i]-1))) != string(w) {
			i = (i + 1) & (size - 1)
		}
		d.lines[i] = uint32(k + 1)
	}
}

// has reports whether line is a word.
func (d *Dictionary) has(line []byte) bool {
	if d.sizes>>min(len(line), 63)&1 == 0 || len(line) > d.longest {
		return false
	}
	mask := len(d.lines) - 1
	for i := int(xxhash.Sum64(line)) & mask; d.lines[i] != 0; i = (i + 1) & mask {
		if string(d.word(int(d.lines[i]-1))) == string(line) {
			return true
		}
	}
	return false
}

// whole reports whether the line is a word, if words must be whole lines.
func (m *Matcher) whole(line []byte) bool {
	if m.d.options.Fold {
		// Folding makes text at most mostGrowth times shorter.
		if len(line) > mostGrowth*m.d.longest {
			return false
		}
		m.folded = m.folder.fold(m.folded[:0], line)
		line = m.folded
	}
	return m.d.has(line)
}
