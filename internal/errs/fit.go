package errs

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// Marks in a text for Fit, which does not write them.
const (
	Sticky  = "\x00" // stands for a blank at which Fit does not break a line
	Choice  = "\x01" // Fit breaks a word here if the word is longer than a line, as a|b|c behind each |
	Beside  = "\x02" // stands between a name and its text; all texts begin in one column, and go on in it
	Command = "\x03" // begins a command of a shell: a line that goes on below ends with a backslash
)

// held stands for a blank in quotation marks, in a command of a shell.
const held = "\x04"

// mostNames is the largest number of columns that the names before Beside take in front of their texts. They take at
// most a third of a line. A longer name stands above its text.
const mostNames = 26

// Fit lays text out in lines of at most width columns of a terminal; 0: 80. Only a longer word makes a longer line, or
// a longer word in quotation marks in a Command. Consecutive lines with tabs are a table, whose first row has the
// titles of the columns. A line of prose that is too long goes on below, two columns further to the right. If it has
// gaps of three blanks or more, it is broken at each of them. A line that begins with Beside, behind blanks, goes on in
// the column of Beside. The last Beside of a line counts.
func Fit(text string, width int) string {
	if width <= 0 {
		width = 80
	}
	var b strings.Builder
	var rows [][]string
	names, room := 0, min(mostNames, width/3)
	for line := range strings.Lines(text) {
		if name := line[:max(0, strings.LastIndex(line, Beside))]; strings.TrimSpace(name) != "" && Columns(name)+2 <= room {
			names = max(names, Columns(name)+2)
		}
	}
	for _, line := range strings.SplitAfter(text, "\n") {
		if strings.Contains(line, "\t") {
			rows = append(rows, strings.Split(strings.TrimRight(line, "\t\n"), "\t"))
			continue
		}
		writeTable(&b, rows, width)
		rows = nil
		body := strings.TrimSuffix(line, "\n")
		if at := strings.LastIndex(body, Beside); at >= 0 {
			b.WriteString(beside(body[:at], body[at+1:], cmp.Or(names, room), width))
		} else {
			b.WriteString(folded(body, "  ", width))
		}
		b.WriteString(line[len(body):])
	}
	writeTable(&b, rows, width)
	return strings.NewReplacer(Sticky, " ", held, " ", Choice, "", Beside, "", Command, "").Replace(b.String())
}

// beside returns a name and its text, which begins in the given column, or for an empty name behind its blanks.
func beside(name, text string, column, width int) string {
	if strings.TrimSpace(name) == "" {
		return Wrap(text, name, name, width)
	}
	indent := len(name) - len(strings.TrimLeft(name, " ")) + 4
	if column+longest(text) > width {
		column = min(column, indent)
	}
	blanks := strings.Repeat(" ", column)
	switch room := column - Columns(name); {
	case text == "":
		return folded(name, "    ", width)
	case room >= 2:
		return Wrap(text, name+blanks[:room], blanks, width)
	}
	return folded(name, "    ", width) + "\n" + Wrap(text, blanks, blanks, width)
}

// folded returns a line in lines of at most width columns. hang is the indent of the others, behind that of the
// first.
func folded(line, hang string, width int) string {
	if Columns(line) <= width {
		return line
	}
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	if command, is := strings.CutPrefix(body, Command); is {
		return strings.ReplaceAll(Wrap(quotedWhole(command), indent, indent+"    ", width-2), "\n", " \\\n")
	}
	var parts []string
	for part := range strings.SplitSeq(body, "   ") {
		if part != "" {
			parts = append(parts, Wrap(part, indent, indent+hang, width))
		}
	}
	return strings.Join(parts, "\n")
}

// quotedWhole returns a command of a shell with held in place of blanks in quotation marks.
func quotedWhole(command string) string {
	return regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllStringFunc(command, func(quoted string) string { return strings.ReplaceAll(quoted, " ", held) })
}

// Wrap returns text in lines of at most most columns. A longer word is broken only at Sticky and Choice. The first line
// begins with first and the others with next. There is no newline at the end. All white space counts as a blank.
func Wrap(text, first, next string, most int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		if Columns(next)+Columns(word) > most {
			word = strings.ReplaceAll(strings.ReplaceAll(word, Sticky, " "), Choice, " "+Choice)
		}
		for part := range strings.FieldsSeq(word) {
			gap := " "
			if strings.HasPrefix(part, Choice) {
				gap = ""
			}
			switch n := Columns(part); {
			case b.Len() == 0:
				b.WriteString(first)
				column = Columns(first) + n
			case column+len(gap)+n > most:
				b.WriteString("\n" + next)
				column = Columns(next) + n
			default:
				b.WriteString(gap)
				column += len(gap) + n
			}
			b.WriteString(part)
		}
	}
	return b.String()
}

// Columns returns the number of columns that a text takes on a terminal: two for each wide character, and none for a
// combining mark or a mark of Fit.
func Columns(text string) (n int) {
	for _, r := range text {
		switch {
		case r >= 0x80: // uniseg is slow
			return uniseg.StringWidth(strings.NewReplacer(Sticky, " ", held, " ").Replace(text))
		case r >= ' ', r == 0, r == 4: // Sticky, held
			n++
		}
	}
	return n
}

// longest returns the columns of the longest part of a text that Wrap does not break.
func longest(text string) (n int) {
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, Choice, " ")) {
		n = max(n, Columns(word))
	}
	return n
}

// column is a column of a table.
type column struct {
	width, least int // in characters; that of its longest word
	right        bool
}

// writeTable writes rows of cells. Columns of numbers are aligned to the right. In a table that is too wide, the widest
// cells are folded, and the columns are only one blank apart if that lets them fit. Columns that still do not fit
// follow in further tables, each with the first column. A cell that does not fit beside it stands below.
func writeTable(b *strings.Builder, rows [][]string, width int) {
	var all []column
	for y, row := range rows {
		for x, cell := range row {
			if x == len(all) {
				all = append(all, column{right: true})
			}
			c := &all[x]
			c.width = max(c.width, Columns(cell))
			c.least = max(c.least, len(cell)-len(strings.TrimLeft(cell, " "))+longest(cell))
			c.right = c.right && (y == 0 || cell == "" || strings.IndexAny(cell, "0123456789+-±") == 0)
		}
	}
	gap, least := 2, 0
	for _, c := range all {
		least += c.least
	}
	if gaps := len(all) - 1; least+2*gaps > width && least+gaps <= width {
		gap = 1
	}
	for from := 1; from == 1 && len(all) > 0 || from < len(all); {
		if from > 1 {
			b.WriteByte('\n')
		}
		shown := all[:1:1]
		for least := shown[0].least; from < len(all) && (len(shown) == 1 || least+gap+all[from].least <= width); from++ {
			shown = append(shown, all[from])
			least += gap + all[from].least
		}
		shrink(shown, gap, width)
		for _, row := range rows {
			first := from - len(shown) + 1
			cells := slices.Concat(row[:1], row[min(first, len(row)):min(from, len(row))])
			if len(cells) == 2 && shown[0].least+gap+shown[1].least > width { // one below the other
				b.WriteString(folded(cells[0], "", width) + "\n" + folded("    "+cells[1], "", width) + "\n")
				continue
			}
			writeRow(b, shown, gap, cells)
		}
		from = max(from, 2)
	}
}

// shrink makes the widest columns narrower until all of them fit. No column gets narrower than its longest word.
func shrink(all []column, gap, width int) {
	for most := width; most > 0; most-- {
		total := -gap
		for i := range all {
			c := &all[i]
			c.width = min(c.width, max(c.least, most))
			total += c.width + gap
		}
		if total <= width {
			return
		}
	}
}

// writeRow writes the cells of a row. A folded cell makes it several lines high.
func writeRow(b *strings.Builder, all []column, gap int, cells []string) {
	for more := true; more; {
		more = false
		line := ""
		for x, cell := range cells {
			c := &all[x]
			var part string
			part, cells[x], _ = strings.Cut(folded(cell, "", c.width), "\n")
			more = more || cells[x] != ""
			blanks := strings.Repeat(" ", max(0, c.width-Columns(part)))
			if c.right {
				part, blanks = blanks+part, ""
			}
			line += part + blanks + strings.Repeat(" ", gap)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
