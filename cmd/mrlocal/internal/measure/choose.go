package measure

import (
	"fmt"
	"slices"

	"mrlocal/slots/policy/dynsplit"
)

// Verdicts on a number of slots, in the words of the table.
const (
	best    = "best"
	tooFew  = "too few"
	tooMany = "too many"
	asGood  = "no better"
	unclear = ", within the spread of the rounds"
)

// flags are the flags that bound the tasks in each period.
var flags = [periods]string{maps: "--map-slots", reduces: "--reduce-slots", shuffle: "--reduce-shuffle", compute: "--reduce-compute"}

// measured describes each period for the table.
var measured = [periods]string{
	maps:    "a map, from its start to its commit",
	reduces: "a reduce, from its start to its commit",
	shuffle: "the shuffle of a reduce, from its start until it has copied everything",
	compute: "the sort and compute of a reduce, from then to its commit",
}

// choose applies the guideline to a period of the tasks. The rounds with k slots
// a tracker are runs[k-1]; asked is the most slots that the user wants tried.
func (r *Result) choose(runs [][]*run, p period, asked int) Choice {
	c := Choice{Flag: flags[p], Measured: measured[p], Tasks: r.Reduces, Rows: make([]Row, len(runs))}
	if p == maps {
		c.Tasks = r.Maps
	}
	avg := make([]float64, len(runs))
	// matters tells whether the period takes a part of the reduces that can be measured, with
	// any number of slots.
	matters := false
	for i, rounds := range runs {
		// A round is one number of the sample: the mean of its tasks. The median of the rounds
		// resists a disturbed run.
		row := &c.Rows[i]
		var makespans []float64
		for _, run := range rounds {
			row.RoundsS = append(row.RoundsS, run.times.mean(p))
			makespans = append(makespans, run.report.MakespanSeconds)
			matters = matters || run.times.mean(p) > negligible*run.times.mean(reduces)
		}
		avg[i] = median(row.RoundsS)
		row.Slots, row.AvgS, row.MakespanS = i+1, avg[i], median(makespans)
		row.PerSlotS = avg[i] / float64(row.Slots)
	}
	c.Best = dynsplit.Best(avg)
	for i := range c.Rows {
		c.judge(&c.Rows[i], r.Trackers)
	}
	switch {
	// A period that takes almost no time needs no bound.
	case p != maps && !matters:
		c.Best = 0
	case len(runs) < asked:
		c.Edge = "not more slots than a tracker has tasks"
	// The best is the largest that was measured, so more could be better still.
	case c.Best == len(runs):
		c.Edge = "the most that were measured; " + flags[min(p, reduces)] + " measures more"
	}
	return c
}

// judge compares a number of slots with the best one. Gain and Lose belong to
// the fewer slots m of the two, compared with the more, n; both count the slots
// of all trackers ([Split11]).
func (c *Choice) judge(row *Row, trackers int) {
	m, n := row, &c.Rows[c.Best-1]
	if m == n {
		row.Verdict = best
		return
	}
	// Fewer slots than the best are too few. More are too many only if the guideline prefers the
	// best.
	row.Verdict = tooFew
	if m.Slots > n.Slots {
		m, n = n, m
		row.Verdict = asGood
		if dynsplit.Fewer(m.AvgS, n.AvgS, m.Slots, n.Slots) {
			row.Verdict = tooMany
		}
	}
	row.GainS = dynsplit.Gain(m.AvgS, n.AvgS, n.Slots*trackers, c.Tasks)
	row.LoseS = dynsplit.Lose(m.AvgS, m.Slots*trackers, n.Slots*trackers, c.Tasks)
	if overlap(m, n) {
		row.Verdict += unclear
	}
}

// overlap reports whether rounds of m and n contradict one another: a round of
// each is better than a round of the other.
func overlap(m, n *Row) bool {
	// Times are divided by slots, because the guideline compares Avg_k/k.
	per := func(pick func([]float64) float64, r *Row) float64 { return pick(r.RoundsS) / float64(r.Slots) }
	return per(slices.Min, m) <= per(slices.Max, n) && per(slices.Min, n) <= per(slices.Max, m)
}

// recommend writes the choices as flags. The first line suits any policy. A job
// with reduces gets a second line, with the bounds of the policy dynsplit. A bound
// that is not below that of all reduces has no effect and is left out.
func (r *Result) recommend() {
	word := func(c *Choice) string { return fmt.Sprintf("%s %d", c.Flag, c.Best) }
	any := word(&r.Choices[0])
	if r.Reduces == 0 {
		r.Flags = []string{any}
		return
	}
	any += " " + word(&r.Choices[1])
	split := fmt.Sprintf("--sched dynsplit %s --reduce-total %d", any, r.Choices[1].Best)
	for i := range r.Choices[2:] {
		// Choices 2 and 3 are the shuffle and the compute of the reduces.
		if c := &r.Choices[2+i]; c.Best > 0 && c.Best < r.Choices[1].Best {
			split += " " + word(c)
		}
	}
	r.Flags = []string{any, split}
}

// median returns the median of one or more numbers.
func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}
