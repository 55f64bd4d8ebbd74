package words

import (
	"encoding/binary"
	"math/bits"
	"unicode"
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

// gramBytes is the number of bytes that the filter looks at. Shorter words have a filter of their
// own.
const gramBytes = 4

// filter tells the places at which no word begins. It is a hash table for the grams of the words:
// gramBytes bytes at the same offset in all words. An entry has a bit for each kind of byte that may
// follow the gram (bit).
type filter struct {
	grams  []uint8
	mask   uint64
	bit    [256]uint8 // the bit of each byte behind a gram
	offset int        // of the gram in a word

	// pairs has a bit for each two bytes with which text may begin if a short word does; nil: no word
	// is short.
	pairs *[1 << 16 / 64]uint64
}

// filterSlots is the least number of entries for each word. Words often share their grams.
// A table of mostSlots entries still lies in the second-level cache.
const filterSlots, mostSlots = 4, 1 << 19

// hash returns a number for a gram. Its lowest bits are good enough for an index.
func hash(gram uint32) uint64 { return uint64(gram) * 0x9e3779b97f4a7c15 >> 40 }

// fill makes the filter of a dictionary with n words that are not short.
func (d *Dictionary) fill(n int) {
	f := &d.filter
	size := 1 << 12
	for size < filterSlots*n && size < mostSlots {
		size *= 2
	}
	f.grams, f.mask = make([]uint8, size), uint64(size-1)
	for c := range f.bit {
		f.bit[c] = 1 << (c % 8)
	}
	for k := range d.parent {
		if w := d.word(k); len(w) < gramBytes {
			f.addShort(w)
		}
	}
	// A short word begins at the place itself, so both parts of the filter read the same bytes.
	if f.pairs == nil {
		f.offset = d.rarest()
	}
	for k := range d.parent {
		if w := d.word(k); len(w) >= gramBytes {
			w = w[f.offset:]
			bit := uint8(0xff) // if the word ends there, any byte may follow
			if len(w) > gramBytes {
				bit = f.bit[w[gramBytes]]
			}
			f.grams[hash(binary.LittleEndian.Uint32(w))&f.mask] |= bit
		}
	}
}

// addShort adds a word of fewer than gramBytes bytes.
func (f *filter) addShort(w []byte) {
	if f.pairs == nil {
		f.pairs = new([1 << 16 / 64]uint64)
	}
	switch len(w) {
	case 0:
	case 1:
		for next := range 256 {
			f.addPair(w[0], byte(next))
		}
	default:
		f.addPair(w[0], w[1])
	}
}

func (f *filter) addPair(first, second byte) {
	pair := uint32(first) | uint32(second)<<8
	f.pairs[pair/64] |= 1 << (pair % 64)
}

// passes reports whether a word of at least gramBytes bytes may begin at the start of t, which has the
// bytes of the gram.
func (f *filter) passes(t []byte) bool {
	bits := f.grams[hash(binary.LittleEndian.Uint32(t[f.offset:]))&f.mask]
	if t = t[f.offset+gramBytes:]; len(t) > 0 {
		bits &= f.bit[t[0]]
	}
	return bits != 0
}

// passesShort reports whether a shorter word may begin at the start of t.
func (f *filter) passesShort(t []byte) bool {
	if f.pairs == nil || len(t) < 2 {
		return f.pairs != nil
	}
	p := binary.LittleEndian.Uint16(t)
	return f.pairs[p/64]>>(p%64)&1 != 0
}

// rarest returns the offset at which the grams of the words are expected least often in a text. It
// looks at some of the words.
func (d *Dictionary) rarest() int {
	const mostOffsets, mostWords = 16, 2048
	step := max(d.count()/mostWords, 1)
	best, bestSum := 0, 0.0
	for offset := range min(d.least()-gramBytes+1, mostOffsets) {
		seen := map[uint32]bool{}
		sum := 0.0
		for k := 0; k < d.count(); k += step {
			gram := d.word(k)[offset : offset+gramBytes]
			if v := binary.LittleEndian.Uint32(gram); !seen[v] {
				seen[v] = true
				sum += Chance([]Literal{{Text: string(gram)}})
			}
		}
		if offset == 0 || sum < bestSum {
			best, bestSum = offset, sum
		}
	}
	return best
}

// least returns the length of the shortest word.
func (d *Dictionary) least() int {
	least := d.longest
	for k := range d.parent {
		least = min(least, d.length(int32(k)))
	}
	return least
}

// candidate returns the next place from at on at which a word may begin, or len(text). It looks at
// four places with one load.
//
// hot: one step for four bytes of text.
func (f *filter) candidate(text []byte, at int) int {
	if f.pairs != nil {
		return f.shortCandidate(text, at)
	}
	grams, bit, mask := f.grams, &f.bit, f.mask
	for ; at+f.offset+8 <= len(text); at += 4 {
		v := binary.LittleEndian.Uint64(text[at+f.offset:])
		b0 := grams[hash(uint32(v))&mask] & bit[uint8(v>>32)]
		b1 := grams[hash(uint32(v>>8))&mask] & bit[uint8(v>>40)]
		b2 := grams[hash(uint32(v>>16))&mask] & bit[uint8(v>>48)]
		b3 := grams[hash(uint32(v>>24))&mask] & bit[uint8(v>>56)]
		switch {
		case b0|b1|b2|b3 == 0:
		case b0 != 0:
			return at
		case b1 != 0:
			return at + 1
		case b2 != 0:
			return at + 2
		default:
			return at + 3
		}
	}
	for ; at+f.offset+gramBytes <= len(text); at++ {
		if f.passes(text[at:]) {
			return at
		}
	}
	return len(text)
}

// shortCandidate is candidate if there are short words.
//
// hot: one step for four bytes of text.
func (f *filter) shortCandidate(text []byte, at int) int {
	grams, bit, mask, pairs := f.grams, &f.bit, f.mask, f.pairs
	for ; at+8 <= len(text); at += 4 {
		v := binary.LittleEndian.Uint64(text[at:])
		p0, p1, p2, p3 := uint16(v), uint16(v>>8), uint16(v>>16), uint16(v>>24)
		switch {
		case grams[hash(uint32(v))&mask]&bit[uint8(v>>32)] != 0 || pairs[p0/64]>>(p0%64)&1 != 0:
			return at
		case grams[hash(uint32(v>>8))&mask]&bit[uint8(v>>40)] != 0 || pairs[p1/64]>>(p1%64)&1 != 0:
			return at + 1
		case grams[hash(uint32(v>>16))&mask]&bit[uint8(v>>48)] != 0 || pairs[p2/64]>>(p2%64)&1 != 0:
			return at + 2
		case grams[hash(uint32(v>>24))&mask]&bit[uint8(v>>56)] != 0 || pairs[p3/64]>>(p3%64)&1 != 0:
			return at + 3
		}
	}
	// The last places are so few that the caller looks at each.
	return at
}

// mostGrowth bounds how many times longer a text is than its folded form, and the reverse: the
// Kelvin sign has three bytes, and folds to k.
const mostGrowth = 3

// folder folds text: it replaces each rune by one that stands for all runes that differ only in
// case. That is the small letter for ASCII letters, and the lowest rune for others. Bytes that are
// not UTF-8 stay as they are. A folder keeps what it has found about runes, so it belongs to one
// goroutine.
type folder struct {
	pages map[rune]*[256]rune // the folded runes, by the upper bits of the rune
}

// fold appends the folded form of text to dst.
func (f *folder) fold(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if i+8 <= len(text) {
			if v := binary.LittleEndian.Uint64(text[i:]); v&highs == 0 {
				dst = binary.LittleEndian.AppendUint64(dst, lower(v))
				i += 8
				continue
			}
		}
		r, width := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError:
			dst = append(dst, text[i:i+width]...)
		case r < utf8.RuneSelf:
			dst = append(dst, byte(foldRune(r)))
		default:
			dst = utf8.AppendRune(dst, f.rune(r))
		}
		i += width
	}
	return dst
}

const lows, highs = 0x0101010101010101, 0x8080808080808080

// lower turns the capitals among eight ASCII characters into small letters.
func lower(v uint64) uint64 {
	fromA, behindZ := v+(0x80-'A')*lows, v+(0x7f-'Z')*lows
	return v | (fromA^behindZ)&highs>>2
}

// rune returns the folded form of r, which is beyond ASCII.
func (f *folder) rune(r rune) rune {
	page := f.pages[r>>8]
	if page == nil {
		page = new([256]rune)
		for i := range page {
			page[i] = foldRune(r&^0xff + rune(i))
		}
		if f.pages == nil {
			f.pages = map[rune]*[256]rune{}
		}
		f.pages[r>>8] = page
	}
	return page[r&0xff]
}

// foldRune computes the folded form of r.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		return least + 'a' - 'A'
	}
	return least
}

// view is a part of a text, in the form in which it is searched.
type view struct {
	text []byte // data from base on, folded if case is ignored
	data []byte
	base int
	// places has the offset in data of each byte of text, and of its end; nil: base is the only
	// difference.
	places []int
}

// place returns the offset in data of offset i of text.
func (v *view) place(i int) int {
	if v.places != nil {
		return v.places[i]
	}
	return v.base + i
}

// view returns a view of data[from:to].
func (m *Matcher) view(data []byte, from, to int) view {
	v := view{text: data[from:to], data: data, base: from}
	if !m.d.options.Fold {
		return v
	}
	m.folded = m.folder.fold(m.folded[:0], v.text)
	if m.moved(v.text) {
		m.places = m.places[:0]
		for i := from; i < to; {
			r, width := utf8.DecodeRune(data[i:to])
			for range m.folder.width(r, width) {
				m.places = append(m.places, i)
			}
			i += width
		}
		v.places = append(m.places, to)
		m.places = v.places
	}
	v.text = m.folded
	return v
}

// moved reports whether a rune of text has another length in m.folded.
func (m *Matcher) moved(text []byte) bool {
	if len(m.folded) != len(text) {
		return true
	}
	// A longer and a shorter one may make up for each other. Continuation bytes then move.
	for i, c := range text {
		if c >= utf8.RuneSelf && utf8.RuneStart(c) != utf8.RuneStart(m.folded[i]) {
			return true
		}
	}
	return false
}

// width returns the length of the folded form of r, which has width bytes.
func (f *folder) width(r rune, width int) int {
	if r < utf8.RuneSelf || r == utf8.RuneError {
		return width
	}
	return utf8.RuneLen(f.rune(r))
}
