package datagen

// textUnitBytes is the unit of all kinds of text.
const textUnitBytes = 1 << 20

// textWriter writes one unit. The caller checks that there is room.
// dst has room for overrunBytes behind the unit.
type textWriter struct {
	v   *vocabulary
	r   rng
	dst []byte
	at  int
}

// text and word write at the place that was reached, and move it.
func (w *textWriter) text(s string) { w.at += copy(w.dst[w.at:], s) }
func (w *textWriter) word()         { w.at = w.v.put(w.dst, w.at, &w.r) }

// words makes lines of about ten words.
// All units share the vocabulary, which nobody changes.
type words struct {
	v    *vocabulary
	seed uint64
}

func (words) unitBytes() int { return textUnitBytes }

// fill writes lines until the longest might not fit, and fills up with shorter ones.
func (g words) fill(dst []byte, unit int64) {
	r := unitRNG(g.seed, unit)
	at, all := 0, dst[:cap(dst)]
	const most = 16
	for len(dst)-at > most*maxTextBytes {
		for n := 6 + r.below(most-6); n > 0; n-- {
			at = g.v.put(all, at, &r)
			all[at] = ' '
			at++
		}
		all[at-1] = '\n'
	}
	g.v.closeOut(dst, at, &r)
}

// lines makes sentences of very different length, a line each.
type lines struct {
	v    *vocabulary
	seed uint64
}

func (lines) unitBytes() int { return textUnitBytes }

// fill is as that of words, with sentences.
func (g lines) fill(dst []byte, unit int64) {
	r := unitRNG(g.seed, unit)
	at, all := 0, dst[:cap(dst)]
	const most = 30
	for len(dst)-at > most*maxTextBytes {
		at = g.v.sentence(all, at, 1+r.below(most-1), &r)
		all[at] = '\n'
		at++
	}
	g.v.closeOut(dst, at, &r)
}

// sentence writes n words with a capital letter, some commas and a full stop.
func (v *vocabulary) sentence(dst []byte, at, n int, r *rng) int {
	begin := at
	for ; n > 0; n-- {
		at = v.put(dst, at, r)
		if *r&15 == 0 {
			dst[at] = ','
			at++
		}
		dst[at] = ' '
		at++
	}
	if c := dst[begin]; c >= 'a' && c <= 'z' {
		dst[begin] = c - 'a' + 'A'
	}
	dst[at-1] = '.'
	return at
}
