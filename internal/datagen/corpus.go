package datagen

import "strconv"

// rareLiteral occurs about once in 100 MiB of a corpus, so ten times in a GiB. No other data of
// this package contains it.
const rareLiteral = "retry_budget_exhausted"

// rareEvery: one unit in rareEvery has the rare literal.
const rareEvery = 100

// fillCorpus makes lines like those of source trees, configurations, logs and documentation.
// They have 40 bytes and 5 words on average. There are many short lines, many equal lines,
// leading blanks and long common prefixes. A third of the lines contain "the". A GiB has 27
// million lines, 127 million words and 2.8 million different words.
//
// The place of the rare literal is chosen before the first line, so it costs nothing for each
// line.
func fillCorpus(t *textWriter, unitBytes int, unit int64) {
	w := corpusWriter{t}
	const longestLineBytes = 40 * maxTextBytes
	// An offset behind the unit means that the unit has no rare literal.
	rareAt := unitBytes
	if unit%rareEvery == 7 {
		rareAt = w.r.below(max(unitBytes-2*longestLineBytes, 1))
	}
	for unitBytes-w.at > longestLineBytes {
		if w.at >= rareAt {
			rareAt = unitBytes
			w.text("WARN  " + rareLiteral + ": ")
			w.phrase(4)
		} else {
			w.line()
		}
		w.text("\n")
	}
}

// corpusWriter writes parts of a line. The caller ensures that a whole line fits.
type corpusWriter struct{ *textWriter }

// plainWords is the number of most frequent words that phrase prefers.
const plainWords = 5

// blanks is the deepest indentation with spaces.
const blanks = "                        "

// tabs is the deepest indentation with tabs.
const tabs = "\t\t\t\t\t\t"

// stock holds lines that are repeated, the first ones most often.
var stock = [...]string{
	"}", "return 0;", "} else {", "break;", "*/", "/*", "end", "*", "#endif", "};", "return err;", "{", "try:", "pass", "fi", "done", "---", "goto out;",
	"if err != nil {", "#include <linux/kernel.h>", "#include <linux/module.h>", "continue;", "return NULL;", "default:", "self.assertTrue(result)",
	" * This program is free software; you can redistribute it and/or modify it under the terms", " * of the GNU General Public License as published by the Free Software Foundation",
	"SPDX-License-Identifier: GPL-2.0", "import os", "import sys", "from __future__ import annotations", "@Override", "return None",
}

// openings are common beginnings of lines whose rest differs.
var openings = [...]string{
	"#include <linux/", "static inline int ", "static const struct ", "        self.assertEqual(", "\treturn fmt.Errorf(\"", "#define CONFIG_", "\tstruct ",
	"EXPORT_SYMBOL_GPL(", "import org.example.platform.service.", "\tdev_err(&pdev->dev, \"", "/usr/share/doc/packages/", "drivers/net/ethernet/", "CONFIG_SND_SOC_",
	"2026-03-04T12:34:56.789 INFO  org.example.platform.service.Worker - ", "2026-03-04T12:34:57.012 DEBUG org.example.platform.storage.Segment - ",
	"<property name=\"", "      - name: ", "MODULE_DEVICE_TABLE(",
}

// closings end the lines that begin with an opening.
var closings = [...]string{";", ");", " {", ")", "\");", ">", ",", "", "", " = {", ":", "\">"}

// line writes a line without its newline. kind is a percentage that chooses between empty
// lines, tabs, repeated lines, openings and phrases.
func (w *corpusWriter) line() {
	x := w.r.next()
	kind := x >> 32 % 100
	switch depth := int(x & 7); {
	case kind < 8:
		return
	case kind < 12:
		w.text(tabs[:depth%6])
	default:
		w.text(blanks[:depth/2*4])
	}
	switch {
	case kind < 28: // the least of three draws prefers the first lines
		n := len(stock)
		w.text(stock[min(w.r.below(n), w.r.below(n), w.r.below(n))])
	case kind < 52:
		w.text(openings[w.r.below(len(openings))])
		w.identifier()
		for n := w.r.below(4); n > 0; n-- {
			w.text(" ")
			w.identifier()
		}
		w.text(closings[w.r.below(len(closings))])
	default:
		begin := w.at
		w.phrase(2 + w.r.below(11))
		if x>>60 == 0 { // one phrase in sixteen is a sentence
			w.capital(begin)
		}
	}
}

// identifier writes one or two names joined by "_", or a hexadecimal number.
func (w *corpusWriter) identifier() {
	if w.r>>40&31 == 0 {
		w.hex(4 + w.r.below(3))
		return
	}
	w.name()
	if w.r>>20&15 == 0 {
		w.text("_")
		w.name()
	}
}

// name writes one of the 2048 words that make up identifiers.
func (w *corpusWriter) name() {
	const names = 2048
	x := &w.v.words[w.r.below(names)]
	w.at += copy(w.dst[w.at:], x.text[:x.n])
}

// hex writes a hexadecimal number of that many digits.
func (w *corpusWriter) hex(digits int) {
	w.text("0x")
	x := w.r.next()
	for range digits {
		w.byte("0123456789abcdef"[x&15])
		x >>= 4
	}
}

// phrase writes n words.
func (w *corpusWriter) phrase(n int) {
	for i := range n {
		if i > 0 {
			w.text(" ")
		}
		if w.r>>50&3 == 0 { // one word in four is frequent, as in running text
			w.text(common(min(w.r.below(plainWords), w.r.below(plainWords))))
		} else {
			w.word()
		}
		switch w.r >> 30 & 127 {
		case 0:
			w.text(",")
		case 1:
			w.text(".")
		}
	}
}

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
		w.text("{{Infobox " + kinds[w.r.below(len(kinds))] + "\n| name = " + title + "\n| established = ")
		w.number(1000 + w.r.below(1020))
		w.text("\n| population = ")
		w.number(w.r.below(3_000_000))
		w.text("\n| location = ")
		w.link()
		w.text("\n}}\n")
	}
	w.text("'''" + title + "''' is a ")
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
	w.text("\n" + level + " ")
	w.title(3)
	w.text(" " + level + "\n")
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
