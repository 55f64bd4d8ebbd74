package words

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

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
