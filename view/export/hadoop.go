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
