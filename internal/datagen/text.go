package datagen

// textUnitBytes is the length of a unit, for all kinds of text and tables.
const textUnitBytes = 1 << 20

// text makes one kind of text. All units share the vocabulary, which never changes.
type text struct {
	kind Kind
	v    *vocabulary
	seed uint64
}

// unitBytes implements generator.
func (text) unitBytes() int { return textUnitBytes }

// fill implements generator. It writes whole lines until the longest line of the kind might not
// fit. It fills the rest with shorter lines.
func (g text) fill(dst []byte, unit int64) {
	w := textWriter{v: g.v, r: unitRNG(g.seed, unit), dst: dst[:cap(dst)]}
	switch g.kind {
	case Wiki:
		fillWiki(&w, len(dst))
	case Lines:
		fillLines(&w, len(dst))
	case Words:
		fillWords(&w, len(dst))
	case Corpus:
		fillCorpus(&w, len(dst), unit)
	}
	g.v.closeOut(dst, w.at, &w.r)
}

// textWriter writes one unit. The caller checks that there is room.
type textWriter struct {
	v   *vocabulary
	r   rng
	dst []byte // memory of the unit, with the scratch behind it
	at  int    // offset in dst of the next byte
}

// text, byte and word write at at and move it.
func (w *textWriter) text(s string) { w.at += copy(w.dst[w.at:], s) }
func (w *textWriter) word()         { w.at = w.v.put(w.dst, w.at, &w.r) }
func (w *textWriter) byte(c byte) {
	w.dst[w.at] = c
	w.at++
}

// capital turns a small letter at offset at into a capital.
func (w *textWriter) capital(at int) {
	if c := w.dst[at]; c >= 'a' && c <= 'z' {
		w.dst[at] = c - 'a' + 'A'
	}
}

// fillWords makes lines of about ten words.
func fillWords(w *textWriter, unitBytes int) {
	const most = 16
	for unitBytes-w.at > most*maxTextBytes {
		for n := 6 + w.r.below(most-6); n > 0; n-- {
			w.word()
			w.byte(' ')
		}
		w.dst[w.at-1] = '\n'
	}
}

// fillLines makes sentences of very different lengths, one on each line.
func fillLines(w *textWriter, unitBytes int) {
	const most = 30
	for unitBytes-w.at > most*maxTextBytes {
		w.sentence(1 + w.r.below(most-1))
		w.byte('\n')
	}
}

// sentence writes n words with a capital letter, some commas and a full stop.
func (w *textWriter) sentence(n int) {
	begin := w.at
	for ; n > 0; n-- {
		w.word()
		if w.r&15 == 0 {
			w.byte(',')
		}
		w.byte(' ')
	}
	w.capital(begin)
	w.dst[w.at-1] = '.'
}
