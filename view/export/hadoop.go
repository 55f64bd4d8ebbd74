package export

import (
	"time"

	"mrlocal/trace"
	"mrlocal/view"
)

// hadoopAttempts has the counts of attempts of one kind. Attempts that run are not in the times.
type hadoopAttempts struct {
	launched, speculative, preScheduled, failed, killed int64
	slots, lent                                         time.Duration // slot time of all attempts, and of the ones on lent slots
}

// hadoopColumn is a column with one of Hadoop's counters.
type hadoopColumn struct {
	name string
	of   func(maps, reduces *hadoopAttempts) int64
}

// hadoopAttemptColumns returns the columns of Hadoop's counters of attempts. Their names are those in
// the report. A borrowed map slot runs a reduce, so its time comes from the reduces.
func hadoopAttemptColumns() []hadoopColumn {
	return []hadoopColumn{
		{"TOTAL_LAUNCHED_MAPS", func(m, _ *hadoopAttempts) int64 { return m.launched }},
		{"TOTAL_LAUNCHED_REDUCES", func(_, r *hadoopAttempts) int64 { return r.launched }},
		{"SPECULATIVE_MAPS", func(m, _ *hadoopAttempts) int64 { return m.speculative }},
		{"SPECULATIVE_REDUCES", func(_, r *hadoopAttempts) int64 { return r.speculative }},
		{"PRESCHEDULED_MAPS", func(m, _ *hadoopAttempts) int64 { return m.preScheduled }},
		{"FAILED_MAPS", func(m, _ *hadoopAttempts) int64 { return m.failed }},
		{"FAILED_REDUCES", func(_, r *hadoopAttempts) int64 { return r.failed }},
		{"KILLED_MAPS", func(m, _ *hadoopAttempts) int64 { return m.killed }},
		{"KILLED_REDUCES", func(_, r *hadoopAttempts) int64 { return r.killed }},
		{"SLOTS_MILLIS_MAPS", func(m, _ *hadoopAttempts) int64 { return m.slots.Milliseconds() }},
		{"SLOTS_MILLIS_REDUCES", func(_, r *hadoopAttempts) int64 { return r.slots.Milliseconds() }},
		{"BORROWED_MAP_SLOT_MILLIS", func(_, r *hadoopAttempts) int64 { return r.lent.Milliseconds() }},
		{"BORROWED_REDUCE_SLOT_MILLIS", func(m, _ *hadoopAttempts) int64 { return m.lent.Milliseconds() }},
	}
}

// hadoopColumns returns the names of the columns.
func hadoopColumns() (names []string) {
	for _, c := range hadoopAttemptColumns() {
		names = append(names, c.name)
	}
	return names
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
