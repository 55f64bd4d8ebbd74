package tune

import (
	"fmt"
	"slices"

	"mrlocal/slots/policy/dynsplit"
)

// Verdicts on a number of slots.
const (
	best    = "best"
	tooFew  = "too few"
	tooMany = "too many"
	asGood  = "no better"
	unclear = ", within the spread of the rounds"
)

var flags = [periods]string{Maps: "--map-slots", Reduces: "--reduce-slots", Shuffle: "--reduce-shuffle", Compute: "--reduce-compute"}

var measured = [periods]string{
	Maps:    "a map, from its start to its commit",
	Reduces: "a reduce, from its start to its commit",
	Shuffle: "the shuffle of a reduce, from its start until it has copied everything",
	Compute: "the sort and compute of a reduce, from then to its commit",
}

// choose applies the guideline to what runs[k-1] showed with k slots a tracker, of
// asked ones.
func (r *Result) choose(runs [][]*Run, p Period, asked int) Choice {
	c := Choice{Flag: flags[p], Measured: measured[p], Tasks: r.Reduces, Rows: make([]Row, len(runs))}
	if p == Maps {
		c.Tasks = r.Maps
	}
	avg := make([]float64, len(runs))
	matters := false
	for i, rounds := range runs {
		row := &c.Rows[i]
		var makespans []float64
		for _, run := range rounds {
			row.RoundsS = append(row.RoundsS, run.Times.mean(p))
			makespans = append(makespans, run.Report.MakespanSeconds)
			matters = matters || run.Times.mean(p) > negligible*run.Times.mean(Reduces)
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
	case p != Maps && !matters:
		c.Best = 0
	case len(runs) < asked:
		c.Edge = "not more slots than a tracker has tasks"
	case c.Best == len(runs):
		c.Edge = "the most that were measured; " + flags[min(p, Reduces)] + " measures more"
	}
	return c
}

// judge holds a number of slots against the best one: Gain and Lose are those of
// the fewer slots m of the two, against the more, n, of all trackers.
func (c *Choice) judge(row *Row, trackers int) {
	m, n := row, &c.Rows[c.Best-1]
	if m == n {
		row.Verdict = best
		return
	}
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

// overlap reports whether rounds of m and n contradict one another.
func overlap(m, n *Row) bool {
	per := func(pick func([]float64) float64, r *Row) float64 { return pick(r.RoundsS) / float64(r.Slots) }
	return per(slices.Min, m) <= per(slices.Max, n) && per(slices.Min, n) <= per(slices.Max, m)
}

// recommend words the choices as flags: those of any policy, then, where the job
// has reduces, dynsplit's bounds of them. One that is not below the bound of all
// reduces bounds nothing.
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
		if c := &r.Choices[2+i]; c.Best > 0 && c.Best < r.Choices[1].Best {
			split += " " + word(c)
		}
	}
	r.Flags = []string{any, split}
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}
