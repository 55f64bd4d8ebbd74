package study

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/stats"
	"mrlocal/slots/policy/dynsplit"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

// setting has the options in which the runs of Tune differ. Slots are those of one tracker. A value
// of 0 leaves the choice to the engine.
type setting struct {
	MapSlots, ReduceSlots int
	Reducers              int
	BlockBytes            int64
}

// String returns the numbers of slots, for the line of progress.
func (s setting) String() string {
	if s.ReduceSlots == 0 {
		return errs.Counted(s.MapSlots, "map slot")
	}
	return errs.Counted(s.MapSlots, "map slot") + ", " + errs.Counted(s.ReduceSlots, "reduce slot")
}

// run is the outcome of one run of Tune.
type run struct {
	report *report.Report
	times  *Run // its attempts
}

func (r *run) makespan() float64 { return r.report.MakespanSeconds }

// series makes the runs of Tune. make and begin are functions, so that tests need no real
// runs.
type series struct {
	most   setting // the largest numbers of slots that are tried
	rounds int     // how many runs each number of slots gets
	make   func(setting) (*run, error)
	begin  func(done, all int, s setting) // called before each measured run

	// done is the number of measured runs that have begun, and all that of all measured runs. The first
	// run is not measured, so neither counts it.
	done, all int
}

// Result is the outcome of Tune. Its JSON is the --report file.
type Result struct {
	Schema     int    `json:"schema"` // 1
	Kind       string `json:"kind"`   // "tune"
	Policy     string `json:"policy"`
	Job        string `json:"job"` // the first job of the chain
	Trackers   int    `json:"trackers"`
	BlockBytes int64  `json:"block_bytes"`
	Maps       int    `json:"maps"`    // of all jobs of the chain
	Reduces    int    `json:"reduces"` // of all jobs of the chain
	Rounds     int    `json:"rounds"`

	Choices []Choice `json:"choices"` // map slots; with reduces also reduce slots, shuffle, sort and compute
	Flags   []string `json:"flags"`   // the choices as words of the command line
}

// Choice is the number of slots that was chosen for a period, with the table of all candidates.
type Choice struct {
	Flag     string `json:"flag"`           // the flag that sets this number
	Measured string `json:"measured"`       // describes the period whose mean time is Avg_k
	Tasks    int    `json:"tasks"`          // P, the number of tasks
	Best     int    `json:"best"`           // the chosen number; 0: no bound, because the period is too short to matter
	Edge     string `json:"edge,omitempty"` // why larger numbers were not tried, if that may matter
	Rows     []Row  `json:"rows"`           // by the number of slots, from 1
}

// Row compares a number of slots k of a tracker with the best one. Times are in seconds.
type Row struct {
	Slots     int       `json:"slots"`          // k
	AvgS      float64   `json:"avg_s"`          // Avg_k, the median of the rounds
	PerSlotS  float64   `json:"avg_per_slot_s"` // Avg_k/k
	GainS     float64   `json:"gain_s"`         // Gain_m, where m is the smaller of k and the best number; 0 in the best row
	LoseS     float64   `json:"lose_s"`         // Lose_m, likewise
	Verdict   string    `json:"verdict"`
	MakespanS float64   `json:"makespan_s"` // of the whole run, the median of the rounds
	RoundsS   []float64 `json:"rounds_s"`   // Avg_k of each round
}

// negligible is a share of the mean time of a reduce. A period that takes less gets no bound, because
// its measured times are mostly noise.
const negligible = 0.01

// tune makes the runs of s and chooses. The first run has the largest numbers of slots. It shows
// how many tasks there are, and brings the input into the page cache. Its times are not measured,
// because it reads from a cold cache.
func tune(s *series) (*Result, error) {
	first, err := s.make(s.most)
	if err != nil {
		return nil, err
	}
	r := &Result{Schema: 1, Kind: "tune", Policy: first.report.Policy, Job: first.report.Jobs[0].Name, Trackers: max(first.report.Config.Trackers, 1), Rounds: s.rounds}
	r.BlockBytes = first.report.Config.BlockBytes
	// most has the largest number of maps and that of reduces of one job. The jobs of a chain run one
	// after the other, so more slots would never be busy.
	most := [2]int{}
	for i := range first.report.Jobs {
		j := &first.report.Jobs[i]
		r.Maps, r.Reduces = r.Maps+j.Maps, r.Reduces+j.Reduces
		most = [2]int{max(most[0], j.Maps), max(most[1], j.Reduces)}
	}
	// All later runs have the splits and reduces of the first one. Otherwise the engine would choose
	// them by the number of slots, and P would change.
	held := setting{Reducers: first.report.Jobs[0].Reduces, BlockBytes: r.BlockBytes}
	// With more slots than tasks, fewer than k tasks would run at a time, and Avg_k would be wrong.
	perTracker := func(slots, tasks int) int { return max(1, min(slots, (tasks+r.Trackers-1)/r.Trackers)) }
	mapSlots, reduceSlots := perTracker(s.most.MapSlots, most[0]), perTracker(s.most.ReduceSlots, most[1])
	s.all = s.rounds * mapSlots
	if r.Reduces > 0 {
		s.all += s.rounds * reduceSlots
	}

	runs, err := s.over(mapSlots, func(k int) setting { held.MapSlots = k; return held })
	if err != nil {
		return nil, err
	}
	r.Choices = append(r.Choices, r.choose(runs, maps, s.most.MapSlots))
	if r.Reduces > 0 {
		// The reduces are measured with the best number of map slots, because they will run with it.
		held.MapSlots = r.Choices[0].Best
		if runs, err = s.over(reduceSlots, func(k int) setting { held.ReduceSlots = k; return held }); err != nil {
			return nil, err
		}
		for _, p := range []period{reduces, shuffle, compute} {
			r.Choices = append(r.Choices, r.choose(runs, p, s.most.ReduceSlots))
		}
	}
	r.recommend()
	return r, nil
}

// over makes the runs with 1 to most slots and returns them by slots - 1, then by round. with returns the
// setting for k slots.
func (s *series) over(most int, with func(k int) setting) ([][]*run, error) {
	runs := make([][]*run, most)
	return runs, inRounds(s.rounds, most, func(_, i int) error {
		at := with(i + 1)
		s.done++
		s.begin(s.done, s.all, at)
		run, err := s.make(at)
		runs[i] = append(runs[i], run)
		return err
	})
}

// inRounds calls run for each of a number of measurements, in each round. A round makes each measurement
// once, so that a slow change of the machine affects all alike. The first error ends it.
func inRounds(rounds, measurements int, run func(round, i int) error) error {
	for n := range rounds * measurements {
		if err := run(n/measurements, n%measurements); err != nil {
			return err
		}
	}
	return nil
}

// Verdicts on a number of slots, in the words of the table.
const (
	best    = "best"
	tooFew  = "too few"
	tooMany = "too many"
	asGood  = "no better"                         // more slots than the best, but the guideline does not prefer the best
	unclear = ", within the spread of the rounds" // ends any other verdict if the rounds do not agree
)

// flags has, for each period, the flag that bounds the tasks in it.
var flags = [periods]string{maps: "--map-slots", reduces: "--reduce-slots", shuffle: "--reduce-shuffle", compute: "--reduce-compute"}

// measured describes each period for the table.
var measured = [periods]string{
	maps:    "a map, from its start to its commit",
	reduces: "a reduce, from its start to its commit",
	shuffle: "the shuffle of a reduce, from its start until it has copied everything",
	compute: "the sort and compute of a reduce, from then to its commit",
}

// choose applies the guideline to period p. runs[k-1] has the runs with k slots per tracker. asked is the
// largest number of slots that the user wants to try.
func (r *Result) choose(runs [][]*run, p period, asked int) Choice {
	c := Choice{Flag: flags[p], Measured: measured[p], Tasks: r.Reduces, Rows: make([]Row, len(runs))}
	if p == maps {
		c.Tasks = r.Maps
	}
	avg := make([]float64, len(runs))
	// matters is true if the period is long enough to be measured in at least one run.
	matters := false
	for i, rounds := range runs {
		// Each round gives the mean of its tasks. The median of the rounds ignores a single disturbed
		// run.
		row := Row{Slots: i + 1, MakespanS: stats.Median(figures(rounds, (*run).makespan))}
		for _, run := range rounds {
			row.RoundsS = append(row.RoundsS, run.times.mean(p))
			matters = matters || run.times.mean(p) > negligible*run.times.mean(reduces)
		}
		row.AvgS = stats.Median(row.RoundsS)
		row.PerSlotS = row.AvgS / float64(row.Slots)
		avg[i], c.Rows[i] = row.AvgS, row
	}
	c.Best = dynsplit.Best(avg)
	for i := range c.Rows {
		c.judge(&c.Rows[i], r.Trackers)
	}
	switch {
	// A part of a reduce that takes almost no time needs no bound.
	case p != maps && !matters:
		c.Best = 0
	case len(runs) < asked:
		c.Edge = "no more slots were tried than a tracker has tasks"
	// The best number is the largest that was measured, so a larger one may be better.
	case c.Best == len(runs):
		c.Edge = "no more were measured; " + flags[min(p, reduces)] + " measures more"
	}
	return c
}

// judge compares the number of slots of row with the best one, and sets its verdict, gain and loss.
// In the formulas of [Split11], m is the smaller number of slots and n the larger one. Both count
// the slots of all trackers.
func (c *Choice) judge(row *Row, trackers int) {
	m, n := row, &c.Rows[c.Best-1]
	if m == n {
		row.Verdict = best
		return
	}
	// A smaller number than the best is too few. A larger one is too many only if the guideline prefers
	// the best to it.
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

// overlap reports whether the ranges of Avg_k/k of the rounds of m and n overlap. Then some rounds
// prefer m and others prefer n.
func overlap(m, n *Row) bool {
	per := func(pick func([]float64) float64, r *Row) float64 { return pick(r.RoundsS) / float64(r.Slots) }
	return per(slices.Min, m) <= per(slices.Max, n) && per(slices.Min, n) <= per(slices.Max, m)
}

// recommend sets r.Flags. Its first line has the slots, for any policy. For a job with reduces, the
// second line has the bounds of the policy dynsplit too. It leaves out a bound that is not below
// that of all reduces, because such a bound has no effect.
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
		// Choices 2 and 3 are the shuffle, and the sort and compute of reduces.
		if c := &r.Choices[2+i]; c.Best > 0 && c.Best < r.Choices[1].Best {
			split += " " + word(c)
		}
	}
	r.Flags = []string{any, split}
}

// period is the part of a task that is timed.
type period uint8

const (
	maps    period = iota // a map from its start to its commit
	reduces               // a reduce from its start to its commit
	shuffle               // the part of a reduce until it has copied everything
	compute               // the rest of a reduce: sort and reduce
	periods               // the number of periods
)

// mean returns the mean time of period p in seconds, or 0 if no task of its kind has committed.
func (r *Run) mean(p period) float64 {
	var sum time.Duration
	tasks := 0
	for i := range r.stages {
		for _, a := range r.stages[i].attempts {
			if (a.Kind == trace.Map) != (p == maps) {
				continue
			}
			tasks++
			switch p {
			case shuffle:
				sum += a.from - a.From
			case compute:
				sum += a.To - a.from
			default:
				sum += a.To - a.From
			}
		}
	}
	return sum.Seconds() / float64(max(1, tasks))
}

// Text returns the result as text for errs.Fit: a line on the job, a table for each choice, and the flags.
func (r *Result) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s, %s, blocks of %d bytes; under %s, medians of %s each\n", r.Job, errs.Counted(r.Maps, "map"), errs.Counted(r.Reduces, "reduce"), r.BlockBytes, r.Policy, errs.Counted(r.Rounds, "run"))
	for i := range r.Choices {
		r.Choices[i].write(&b)
	}
	b.WriteString("\nflags:\n")
	for _, f := range r.Flags {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	return b.Bytes()
}

// write writes the table of a choice to b.
func (c *Choice) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n%s: Avg_k is the mean time of %s, P = %d\n", c.Flag, c.Measured, c.Tasks)
	fastest := c.fastest()
	b.WriteString("k\tAvg_k\tAvg_k/k\tGain\tLose\tmakespan\tverdict\n")
	for i := range c.Rows {
		row := &c.Rows[i]
		// Gain and Lose compare a row with the best one, so the best row has none.
		gain, lose := "-", "-"
		verdict := "the paper's best"
		if row.Verdict != best {
			gain, lose = seconds(row.GainS), seconds(row.LoseS)
			verdict = row.Verdict
		}
		if row == fastest {
			verdict += "; the fastest run"
		}
		fmt.Fprintf(b, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Slots, seconds(row.AvgS), seconds(row.PerSlotS), gain, lose, seconds(row.MakespanS), verdict)
	}
	if c.Best == 0 {
		fmt.Fprintf(b, "no bound: less than %.0f %% of a reduce's time\n", 100*negligible)
	}
	if c.Edge != "" {
		fmt.Fprintln(b, c.Edge)
	}
}

// fastest returns the row with the shortest makespan. Of equal ones it prefers the best row. It
// returns nil for the periods of a reduce, which were not bounded in the runs.
func (c *Choice) fastest() *Row {
	if c.Flag != flags[maps] && c.Flag != flags[reduces] {
		return nil
	}
	row := &c.Rows[max(c.Best, 1)-1]
	for i := range c.Rows {
		if r := &c.Rows[i]; r.MakespanS < row.MakespanS {
			row = r
		}
	}
	return row
}

// WriteJSON writes a result as JSON to w, as --report and --json have it. It returns the error of w.
func WriteJSON(w io.Writer, result any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(result)
}

// seconds formats a time in seconds, positive or negative, with a unit and about three digits.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d.Abs() >= 100*time.Second:
		return d.Round(time.Second).String()
	case d.Abs() >= time.Second:
		return fmt.Sprintf("%.2fs", s)
	case d.Abs() >= time.Millisecond:
		return fmt.Sprintf("%.3gms", s*1e3)
	}
	return fmt.Sprintf("%.3gµs", s*1e6)
}
