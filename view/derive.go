package view

import (
	"time"

	"mrlocal/trace"
)

// phaseCount is how many phases there are, trace.PhaseNone among them.
const phaseCount = int(trace.PhaseHeld) + 1

// Totals are what all pictures of a run have to agree on.
type Totals struct {
	Bars, Lent, Speculative int
	Ends                    [LostWithTracker + 1]int // bars by How
	Busy, LentTime          time.Duration            // slot-time; of a bar that runs, up to the last event
	Phases                  [phaseCount]time.Duration
}

// Totals adds up all bars.
func (m *Model) Totals() Totals {
	t := Totals{Bars: len(m.Bars)}
	for i := range m.Bars {
		b := &m.Bars[i]
		took := m.Until(b) - b.From
		t.Busy += took
		t.Ends[b.How]++
		if b.Lent {
			t.Lent++
			t.LentTime += took
		}
		if b.Speculative {
			t.Speculative++
		}
	}
	m.EachSegment(func(_ int, s Segment) { t.Phases[s.Phase] += s.To - s.From })
	return t
}

// Until returns the end of a bar, or the time of the last event if it runs.
func (m *Model) Until(b *Bar) time.Duration {
	if b.To < 0 {
		return m.Last
	}
	return b.To
}

// SlotUse is what a slot ran in the whole run.
type SlotUse struct {
	Attempts, Lent int // Lent: of these, on loan
	Busy, LentTime time.Duration
}

// SlotUses returns an element for each slot, by its number. It passes over all bars.
func (m *Model) SlotUses() []SlotUse {
	uses := make([]SlotUse, len(m.Lanes))
	for i := range m.Bars {
		b := &m.Bars[i]
		u := &uses[b.Slot]
		u.Attempts++
		u.Busy += m.Until(b) - b.From
		if b.Lent {
			u.Lent++
			u.LentTime += m.Until(b) - b.From
		}
	}
	return uses
}

// Segment is a part of a bar in one phase, from From up to but without To.
type Segment struct {
	From, To time.Duration
	Phase    trace.Phase
}

// EachSegment calls yield with the segments of all bars. The segments of one bar come in
// order and cover it; those of several bars may be mixed.
func (m *Model) EachSegment(yield func(bar int, s Segment)) {
	// Phases are in the order of time over all bars, so each bar needs its own last one.
	type begun struct {
		at    time.Duration
		phase trace.Phase
	}
	in := make([]begun, len(m.Bars))
	for i := range m.Bars {
		in[i] = begun{m.Bars[i].From, m.Bars[i].Kind.FirstPhase()}
	}
	end := func(bar int, to time.Duration) {
		if at := in[bar].at; to > at {
			yield(bar, Segment{at, to, in[bar].phase})
		}
	}
	for i := range m.Phases {
		p := &m.Phases[i]
		// An event of a phase that this package does not know belongs to the phase before.
		if int(p.Phase) >= phaseCount {
			continue
		}
		end(int(p.Bar), p.At)
		in[p.Bar] = begun{p.At, p.Phase}
	}
	for i := range m.Bars {
		end(i, m.Until(&m.Bars[i]))
	}
}

// Round returns the least round time (1, 2, 2.5 or 5 times a power of ten) with which the
// given number of parts covers whole. Axes have their ticks at its multiples.
func Round(whole time.Duration, parts int) time.Duration {
	whole = min(whole, 1<<62) // beyond it, which only a hostile file is, sums overflow
	least := max(1, (whole+time.Duration(parts)-1)/time.Duration(parts))
	for unit := time.Duration(1); ; unit *= 10 {
		for _, c := range []time.Duration{unit, 2 * unit, 5 * unit / 2, 5 * unit} {
			if c >= least {
				return c
			}
		}
	}
}

// hues are the colours of Okabe and Ito, which colour-blind people can tell apart. Job or
// pool i has hues[i % len(hues)].
var hues = [...]string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#7A7A7A"}

// Hue returns the colour of job or pool i.
func Hue(i int32) string { return hues[int(i)%len(hues)] }

// HueIndex returns which of the HueCount colours job or pool i has.
func HueIndex(i int32) int { return int(i) % len(hues) }

// HueCount is how many colours there are.
const HueCount = len(hues)

// ByPool reports whether letters and hues should be those of pools: there are more jobs
// than letters, and fewer pools than jobs.
func (m *Model) ByPool() bool {
	return len(m.Jobs) > trace.Letters && len(m.Pools) > 1 && len(m.Pools) < len(m.Jobs)
}

// Group returns the number of the job, or of its pool if ByPool says so.
func (m *Model) Group(job int32, byPool bool) int32 {
	if byPool {
		return m.Jobs[job].Pool
	}
	return job
}

// TaskName returns a bar's task as J01/m/7.
func (m *Model) TaskName(b *Bar) string {
	letter := "/m/"
	if b.Kind == trace.Reduce {
		letter = "/r/"
	}
	return m.Jobs[b.Job].Name + letter + itoa(int64(b.Task))
}
