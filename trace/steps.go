package trace

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// StepOptions say how to write the counts of a timeline.
type StepOptions struct {
	Step  time.Duration            // time per step; 0: a round time that makes 10 to 25 steps
	Width int                      // columns of a line; 0: 80. Pools that do not fit are added up as "others"
	Word  func(name string) string // returns the text for the name of a pool; nil: the name
}

const (
	fewSteps   = 25             // the largest number of steps, if the user gives no step
	countWidth = len("reduces") // columns of a count of reduces
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
	counts := t.Counts(o.Step)
	table := stepTable{times: make([]string, len(counts)), counts: counts}
	for i := range counts {
		table.times[i] = (time.Duration(i) * o.Step).String()
	}
	for _, p := range t.Pools {
		table.pools = append(table.pools, o.Word(p))
	}
	table.fold(o.Width)
	if _, err := io.WriteString(w, table.text()); err != nil {
		return fmt.Errorf("write steps: %w", err)
	}
	return nil
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

// stepTable has the contents of the table.
type stepTable struct {
	times  []string     // starts of the steps
	pools  []string     // names for the heading
	counts []PoolCounts // by step
}

// head returns the width of the two columns on the left.
func (t *stepTable) head() int {
	longest := len("time")
	for _, s := range t.times {
		longest = max(longest, len(s))
	}
	return len("step") + 2 + longest
}

// poolWidth returns the width of a pool's two columns.
func poolWidth(name string) int {
	return max(2+len("maps")+2+countWidth, 2+utf8.RuneCountInString(name))
}

// fold replaces the pools that do not fit the width by one pool with the sums of their counts. At
// least one pool stays, even if the lines are then too long.
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
	// The column of the others needs room, too, so more pools may have to join it.
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

// text returns the table: a line for each step, and two columns for each pool under its name. A
// rune counts as one column.
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
