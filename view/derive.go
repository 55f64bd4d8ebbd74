package view

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// phaseCount is the number of phases, including trace.PhaseNone.
const phaseCount = int(trace.PhaseHeld) + 1

// Totals are sums over all bars. Tests check that every picture of a run shows the same sums.
type Totals struct {
	Bars, Lent, Speculative int                       // numbers of bars: all, on lent slots, copies
	Ends                    [trace.EndLost + 1]int    // number of bars by How
	Busy, LentTime          time.Duration             // slot time of all bars, and of bars on lent slots
	Phases                  [phaseCount]time.Duration // slot time by phase
}

// Totals returns the sums over all bars. A bar that runs counts up to the last event.
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
	m.EachSegment(func(_ int, s trace.Segment) { t.Phases[s.Phase] += s.To - s.From })
	return t
}

// Until returns the end of a bar, or the time of the last event if it runs.
func (m *Model) Until(b *Bar) time.Duration { return b.Span.Until(m.Last) }

// Makespan returns the time at which the last job ended. Jobs that have not ended do not count.
func (m *Model) Makespan() (last time.Duration) {
	for i := range m.Jobs {
		last = max(last, m.Jobs[i].Finish)
	}
	return last
}

// Responses returns the jobs that succeeded, the shortest response time first.
func (m *Model) Responses() (all []DrawnJob) {
	for i := range m.Jobs {
		if m.Jobs[i].State == slots.Succeeded {
			all = append(all, m.Jobs[i])
		}
	}
	slices.SortStableFunc(all, func(a, b DrawnJob) int { return cmp.Compare(a.Response(), b.Response()) })
	return all
}

// Response returns the time from the submission of a job to its end, or Never.
func (j *DrawnJob) Response() time.Duration {
	if j.Finish < 0 {
		return Never
	}
	return j.Finish - j.Submit
}

// HomeSlots returns the numbers of slots by home kind, without extra slots.
func (m *Model) HomeSlots() (n [trace.Kinds]int32) {
	for _, l := range m.Lanes {
		if !l.Extra {
			n[l.Home]++
		}
	}
	return n
}

// SlotUse has sums over all attempts of a slot.
type SlotUse struct {
	Attempts, Lent int           // number of attempts, and of those the ones while the slot was lent
	Busy, LentTime time.Duration // time of all attempts, and of the ones while the slot was lent
}

// SlotUses returns the use of each slot, by slot number. A bar that runs counts up to the last
// event. The time of a call is in proportion to the number of bars.
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

// EachSegment calls yield with each segment of each bar, as trace.EachSegment does. bar is an index into
// Bars.
func (m *Model) EachSegment(yield func(bar int, s trace.Segment)) {
	phases := func(yield func(trace.PhaseStart) bool) {
		for _, p := range m.Phases {
			// This package does not know the phase of a newer version, so the phase before goes on.
			if int(p.Phase) < phaseCount && !yield(trace.PhaseStart{At: p.At, Span: p.Bar, Phase: p.Phase}) {
				return
			}
		}
	}
	trace.EachSegment(len(m.Bars), func(i int) *trace.Span { return &m.Bars[i].Span }, phases, m.Last, yield)
}

// ByPool reports whether letters and hues should stand for pools instead of jobs. This is so if
// there are more jobs than letters, and several pools, but fewer pools than jobs.
func (m *Model) ByPool() bool {
	return len(m.Jobs) > trace.Letters && len(m.Pools) > 1 && len(m.Pools) < len(m.Jobs)
}

// Group returns the number that decides letter and hue of a job. It is the number of its pool if
// byPool is true, else of the job itself.
func (m *Model) Group(job int32, byPool bool) int32 {
	if byPool {
		return m.Jobs[job].Pool
	}
	return job
}

// TaskName returns the name of a bar's task, such as J01/m/7 or J01/r/0.
func (m *Model) TaskName(b *Bar) string {
	letter := "/m/"
	if b.Kind == trace.Reduce {
		letter = "/r/"
	}
	return m.Jobs[b.Job].Name + letter + strconv.Itoa(int(b.Task))
}
