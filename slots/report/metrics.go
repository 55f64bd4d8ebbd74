package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"mrlocal/internal/machine"
	"mrlocal/slots"
	"mrlocal/trace"
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

// Figures returns all metrics and all counters of each report, as text that errs.Fit lays out.
func Figures(reports ...*Report) string {
	var names []string
	for _, r := range reports {
		names = append(names, r.Policy)
	}
	return MetricsTable(names, reports) + counters(reports)
}

// MetricsTable returns a table for errs.Fit with a line for each metric and a column for each report. names are
// the headings of the columns. It leaves out metrics that are 0 or NaN in all reports.
func MetricsTable(names []string, reports []*Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "figure\t%s\n", strings.Join(names, "\t"))
	for _, m := range Metrics() {
		known := false
		line := m.Title
		for _, r := range reports {
			x := m.Of(r)
			known = known || x > 0
			line += strings.Replace(fmt.Sprintf("\t%.6g", x), "NaN", "-", 1)
		}
		if known {
			fmt.Fprintln(&b, line)
		}
	}
	return b.String()
}

// sampleEvery is the least time between two events about the cores of the machine.
const sampleEvery = time.Second

// Sampler measures what a real run uses: CPU time, memory and temporary files of the process. It
// also measures how the cores of the machine spend the time, whichever programs they run. The
// parts are user, sys, iowait and idle, as in the tables of [Split11, evaluation]. The
// coordinator of a run owns it, and no other goroutine uses it. NewSampler makes it.
type Sampler struct {
	processBefore time.Duration // CPU time of the process at the start

	err         error             // not nil: the system does not give the times of cores
	begun, last machine.CoreTimes // at the start, and of the latest event
	mapsDone    machine.CoreTimes // at the latest end of a job's map phase
	at          time.Duration     // time of last, from the start of the run
}

// NewSampler returns a Sampler of a run that begins now.
func NewSampler() (c Sampler) {
	c.processBefore = machine.ProcessCPU()
	c.begun, c.err = machine.ReadCoreTimes()
	c.last, c.mapsDone = c.begun, c.begun
	return c
}

// Record appends an event with the CPU time, memory and temporary bytes of the process to s, and with the bound of
// the memory. About once a second it also appends an event with the times of the cores since the last such event.
func (c *Sampler) Record(s *trace.Stream, now time.Duration, memoryBytes, tempBytes, boundBytes int64) {
	s.Append(trace.Event{At: now, Op: trace.OpUsage, A: int64(machine.ProcessCPU() - c.processBefore), B: memoryBytes, C: tempBytes, D: boundBytes})
	c.sample(s, now)
}

// sample appends an event with the times of the cores, if the last one is sampleEvery ago.
func (c *Sampler) sample(s *trace.Stream, now time.Duration) {
	if c.err != nil || now-c.at < sampleEvery {
		return
	}
	t, err := machine.ReadCoreTimes()
	if err != nil {
		c.err = err
		return
	}
	d := t.Sub(&c.last)
	s.Append(trace.Event{At: now, Op: trace.OpCores, A: int64(d.User), B: int64(d.System), C: int64(d.IOWait), D: int64(d.Idle)})
	c.last, c.at = t, now
}

// MapPhaseEnds notes the time at which the last map of a job is done. A later call replaces it, so
// the report has the map phase of the whole run.
func (c *Sampler) MapPhaseEnds() {
	if c.err == nil {
		c.mapsDone, c.err = machine.ReadCoreTimes()
	}
}

// Report adds to r how the cores spent the run until now, or a note if the system does not give
// their times.
func (c *Sampler) Report(r *Report) {
	var now machine.CoreTimes
	if c.err == nil {
		now, c.err = machine.ReadCoreTimes()
	}
	if c.err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("how the cores spent the run is not known: %v", c.err))
		return
	}
	r.CPU = &CPU{Source: machine.CoreTimesFrom, Cores: now.Cores, Run: sharesOf(now.Sub(&c.begun)), MapPhase: sharesOf(c.mapsDone.Sub(&c.begun))}
}

// sharesOf returns times as shares of their sum. If the sum is 0, because the run was shorter than
// the unit of the system, all shares are 0.
func sharesOf(t machine.CoreTimes) (s CPUShares) {
	all := float64(t.User + t.System + t.IOWait + t.Idle)
	if all == 0 {
		return s
	}
	return CPUShares{User: float64(t.User) / all, System: float64(t.System) / all, IOWait: float64(t.IOWait) / all, Idle: float64(t.Idle) / all}
}

// Counters are the job counters of Hadoop 1.0.3 (Task.Counter, JobInProgress.Counter) and
// some more. Failed and killed attempts count only in the counters of attempts. A simulated
// job has those, and under cost l2 also the counters of spills. The tag of marks the counters of
// attempts, which the Ledger counts.
type Counters struct {
	MapInputRecords      int64 `json:"MAP_INPUT_RECORDS"`
	MapInputBytes        int64 `json:"MAP_INPUT_BYTES"`
	MapOutputRecords     int64 `json:"MAP_OUTPUT_RECORDS"`
	MapOutputBytes       int64 `json:"MAP_OUTPUT_BYTES"`
	CombineInputRecords  int64 `json:"COMBINE_INPUT_RECORDS"`
	CombineOutputRecords int64 `json:"COMBINE_OUTPUT_RECORDS"`
	ReduceInputGroups    int64 `json:"REDUCE_INPUT_GROUPS"`
	ReduceInputRecords   int64 `json:"REDUCE_INPUT_RECORDS"`
	ReduceOutputRecords  int64 `json:"REDUCE_OUTPUT_RECORDS"`
	ReduceShuffleBytes   int64 `json:"REDUCE_SHUFFLE_BYTES"`
	SpilledRecords       int64 `json:"SPILLED_RECORDS"`
	SpilledBytes         int64 `json:"SPILLED_BYTES"`
	Spills               int64 `json:"SPILLS"`
	KVBufferExpansions   int64 `json:"KVBUFFER_EXPANSIONS"`
	ResumedMaps          int64 `json:"RESUMED_MAPS,omitempty"` // restored maps: their output is left from a killed run
	DataLocalMaps        int64 `json:"DATA_LOCAL_MAPS" of:"attempts"`
	GroupLocalMaps       int64 `json:"RACK_LOCAL_MAPS,omitempty" of:"attempts"`
	SpeculativeMaps      int64 `json:"SPECULATIVE_MAPS" of:"attempts"` // copies of running maps
	SpeculativeReduces   int64 `json:"SPECULATIVE_REDUCES" of:"attempts"`
	PreScheduledMaps     int64 `json:"PRESCHEDULED_MAPS" of:"attempts"` // maps by Slot PreScheduling, beyond the even load of their tracker
	LaunchedMaps         int64 `json:"TOTAL_LAUNCHED_MAPS" of:"attempts"`
	LaunchedReduces      int64 `json:"TOTAL_LAUNCHED_REDUCES" of:"attempts"`
	FailedMaps           int64 `json:"FAILED_MAPS" of:"attempts"`
	FailedReduces        int64 `json:"FAILED_REDUCES" of:"attempts"`
	KilledMaps           int64 `json:"KILLED_MAPS" of:"attempts"`
	KilledReduces        int64 `json:"KILLED_REDUCES" of:"attempts"`

	// Slot time of all attempts that have ended, and its part on slots of the other home
	// kind. A borrowed map slot runs a reduce, and a borrowed reduce slot a map.
	SlotsMillisMaps          int64 `json:"SLOTS_MILLIS_MAPS" of:"attempts"`
	SlotsMillisReduces       int64 `json:"SLOTS_MILLIS_REDUCES" of:"attempts"`
	BorrowedMapSlotMillis    int64 `json:"BORROWED_MAP_SLOT_MILLIS" of:"attempts"`
	BorrowedReduceSlotMillis int64 `json:"BORROWED_REDUCE_SLOT_MILLIS" of:"attempts"`

	CPUMilliseconds      int64 `json:"CPU_MILLISECONDS"`
	DiskWaitMilliseconds int64 `json:"DISK_WAIT_MILLIS,omitempty"` // waits of attempts for disks that are slowed down
	OutputBytes          int64 `json:"BYTES_WRITTEN"`
}

// Add adds the counters that the data plane of an attempt counts. It does not add the counters of
// attempts, which the Ledger counts.
func (c *Counters) Add(d *Counters) { c.add(d, 1, "") }

// Sub subtracts the counters that the data plane of an attempt counted, because its output is
// lost. The attempt that replaces it counts the same again.
func (c *Counters) Sub(d *Counters) { c.add(d, -1, "") }

// add adds sign times the counters with a tag of that value: "", of the data plane, or "attempts".
func (c *Counters) add(d *Counters, sign int64, of string) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(d).Elem()
	for i := range to.NumField() {
		if to.Type().Field(i).Tag.Get("of") == of {
			to.Field(i).SetInt(to.Field(i).Int() + sign*from.Field(i).Int())
		}
	}
}

// counters returns the counters of each report, summed over all of its jobs, one per line,
// with the names of the report file. It leaves out counters that are 0. If there are several
// reports, the policy stands above the counters of each. errs.Fit lays the text out.
func counters(reports []*Report) string {
	var b strings.Builder
	for _, r := range reports {
		if len(reports) > 1 {
			fmt.Fprintln(&b, r.Policy)
		}
		var sum Counters
		for i := range r.Jobs {
			sum.Add(&r.Jobs[i].Counters)
			sum.add(&r.Jobs[i].Counters, 1, "attempts")
		}
		for field, value := range reflect.ValueOf(sum).Fields() {
			if n := value.Int(); n != 0 {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				fmt.Fprintf(&b, "%s\t%d\n", name, n)
			}
		}
	}
	return b.String()
}

// Notes keeps the notes of a run for its report. The zero value is ready to use.
type Notes struct {
	lock sync.Mutex
	kept []string // under lock
}

// Keep returns a function that keeps a note and passes it to note. Any goroutine may call the
// function. It holds no lock while it calls note.
func (n *Notes) Keep(note func(string)) func(string) {
	return func(text string) {
		n.lock.Lock()
		n.kept = append(n.kept, text)
		n.lock.Unlock()
		note(text)
	}
}

// All returns the notes so far.
func (n *Notes) All() []string {
	n.lock.Lock()
	defer n.lock.Unlock()
	return slices.Clip(n.kept)
}
