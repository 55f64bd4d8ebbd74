package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"mrlocal/internal/testkit"
)

// timelineOf records a run that lines describe:
//
//	slots KIND...              per tracker; a "/" begins the next tracker
//	job NAME POOL              jobs count from 0
//	run SLOT JOB KIND FROM TO  an attempt, in seconds; lent if the kind is not the slot's
//	phase SLOT PHASE AT        the attempt on the slot enters a phase
//	done SLOT AT               it ends
//	lost TRACKER AT            closes its slots
//	end AT                     the last event
func timelineOf(t *testing.T, lines []string) *Timeline {
	t.Helper()
	s, line := NewStream(), &Timeline{KeepPhases: true}
	s.Attach(line)
	h := Header{}
	kinds := map[string]Kind{"map": Map, "reduce": Reduce}
	job, on := int32(0), map[int32]Event{} // on: by slot, the start of the latest attempt
	at := func(seconds string) time.Duration {
		d, err := time.ParseDuration(seconds + "s")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	number := func(text string) (n int32) {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, l := range lines {
		w := strings.Fields(l)
		switch w[0] {
		case "slots":
			tracker := int32(0)
			for _, k := range w[1:] {
				if k == "/" {
					tracker++
					continue
				}
				h.Slots = append(h.Slots, Slot{ID: int32(len(h.Slots)), Tracker: tracker, Home: kinds[k]})
			}
			s.Open(h)
		case "job":
			s.Append(Event{Op: OpSubmit, Job: job, Ref: s.Refer(w[1], w[2], "")})
			job++
		case "run":
			e := Event{Op: OpStart, Slot: number(w[1]), Job: number(w[2]), Kind: kinds[w[3]], At: at(w[4])}
			if h.Slots[e.Slot].Home != e.Kind {
				e.Flags = Lent
			}
			if w[len(w)-1] == "copy" {
				e.Flags, w = e.Flags|Speculative, w[:len(w)-1]
			}
			s.Append(e)
			on[e.Slot] = e
			if len(w) > 5 {
				e.Op, e.At = OpFinish, at(w[5])
				s.Append(e)
			}
		case "phase":
			e := on[number(w[1])]
			e.Op, e.Phase, e.At = OpPhase, Phase(slices.Index(phaseNames[:], w[2])), at(w[3])
			s.Append(e)
		case "done":
			e := on[number(w[1])]
			e.Op, e.At, e.Flags = OpFinish, at(w[2]), map[string]Flags{"ok": OK, "killed": Killed}[w[len(w)-1]]
			s.Append(e)
		case "lost":
			s.Append(Event{Op: OpLostTracker, A: int64(number(w[1])), At: at(w[2])})
			for _, slot := range h.Slots {
				if slot.Tracker == number(w[1]) {
					s.Append(Event{Op: OpClose, Slot: slot.ID, At: at(w[2])})
				}
			}
		case "end":
			s.Append(Event{Op: OpSample, At: at(w[1])})
		default:
			t.Fatalf("unknown line %q", l)
		}
	}
	return line
}

// TestTimelines draws runs that timelineOf reads. The last line of a case is "draw gantt" or
// "draw steps", with a time, a width, and for a gantt what has a letter.
func TestTimelines(t *testing.T) {
	datadriven.RunTest(t, "testdata/timeline.txt", func(t *testing.T, d *datadriven.TestData) string {
		lines := strings.Split(strings.TrimSpace(d.String()), "\n")
		draw := strings.Fields(lines[len(lines)-1])
		line := timelineOf(t, lines[:len(lines)-1])
		var b strings.Builder
		var step time.Duration
		var width int
		if len(draw) > 2 {
			step, _ = time.ParseDuration(draw[2])
		}
		if len(draw) > 3 {
			fmt.Sscan(draw[3], &width)
		}
		var err error
		switch draw[1] {
		case "gantt":
			o := GanttOptions{Cell: step, Width: width, Names: line.Name, Word: strings.ToUpper}
			if len(draw) > 4 {
				o.By = map[string]Grouping{"jobs": ByJob, "pools": ByPool, "phases": ByPhase}[draw[4]]
			}
			o.Marks = len(draw) > 5
			o.Colour = len(draw) > 6
			err = line.Gantt(&b, o)
		case "steps":
			err = line.Steps(&b, StepOptions{Step: step, Width: width})
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
}

// Forty jobs have more jobs than letters. They are drawn by pool then, unless the caller asks for
// jobs, or all jobs are in one pool.
func TestTheGanttOfManyJobsIsDrawnByPool(t *testing.T) {
	const want = "pools:  A p0  B p1\n"
	for _, pools := range []int{1, 2, 40} {
		lines := []string{"slots map"}
		for i := range 40 {
			lines = append(lines, fmt.Sprintf("job J%02d p%d", i, i%pools), fmt.Sprintf("run 0 %d map %d %d", i, i, i+1))
		}
		line := timelineOf(t, lines)
		for _, by := range []Grouping{ByDefault, ByJob} {
			var b strings.Builder
			if err := line.Gantt(&b, GanttOptions{Names: line.Name, Width: 60, By: by}); err != nil {
				t.Fatal(err)
			}
			if drawn := strings.Contains(b.String(), "pools:"); drawn != (by == ByDefault && pools == 2) {
				t.Errorf("%d pools, grouping %d: by pool is %v\n%s", pools, by, drawn, b.String())
			}
			if by == ByDefault && pools == 2 && !strings.HasSuffix(b.String(), want) {
				t.Errorf("%d pools: no %q in\n%s", pools, want, b.String())
			}
		}
	}
}

func TestTheGanttOfManyJobs(t *testing.T) {
	lines := []string{"slots map reduce"}
	for i := range 80 {
		lines = append(lines, fmt.Sprintf("job J%02d p", i+1), fmt.Sprintf("run %d %d map %d %d", i%2, i, i/2, i/2+1))
	}
	var b strings.Builder
	line := timelineOf(t, lines)
	if err := line.Gantt(&b, GanttOptions{Names: line.Name}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/gantt-jobs.txt", []byte(b.String()))
	for i, l := range strings.Split(b.String(), "\n") {
		if len(l) > 80 {
			t.Errorf("line %d has %d columns: %s", i+1, len(l), l)
		}
	}
}
