package trace

import (
	"fmt"
	"io"
	"strings"
	"time"

	"mrlocal/internal/errs"
)

// StepOptions say how to write the counts of a timeline.
type StepOptions struct {
	Step  time.Duration            // time per step; 0: a round time that makes 10 to 25 steps
	Width int                      // columns of a line; 0: 80. Pools that do not fit are added up as "others"
	Word  func(name string) string // returns the text for the name of a pool; nil: the name
}

const (
	fewSteps    = 25 // the largest number of steps, if the user gives no step
	stepColumns = 20 // for the number and the time of a step
	poolColumns = 17 // for the counts of a pool, unless its name is longer
)

// Steps writes a table of how many maps and reduces of each pool run at the start of each step
// of time. [DHFS13, Fig. 5] plots these numbers. Steps are numbered from 1, as in the figure. It
// fails if w does.
func (t *Timeline) Steps(w io.Writer, o StepOptions) error {
	if o.Step <= 0 {
		o.Step = Round(t.End, fewSteps)
	}
	if o.Width <= 0 {
		o.Width = defaultGanttWidth
	}
	if o.Word == nil {
		o.Word = func(name string) string { return name }
	}
	shown := len(t.Pools) // without those that are added up
	if room := max(1, (o.Width-stepColumns)/poolColumns); shown > room {
		shown = max(1, room-1)
	}
	var table strings.Builder
	table.WriteString("step\ttime")
	for _, p := range t.Pools[:shown] {
		fmt.Fprintf(&table, "\t%[1]s maps\t%[1]s reduces", o.Word(p))
	}
	if others := len(t.Pools) - shown; others > 0 {
		fmt.Fprintf(&table, "\t%[1]d others: maps\t%[1]d others: reduces", others)
	}
	table.WriteByte('\n')
	for i, counts := range t.Counts(o.Step) {
		fmt.Fprintf(&table, "%d\t%v", i+1, time.Duration(i)*o.Step)
		var others [Kinds]int
		for p, n := range counts {
			if p < shown {
				fmt.Fprintf(&table, "\t%d\t%d", n[Map], n[Reduce])
				continue
			}
			others[Map] += n[Map]
			others[Reduce] += n[Reduce]
		}
		if shown < len(counts) {
			fmt.Fprintf(&table, "\t%d\t%d", others[Map], others[Reduce])
		}
		table.WriteByte('\n')
	}
	_, err := io.WriteString(w, errs.Fit(table.String(), o.Width))
	return errs.About("write steps", err)
}

// PoolCounts are numbers of running attempts, by pool in the order of Timeline.Pools, and kind.
type PoolCounts [][Kinds]int

// Counts returns the running attempts at the start of each step. An attempt that ends at that time does not
// count; one that starts then counts.
func (t *Timeline) Counts(step time.Duration) []PoolCounts {
	steps := int((t.End + step - 1) / step)
	counts := make([]PoolCounts, steps)
	for i := range counts {
		counts[i] = make(PoolCounts, len(t.Pools))
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		pool := int(t.poolOf(s.Job))
		if pool == len(t.Pools) { // a job whose submission is not in the file
			continue
		}
		for c := int((s.From + step - 1) / step); c < steps && time.Duration(c)*step < s.Until(t.End); c++ {
			counts[c][pool][s.Kind]++
		}
	}
	return counts
}
