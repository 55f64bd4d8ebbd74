package errs

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Sticky stands for a blank at which Fit does not break a line.
const Sticky = "\x00"

// Fit lays text out in lines of at most width characters; 0: 80. Only a longer word makes a longer line. Consecutive
// lines with tabs are a table, whose first row has the titles of the columns. A line of prose that is too long goes on
// below, two columns further to the right.
func Fit(text string, width int) string {
	if width <= 0 {
		width = 80
	}
	var b strings.Builder
	var rows [][]string
	for _, line := range strings.SplitAfter(text, "\n") {
		if strings.Contains(line, "\t") {
			rows = append(rows, strings.Split(strings.TrimRight(line, "\t\n"), "\t"))
			continue
		}
		writeTable(&b, rows, width)
		rows = nil
		body := strings.TrimSuffix(line, "\n")
		b.WriteString(folded(body, "  ", width) + line[len(body):])
	}
	writeTable(&b, rows, width)
	return strings.ReplaceAll(b.String(), Sticky, " ")
}

// folded returns a line in lines of at most width characters. hang is the indent of the others, behind that of the
// first.
func folded(line, hang string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	return Wrap(line, indent, indent+hang, width)
}

// column is a column of a table.
type column struct {
	width, least int // in characters; that of its longest word
	right        bool
}

// writeTable writes rows of cells. Columns of numbers are aligned to the right. In a table that is too wide, the widest
// cells are folded, and the columns are only one blank apart if that lets them fit. Columns that still do not fit
// follow in further tables, each with the first column.
func writeTable(b *strings.Builder, rows [][]string, width int) {
	var all []column
	for y, row := range rows {
		for x, cell := range row {
			if x == len(all) {
				all = append(all, column{right: true})
			}
			c := &all[x]
			c.width = max(c.width, utf8.RuneCountInString(cell))
			for word := range strings.FieldsSeq(cell) {
				c.least = max(c.least, utf8.RuneCountInString(word))
			}
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
			writeRow(b, shown, gap, slices.Concat(row[:1], row[min(first, len(row)):min(from, len(row))]))
		}
		from = max(from, 2)
	}
}

// shrink makes the widest columns narrower until all of them fit. No column gets narrower than its longest word.
func shrink(columns []column, gap, width int) {
	for most := width; most > 0; most-- {
		total := -gap
		for i := range columns {
			c := &columns[i]
			c.width = min(c.width, max(c.least, most))
			total += c.width + gap
		}
		if total <= width {
			return
		}
	}
}

// writeRow writes the cells of a row. A folded cell makes it several lines high.
func writeRow(b *strings.Builder, columns []column, gap int, cells []string) {
	for more := true; more; {
		more = false
		line := ""
		for x, cell := range cells {
			c := &columns[x]
			var part string
			part, cells[x], _ = strings.Cut(folded(cell, "", c.width), "\n")
			more = more || cells[x] != ""
			blanks := strings.Repeat(" ", max(0, c.width-utf8.RuneCountInString(part)))
			if c.right {
				part, blanks = blanks+part, ""
			}
			line += part + blanks + strings.Repeat(" ", gap)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
