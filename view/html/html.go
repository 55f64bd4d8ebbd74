// Package html writes a report as one HTML file that a browser can open from disk. Pictures are
// static SVG. The file has no scripts and loads nothing. It contains the compressed events of a
// run as a download.
//
// A Document is written from its start to its end. Names of jobs and pools are escaped, and a
// security policy in the head forbids scripts as well.
package html

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/slots/explain"
	"mrlocal/trace"
	"mrlocal/view"
	"mrlocal/view/export"
	"mrlocal/view/svg"
)

// head is everything before a report's content. Both %s stand for the title. The security policy
// forbids scripts and all loading. So a job's name does no harm even if escaping has a mistake.
// Pictures have fixed colours, so their background stays white in a dark theme.
//
//go:embed head.html
var head string

// Document is a report that is being written. Its methods keep the first error and write nothing
// after it. Close returns that error.
type Document struct {
	w   io.Writer
	err error // the first error
}

// New begins a report on w with that title. The caller must call Close, and closes w itself.
func New(w io.Writer, title string) *Document {
	d := &Document{w: w}
	d.printf(head, svg.Escape(title), svg.Escape(title))
	return d
}

// Close ends the report. It returns the first error of any method.
func (d *Document) Close() error {
	d.printf("</body>\n</html>\n")
	return errs.About("write report", d.err)
}

// printf writes to the document, unless there is an error already.
func (d *Document) printf(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format, args...)
	}
}

// keep keeps the first error.
func (d *Document) keep(err error) { d.err = cmp.Or(d.err, err) }

// text writes an element that contains text. It escapes the text.
func (d *Document) text(element, text string) {
	d.printf("<%s>%s</%s>\n", element, svg.Escape(text), element)
}

// Together draws what the runs of one workload show together.
func (d *Document) Together(runs []view.Named) {
	d.figure(func(w io.Writer) error { return svg.Write(w, runs, svg.Options{}) })
}

// Picture writes a section with that title and the SVG that draw writes.
func (d *Document) Picture(title string, draw func(w io.Writer) error) {
	d.text("h2", title)
	d.figure(draw)
}

// figure writes the SVG that draw writes.
func (d *Document) figure(draw func(w io.Writer) error) {
	var b bytes.Buffer
	d.keep(draw(&b))
	d.printf("<figure>%s</figure>\n", b.Bytes())
}

// CSV writes a section with that title and a table. text is the table in CSV, with a heading. If
// verdicts is set, the table must be one of figures of mrlocal reproduce. Then a further column has
// a drawing that compares our figure with the paper's.
func (d *Document) CSV(title string, text []byte, verdicts bool) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	d.keep(err)
	d.text("h2", title)
	d.table(rows, verdicts)
}

// table writes a table. The first row is its heading. Numbers are aligned to the right.
func (d *Document) table(rows [][]string, verdicts bool) {
	if len(rows) == 0 {
		return
	}
	d.printf("<table>\n<thead><tr>")
	if verdicts {
		d.printf("<th scope=\"col\">ours against the paper</th>")
	}
	for _, name := range rows[0] {
		d.printf("<th scope=\"col\">%s</th>", svg.Escape(name))
	}
	d.printf("</tr></thead>\n<tbody>\n")
	for _, row := range rows[1:] {
		d.printf("<tr>")
		if verdicts {
			d.printf("<td>%s</td>", against(rows[0], row))
		}
		for _, cell := range row {
			class := "w"
			if number, ok := readable(cell); ok {
				class, cell = "n", number
			} else if len(cell) > mostOnALine {
				class = "t"
			}
			d.printf("<td class=%q>%s</td>", class, svg.Escape(cell))
		}
		d.printf("</tr>\n")
	}
	d.printf("</tbody>\n</table>\n")
}

// mostOnALine is the most bytes of a cell's text that a browser keeps on one line.
const mostOnALine = 36

// readable rounds a decimal number to at most five significant digits. It returns whole and very
// small numbers, and text that is not a number, as they are. ok reports whether cell is a number.
func readable(cell string) (number string, ok bool) {
	v, err := strconv.ParseFloat(cell, 64)
	// A small number would lose its digits.
	if err != nil || !strings.Contains(cell, ".") || math.Abs(v) < 0.001 || math.IsInf(v, 0) || math.IsNaN(v) {
		return cell, err == nil
	}
	decimals := max(0, 4-int(math.Floor(math.Log10(math.Abs(v)))))
	short := strconv.FormatFloat(v, 'f', decimals, 64)
	if len(short) >= len(cell) {
		return cell, true
	}
	return short, true
}

// against returns a drawing of one figure as SVG. The band is a box, and the paper's figure a line in
// the middle. Our figure is a dot, and its confidence interval a whisker. The axis is the ratio to
// the paper's figure, from 0 to 2. names are the headings of row. The result is empty for a figure
// that is not a number.
func against(names, row []string) string {
	// Cells are looked up by the names of their columns, because tables may get further columns.
	cells := map[string]string{}
	for i, n := range names[:min(len(names), len(row))] {
		cells[n] = row[i]
	}
	field := func(name string) (float64, bool) {
		v, err := strconv.ParseFloat(cells[name], 64)
		return v, err == nil
	}
	// The paper's figure is a number or a range, with its unit: 44..68 %. The middle stands for a range.
	number, _, _ := strings.Cut(cells["paper"], " ")
	from, to, ranged := strings.Cut(number, "..")
	paper, err := strconv.ParseFloat(from, 64)
	if ranged && err == nil {
		var high float64
		high, err = strconv.ParseFloat(to, 64)
		paper = (paper + high) / 2
	}
	ours, ok := field("ours")
	if err != nil || !ok || paper == 0 {
		return ""
	}
	// x returns the place of a value on the axis of 160 pixels. The paper's figure is at 80. A value
	// beyond the axis is at its end.
	x := func(v float64) float64 { return 80 * max(0, min(2, v/paper)) }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg width="164" height="18" viewBox="-2 0 164 18" role="img" aria-label="%s">`, svg.Escape(fmt.Sprintf("ours is %.2f times the paper's", ours/paper)))
	// A comparison, or a figure whose band is withdrawn, has no band.
	low, okLow := field("low")
	high, okHigh := field("high")
	if okLow && okHigh {
		from, to := min(x(low), x(high)), max(x(low), x(high))
		fmt.Fprintf(&b, `<rect x="%.1f" y="2" width="%.1f" height="14" fill="#d0d0d0"/>`, from, max(1, to-from))
	}
	b.WriteString(`<path d="M0 9H160" stroke="#888888"/><path d="M80 0V18" stroke="#222222" stroke-width="2"/>`)
	// Only figures of runs with several seeds have a confidence interval.
	least, okLeast := field("ci_low")
	most, okMost := field("ci_high")
	if okLeast && okMost {
		fmt.Fprintf(&b, `<path d="M%.1f 9H%.1fM%.1f 5V13M%.1f 5V13" stroke="#0072b2" stroke-width="1.5"/>`, x(least), x(most), x(least), x(most))
	}
	fmt.Fprintf(&b, `<circle cx="%.1f" cy="9" r="4" fill="#0072b2" stroke="#ffffff"/></svg>`, x(ours))
	return b.String()
}

// Run is the content of a report's section about one run.
type Run struct {
	Model     *view.Model
	Reasons   []*explain.Reason // the reasons of loans; loans without one have an empty cell
	Events    []byte            // the event file, compressed by gzip; nil: too large, or not recorded
	EventFile string            // the file name for the download of Events
}

// Run writes the section of a run: the picture of its slots, tables, curves and, if given, its events.
func (d *Document) Run(r Run) {
	m := r.Model
	d.text("h2", "Policy "+m.Policy)
	run := []view.Named{{Name: m.Policy, Model: m}}
	d.text("p", view.Headline(run)+" "+m.TellPath(m.CriticalPath()))
	d.text("p", svg.Summary(m)+".")
	d.figure(func(w io.Writer) error { return svg.Write(w, run, svg.Options{}) })
	d.text("h3", "Time in each phase")
	d.table(phases(m), false)
	d.text("h3", "Jobs")
	d.rows(m, export.JobTable, mostJobRows, "jobs")
	d.text("h3", "Slots in use and fair share")
	d.figure(func(w io.Writer) error { return svg.Usage(w, run, "") })
	d.text("h3", "Loans and their reasons")
	d.loans(r)
	if len(m.Buffers)+len(m.Spills) > 0 {
		d.text("h3", "kvbuffers")
		d.table(buffers(m), false)
	}
	d.printf("<details><summary>Slots as a table</summary>\n")
	d.rows(m, export.SlotTable, mostSlotRows, "slots")
	d.printf("</details>\n")
	if r.Events != nil {
		name := svg.Escape(r.EventFile)
		// The events are in a data URL, so that the report stays one file. A browser opens such a
		// URL only as a download, which the attribute download asks for.
		d.printf(`<p><a download="%s" href="data:application/gzip;base64,%s">%s</a>: the events of the run. mrlocal explain, replay and ui read this file.</p>`+"\n", name, base64.StdEncoding.EncodeToString(r.Events), name)
	} else {
		d.text("p", "The events of this run are not inside, because they are too large.")
	}
}

const (
	// These bounds on the rows of tables keep the report of a large run small enough for a browser.
	mostJobRows  = 500
	mostLoanRows = 200
	mostSlotRows = 2000
)

// phases returns the table of slot time by phase. Its last rows are the sums of all bars and of the
// bars on lent slots. Phases without time have no row.
func phases(m *view.Model) [][]string {
	rows := [][]string{{"phase", "slot time"}}
	t := m.Totals()
	for p, took := range t.Phases {
		if took > 0 {
			rows = append(rows, []string{trace.Phase(p).String(), view.Words(took)})
		}
	}
	return append(rows, []string{"all", view.Words(t.Busy)}, []string{"on lent slots", view.Words(t.LentTime)})
}

// rows writes the first rows of a table of a run. of is the word for the rows.
func (d *Document) rows(m *view.Model, table func(w io.Writer, m *view.Model) error, most int, of string) {
	var b bytes.Buffer
	d.keep(table(&b, m))
	rows, err := csv.NewReader(&b).ReadAll()
	d.keep(err)
	d.table(rows[:min(len(rows), most+1)], false) // one of the rows is the heading
	d.more(len(rows)-1-most, of)
}

// loans writes a table with a row for each loan and its reason, cut after mostLoanRows rows.
func (d *Document) loans(r Run) {
	m := r.Model
	// A reason and the bar of a loan have the number of the same event.
	reasons := map[uint64]string{}
	for _, x := range r.Reasons {
		reasons[x.Seq] = x.Text
	}
	rows, more := [][]string{{"at", "task", "slot", "home kind", "rule", "why"}}, 0
	lanes := m.Slots
	for i := range m.Bars {
		b := &m.Bars[i]
		switch {
		case !b.Lent:
		case len(rows) > mostLoanRows: // one of the rows is the heading
			more++
		default:
			rows = append(rows, []string{view.Words(b.From), m.TaskName(b), strconv.Itoa(int(b.Slot)), lanes[b.Slot].Home.String(), m.Rules[b.Rule], reasons[b.Seq]})
		}
	}
	if len(rows) == 1 { // only the heading
		d.text("p", "No slot was lent.")
		return
	}
	d.table(rows, false)
	d.more(more, "loans")
}

// more writes how many rows the table above leaves out. It writes nothing if n is not above 0. of is
// the word for the rows.
func (d *Document) more(n int, of string) {
	if n > 0 {
		d.text("p", fmt.Sprintf("Rows left out: %d. The events of the run have all %s.", n, of))
	}
}

// buffers returns a table of one row with sums over all kvbuffers and spills of the run.
func buffers(m *view.Model) [][]string {
	var counts [view.BufferEvict + 1]int
	var largest, spilled int64
	for _, b := range m.Buffers {
		counts[b.Step]++
		if b.Step == view.BufferBegin {
			largest = max(largest, b.Bytes)
		}
		if b.Step == view.BufferGrow {
			largest = max(largest, b.ToBytes)
		}
	}
	for _, s := range m.Spills {
		spilled += s.Bytes
	}
	return [][]string{
		{"kvbuffers", "grew", "were refused", "largest, bytes", "spills", "spilled bytes", "map outputs written to disk"},
		{strconv.Itoa(counts[view.BufferBegin]), strconv.Itoa(counts[view.BufferGrow]), strconv.Itoa(counts[view.BufferRefuse]), strconv.FormatInt(largest, 10),
			strconv.Itoa(len(m.Spills)), strconv.FormatInt(spilled, 10), strconv.Itoa(counts[view.BufferEvict])},
	}
}
