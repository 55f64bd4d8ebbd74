package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"mrlocal/slots"
)

// SlotTime says how the time of open slots was spent, in slot-seconds. The fields add up to the
// time of open slots.
type SlotTime struct {
	Compute float64 `json:"compute"` // of maps
	IO      float64 `json:"io"`      // of maps
	Copy    float64 `json:"copy"`    // of reduces, waits for maps included
	Held    float64 `json:"held"`    // of reduces that have copied everything, and may not go on yet
	Sort    float64 `json:"sort"`
	Reduce  float64 `json:"reduce"`
	Idle    float64 `json:"idle"` // without a task
}

// Wasted is wasted slot time, in slot-seconds. No time is in two fields.
type Wasted struct {
	Failed  float64 `json:"failed"`  // of attempts that failed
	Copies  float64 `json:"copies"`  // of attempts of a task that another attempt committed, and of copies that were killed
	Killed  float64 `json:"killed"`  // of other attempts that were killed
	Waiting float64 `json:"waiting"` // of reduces that succeeded, while their job had unfinished maps
}

// All returns the sum of the fields.
func (w *Wasted) All() float64 { return w.Failed + w.Copies + w.Killed + w.Waiting }

// spent sets SlotTime and Wasted from the figures of the Ledger.
func (r *Report) spent(s *slots.Stats) {
	p, w := &s.Phases, &s.Wasted
	r.SlotTime = SlotTime{
		Compute: p[slots.PhaseCompute].Seconds(), IO: p[slots.PhaseIO].Seconds(), Copy: p[slots.PhaseCopy].Seconds(), Held: p[slots.PhaseHeld].Seconds(),
		Sort: p[slots.PhaseSort].Seconds(), Reduce: p[slots.PhaseReduce].Seconds(), Idle: (s.Open - s.Busy).Seconds(),
	}
	r.Wasted = Wasted{w.Failed.Seconds(), w.Copies.Seconds(), w.Killed.Seconds(), w.Waiting.Seconds()}
}

// Metric is a figure of a run.
type Metric struct {
	Name  string                  // name of a column, with the unit
	Title string                  // title of an axis
	Of    func(r *Report) float64 // returns the figure of a report; NaN: it has none
}

// Metrics returns the figures of a run, in the order of columns. docs/research.md defines
// them.
func Metrics() []Metric {
	return []Metric{
		{"makespan_s", "makespan (s)", func(r *Report) float64 { return r.MakespanSeconds }},
		{"utilisation", "slot utilisation", func(r *Report) float64 { return r.Utilisation }},
		{"moves", "moves (grants)", func(r *Report) float64 { return float64(r.Moves) }},
		{"jain", "fairness (Jain)", func(r *Report) float64 { return r.Jain }},
		{"jain_in_time", "fairness in time (Jain)", func(r *Report) float64 { return r.JainInTime }},
		{"lent_slot_s", "lent slot time (s)", func(r *Report) float64 { return r.LentSlotSeconds }},
		{"hoarding_slot_s", "slot time of waiting reduces (s)", func(r *Report) float64 { return r.HoardingSlotSeconds }},
		{"failed_jobs", "jobs that did not succeed", func(r *Report) float64 { return float64(len(r.FailedJobs())) }},
		{"mean_job_s", "mean job time (s)", (*Report).MeanJobSeconds},
		{"mean_slowdown", "mean slowdown", func(r *Report) float64 { mean, _ := r.Slowdowns(); return mean }},
		{"max_slowdown", "largest slowdown", func(r *Report) float64 { _, most := r.Slowdowns(); return most }},
		{"deadlines_missed", "missed deadlines (jobs)", func(r *Report) float64 { return float64(r.Deadlines().Missed) }},
		{"mean_tardiness_s", "mean tardiness (s)", func(r *Report) float64 { return r.Deadlines().MeanTardinessSeconds }},
		{"max_tardiness_s", "largest tardiness (s)", func(r *Report) float64 { return r.Deadlines().MaxTardinessSeconds }},
		{"local_maps", "maps at their input (share)", (*Report).LocalMaps},
		{"wasted_slot_s", "wasted slot time (s)", func(r *Report) float64 { return r.Wasted.All() }},
		{"failed_slot_s", "slot time of failed attempts (s)", func(r *Report) float64 { return r.Wasted.Failed }},
		{"copies_slot_s", "slot time of useless copies (s)", func(r *Report) float64 { return r.Wasted.Copies }},
		{"killed_slot_s", "slot time of killed attempts (s)", func(r *Report) float64 { return r.Wasted.Killed }},
		{"waiting_slot_s", "slot time of waits of reduces that succeeded (s)", func(r *Report) float64 { return r.Wasted.Waiting }},
		{"compute_slot_s", "slot time of maps that compute (s)", func(r *Report) float64 { return r.SlotTime.Compute }},
		{"io_slot_s", "slot time of maps in I/O (s)", func(r *Report) float64 { return r.SlotTime.IO }},
		{"copy_slot_s", "slot time of copying (s)", func(r *Report) float64 { return r.SlotTime.Copy }},
		{"held_slot_s", "slot time of held reduces (s)", func(r *Report) float64 { return r.SlotTime.Held }},
		{"sort_slot_s", "slot time of sorting (s)", func(r *Report) float64 { return r.SlotTime.Sort }},
		{"reduce_slot_s", "slot time of reducing (s)", func(r *Report) float64 { return r.SlotTime.Reduce }},
		{"idle_slot_s", "idle slot time (s)", func(r *Report) float64 { return r.SlotTime.Idle }},
	}
}

// inFile is how many of the first metrics are fields of a Report.
const inFile = 7

// figures returns the metrics that are not fields of a Report, by name, without those that are NaN.
func (r *Report) figures() map[string]float64 {
	all := map[string]float64{}
	for _, m := range Metrics()[inFile:] {
		if x := m.Of(r); !math.IsNaN(x) {
			all[m.Name] = x
		}
	}
	return all
}

// FailedJobs returns the jobs that did not succeed, in the order of Jobs.
func (r *Report) FailedJobs() (failed []*JobReport) {
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.State != slots.Succeeded.String() {
			failed = append(failed, j)
		}
	}
	return failed
}

// SetAlone sets AloneSeconds of j, the first job of a chain. The value is the time of the chain
// in alone, a run of the chain by itself. It does nothing if the chain did not succeed there.
func (j *JobReport) SetAlone(alone *Report) {
	for first, last := range alone.chains() {
		if first.Name == j.Name && last.State == slots.Succeeded.String() {
			j.AloneSeconds = last.FinishS - first.SubmitS
		}
	}
}

// Slowdowns returns the mean and the largest slowdown of jobs: the response time divided by the
// time alone. It counts the jobs that succeeded and whose time alone is known and above 0. A
// chain counts as one job. Both are 0 if there is none.
func (r *Report) Slowdowns() (mean, most float64) {
	n := 0
	for first, last := range r.chains() {
		if first.AloneSeconds > 0 && last.State == slots.Succeeded.String() {
			x := (last.FinishS - first.SubmitS) / first.AloneSeconds
			mean += x
			most = max(most, x)
			n++
		}
	}
	return mean / float64(max(1, n)), most
}

// WriteFigures writes all metrics and all counters of each report. It fails if w does.
func WriteFigures(w io.Writer, reports ...*Report) error {
	var names []string
	for _, r := range reports {
		names = append(names, r.Policy)
	}
	if err := WriteMetrics(w, names, reports); err != nil {
		return err
	}
	return WriteCounters(w, reports...)
}

// WriteMetrics writes a table with a line for each metric and a column for each report. names are
// the headings of the columns. It leaves out metrics that are 0 or NaN in all reports. It fails if w
// does.
func WriteMetrics(w io.Writer, names []string, reports []*Report) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "figure\t")
	for _, name := range names {
		fmt.Fprintf(t, "%s\t", name)
	}
	fmt.Fprintln(t)
	for _, m := range Metrics() {
		known := false
		line := m.Title + "\t"
		for _, r := range reports {
			x := m.Of(r)
			known = known || x > 0
			line += strings.Replace(fmt.Sprintf("%.6g\t", x), "NaN", "-", 1)
		}
		if known {
			fmt.Fprintln(t, line)
		}
	}
	_ = t.Flush() // writes to memory, which does not fail
	_, err := w.Write(b.Bytes())
	return err
}
