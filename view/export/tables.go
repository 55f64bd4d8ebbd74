package export

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
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
	return []Table{{"tasks.csv", TaskTable}, {"jobs.csv", JobTable}, {"slots.csv", SlotTable}, {"decisions.csv", DecisionTable}, {"counters.csv", CounterTable}}
}

// tableSteps is the most steps of CounterTable. A step is a round time (trace.Round), so there may be
// fewer.
const tableSteps = 100

// table writes a table row by row. It keeps the first error until end.
type table struct {
	w    *csv.Writer
	name string // for the error
}

// newTable writes the heading of a table. The caller then adds the rows, and calls end once.
func newTable(w io.Writer, name string, columns ...string) *table {
	t := &table{csv.NewWriter(w), name}
	_ = t.w.Write(columns) // end returns this error
	return t
}

// row writes a row. Its cells are texts, times, decimals, flags and whole numbers of any type. nil stands for an
// empty cell.
func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case nil:
		case string:
			texts[i] = c
		case time.Duration:
			texts[i] = seconds(c)
		case float64:
			texts[i] = trimmedZeros(strconv.FormatFloat(c, 'f', 3, 64))
		default:
			texts[i] = fmt.Sprint(c)
		}
	}
	_ = t.w.Write(texts) // end returns this error
}

// end writes all buffered rows. It returns the first error of any row, with the name of the table.
func (t *table) end() error {
	t.w.Flush()
	return errs.About("write "+t.name, t.w.Error())
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
	m.EachSegment(func(bar int, s trace.Segment) { phases[bar][s.Phase] += s.To - s.From })
	spills, spilled := make([]int64, len(m.Bars)), make([]int64, len(m.Bars))
	for _, s := range m.Spills {
		spills[s.Bar]++
		spilled[s.Bar] += s.Bytes
	}
	lanes := m.Slots
	for i := range m.Bars {
		b := &m.Bars[i]
		p := &phases[i]
		t.row(b.Seq, m.Jobs[b.Job].Name, m.Pools[m.Jobs[b.Job].Pool].Name, b.Kind, b.Task, b.N, b.Slot, lanes[b.Slot].Tracker,
			lanes[b.Slot].Home, b.From, b.To, b.How, b.Lent, b.Speculative, m.Rules[b.Rule], b.InBytes, b.OutBytes, b.CopyBytes,
			b.CPU, p[trace.PhaseCompute], p[trace.PhaseIO], p[trace.PhaseCopy], p[trace.PhaseHeld], p[trace.PhaseSort],
			p[trace.PhaseReduce], spills[i], spilled[i])
	}
	return t.end()
}

// JobTable writes a row for each job, in the order of submission. JobTable fails if w does.
func JobTable(w io.Writer, m *view.Model) error {
	t := newTable(w, "jobs.csv", "job", "pool", "user", "state", "submit_s", "start_s", "maps_done_s", "finish_s", "response_s", "deadline_s", "maps", "reduces")
	for i := range m.Jobs {
		j := &m.Jobs[i]
		t.row(j.Name, m.Pools[j.Pool].Name, j.User, j.State, j.Submit, j.Start, j.MapsDone, j.Finish, j.Response(), j.Deadline, j.Maps, j.Reduces)
	}
	return t.end()
}

// ResponseTable writes a row for each job of each run that succeeded, the shortest response time first. The last column
// is the share of the run's jobs that took at most this time. ResponseTable fails if w does.
func ResponseTable(w io.Writer, runs []view.Named) error {
	t := newTable(w, "response times", "run", "job", "response_s", "share")
	for _, r := range runs {
		for i, j := range r.Model.Responses() {
			t.row(r.Name, j.Name, j.Response(), float64(i+1)/float64(len(r.Model.Jobs)))
		}
	}
	return t.end()
}

// SlotTable writes a row for each slot, in the order of rows in a picture. Column core is -1 if the
// thread of a slot is not bound. SlotTable fails if w does.
func SlotTable(w io.Writer, m *view.Model) error {
	t := newTable(w, "slots.csv", "slot", "tracker", "core", "home", "extra", "attempts", "lent_attempts", "busy_s", "lent_s")
	uses := m.SlotUses()
	for _, l := range m.Lanes {
		u := &uses[l.ID]
		t.row(l.ID, l.Tracker, l.Core, l.Home, l.Extra, u.Attempts, u.Lent, u.Busy, u.LentTime)
	}
	return t.end()
}

// DecisionTable writes a row for each row of Model.Decisions. Cells for a slot, job or attempt are
// empty if the decision is not about one. DecisionTable fails if w does.
func DecisionTable(w io.Writer, m *view.Model) error {
	t := newTable(w, "decisions.csv", "seq", "time_s", "decision", "rule", "slot", "job", "kind", "task", "attempt", "lent")
	for i := range m.Decisions {
		d := &m.Decisions[i]
		cells := []any{d.Seq, d.At, d.Op, m.Rules[d.Rule], nil, nil, nil, nil, nil, nil}
		if d.Slot >= 0 {
			cells[4] = d.Slot
		}
		if d.Job >= 0 {
			cells[5] = m.Jobs[d.Job].Name
		}
		if d.Bar >= 0 {
			b := &m.Bars[d.Bar]
			copy(cells[6:], []any{b.Kind, b.Task, b.N, b.Lent})
		}
		t.row(cells...)
	}
	return t.end()
}

// CounterTable writes a row for each pool and step of time. A row begins with averages over the step,
// in slots: use, fair share and demand. A share by kind is empty if the policy has none. Hadoop's counters of attempts
// at the end of the step follow. The sums of the last rows of all pools equal the counters in the report. CounterTable
// fails if w does.
func CounterTable(w io.Writer, m *view.Model) error {
	t := newTable(w, "counters.csv", counterColumns()...)
	t.counters(m, m.Sharing)
	return t.end()
}

// UsageTable writes the rows of CounterTable for each run, after the name of the run. If the policies define fair
// shares in different ways, all rows have those of view.Yardstick. UsageTable fails if w does.
func UsageTable(w io.Writer, runs []view.Named) error {
	t := newTable(w, "usage", append([]string{"run"}, counterColumns()...)...)
	for _, r := range runs {
		t.counters(r.Model, cmp.Or(view.Yardstick(runs), r.Model.Sharing), r.Name)
	}
	return t.end()
}

func counterColumns() []string {
	return append(strings.Fields("time_s pool running_maps running_reduces share_maps share_reduces demand_maps demand_reduces "+hadoopColumns), "share")
}

// counters writes the rows of CounterTable for a run, with fair shares by that definition. Each begins with the cells
// of before.
func (t *table) counters(m *view.Model, sharing slots.Sharing, before ...any) {
	if m.Last == 0 {
		return
	}
	step := trace.Round(m.Last, tableSteps)
	steps := int((m.Last + step - 1) / step)
	c := m.Curves(0, step*time.Duration(steps), steps, sharing)
	h := hadoopCounters{m: m, pools: make([][trace.Kinds]hadoopAttempts, len(c.Pools))}
	for i := range c.Steps {
		at := c.From + time.Duration(i)*c.Step
		h.until(at+c.Step, i == c.Steps-1) // the last step also counts events exactly at its end
		for n, p := range c.Pools {
			name := "(others)"
			if p.Pool >= 0 {
				name = m.Pools[p.Pool].Name
			}
			cells := append(slices.Clone(before), at, name)
			for _, values := range [][trace.Kinds][]float64{p.Use, p.ShareOf, p.Demand} {
				cells = append(cells, valueAt(values[trace.Map], i), valueAt(values[trace.Reduce], i))
			}
			t.row(append(append(cells, hadoopCells(&h.pools[n])...), valueAt(p.Share, i))...)
		}
	}
}

// valueAt returns value i of a curve; nil: there is no such curve.
func valueAt(values []float64, i int) any {
	if values == nil {
		return nil
	}
	return values[i]
}

// hadoopAttempts has the counts of attempts of one kind. Attempts that run are not in the times.
type hadoopAttempts struct {
	launched, speculative, preScheduled, failed, killed int64
	slots, lent                                         time.Duration // slot time of all attempts, and of the ones on lent slots
}

// hadoopColumns has the names of Hadoop's counters of attempts, as in the report.
const hadoopColumns = "TOTAL_LAUNCHED_MAPS TOTAL_LAUNCHED_REDUCES SPECULATIVE_MAPS SPECULATIVE_REDUCES PRESCHEDULED_MAPS " +
	"FAILED_MAPS FAILED_REDUCES KILLED_MAPS KILLED_REDUCES SLOTS_MILLIS_MAPS SLOTS_MILLIS_REDUCES " +
	"BORROWED_MAP_SLOT_MILLIS BORROWED_REDUCE_SLOT_MILLIS"

// hadoopCells returns the values of hadoopColumns for a pool. A borrowed map slot runs a reduce, so its time
// comes from the reduces.
func hadoopCells(pool *[trace.Kinds]hadoopAttempts) []any {
	m, r := &pool[trace.Map], &pool[trace.Reduce]
	return []any{
		m.launched, r.launched, m.speculative, r.speculative, m.preScheduled, m.failed, r.failed, m.killed, r.killed,
		m.slots.Milliseconds(), r.slots.Milliseconds(), r.lent.Milliseconds(), m.lent.Milliseconds(),
	}
}

// hadoopCounters counts the attempts of a model in the order of time.
type hadoopCounters struct {
	m            *view.Model
	begun, ended int                           // bars and ends that are counted so far
	pools        [][trace.Kinds]hadoopAttempts // as many as there are curves
}

// pool returns the counts for the pool and kind of an attempt. All further pools share the last
// element, as they share the last curve.
func (h *hadoopCounters) pool(b *view.Bar) *hadoopAttempts {
	return &h.pools[min(int(h.m.Jobs[b.Job].Pool), len(h.pools)-1)][b.Kind]
}

// until counts the starts and ends before a time. If last is set, it counts all that are left.
func (h *hadoopCounters) until(at time.Duration, last bool) {
	for ; h.begun < len(h.m.Bars) && (last || h.m.Bars[h.begun].From < at); h.begun++ {
		b := &h.m.Bars[h.begun]
		c := h.pool(b)
		c.launched++
		if b.Speculative {
			c.speculative++
		}
		if h.m.Rules[b.Rule] == string(trace.RulePreScheduled) {
			c.preScheduled++
		}
	}
	for ; h.ended < len(h.m.Ends) && (last || h.m.Ends[h.ended].At < at); h.ended++ {
		b := &h.m.Bars[h.m.Ends[h.ended].Bar]
		c := h.pool(b)
		switch b.How {
		case trace.EndFailed:
			c.failed++
		case trace.EndKilled, trace.EndLost:
			c.killed++
		}
		c.slots += b.To - b.From
		if b.Lent {
			c.lent += b.To - b.From
		}
	}
}
