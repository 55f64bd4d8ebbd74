package datagen

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
			w.text("WARN  ")
			w.text(rareLiteral)
			w.text(": ")
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
