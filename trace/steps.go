package trace

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Timeline is a Sink that keeps who held which slot from when to when, for
// gantts and counts. An attempt takes 32 bytes, far less than its events.
type Timeline struct {
	Slots []Slot
	End   time.Duration // time of the last event

	spans []span
	away  []bool   // by slot: its home kind is another than at first
	open  []int32  // by slot: index into spans of the attempt that runs there; -1: none
	jobs  int32    // greatest job number and one
	names []string // by job
	pool  []int32  // by job: index into pools
	pools []string // in the order of their first jobs
}

// span is an attempt's time on a slot.
type span struct {
	from, to  time.Duration // to < 0: not over yet
	slot, job int32
	kind      Kind
	lent      bool
}

// NewTimeline returns an empty timeline of the slots of h, which may be nil
// where the stream will tell.
func NewTimeline(h *Header) *Timeline {
	t := &Timeline{}
	if h != nil {
		_ = t.Open(h) // never fails
	}
	return t
}

// Open is called by the stream before the first event.
func (t *Timeline) Open(h *Header) error {
	t.Slots = h.Slots
	t.away = make([]bool, len(h.Slots))
	t.open = slices.Repeat([]int32{-1}, len(h.Slots))
	return nil
}

// Record implements Sink.
func (t *Timeline) Record(s *Stream, e *Event) error {
	if e.Op == OpSubmit {
		if texts := s.Texts(e.Ref); len(texts) > 1 {
			t.submit(e.Job, texts[0], texts[1])
		}
	}
	t.add(e)
	return nil
}

func (t *Timeline) submit(job int32, name, pool string) {
	for int32(len(t.names)) <= job {
		t.names, t.pool = append(t.names, ""), append(t.pool, -1)
	}
	t.names[job] = name
	i := slices.Index(t.pools, pool)
	if i < 0 {
		i = len(t.pools)
		t.pools = append(t.pools, pool)
	}
	t.pool[job] = int32(i)
}

// add books an event. A tracker that is lost closes its slots, which ends what
// ran there.
func (t *Timeline) add(e *Event) {
	t.End = max(t.End, e.At)
	if e.Op == OpHome && e.Slot >= 0 && int(e.Slot) < len(t.away) {
		t.away[e.Slot] = e.Kind != t.Slots[e.Slot].Home
	}
	if e.Op != OpStart && e.Op != OpFinish && e.Op != OpClose || e.Slot < 0 || int(e.Slot) >= len(t.open) {
		return
	}
	if at := t.open[e.Slot]; at >= 0 {
		t.spans[at].to = e.At
		t.open[e.Slot] = -1
	}
	if e.Op == OpStart {
		t.jobs = max(t.jobs, e.Job+1)
		t.open[e.Slot] = int32(len(t.spans))
		t.spans = append(t.spans, span{from: e.At, to: -1, slot: e.Slot, job: e.Job, kind: e.Kind, lent: e.Has(Lent) || t.away[e.Slot]})
	}
}

func (t *Timeline) until(s *span) time.Duration {
	if s.to < 0 {
		return t.End
	}
	return s.to
}

// Name is a job's name, "" for one that was not submitted.
func (t *Timeline) Name(job int32) string {
	if int(job) < len(t.names) {
		return t.names[job]
	}
	return ""
}

// StepOptions are how the counts of a timeline are written.
type StepOptions struct {
	Step  time.Duration            // 0: a round time, for 10 to 25 steps; Fig. 5 has 10 s
	Width int                      // columns of a line; 0: 80. Pools that do not fit are summed up as "others"
	Word  func(name string) string // how a pool's name is shown; nil: as it is
}

const (
	fewSteps   = 25
	countWidth = len("reduces")
)

// Steps writes, per step of time and pool, how many maps and reduces run at the
// step's start: the numbers that Fig. 5 of seed 000 plots. Steps count from 1,
// as there; what ends just when a step starts is not counted, what starts then
// is.
func (t *Timeline) Steps(w io.Writer, o StepOptions) error {
	if o.Step <= 0 {
		o.Step = cellFor(t.End, fewSteps)
	}
	if o.Width <= 0 {
		o.Width = defaultGanttWidth
	}
	if o.Word == nil {
		o.Word = func(name string) string { return name }
	}
	counts := t.counts(o.Step)
	table := stepTable{times: make([]string, len(counts)), counts: counts}
	for i := range counts {
		table.times[i] = (time.Duration(i) * o.Step).String()
	}
	for _, p := range t.pools {
		table.pools = append(table.pools, o.Word(p))
	}
	table.fold(o.Width)
	if _, err := io.WriteString(w, table.text()); err != nil {
		return fmt.Errorf("write steps: %w", err)
	}
	return nil
}

// poolCounts are running attempts by kind, by pool.
type poolCounts [][Kinds]int

// counts are the running attempts at the start of each step.
func (t *Timeline) counts(step time.Duration) []poolCounts {
	steps := int((t.End + step - 1) / step)
	counts := make([]poolCounts, steps)
	for i := range counts {
		counts[i] = make(poolCounts, len(t.pools))
	}
	for i := range t.spans {
		s := &t.spans[i]
		if int(s.job) >= len(t.pool) || t.pool[s.job] < 0 {
			continue
		}
		for c := int((s.from + step - 1) / step); c < steps && time.Duration(c)*step < t.until(s); c++ {
			counts[c][t.pool[s.job]][s.kind]++
		}
	}
	return counts
}

// stepTable is the counts as they are written.
type stepTable struct {
	times  []string
	pools  []string
	counts []poolCounts
}

func (t *stepTable) head() int {
	longest := len("time")
	for _, s := range t.times {
		longest = max(longest, len(s))
	}
	return len("step") + 2 + longest
}

// poolWidth is how wide a pool's two columns are.
func poolWidth(name string) int {
	return max(2+len("maps")+2+countWidth, 2+utf8.RuneCountInString(name))
}

// fold sums up the pools that do not fit the width.
func (t *stepTable) fold(width int) {
	used, fit := t.head(), 0
	for fit < len(t.pools) && used+poolWidth(t.pools[fit]) <= width {
		used += poolWidth(t.pools[fit])
		fit++
	}
	if fit == len(t.pools) {
		return
	}
	others := func(kept int) string { return fmt.Sprintf("%d others", len(t.pools)-kept) }
	for fit > 1 && used+poolWidth(others(fit)) > width {
		fit--
		used -= poolWidth(t.pools[fit])
	}
	fit = max(1, fit)
	for i, c := range t.counts {
		var sum [Kinds]int
		for _, p := range c[fit:] {
			sum[Map] += p[Map]
			sum[Reduce] += p[Reduce]
		}
		t.counts[i] = append(c[:fit:fit], sum)
	}
	t.pools = append(t.pools[:fit:fit], others(fit))
}

func (t *stepTable) text() string {
	var b strings.Builder
	head := t.head()
	line := strings.Repeat(" ", head)
	for _, p := range t.pools {
		line += strings.Repeat(" ", poolWidth(p)-utf8.RuneCountInString(p)) + p
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	fmt.Fprintf(&b, "step  %*s", head-len("step  "), "time")
	for _, p := range t.pools {
		fmt.Fprintf(&b, "%*s  %*s", poolWidth(p)-2-countWidth, "maps", countWidth, "reduces")
	}
	b.WriteByte('\n')
	for i, c := range t.counts {
		fmt.Fprintf(&b, "%4d  %*s", i+1, head-len("step  "), t.times[i])
		for j, p := range t.pools {
			fmt.Fprintf(&b, "%*d  %*d", poolWidth(p)-2-countWidth, c[j][Map], countWidth, c[j][Reduce])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
