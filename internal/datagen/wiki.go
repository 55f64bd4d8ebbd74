package datagen

import "strconv"

// maxPartBytes bounds the length of each part of an article. The longest part is a paragraph of
// 8 sentences of 24 words, if each word is a link.
const maxPartBytes = 8 * 24 * (2*maxTextBytes + 6)

// fillWiki makes articles in wikitext, one after the other:
//
//	= Title Words =
//	{{Infobox settlement
//	| name = Title Words
//	| population = 12345
//	}}
//	'''Title Words''' is a [[link|label]] in the [[other link]]. …
//
//	== Heading ==
//	Paragraphs of some sentences, a line each, [[links]], {{cite web|…}}.
//	* a list
//
//	[[Category:Words]]
//
// Every unit begins with an article, so the last article of a unit may be incomplete. fillWiki checks
// for room before each part, so that no part is cut.
func fillWiki(t *textWriter, unitBytes int) {
	w := wikiWriter{t}
	room := func() bool { return unitBytes-w.at > maxPartBytes }
	for room() {
		w.opening()
		for sections := w.r.below(6); sections >= 0 && room(); sections-- {
			for n := 1 + w.r.below(4); n > 0 && room(); n-- {
				w.paragraph()
			}
			if sections > 0 && room() {
				w.section()
			}
		}
		if room() {
			w.categories()
		}
	}
}

// wikiWriter writes the parts of articles.
type wikiWriter struct{ *textWriter }

// number writes n in decimal digits.
func (w *wikiWriter) number(n int) {
	w.at += len(strconv.AppendInt(w.dst[w.at:w.at], int64(n), 10))
}

// title writes one to n words, each with a capital.
func (w *wikiWriter) title(n int) {
	for i := range 1 + w.r.below(n) {
		if i > 0 {
			w.text(" ")
		}
		begin := w.at
		w.word()
		w.capital(begin)
	}
}

// opening writes the title, the infobox and the first sentence.
func (w *wikiWriter) opening() {
	w.text("= ")
	begin := w.at
	w.title(4)
	title := string(w.dst[begin:w.at])
	w.text(" =\n")
	if w.r.below(3) > 0 {
		kinds := [...]string{"settlement", "person", "film", "company", "species", "album"}
		w.text("{{Infobox ")
		w.text(kinds[w.r.below(len(kinds))])
		w.text("\n| name = ")
		w.text(title)
		w.text("\n| established = ")
		w.number(1000 + w.r.below(1020))
		w.text("\n| population = ")
		w.number(w.r.below(3_000_000))
		w.text("\n| location = ")
		w.link()
		w.text("\n}}\n")
	}
	w.text("'''")
	w.text(title)
	w.text("''' is a ")
	w.link()
	w.text(" in the ")
	w.link()
	w.text(". ")
}

// link writes a link; one in three has a label.
func (w *wikiWriter) link() {
	w.text("[[")
	w.title(2)
	if w.r.below(3) == 0 {
		w.text("|")
		w.word()
	}
	w.text("]]")
}

// paragraph writes one to eight sentences on one line.
func (w *wikiWriter) paragraph() {
	for n := 1 + w.r.below(8); n > 0; n-- {
		begin := w.at
		for words := 6 + w.r.below(18); words > 0; words-- {
			if w.r>>20&31 == 0 {
				w.link()
			} else {
				w.word()
			}
			w.byte(' ')
		}
		w.capital(begin)
		w.dst[w.at-1] = '.'
		switch w.r.below(24) {
		case 0:
			w.text("<ref>{{cite web|url=https://www.")
			w.word()
			w.text(".org/|title=")
			w.title(3)
			w.text("|year=")
			w.number(1950 + w.r.below(75))
			w.text("}}</ref>")
		case 1:
			w.text(" In ")
			w.number(1000 + w.r.below(1025))
			w.text(", ''")
			w.title(3)
			w.text("''.")
		}
		w.byte(' ')
	}
	w.dst[w.at-1] = '\n'
}

// section writes a heading and, in one case of four, a list.
func (w *wikiWriter) section() {
	level := "==="[:2+w.r.below(2)]
	w.text("\n")
	w.text(level)
	w.text(" ")
	w.title(3)
	w.text(" ")
	w.text(level)
	w.text("\n")
	if w.r.below(4) == 0 {
		for n := 2 + w.r.below(6); n > 0; n-- {
			w.text("* ")
			w.link()
			w.text(", ")
			w.word()
			w.text("\n")
		}
	}
}

// categories writes the categories at the end of an article.
func (w *wikiWriter) categories() {
	w.text("\n")
	for n := 1 + w.r.below(3); n > 0; n-- {
		w.text("[[Category:")
		w.title(2)
		w.text("]]\n")
	}
	w.text("\n")
}
