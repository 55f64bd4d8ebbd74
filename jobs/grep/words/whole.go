package words

import "github.com/cespare/xxhash/v2"

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
