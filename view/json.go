package view

import (
	"encoding/json"
	"sort"
	"strconv"
	"time"
	"unicode/utf8"

	"mrlocal/trace"
)

// jsonSchema is the version of the format that AppendJSON writes.
const jsonSchema = 1

// AppendJSON appends the model to dst as a JSON object, and returns the longer slice. The tables
// are written column by column. They have only the rows of events after number from; 0: all rows.
// Tables grow only at their ends. So a reader that appends the columns of each answer to its own
// gets the whole model. Times are integers in nanoseconds; -1: the event has not happened.
// docs/formats.md describes the fields.
func (m *Model) AppendJSON(dst []byte, from uint64) []byte {
	w := writer{b: dst}
	w.b = append(w.b, `{"kind":"mrlocal-view","schema":`...)
	w.b = strconv.AppendInt(w.b, jsonSchema, 10)
	w.text(`,"policy":`, m.Policy)
	w.b = strconv.AppendUint(append(w.b, `,"seed":`...), m.Seed, 10)
	w.b = strconv.AppendUint(append(w.b, `,"from":`...), from, 10)
	w.b = strconv.AppendUint(append(w.b, `,"seq":`...), m.Seq, 10)
	w.number(`,"last":`, int64(m.Last))
	w.flag(`,"ended":`, m.Ended)
	w.number(`,"dropped":`, int64(m.Dropped))
	m.appendNames(&w)
	m.appendJobs(&w, from)
	m.appendBars(&w, from)
	m.appendDetails(&w, from)
	return append(w.b, '}')
}

// appendNames appends lanes, pools and the lists of words, whatever from is. Tables have indexes
// into these lists instead of words.
func (m *Model) appendNames(w *writer) {
	w.b = append(w.b, `,"lanes":[`...)
	for i, l := range m.Lanes {
		w.comma(i)
		w.number(`{"slot":`, int64(l.Slot))
		w.number(`,"tracker":`, int64(l.Tracker))
		w.number(`,"core":`, int64(l.Core))
		w.text(`,"home":`, l.Home.String())
		w.flag(`,"extra":`, l.Extra)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, `],"pools":[`...)
	for i, p := range m.Pools {
		w.comma(i)
		w.text(`{"name":`, p.Name)
		w.number(`,"weight":`, p.WeightPPM)
		w.number(`,"min_maps":`, int64(p.MinMaps))
		w.number(`,"min_reduces":`, int64(p.MinReduces))
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
	w.words("rules", m.Rules)
	w.words("ops", names(trace.Ops))
	w.words("phases", names(trace.Phase(phaseCount)))
	w.words("hows", names(trace.EndLost+1))
	w.words("steps", stepNames[:])
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

// appendJobs appends the jobs that have changed after event number from, with all their fields.
func (m *Model) appendJobs(w *writer, from uint64) {
	w.b = append(w.b, `,"jobs":[`...)
	n := 0
	for i := range m.Jobs {
		j := &m.Jobs[i]
		if j.Changed <= from {
			continue
		}
		w.comma(n) // n counts the jobs that are written; i is the number of the job
		n++
		w.number(`{"job":`, int64(i))
		w.text(`,"name":`, j.Name)
		w.text(`,"user":`, j.User)
		w.number(`,"pool":`, int64(j.Pool))
		for _, f := range []struct {
			name string
			at   time.Duration
		}{{`,"submit":`, j.Submit}, {`,"start":`, j.Start}, {`,"maps_done":`, j.MapsDone}, {`,"finish":`, j.Finish}, {`,"deadline":`, j.Deadline}} {
			w.number(f.name, int64(f.at))
		}
		w.text(`,"state":`, j.State.String())
		for _, f := range []struct {
			name string
			n    int32
		}{
			{`,"maps":`, j.Maps}, {`,"reduces":`, j.Reduces}, {`,"maps_finished":`, j.Finished[trace.Map]}, {`,"reduces_finished":`, j.Finished[trace.Reduce]},
			{`,"running_maps":`, j.Running[trace.Map]}, {`,"running_reduces":`, j.Running[trace.Reduce]},
		} {
			w.number(f.name, int64(f.n))
		}
		w.flag(`,"gate":`, j.GateOpen)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}

// after returns the rows of a table whose event number is above from. seq returns this number. The
// result shares memory with rows.
func after[R any](rows []R, from uint64, seq func(r *R) uint64) []R {
	return rows[sort.Search(len(rows), func(i int) bool { return seq(&rows[i]) > from }):]
}

// columnOf is a column of a table: its name, and a function that returns its value in a row.
type columnOf[R any] struct {
	name  string
	value func(r *R) int64
}

// columns appends a table, column by column.
func columns[R any](w *writer, name string, rows []R, all ...columnOf[R]) {
	w.b = append(append(append(w.b, `,"`...), name...), `":{`...)
	for i, c := range all {
		w.comma(i)
		w.b = append(append(append(w.b, '"'), c.name...), `":[`...)
		for k := range rows {
			w.comma(k)
			w.b = strconv.AppendInt(w.b, c.value(&rows[k]), 10)
		}
		w.b = append(w.b, ']')
	}
	w.b = append(w.b, '}')
}

// appendBars appends the bars, ends, phases and decisions after number from. The values of a bar
// that are known only at its end are columns of the ends.
func (m *Model) appendBars(w *writer, from uint64) {
	columns(w, "bars", after(m.Bars, from, func(b *Bar) uint64 { return b.Seq }),
		columnOf[Bar]{"seq", func(b *Bar) int64 { return int64(b.Seq) }},
		columnOf[Bar]{"slot", func(b *Bar) int64 { return int64(b.Slot) }},
		columnOf[Bar]{"job", func(b *Bar) int64 { return int64(b.Job) }},
		columnOf[Bar]{"kind", func(b *Bar) int64 { return int64(b.Kind) }},
		columnOf[Bar]{"task", func(b *Bar) int64 { return int64(b.Task) }},
		columnOf[Bar]{"n", func(b *Bar) int64 { return int64(b.N) }},
		columnOf[Bar]{"from", func(b *Bar) int64 { return int64(b.From) }},
		columnOf[Bar]{"lent", func(b *Bar) int64 { return bit(b.Lent) }},
		columnOf[Bar]{"moved", func(b *Bar) int64 { return bit(b.Moved) }},
		columnOf[Bar]{"speculative", func(b *Bar) int64 { return bit(b.Speculative) }},
		columnOf[Bar]{"rule", func(b *Bar) int64 { return int64(b.Rule) }})
	columns(w, "ends", after(m.Ends, from, func(e *End) uint64 { return e.Seq }),
		columnOf[End]{"seq", func(e *End) int64 { return int64(e.Seq) }},
		columnOf[End]{"bar", func(e *End) int64 { return int64(e.Bar) }},
		columnOf[End]{"at", func(e *End) int64 { return int64(e.At) }},
		columnOf[End]{"how", func(e *End) int64 { return int64(e.How) }},
		columnOf[End]{"in_bytes", func(e *End) int64 { return m.Bars[e.Bar].InBytes }},
		columnOf[End]{"out_bytes", func(e *End) int64 { return m.Bars[e.Bar].OutBytes }},
		columnOf[End]{"copy_bytes", func(e *End) int64 { return m.Bars[e.Bar].CopyBytes }},
		columnOf[End]{"cpu", func(e *End) int64 { return int64(m.Bars[e.Bar].CPU) }})
	columns(w, "phase_starts", after(m.Phases, from, func(p *PhaseStart) uint64 { return p.Seq }),
		columnOf[PhaseStart]{"seq", func(p *PhaseStart) int64 { return int64(p.Seq) }},
		columnOf[PhaseStart]{"bar", func(p *PhaseStart) int64 { return int64(p.Bar) }},
		columnOf[PhaseStart]{"at", func(p *PhaseStart) int64 { return int64(p.At) }},
		columnOf[PhaseStart]{"phase", func(p *PhaseStart) int64 { return int64(p.Phase) }})
	columns(w, "decisions", after(m.Decisions, from, func(d *Decision) uint64 { return d.Seq }),
		columnOf[Decision]{"seq", func(d *Decision) int64 { return int64(d.Seq) }},
		columnOf[Decision]{"at", func(d *Decision) int64 { return int64(d.At) }},
		columnOf[Decision]{"op", func(d *Decision) int64 { return int64(d.Op) }},
		columnOf[Decision]{"job", func(d *Decision) int64 { return int64(d.Job) }},
		columnOf[Decision]{"slot", func(d *Decision) int64 { return int64(d.Slot) }},
		columnOf[Decision]{"bar", func(d *Decision) int64 { return int64(d.Bar) }},
		columnOf[Decision]{"rule", func(d *Decision) int64 { return int64(d.Rule) }})
}

// appendDetails appends the other tables after number from: spills, kvbuffers, copies, statuses,
// use of the process and lost trackers.
func (m *Model) appendDetails(w *writer, from uint64) {
	columns(w, "spills", after(m.Spills, from, func(s *Spill) uint64 { return s.Seq }),
		columnOf[Spill]{"seq", func(s *Spill) int64 { return int64(s.Seq) }},
		columnOf[Spill]{"bar", func(s *Spill) int64 { return int64(s.Bar) }},
		columnOf[Spill]{"from", func(s *Spill) int64 { return int64(s.From) }},
		columnOf[Spill]{"to", func(s *Spill) int64 { return int64(s.To) }},
		columnOf[Spill]{"bytes", func(s *Spill) int64 { return s.Bytes }},
		columnOf[Spill]{"records", func(s *Spill) int64 { return s.Records }})
	columns(w, "buffers", after(m.Buffers, from, func(b *Buffer) uint64 { return b.Seq }),
		columnOf[Buffer]{"seq", func(b *Buffer) int64 { return int64(b.Seq) }},
		columnOf[Buffer]{"bar", func(b *Buffer) int64 { return int64(b.Bar) }},
		columnOf[Buffer]{"at", func(b *Buffer) int64 { return int64(b.At) }},
		columnOf[Buffer]{"step", func(b *Buffer) int64 { return int64(b.Step) }},
		columnOf[Buffer]{"bytes", func(b *Buffer) int64 { return b.Bytes }},
		columnOf[Buffer]{"to_bytes", func(b *Buffer) int64 { return b.ToBytes }})
	columns(w, "fetches", after(m.Fetches, from, func(f *Fetch) uint64 { return f.Seq }),
		columnOf[Fetch]{"seq", func(f *Fetch) int64 { return int64(f.Seq) }},
		columnOf[Fetch]{"bar", func(f *Fetch) int64 { return int64(f.Bar) }},
		columnOf[Fetch]{"at", func(f *Fetch) int64 { return int64(f.At) }},
		columnOf[Fetch]{"map", func(f *Fetch) int64 { return int64(f.Map) }},
		columnOf[Fetch]{"maps", func(f *Fetch) int64 { return int64(f.Maps) }},
		columnOf[Fetch]{"bytes", func(f *Fetch) int64 { return f.Bytes }})
	// columns writes only numbers, so the column of texts is added here. It replaces the brace that
	// columns has written last. Few runs have statuses, so other runs have no such table.
	if said := after(m.Statuses, from, func(s *Status) uint64 { return s.Seq }); len(said) > 0 {
		columns(w, "statuses", said,
			columnOf[Status]{"seq", func(s *Status) int64 { return int64(s.Seq) }},
			columnOf[Status]{"bar", func(s *Status) int64 { return int64(s.Bar) }},
			columnOf[Status]{"at", func(s *Status) int64 { return int64(s.At) }})
		w.b = append(w.b[:len(w.b)-1], `,"text":[`...)
		for i := range said {
			w.comma(i)
			w.b = appendText(w.b, said[i].Text)
		}
		w.b = append(w.b, `]}`...)
	}
	columns(w, "usage", after(m.Usages, from, func(u *Usage) uint64 { return u.Seq }),
		columnOf[Usage]{"seq", func(u *Usage) int64 { return int64(u.Seq) }},
		columnOf[Usage]{"at", func(u *Usage) int64 { return int64(u.At) }},
		columnOf[Usage]{"cpu", func(u *Usage) int64 { return int64(u.CPU) }},
		columnOf[Usage]{"memory_bytes", func(u *Usage) int64 { return u.MemoryBytes }},
		columnOf[Usage]{"temp_bytes", func(u *Usage) int64 { return u.TempBytes }})
	columns(w, "losses", after(m.Losses, from, func(l *Loss) uint64 { return l.Seq }),
		columnOf[Loss]{"seq", func(l *Loss) int64 { return int64(l.Seq) }},
		columnOf[Loss]{"at", func(l *Loss) int64 { return int64(l.At) }},
		columnOf[Loss]{"tracker", func(l *Loss) int64 { return int64(l.Tracker) }})
}

// AppendJSON appends the curves to dst as a JSON object, and returns the longer slice. Values have at
// most three decimals.
func (c *Curves) AppendJSON(dst []byte) []byte {
	w := writer{b: dst}
	w.number(`{"from":`, int64(c.From))
	w.number(`,"step":`, int64(c.Step))
	w.number(`,"steps":`, int64(c.Steps))
	w.number(`,"slots":{"map":`, int64(c.Slots[trace.Map]))
	w.number(`,"reduce":`, int64(c.Slots[trace.Reduce]))
	w.b = append(w.b, `},"pools":[`...)
	for i, p := range c.Pools {
		w.comma(i)
		w.number(`{"pool":`, int64(p.Pool))
		w.decimals(`,"maps":`, p.Use[trace.Map])
		w.decimals(`,"reduces":`, p.Use[trace.Reduce])
		w.decimals(`,"share_maps":`, p.Share[trace.Map])
		w.decimals(`,"share_reduces":`, p.Share[trace.Reduce])
		w.decimals(`,"demand_maps":`, p.Demand[trace.Map])
		w.decimals(`,"demand_reduces":`, p.Demand[trace.Reduce])
		w.b = append(w.b, '}')
	}
	w.decimals(`],"lent_map_slots":`, c.Lent[trace.Map])
	w.decimals(`,"lent_reduce_slots":`, c.Lent[trace.Reduce])
	return append(w.b, '}')
}

// AppendJSON appends the matrix to dst as a JSON object, and returns the longer slice.
func (x *Matrix) AppendJSON(dst []byte) []byte {
	w := writer{b: dst}
	w.number(`{"job":`, int64(x.Job))
	w.number(`,"maps":`, int64(x.Maps))
	w.number(`,"reduces":`, int64(x.Reduces))
	w.number(`,"rows":`, int64(x.Rows))
	w.number(`,"columns":`, int64(x.Columns))
	w.flag(`,"measured":`, x.Measured)
	w.b = append(w.b, `,"cells":[`...)
	for i, c := range x.Cells {
		w.comma(i)
		w.b = append(w.b, `{"done":`...)
		w.b = appendDecimal(w.b, c.Done)
		w.number(`,"bytes":`, c.Bytes)
		w.b = append(w.b, '}')
	}
	return append(w.b, `]}`...)
}

// writer appends JSON to b. The name argument of its methods has the comma, quotes and colon that
// belong to it. A page asks for the model often, and encoding/json would be slower, because it uses
// reflection.
type writer struct{ b []byte }

// comma writes a comma before all but the first element.
func (w *writer) comma(i int) {
	if i > 0 {
		w.b = append(w.b, ',')
	}
}

// number writes a name and an integer.
func (w *writer) number(name string, n int64) {
	w.b = strconv.AppendInt(append(w.b, name...), n, 10)
}

// flag writes a name and true or false.
func (w *writer) flag(name string, on bool) {
	w.b = strconv.AppendBool(append(w.b, name...), on)
}

// text writes a name and a quoted text.
func (w *writer) text(name, text string) {
	w.b = appendText(append(w.b, name...), text)
}

// words writes a list of quoted texts.
func (w *writer) words(name string, words []string) {
	w.b = append(append(append(w.b, `,"`...), name...), `":[`...)
	for i, word := range words {
		w.comma(i)
		w.b = appendText(w.b, word)
	}
	w.b = append(w.b, ']')
}

// decimals writes a list of numbers with at most three decimals.
func (w *writer) decimals(name string, values []float64) {
	w.b = append(append(w.b, name...), '[')
	for i, v := range values {
		w.comma(i)
		w.b = appendDecimal(w.b, v)
	}
	w.b = append(w.b, ']')
}

// appendText appends a JSON string. It escapes <, > and & too, because the text may stand in a page.
func appendText(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil || !utf8.Valid(quoted) { // this never happens: json.Marshal accepts every string
		return append(dst, `""`...)
	}
	return append(dst, quoted...)
}

// appendDecimal appends a number with at most three decimals, and no zeros at its end.
func appendDecimal(dst []byte, v float64) []byte {
	dst = strconv.AppendFloat(dst, v, 'f', 3, 64)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	if dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// bit returns a flag as a number, for columns.
func bit(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
