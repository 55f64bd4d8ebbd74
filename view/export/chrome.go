// Package export writes a run for other programs. Chrome writes a trace for Perfetto and
// chrome://tracing, and Metrics the text format of Prometheus. Tables writes CSV for spreadsheets,
// R and pandas.
package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/trace"
	"mrlocal/view"
)

// mostFlows bounds the arrows of a job. If a job has more pairs of map and reduce, each map has only
// one arrow.
const mostFlows = 5000

// mostCounted bounds the pools that have counters.
const mostCounted = 32

// Chrome writes a model to w in Chrome's "Trace Event Format", as an object with traceEvents. Each slot
// is a track. Attempts and their phases are slices. Arrows lead from maps to the reduces that copy
// their output. Pools have counters. Trackers are processes and slots are threads, both numbered from
// 1. Times are in microseconds with three decimals, which is exact. Chrome fails if w does.
func Chrome(w io.Writer, m *view.Model) error {
	t := &chromeWriter{w: bufio.NewWriterSize(w, 64<<10), m: m, lane: m.Slots}
	t.w.WriteString(`{"displayTimeUnit":"ms","otherData":{"policy":` + quoted(m.Policy) + `},"traceEvents":[`)
	t.metadata()
	t.slices()
	t.spills()
	t.flows()
	t.counters()
	t.w.WriteString("\n]}\n")
	return errs.About("write trace", t.w.Flush())
}

// chromeWriter writes events of the format. Its bufio.Writer keeps the first error until Flush.
type chromeWriter struct {
	w     *bufio.Writer
	m     *view.Model
	lane  []trace.Slot // by slot number
	began bool         // an event is written, so the next one needs a comma
}

// event writes one event. ph is its phase in the format, such as X for a slice. pid and tid are the
// numbers of process and thread. fields are further fields as JSON, each with a comma before it.
func (t *chromeWriter) event(ph, name string, pid, tid int32, at time.Duration, fields string) {
	if t.began {
		t.w.WriteByte(',')
	}
	t.began = true
	fmt.Fprintf(t.w, "\n"+`{"ph":"%s","name":%s,"pid":%d,"tid":%d,"ts":%s%s}`, ph, quoted(name), pid, tid, micros(at), fields)
}

// on writes an event on the track of a bar.
func (t *chromeWriter) on(b *view.Bar, ph, name string, at time.Duration, fields string) {
	t.event(ph, name, t.lane[b.Slot].Tracker+1, b.Slot+1, at, fields)
}

// metadata writes the names of processes and tracks, and their order: that of rows in a picture.
func (t *chromeWriter) metadata() {
	for i, l := range t.m.Lanes {
		if i == 0 || t.m.Lanes[i-1].Tracker != l.Tracker { // the first slot of a tracker
			t.event("M", "process_name", l.Tracker+1, 0, 0, fmt.Sprintf(`,"args":{"name":"tracker %d"}`, l.Tracker))
			t.event("M", "process_sort_index", l.Tracker+1, 0, 0, fmt.Sprintf(`,"args":{"sort_index":%d}`, l.Tracker))
		}
		name := fmt.Sprintf("%s slot %d", l.Home, l.ID)
		if l.Extra {
			name = "extra " + name
		}
		t.event("M", "thread_name", l.Tracker+1, l.ID+1, 0, `,"args":{"name":`+quoted(name)+`}`)
		t.event("M", "thread_sort_index", l.Tracker+1, l.ID+1, 0, fmt.Sprintf(`,"args":{"sort_index":%d}`, i))
	}
}

// slices writes the attempts, and their phases inside of them.
func (t *chromeWriter) slices() {
	for i := range t.m.Bars {
		b := &t.m.Bars[i]
		category := b.Kind.String()
		if b.Lent {
			category += ",lent"
		}
		args := fmt.Sprintf(`,"dur":%s,"cat":"%s","args":{"job":%s,"pool":%s,"attempt":%d,"lent":%t,"speculative":%t,"rule":%s,"state":"%s","in_bytes":%d,"out_bytes":%d,"cpu_ms":%s,"seq":%d}`,
			micros(t.m.Until(b)-b.From), category, quoted(t.m.Jobs[b.Job].Name), quoted(t.m.Pools[t.m.Jobs[b.Job].Pool].Name), b.N, b.Lent, b.Speculative, quoted(t.m.Rules[b.Rule]), b.How,
			b.InBytes, b.OutBytes, strconv.FormatFloat(float64(b.CPU)/1e6, 'f', 3, 64), b.Seq)
		t.on(b, "X", t.letter(b)+" "+t.m.TaskName(b), b.From, args)
	}
	// If an attempt and its phase start at the same time, a viewer needs the attempt first. So all
	// phases come after all attempts.
	t.m.EachSegment(func(bar int, s trace.Segment) {
		t.on(&t.m.Bars[bar], "X", s.Phase.String(), s.From, fmt.Sprintf(`,"dur":%s,"cat":"phase"`, micros(s.To-s.From)))
	})
}

// letter returns the letter of a bar's job or pool, as pictures show it, but after Z come AA, AB, and so on. Perfetto
// takes the colour of a slice from its name without digits, so names that differ only in digits need it.
func (t *chromeWriter) letter(b *view.Bar) (text string) {
	for n := t.m.Group(b.Job, t.m.ByPool()); n >= 0; n = n/26 - 1 {
		text = string(trace.Letter(n%26, b.Lent || b.Moved)) + text
	}
	return text
}

// spills writes spills as asynchronous slices, because a spill may last into the next phase. It
// writes changes of kvbuffers as instants.
func (t *chromeWriter) spills() {
	for i, s := range t.m.Spills {
		b := &t.m.Bars[s.Bar]
		id := fmt.Sprintf(`,"cat":"spill","id":"s%d"`, i)
		t.on(b, "b", "spill", s.From, id+fmt.Sprintf(`,"args":{"bytes":%d,"records":%d}`, s.Bytes, s.Records))
		t.on(b, "e", "spill", s.To, id)
	}
	for _, s := range t.m.Buffers {
		t.on(&t.m.Bars[s.Bar], "i", "kvbuffer "+s.Step.String(), s.At, fmt.Sprintf(`,"s":"t","args":{"bytes":%d,"to_bytes":%d}`, s.Bytes, s.ToBytes))
	}
}

// flows writes an arrow from each committed map to the reduces that copy its output.
func (t *chromeWriter) flows() {
	reduces := make([][]int32, len(t.m.Jobs)) // by job: bars of reduces that run or have succeeded
	maps := make([]int, len(t.m.Jobs))        // by job: number of bars of maps that have succeeded
	counts := func(b *view.Bar) bool { return b.How == trace.EndOK || b.How == trace.EndNone }
	for i := range t.m.Bars {
		b := &t.m.Bars[i]
		switch {
		case !counts(b):
		case b.Kind == trace.Reduce:
			reduces[b.Job] = append(reduces[b.Job], int32(i))
		case b.How == trace.EndOK:
			maps[b.Job]++
		}
	}
	id := 0
	for i := range t.m.Bars {
		b := &t.m.Bars[i]
		if b.Kind != trace.Map || b.How != trace.EndOK || b.To == b.From {
			continue
		}
		to := reduces[b.Job]
		if maps[b.Job]*len(to) > mostFlows { // too many arrows: one for each map, spread over the reduces
			at := int(b.Task) % len(to)
			to = to[at : at+1]
		}
		for _, r := range to {
			// The arrow leads from the end of the map to the reduce, but not to a time before the
			// reduce has started.
			reduce := &t.m.Bars[r]
			at := max(b.To, reduce.From)
			if at >= t.m.Until(reduce) { // the reduce ended before this attempt of the map
				continue
			}
			fields := fmt.Sprintf(`,"cat":"shuffle","id":%d`, id)
			id++
			// A viewer attaches an arrow to the slice that contains its time. The end of a slice is
			// not inside of it, so the arrow starts a nanosecond earlier.
			t.on(b, "s", "shuffle", b.To-1, fields)
			t.on(reduce, "f", "shuffle", at, fields+`,"bp":"e"`)
		}
	}
}

// counters writes use and fair share of each pool, lent slots, and the memory of the process. They
// belong to process 0, which is not a tracker.
func (t *chromeWriter) counters() {
	t.event("M", "process_name", 0, 0, 0, `,"args":{"name":"pools and process"}`)
	switch {
	case t.m.Last <= 0:
		return
	case !t.m.ManyShares():
		t.pools()
	}
	for _, u := range t.m.Usages {
		t.event("C", "memory", 0, 0, u.At, fmt.Sprintf(`,"args":{"buffers":%d,"temporary files":%d}`, u.MemoryBytes, u.TempBytes))
	}
}

// pools writes the counters of the pools and of lent slots.
func (t *chromeWriter) pools() {
	var before []view.Standing // a counter is written when it changes
	lentBefore := [trace.Kinds]int32{-1, -1}
	sharing := t.m.Sharing
	t.m.EachStanding(sharing, func(at time.Duration, now []view.Standing, lent [trace.Kinds]int32) {
		for p := range now[:min(len(now), mostCounted)] {
			name, s := t.m.Pools[p].Name, &now[p]
			if before == nil || s.Use != before[p].Use {
				t.event("C", "slots of "+name, 0, 0, at, fmt.Sprintf(`,"args":{"maps":%d,"reduces":%d}`, s.Use[trace.Map], s.Use[trace.Reduce]))
			}
			if before != nil && s.Share == before[p].Share && s.ShareOf == before[p].ShareOf {
				continue
			}
			switch sharing {
			case slots.PerKind:
				t.event("C", "fair share of "+name, 0, 0, at, fmt.Sprintf(`,"args":{"maps":%s,"reduces":%s}`, decimal(s.ShareOf[trace.Map]), decimal(s.ShareOf[trace.Reduce])))
			case slots.Together:
				t.event("C", "fair share of "+name, 0, 0, at, fmt.Sprintf(`,"args":{"slots":%s}`, decimal(s.Share)))
			}
		}
		if lent != lentBefore {
			t.event("C", "lent slots", 0, 0, at, fmt.Sprintf(`,"args":{"map":%d,"reduce":%d}`, lent[trace.Map], lent[trace.Reduce]))
		}
		before, lentBefore = append(before[:0], now...), lent
	})
}

// micros returns a time in microseconds with three decimals.
func micros(d time.Duration) string {
	return fmt.Sprintf("%d.%03d", d/1000, d%1000)
}

// decimal returns a number with three decimals.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// quoted returns text as a JSON string.
func quoted(text string) string {
	b, _ := json.Marshal(text) // never fails: it accepts every string
	return string(b)
}
