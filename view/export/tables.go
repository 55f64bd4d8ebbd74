package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mrlocal/trace"
	"mrlocal/view"
)

// Table is a CSV file and the function that writes its content.
type Table struct {
	Name  string // name of the file
	Write func(w io.Writer, m *view.Model) error
}

// Tables returns all tables: attempts, slots, decisions, and counters of each pool at each step of
// time. Times are in seconds from the start of the run, with at most nine decimals. A field is empty
// if it has no value. Later versions may add columns at the end.
func Tables() []Table {
	return []Table{{"tasks.csv", TaskTable}, {"slots.csv", SlotTable}, {"decisions.csv", DecisionTable}, {"counters.csv", CounterTable}}
}

// tableSteps is the most steps of CounterTable. A step is a round time (trace.Round), so there may be
// fewer.
const tableSteps = 100

// table writes a table row by row. It keeps the first error until end. Most methods add one cell to
// the current row, in the order of the columns.
type table struct {
	w    *csv.Writer
	name string   // for the error
	row  []string // the current row
}

// newTable writes the heading of a table. The caller then adds the cells of each row, ends each row
// with done, and calls end once.
func newTable(w io.Writer, name string, columns ...string) *table {
	t := &table{w: csv.NewWriter(w), name: name}
	_ = t.w.Write(columns) // end returns this error
	return t
}

func (t *table) text(s string)           { t.row = append(t.row, s) }
func (t *table) number(n int64)          { t.text(strconv.FormatInt(n, 10)) }
func (t *table) decimal(v float64)       { t.text(trimmedZeros(strconv.FormatFloat(v, 'f', 3, 64))) }
func (t *table) seconds(d time.Duration) { t.text(seconds(d)) }
func (t *table) flag(on bool)            { t.text(strconv.FormatBool(on)) }
func (t *table) done()                   { _ = t.w.Write(t.row); t.row = t.row[:0] } // ends the row

// end writes all buffered rows. It returns the first error of any row, with the name of the table.
func (t *table) end() error {
	t.w.Flush()
	if err := t.w.Error(); err != nil {
		return fmt.Errorf("write %s: %w", t.name, err)
	}
	return nil
}

// seconds returns a time in seconds, such as 12.5; "" for view.Never.
func seconds(d time.Duration) string {
	if d < 0 {
		return ""
	}
	return trimmedZeros(fmt.Sprintf("%d.%09d", d/time.Second, d%time.Second))
}

// trimmedZeros removes the zeros at the end of a decimal fraction. text must have a decimal point.
func trimmedZeros(text string) string { return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") }

// TaskTable writes a row for each attempt, in the order of their starts. If an attempt still runs, its
// last phase counts up to the last event. TaskTable fails if w does.
func TaskTable(w io.Writer, m *view.Model) error {
	t := newTable(w, "tasks.csv", "seq", "job", "pool", "kind", "task", "attempt", "slot", "tracker", "home", "start_s", "end_s", "state", "lent", "speculative", "rule",
		"in_bytes", "out_bytes", "copy_bytes", "cpu_s", "compute_s", "io_s", "copy_s", "held_s", "sort_s", "reduce_s", "spills", "spilled_bytes")
	phases := make([][trace.PhaseHeld + 1]time.Duration, len(m.Bars))
	m.EachSegment(func(bar int, s view.Segment) { phases[bar][s.Phase] += s.To - s.From })
	spills, spilled := make([]int64, len(m.Bars)), make([]int64, len(m.Bars))
	for _, s := range m.Spills {
		spills[s.Bar]++
		spilled[s.Bar] += s.Bytes
	}
	lanes := bySlot(m)
	for i := range m.Bars {
		b := &m.Bars[i]
		t.number(int64(b.Seq))
		t.text(m.Jobs[b.Job].Name)
		t.text(m.Pools[m.Jobs[b.Job].Pool].Name)
		t.text(b.Kind.String())
		for _, n := range []int32{b.Task, b.N, b.Slot, lanes[b.Slot].Tracker} {
			t.number(int64(n))
		}
		t.text(lanes[b.Slot].Home.String())
		t.seconds(b.From)
		t.seconds(b.To)
		t.text(b.How.String())
		t.flag(b.Lent)
		t.flag(b.Speculative)
		t.text(m.Rules[b.Rule])
		for _, n := range []int64{b.InBytes, b.OutBytes, b.CopyBytes} {
			t.number(n)
		}
		t.seconds(b.CPU)
		for _, p := range []trace.Phase{trace.PhaseCompute, trace.PhaseIO, trace.PhaseCopy, trace.PhaseHeld, trace.PhaseSort, trace.PhaseReduce} {
			t.seconds(phases[i][p])
		}
		t.number(spills[i])
		t.number(spilled[i])
		t.done()
	}
	return t.end()
}

// bySlot returns the lanes by slot number. m.Lanes is in the order of rows in a picture.
func bySlot(m *view.Model) []view.Lane {
	lanes := make([]view.Lane, len(m.Lanes))
	for _, l := range m.Lanes {
		lanes[l.Slot] = l
	}
	return lanes
}

// SlotTable writes a row for each slot, in the order of rows in a picture. Column core is -1 if the
// thread of a slot is not bound. SlotTable fails if w does.
func SlotTable(w io.Writer, m *view.Model) error {
	t := newTable(w, "slots.csv", "slot", "tracker", "core", "home", "extra", "attempts", "lent_attempts", "busy_s", "lent_s")
	uses := m.SlotUses()
	for _, l := range m.Lanes {
		u := &uses[l.Slot]
		for _, n := range []int32{l.Slot, l.Tracker, l.Core} {
			t.number(int64(n))
		}
		t.text(l.Home.String())
		t.flag(l.Extra)
		t.number(int64(u.Attempts))
		t.number(int64(u.Lent))
		t.seconds(u.Busy)
		t.seconds(u.LentTime)
		t.done()
	}
	return t.end()
}

// DecisionTable writes a row for each row of Model.Decisions. Cells for a slot, job or attempt are
// empty if the decision is not about one. DecisionTable fails if w does.
func DecisionTable(w io.Writer, m *view.Model) error {
	t := newTable(w, "decisions.csv", "seq", "time_s", "decision", "rule", "slot", "job", "kind", "task", "attempt", "lent")
	for i := range m.Decisions {
		d := &m.Decisions[i]
		t.number(int64(d.Seq))
		t.seconds(d.At)
		t.text(d.Op.String())
		t.text(m.Rules[d.Rule])
		if d.Slot >= 0 {
			t.number(int64(d.Slot))
		} else {
			t.text("")
		}
		if d.Job >= 0 {
			t.text(m.Jobs[d.Job].Name)
		} else {
			t.text("")
		}
		if d.Bar >= 0 {
			b := &m.Bars[d.Bar]
			t.text(b.Kind.String())
			t.number(int64(b.Task))
			t.number(int64(b.N))
			t.flag(b.Lent)
		} else {
			t.row = append(t.row, "", "", "", "") // kind, task, attempt, lent
		}
		t.done()
	}
	return t.end()
}

// CounterTable writes a row for each pool and step of time. A row begins with averages over the step,
// in slots: use, fair share and demand. Hadoop's counters of attempts at the end of the step
// follow. The sums of the last rows of all pools equal the counters in the report. CounterTable
// fails if w does.
func CounterTable(w io.Writer, m *view.Model) error {
	t := newTable(w, "counters.csv", append([]string{
		"time_s", "pool", "running_maps", "running_reduces", "share_maps", "share_reduces", "demand_maps", "demand_reduces",
	}, hadoopColumns()...)...)
	if m.Last > 0 { // a run without events has only the heading
		step := trace.Round(m.Last, tableSteps)
		steps := int((m.Last + step - 1) / step)
		c := m.Curves(0, step*time.Duration(steps), steps)
		h := hadoopCounters{m: m, pools: make([][trace.Kinds]hadoopAttempts, len(c.Pools))}
		for i := range c.Steps {
			at := c.From + time.Duration(i)*c.Step
			h.until(at+c.Step, i == c.Steps-1) // the last step also counts events exactly at its end
			for n, p := range c.Pools {
				t.seconds(at)
				name := "(others)"
				if p.Pool >= 0 {
					name = m.Pools[p.Pool].Name
				}
				t.text(name)
				for _, values := range [][trace.Kinds][]float64{p.Use, p.Share, p.Demand} {
					t.decimal(values[trace.Map][i])
					t.decimal(values[trace.Reduce][i])
				}
				for _, column := range hadoopAttemptColumns() {
					t.number(column.of(&h.pools[n][trace.Map], &h.pools[n][trace.Reduce]))
				}
				t.done()
			}
		}
	}
	return t.end()
}
