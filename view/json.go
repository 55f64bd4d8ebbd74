package view

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"mrlocal/slots"
	"mrlocal/trace"
)

// jsonSchema is the version of the format that AppendJSON writes.
const jsonSchema = 1

// AppendJSON appends the model to dst as a JSON object, and returns the longer slice. The tables
// are written column by column. They have only the rows of events after number from; 0: all rows.
// Tables grow only at their ends. So a reader that appends the columns of each answer to its own
// gets the whole model. Times are integers in nanoseconds; -1: the event has not happened.
func (m *Model) AppendJSON(dst []byte, from uint64) []byte {
	fields := []any{
		"kind", "mrlocal-view", "schema", jsonSchema, "policy", m.Policy, "sharing", m.Sharing.String(), "own_slowstart", m.ownSlowstart, "seed", m.Seed, "from", from, "seq", m.Seq,
		"last", m.Last, "ended", m.Ended, "dropped", m.Dropped,
	}
	fields = append(fields, m.names()...)
	fields = append(fields, "jobs", m.changedJobs(from))
	fields = append(fields, m.barTables(from)...)
	return object(dst, append(fields, m.detailTables(from)...)...)
}

// names returns lanes, pools and the lists of words, whatever from is. Tables have indexes into these
// lists instead of words.
func (m *Model) names() []any {
	var lanes, pools list
	for _, l := range m.Lanes {
		lanes = append(lanes, []any{"slot", l.ID, "tracker", l.Tracker, "core", l.Core, "home", l.Home.String(), "extra", l.Extra})
	}
	for _, p := range m.Pools {
		pools = append(pools, []any{"name", p.Name, "weight", int64(p.Weight), "min_maps", p.MinMaps, "min_reduces", p.MinReduces})
	}
	var occurring []string
	for id := range SignCount {
		if m.Occurs(id) {
			occurring = append(occurring, signs[id].Name)
		}
	}
	return []any{
		"signs", occurring, "config", m.config, "lanes", lanes, "pools", pools, "rules", m.Rules, "ops", names(trace.Ops), "phases", names(trace.Phase(phaseCount)),
		"hows", names(trace.EndLost + 1), "steps", stepNames[:],
	}
}

// names returns the names of the numbers below n.
func names[T interface {
	~uint8
	String() string
}](n T) (all []string) {
	for i := range n {
		all = append(all, i.String())
	}
	return all
}

// changedJobs returns the jobs that have changed after event number from, with all their fields.
func (m *Model) changedJobs(from uint64) (jobs list) {
	for i := range m.Jobs {
		j := &m.Jobs[i]
		if j.Changed <= from {
			continue
		}
		after, _ := json.Marshal(j.After) // never fails: it has numbers only
		jobs = append(jobs, []any{
			"job", i, "name", j.Name, "user", j.User, "pool", j.Pool,
			"submit", j.Submit, "start", j.Start, "maps_done", j.MapsDone, "finish", j.Finish, "deadline", j.Deadline,
			"state", j.State.String(), "maps", j.Maps, "reduces", j.Reduces, "sealed", j.Sealed,
			"priority", j.Priority, "weight", j.Weight, "after", columns(after), "due", j.Due,
			"maps_finished", j.Finished[trace.Map], "reduces_finished", j.Finished[trace.Reduce],
			"running_maps", j.Running[trace.Map], "running_reduces", j.Running[trace.Reduce], "gate", j.GateOpen,
		})
	}
	return jobs
}

// columns is a table in JSON, column by column.
type columns []byte

// table returns the rows of a table whose event number is above from. names has the names of the columns, with
// spaces between. row appends the values of a row to v. The first of them is the event number.
func table[R any](rows []R, from uint64, names string, row func(v []int64, r *R) []int64) columns {
	var v []int64
	rows = rows[sort.Search(len(rows), func(i int) bool { return uint64(row(v[:0], &rows[i])[0]) > from }):]
	var texts [][]byte // by column
	for _, name := range strings.Fields(names) {
		texts = append(texts, []byte(`"`+name+`":[`))
	}
	for i := range rows {
		v = row(v[:0], &rows[i])
		for column, n := range v {
			texts[column] = strconv.AppendInt(comma(texts[column], i), n, 10)
		}
	}
	text := columns{'{'}
	for i, column := range texts {
		text = append(append(comma(text, i), column...), ']')
	}
	return append(text, '}')
}

// barTables returns the bars, ends, phases and decisions after number from. The values of a bar that
// are known only at its end are columns of the ends.
func (m *Model) barTables(from uint64) []any {
	return []any{
		"bars", table(m.Bars, from, "seq slot job kind task n from lent moved speculative rule", func(v []int64, b *Bar) []int64 {
			v = append(v, int64(b.Seq), int64(b.Slot), int64(b.Job), int64(b.Kind), int64(b.Task), int64(b.N), int64(b.From))
			return append(v, Bit(b.Lent), Bit(b.Moved), Bit(b.Speculative), int64(b.Rule))
		}),
		"ends", table(m.Ends, from, "seq bar at how done in_bytes out_bytes copy_bytes cpu", func(v []int64, e *End) []int64 {
			b := &m.Bars[e.Bar]
			return append(v, int64(e.Seq), int64(e.Bar), int64(e.At), int64(e.How), Bit(b.Done), b.InBytes, b.OutBytes, b.CopyBytes, int64(b.CPU))
		}),
		"recounts", table(m.recounts(from), from, "seq at job kind n", func(v []int64, c *change) []int64 {
			return append(v, int64(c.seq), int64(c.at), int64(c.id), int64(c.kind), int64(c.n))
		}),
		"phase_starts", table(m.Phases, from, "seq bar at phase", func(v []int64, p *PhaseStart) []int64 {
			return append(v, int64(p.Seq), int64(p.Bar), int64(p.At), int64(p.Phase))
		}),
		"decisions", table(m.Decisions, from, "seq at op job slot bar rule", func(v []int64, d *Decision) []int64 {
			return append(v, int64(d.Seq), int64(d.At), int64(d.Op), int64(d.Job), int64(d.Slot), int64(d.Bar), int64(d.Rule))
		}),
	}
}

// recounts returns the changes after number from of the tasks that are done without an attempt, or not done any more.
func (m *Model) recounts(from uint64) (all []change) {
	first := sort.Search(len(m.changes), func(i int) bool { return m.changes[i].seq > from })
	for _, c := range m.changes[first:] {
		if c.what == changeDone {
			all = append(all, c)
		}
	}
	return all
}

// detailTables returns the other tables after number from: spills, kvbuffers, copies, statuses, use of
// the process and lost trackers.
func (m *Model) detailTables(from uint64) []any {
	fields := []any{
		"spills", table(m.Spills, from, "seq bar from to bytes records", func(v []int64, s *Spill) []int64 {
			return append(v, int64(s.Seq), int64(s.Bar), int64(s.From), int64(s.To), s.Bytes, s.Records)
		}),
		"buffers", table(m.Buffers, from, "seq bar at step bytes to_bytes", func(v []int64, b *Buffer) []int64 {
			return append(v, int64(b.Seq), int64(b.Bar), int64(b.At), int64(b.Step), b.Bytes, b.ToBytes)
		}),
		"fetches", table(m.Fetches, from, "seq bar at map maps bytes", func(v []int64, f *Fetch) []int64 {
			return append(v, int64(f.Seq), int64(f.Bar), int64(f.At), int64(f.Map), int64(f.Maps), f.Bytes)
		}),
	}
	// A table has only numbers, so the column of texts is added here, before the last brace. Few runs have
	// statuses, so other runs have no such table.
	var said []string
	statuses := table(m.Statuses, from, "seq bar at", func(v []int64, s *Status) []int64 {
		return append(v, int64(s.Seq), int64(s.Bar), int64(s.At))
	})
	for _, s := range m.Statuses {
		if s.Seq > from {
			said = append(said, s.Text)
		}
	}
	if len(said) > 0 {
		text := value(append(statuses[:len(statuses)-1], `,"text":`...), said)
		fields = append(fields, "statuses", columns(append(text, '}')))
	}
	return append(fields,
		"usage", table(m.Usages, from, "seq at cpu memory_bytes temp_bytes bound_bytes", func(v []int64, u *Usage) []int64 {
			return append(v, int64(u.Seq), int64(u.At), int64(u.CPU), u.MemoryBytes, u.TempBytes, u.BoundBytes)
		}),
		"losses", table(m.Losses, from, "seq at tracker", func(v []int64, l *Loss) []int64 {
			return append(v, int64(l.Seq), int64(l.At), int64(l.Tracker))
		}))
}

// AppendJSON appends the curves to dst as a JSON object, and returns the longer slice. Values have at
// most three decimals.
func (c *Curves) AppendJSON(dst []byte) []byte {
	var pools list
	for _, p := range c.Pools {
		pools = append(pools, []any{
			"pool", p.Pool, "maps", p.Use[trace.Map], "reduces", p.Use[trace.Reduce], "share", p.Share,
			"share_maps", p.ShareOf[trace.Map], "share_reduces", p.ShareOf[trace.Reduce], "demand_maps", p.Demand[trace.Map], "demand_reduces", p.Demand[trace.Reduce],
		})
	}
	slots := columns(object(nil, "map", c.Slots[trace.Map], "reduce", c.Slots[trace.Reduce]))
	return object(dst, "from", c.From, "step", c.Step, "steps", c.Steps, "sharing", c.Sharing.String(), "definition", c.Definition(), "slots", slots, "pools", pools,
		"lent_map_slots", c.Lent[trace.Map], "lent_reduce_slots", c.Lent[trace.Reduce])
}

// AppendShortfalls appends the times in which pools were below their fair shares to dst as a JSON object, and
// returns the longer slice.
func (m *Model) AppendShortfalls(dst []byte, sharing slots.Sharing) []byte {
	all, large := m.Shortfalls(sharing)
	var times list
	for _, s := range all {
		times = append(times, []any{"pool", s.Pool, "from", s.From, "to", s.To, "slots", columns(appendDecimal(nil, s.Slots))})
	}
	return object(dst, "large", large, "times", times)
}

// AppendPath appends the critical path to dst as a JSON object, with its links and in words, and returns the
// longer slice.
func (m *Model) AppendPath(dst []byte) []byte {
	path := m.CriticalPath()
	var links list
	for _, l := range path {
		links = append(links, []any{"bar", l.Bar, "cause", l.Cause.String(), "ready", l.Ready})
	}
	return object(dst, "links", links, "text", m.TellPath(path))
}

// AppendJSON appends the matrix to dst as a JSON object, and returns the longer slice.
func (x *Matrix) AppendJSON(dst []byte) []byte {
	cells := columns{'['}
	for i, c := range x.Cells {
		cells = appendDecimal(append(comma(cells, i), `{"done":`...), c.Done)
		cells = append(strconv.AppendInt(append(cells, `,"bytes":`...), c.Bytes, 10), '}')
	}
	return object(dst, "job", x.Job, "maps", x.Maps, "reduces", x.Reduces, "rows", x.Rows, "columns", x.Columns,
		"measured", x.Measured, "cells", append(cells, ']'))
}

// list is a list of objects, each with names and values in turn.
type list [][]any

// object appends an object to dst. fields has names and values in turn. A page asks for the model often, and
// encoding/json would be slower for its tables.
func object(dst []byte, fields ...any) []byte {
	dst = append(dst, '{')
	for i := 0; i < len(fields); i += 2 {
		dst = append(append(append(comma(dst, i), '"'), fields[i].(string)...), `":`...)
		dst = value(dst, fields[i+1])
	}
	return append(dst, '}')
}

// value appends a text, a flag, a list, a table or a whole number of any type to dst.
func value(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return appendText(dst, v)
	case bool:
		return strconv.AppendBool(dst, v)
	case columns:
		return append(dst, v...)
	case []string:
		return items(dst, v, appendText)
	case []float64:
		return items(dst, v, appendDecimal)
	case list:
		return items(dst, v, func(dst []byte, fields []any) []byte { return object(dst, fields...) })
	}
	return fmt.Appendf(dst, "%d", v)
}

// items appends a list to dst.
func items[T any](dst []byte, all []T, add func(dst []byte, one T) []byte) []byte {
	dst = append(dst, '[')
	for i, one := range all {
		dst = add(comma(dst, i), one)
	}
	return append(dst, ']')
}

// comma appends a comma to dst before all but the first element.
func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// appendText appends a JSON string. It escapes <, > and & too, because the text may stand in a page.
func appendText(dst []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // never fails: it accepts every string
	return append(dst, quoted...)
}

// appendDecimal appends a number with at most three decimals.
func appendDecimal(dst []byte, v float64) []byte {
	return strconv.AppendFloat(dst, math.Round(v*1000)/1000, 'f', -1, 64)
}

// Bit returns a flag as a number, for columns.
func Bit(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
