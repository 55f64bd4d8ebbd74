package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mrlocal/report"
	"mrlocal/slots/policy/dynsplit"
	"mrlocal/trace"
)

// setting is what distinguishes the runs. Slots are those of one tracker. 0
// leaves the choice to the engine.
type setting struct {
	MapSlots, ReduceSlots int
	Reducers              int
	BlockBytes            int64
}

// String names the slots that are set.
func (s setting) String() string {
	if s.ReduceSlots == 0 {
		return count(s.MapSlots, "map slot")
	}
	return count(s.MapSlots, "map slot") + ", " + count(s.ReduceSlots, "reduce slot")
}

// run is the outcome of one run.
type run struct {
	report *report.Report
	times  *taskTimes
}

// series is a series of runs.
type series struct {
	most   setting // the most slots that are tried
	rounds int     // runs with each number of slots
	make   func(setting) (*run, error)
	begin  func(done, all int, s setting) // called before each run but the first

	// done and all count the runs for begin. The first run, which is not measured, is in neither.
	done, all int
	runs      [][]*run // by slots - 1, then by round
}

// Result is the outcome of Tune. Its JSON is the --report file.
type Result struct {
	Schema     int    `json:"schema"`
	Kind       string `json:"kind"`
	Policy     string `json:"policy"`
	Job        string `json:"job"`
	Trackers   int    `json:"trackers"`
	BlockBytes int64  `json:"block_bytes"`
	Maps       int    `json:"maps"`
	Reduces    int    `json:"reduces"`
	Rounds     int    `json:"rounds"`

	Choices []Choice `json:"choices"`
	Flags   []string `json:"flags"`
}

// Choice is one number of slots that was chosen, with the table of the candidates.
type Choice struct {
	Flag     string `json:"flag"`
	Measured string `json:"measured"`       // the period whose mean time is Avg_k
	Tasks    int    `json:"tasks"`          // P
	Best     int    `json:"best"`           // 0: no bound, because the period is too short to matter
	Edge     string `json:"edge,omitempty"` // why there are no more rows
	Rows     []Row  `json:"rows"`
}

// Row compares k slots of a tracker with the best number of them.
type Row struct {
	Slots     int       `json:"slots"`
	AvgS      float64   `json:"avg_s"` // Avg_k in seconds, the median of the rounds
	PerSlotS  float64   `json:"avg_per_slot_s"`
	GainS     float64   `json:"gain_s"` // Gain_m and Lose_m of the fewer slots m of the two
	LoseS     float64   `json:"lose_s"`
	Verdict   string    `json:"verdict"`
	MakespanS float64   `json:"makespan_s"`
	RoundsS   []float64 `json:"rounds_s"` // Avg_k of each round
}

// negligible is a share of the time of a reduce. A shorter period gets no bound,
// because its measure is noise.
const negligible = 0.01

// tune makes the runs and chooses. The first run, with most slots, shows how
// many tasks there are. It also reads the input once, so that no number of slots
// pays alone for a cold cache; its times do not count.
func tune(s *series) (*Result, error) {
	first, err := s.make(s.most)
	if err != nil {
		return nil, err
	}
	r := &Result{Schema: 1, Kind: "tune", Policy: first.report.Policy, Job: first.report.Jobs[0].Name, Trackers: max(first.report.Config.Trackers, 1), Rounds: s.rounds}
	r.BlockBytes = first.report.Config.BlockBytes
	// A chain runs its jobs one after the other, so the slots are bounded by the largest number
	// of tasks of one job.
	most := [2]int{}
	for i := range first.report.Jobs {
		j := &first.report.Jobs[i]
		r.Maps, r.Reduces = r.Maps+j.Maps, r.Reduces+j.Reduces
		most = [2]int{max(most[0], j.Maps), max(most[1], j.Reduces)}
	}
	// All later runs have the tasks of the first one. Otherwise a change of slots would change
	// P.
	held := setting{Reducers: first.report.Jobs[0].Reduces, BlockBytes: r.BlockBytes}
	// More slots than tasks would leave some idle, and Avg_k would not be a time with k tasks.
	perTracker := func(slots, tasks int) int { return max(1, min(slots, (tasks+r.Trackers-1)/r.Trackers)) }
	mapSlots, reduceSlots := perTracker(s.most.MapSlots, most[0]), perTracker(s.most.ReduceSlots, most[1])
	// Each number of slots has its rounds, first of maps and then of reduces.
	s.all = s.rounds * mapSlots
	if r.Reduces > 0 {
		s.all += s.rounds * reduceSlots
	}

	if err := s.over(mapSlots, func(k int) setting { held.MapSlots = k; return held }); err != nil {
		return nil, err
	}
	// The runs of one dimension are dropped before the next one begins.
	maps := r.choose(s.runs, maps, s.most.MapSlots)
	r.Choices = append(r.Choices, maps)
	if r.Reduces == 0 {
		r.recommend()
		return r, nil
	}
	// The reduces are measured beside the best number of map slots, as they will run.
	held.MapSlots = maps.Best
	if err := s.over(reduceSlots, func(k int) setting { held.ReduceSlots = k; return held }); err != nil {
		return nil, err
	}
	for _, p := range []period{reduces, shuffle, compute} {
		r.Choices = append(r.Choices, r.choose(s.runs, p, s.most.ReduceSlots))
	}
	r.recommend()
	return r, nil
}

// over makes the runs with 1 to most slots. It makes one round after the other:
// what changes on the machine meanwhile then concerns all numbers of slots alike.
func (s *series) over(most int, with func(k int) setting) error {
	s.runs = make([][]*run, most)
	for range s.rounds {
		for k := 1; k <= most; k++ {
			at := with(k)
			s.done++
			s.begin(s.done, s.all, at)
			run, err := s.make(at)
			if err != nil {
				return err
			}
			s.runs[k-1] = append(s.runs[k-1], run)
		}
	}
	return nil
}

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
	// matters is set if the period takes a part of the reduces that can be measured, with
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
		c.Edge = "no more were measured; " + flags[min(p, reduces)] + " measures more"
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

// period is the part of a task that is timed.
type period uint8

const (
	maps    period = iota // a map from its start to its commit
	reduces               // a reduce from its start to its commit
	shuffle               // the part of a reduce until it has copied everything
	compute               // the rest of a reduce: sort and reduce
	periods
)

// taskTimes is a trace.Sink that adds up how long the tasks of one run took.
// Only attempts that committed count.
type taskTimes struct {
	sum   [periods]time.Duration
	tasks [trace.Kinds]int
	open  map[int32]attemptTime // by slot
}

// attemptTime is when the attempt on a slot started, and when it had copied all
// map outputs, since the start of the run.
type attemptTime struct {
	kind            trace.Kind
	started, copied time.Duration
}

// Record implements trace.Sink.
func (t *taskTimes) Record(_ *trace.Stream, e *trace.Event) error {
	switch e.Op {
	// A reduce that copies nothing has no phase of copying, so copied begins as the start.
	case trace.OpStart:
		if t.open == nil {
			t.open = map[int32]attemptTime{}
		}
		t.open[e.Slot] = attemptTime{kind: e.Kind, started: e.At, copied: e.At}
	case trace.OpPhase:
		if a := t.open[e.Slot]; e.Phase == trace.PhaseSort {
			a.copied = e.At
			t.open[e.Slot] = a
		}
	case trace.OpFinish:
		// A failed attempt stays in open until the next one starts on its slot.
		if e.Has(trace.OK) {
			t.add(t.open[e.Slot], e.At)
		}
	}
	return nil
}

// add adds the times of an attempt that committed at end.
func (t *taskTimes) add(a attemptTime, end time.Duration) {
	t.tasks[a.kind]++
	if a.kind == trace.Map {
		t.sum[maps] += end - a.started
		return
	}
	t.sum[reduces] += end - a.started
	t.sum[shuffle] += a.copied - a.started
	t.sum[compute] += end - a.copied
}

// mean returns the mean time in seconds, or 0 if no task ended.
func (t *taskTimes) mean(p period) float64 {
	kind := trace.Reduce
	if p == maps {
		kind = trace.Map
	}
	if t.tasks[kind] == 0 {
		return 0
	}
	return t.sum[p].Seconds() / float64(t.tasks[kind])
}

// Text returns a table for each choice, and the flags.
func (r *Result) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s, %s, blocks of %d bytes; under %s, medians of %s each\n", r.Job, count(r.Maps, "map"), count(r.Reduces, "reduce"), r.BlockBytes, r.Policy, count(r.Rounds, "run"))
	for i := range r.Choices {
		r.Choices[i].write(&b)
	}
	b.WriteString("\nflags:\n")
	for _, f := range r.Flags {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	return b.Bytes()
}

// write writes the table of a choice.
func (c *Choice) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n%s: Avg_k is the mean time of %s, P = %d\n", c.Flag, c.Measured, c.Tasks)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "k\tAvg_k\tAvg_k/k\tGain\tLose\tmakespan\t\n")
	var verdicts []string
	for i := range c.Rows {
		row := &c.Rows[i]
		// The best row is compared with no other.
		gain, lose := "-", "-"
		if row.Verdict != best {
			gain, lose = seconds(row.GainS), seconds(row.LoseS)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t\n", row.Slots, seconds(row.AvgS), seconds(row.PerSlotS), gain, lose, seconds(row.MakespanS))
		verdicts = append(verdicts, row.Verdict)
	}
	// The table is taken back from the buffer, so that each of its lines can get a verdict.
	from := b.Len()
	_ = t.Flush() // into memory
	lines := strings.SplitAfter(string(b.Bytes()[from:]), "\n")
	b.Truncate(from)
	b.WriteString(lines[0])
	for i, v := range verdicts { // the table aligns right; words behind the numbers align left
		fmt.Fprintf(b, "%s  %s\n", strings.TrimSuffix(lines[i+1], "\n"), v)
	}
	if c.Best == 0 {
		fmt.Fprintf(b, "no bound: less than %.0f %% of a reduce's time\n", 100*negligible)
	}
	if c.Edge != "" {
		fmt.Fprintln(b, c.Edge)
	}
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// WriteJSON writes the --report file.
func (r *Result) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// seconds shows a time, positive or negative, to about three digits.
func seconds(s float64) string {
	sign := ""
	if s < 0 {
		sign, s = "-", -s
	}
	d := time.Duration(s * float64(time.Second))
	switch {
	case d >= 100*time.Second:
		return sign + d.Round(time.Second).String()
	case d >= time.Second:
		return fmt.Sprintf("%s%.2fs", sign, s)
	case d >= time.Millisecond:
		return fmt.Sprintf("%s%.3gms", sign, s*1e3)
	}
	return fmt.Sprintf("%s%.3gµs", sign, s*1e6)
}
