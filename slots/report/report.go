// Package report has the outcome of a run, real or simulated: the content of a report
// file, and the table that compares policies.
//
// The engine and the simulator make the same Report. FromLedger takes the figures of the
// Ledger (slots, jobs, attempts, shares), and the engine adds the counters of its data
// plane. Programs read report files, so names in the JSON may be added but never
// changed.
//
// A Sampler measures what the process and the cores of the machine do in a real run (metrics.go).
//
// Memory: a Report is plain data. It keeps neither the Ledger nor anything of a run.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// Report is the outcome of a run. Its JSON is the report file. Fields whose names end in S
// or Seconds are in seconds.
type Report struct {
	Schema              int         `json:"schema"`
	Kind                string      `json:"kind"` // run, batch or sim
	Policy              string      `json:"policy"`
	Config              Config      `json:"config"`
	MakespanSeconds     float64     `json:"makespan_s"`      // from the start of the run to the end of its last job
	Utilisation         float64     `json:"utilisation"`     // busy slot time without waiting reduces, divided by the time of open home slots, and of extra slots as far as more tasks work than there are home slots
	Moves               int64       `json:"moves"`           // grants by a borrowing rule
	LentSlotSeconds     float64     `json:"lent_slot_s"`     // slot time with a task of the other kind
	Jain                float64     `json:"jain"`            // Jain's index of fairness between pools; 1: even
	JainInTime          float64     `json:"jain_in_time"`    // mean of Jain's index over the moments in which several pools had demand
	HoardingSlotSeconds float64     `json:"hoarding_slot_s"` // slot time of waiting reduces
	SlotTime            SlotTime    `json:"slot_time_s"`
	Wasted              Wasted      `json:"wasted_slot_s"`
	PeakRSSBytes        int64       `json:"peak_rss_bytes"`
	AbandonedThreads    int         `json:"abandoned_threads"`             // threads that were stuck in user code
	CPU                 *CPU        `json:"cpu,omitempty"`                 // nil: not known
	Graylisted          []int       `json:"graylisted_trackers,omitempty"` // out of service: several jobs blacklisted them
	Slots               []Slot      `json:"slots"`
	Jobs                []JobReport `json:"jobs"`

	Notes []string `json:"notes,omitempty"`
	Error string   `json:"error,omitempty"`

	ReaderGone bool `json:"-"` // the program that read the result has closed the pipe
}

// CPU says how the cores spent the run. The times of a real run are those of the system, so
// other programs on the machine count too.
type CPU struct {
	Source   string    `json:"source"` // "/proc/stat", or "model" of a simulation under cost l2
	Cores    int       `json:"cores"`  // of the machine, or of the cluster
	Run      CPUShares `json:"run"`
	MapPhase CPUShares `json:"map_phase"` // until the last map of the run has ended
}

// CPUShares are shares of the time of all cores, which add up to 1.
type CPUShares struct {
	User   float64 `json:"user"`
	System float64 `json:"sys"`
	IOWait float64 `json:"iowait"` // idle, while I/O was under way
	Idle   float64 `json:"idle"`

	NetBytesPerSecond float64 `json:"net_bytes_per_s,omitempty"` // copied by all simulated reduces together
}

// Config has the settings that applied to the run. A setting that is left out was off, or has
// no meaning for the kind of run.
type Config struct {
	Trackers    int `json:"trackers"`
	MapSlots    int `json:"map_slots"` // of the first tracker, as the next two
	ReduceSlots int `json:"reduce_slots"`
	MaxSlots    int `json:"max_slots"` // home and extra slots

	*DataPlane // of real runs; nil in a simulation, whose report then has none of these fields

	Slowstart    float64 `json:"slowstart"`
	BorrowMap    float64 `json:"borrow_map"`
	BorrowReduce float64 `json:"borrow_reduce"`
	Attempts     int     `json:"attempts"`
	TaskTimeoutS float64 `json:"task_timeout_s,omitempty"`

	Seed           uint64  `json:"seed,omitempty"`
	Replicas       int     `json:"replicas,omitempty"`
	GroupTrackers  int     `json:"group_trackers,omitempty"`
	LocalityDelayS float64 `json:"locality_delay_s,omitempty"`

	Options       json.RawMessage `json:"policy_options,omitempty"` // as the policy records them
	RemotePenalty float64         `json:"remote_penalty,omitempty"`
	Slow          []SlowTracker   `json:"slow,omitempty"`

	ShuffleBytesPerSecond int64 `json:"shuffle_bytes_per_s,omitempty"`
	DiskBytesPerSecond    int64 `json:"disk_bytes_per_s,omitempty"`
	ParallelCopies        int   `json:"parallel_copies,omitempty"`
	CopyBytesPerSecond    int64 `json:"copy_bytes_per_s,omitempty"`

	HeartbeatS float64 `json:"heartbeat_s,omitempty"` // of simulated runs; 0: at once
	Cost       string  `json:"cost,omitempty"`

	KVBuffer *KVBuffer `json:"kvbuffer,omitempty"` // of simulated maps; nil: they write their output once
}

// KVBuffer is the kvbuffer of a simulated map.
type KVBuffer struct {
	StartBytes  int64 `json:"start_bytes"`
	MemoryBytes int64 `json:"memory_bytes,omitempty"` // of the map, which bounds growth
	Growth      bool  `json:"growth"`
}

// DataPlane has the settings that only a real run has.
type DataPlane struct {
	Pin             bool    `json:"pin"`
	BlockBytes      int64   `json:"block_bytes"`
	MemoryBytes     int64   `json:"memory_bytes"`
	SortBufferBytes int64   `json:"sort_buffer_bytes"`
	SpillPercent    float64 `json:"spill_percent"`
	BufferGrowth    bool    `json:"buffer_growth"`
	GrowthThreshold float64 `json:"growth_threshold"`
	MergeFactor     int     `json:"merge_factor"`
	Compress        string  `json:"compress"`
}

// SlowTracker is a tracker whose speed differs from that of the others.
type SlowTracker struct {
	Tracker int     `json:"tracker"`
	Factor  float64 `json:"factor"` // its speed divided by the others'
}

// Slot is one slot and its use. Core is the core of its thread, or -1 if the thread is not bound.
// BusyS and LentS are the times with an attempt, and with one of the other kind.
type Slot struct {
	ID      int     `json:"id"`
	Tracker int     `json:"tracker"`
	Core    int     `json:"core"`
	Home    string  `json:"home"`
	BusyS   float64 `json:"busy_s"`
	LentS   float64 `json:"lent_s"`
}

// JobReport is one job of the run. Times are in seconds from the start of the run. A negative
// time means that the event did not happen.
type JobReport struct {
	Name         string      `json:"name"`
	Pool         string      `json:"pool"`
	User         string      `json:"user,omitempty"`
	State        string      `json:"state"`
	Maps         int         `json:"maps"`
	Reduces      int         `json:"reduces"`
	SubmitS      float64     `json:"submit_s"`
	StartS       float64     `json:"start_s"`
	MapsDoneS    float64     `json:"maps_done_s"`
	FinishS      float64     `json:"finish_s"`
	DeadlineS    *float64    `json:"deadline_s"`
	AloneSeconds float64     `json:"alone_s,omitempty"` // of the first job of a chain: time of the chain by itself; 0: not known
	Counters     Counters    `json:"counters"`
	Profile      *JobProfile `json:"profile,omitempty"` // nil: the policy does not place tasks by demand
	Phases       []Usage     `json:"phases,omitempty"`  // of a real run
	// Reports of the commands of a streaming job: counters by group and name, and the last
	// status of each task.
	UserCounters []UserCounter `json:"user_counters,omitempty"`
	Statuses     []TaskStatus  `json:"statuses,omitempty"`

	StepOf string `json:"step_of,omitempty"` // of a later job of a chain: the name of the first job; else ""
	Error  string `json:"error,omitempty"`
}

// UserCounter is a counter that the user's program defines.
type UserCounter struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// TaskStatus is the last status of a task.
type TaskStatus struct {
	Task   string `json:"task"` // m_000003, r_000000
	Status string `json:"status"`
}

// Usage sums up what the committed attempts of a job used in one phase. Maps have the phases
// compute and io, reduces have copy, held, sort and reduce. CPU time is that of their threads
// and of the helpers. Bytes are those of input, copies, spills and output.
type Usage struct {
	Phase        string  `json:"phase"`
	Attempts     int64   `json:"attempts"`
	WallS        float64 `json:"wall_s"`
	CPUS         float64 `json:"cpu_s"`
	ReadBytes    int64   `json:"read_bytes"`
	WrittenBytes int64   `json:"written_bytes"`
	PeakBytes    int64   `json:"peak_memory_bytes"` // the largest of all attempts
}

// Add adds the usage of other attempts in the same phase.
func (u *Usage) Add(o *Usage) {
	u.Attempts += o.Attempts
	u.WallS += o.WallS
	u.CPUS += o.CPUS
	u.ReadBytes += o.ReadBytes
	u.WrittenBytes += o.WrittenBytes
	u.PeakBytes = max(u.PeakBytes, o.PeakBytes)
}

// JobProfile is the demand of a task of a job that the policy assumes, in shares of a tracker.
// Map is the demand of a map, and Shuffle that of a reduce in its copy phase (I/O for each map).
// Reduce is that of a reduce that sorts or reduces.
type JobProfile struct {
	Assumed bool   `json:"assumed,omitempty"` // the job has no profile, so this is the default
	Map     Demand `json:"map"`
	Shuffle Demand `json:"shuffle"`
	Reduce  Demand `json:"reduce"`
}

// Demand is a share of each resource.
type Demand struct {
	CPU    float64 `json:"cpu"`
	IO     float64 `json:"io"`
	Memory float64 `json:"mem"`
}

// Matched reports whether the last job of the run wrote any record. It is also true if the
// program that read the result has closed the pipe, because it has got records then.
func (r *Report) Matched() bool {
	return r.ReaderGone || len(r.Jobs) > 0 && r.Jobs[len(r.Jobs)-1].Counters.ReduceOutputRecords > 0
}

// ResponseSeconds returns the time from the submission of a job to its end; -1 if it has not
// ended.
func (j *JobReport) ResponseSeconds() float64 {
	if j.SubmitS < 0 || j.FinishS < 0 {
		return -1
	}
	return j.FinishS - j.SubmitS
}

// TardinessSeconds returns by how much a job has ended after its deadline: max(0, finish −
// deadline). It is 0 without a deadline, and for a job that did not succeed.
func (j *JobReport) TardinessSeconds() float64 {
	if j.DeadlineS == nil || j.State != slots.Succeeded.String() {
		return 0
	}
	return max(0, j.FinishS-*j.DeadlineS)
}

// Deadlines says how jobs met their deadlines.
type Deadlines struct {
	Missed               int     // number of jobs with a deadline that ended later or did not succeed
	MeanTardinessSeconds float64 // over the jobs with a deadline that succeeded
	MaxTardinessSeconds  float64
}

// Deadlines returns how the jobs of the run met their deadlines.
func (r *Report) Deadlines() (d Deadlines) {
	succeeded := 0
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.DeadlineS == nil {
			continue
		}
		late := j.TardinessSeconds()
		d.MaxTardinessSeconds = max(d.MaxTardinessSeconds, late)
		d.MeanTardinessSeconds += late
		if j.State == slots.Succeeded.String() {
			succeeded++
		}
		if late > 0 || j.State != slots.Succeeded.String() {
			d.Missed++
		}
	}
	d.MeanTardinessSeconds /= float64(max(1, succeeded))
	return d
}

// LocalMaps returns the share of the started maps that ran on a tracker with their input;
// 0 if inputs have no place.
func (r *Report) LocalMaps() float64 {
	local, started := int64(0), int64(0)
	for i := range r.Jobs {
		local, started = local+r.Jobs[i].Counters.DataLocalMaps, started+r.Jobs[i].Counters.LaunchedMaps
	}
	return float64(local) / float64(max(1, started))
}

// MeanJobSeconds returns the mean time from the submission of a job to its end, over the
// jobs that succeeded; NaN if there is none. The jobs of a chain count as one.
func (r *Report) MeanJobSeconds() float64 {
	var sum, n float64
	for first, last := range r.chains() {
		if last.State == slots.Succeeded.String() {
			sum += last.FinishS - first.SubmitS
			n++
		}
	}
	return sum / n
}

// chains yields the first and the last job of each chain. A job is a chain by itself unless
// later steps exist. A chain succeeds if its last job does, and ends with it.
func (r *Report) chains() iter.Seq2[*JobReport, *JobReport] {
	return func(yield func(first, last *JobReport) bool) {
		last := map[string]*JobReport{} // of a chain, by the name of its first job
		for i := range r.Jobs {
			if j := &r.Jobs[i]; j.StepOf != "" {
				last[j.StepOf] = j
			}
		}
		for i := range r.Jobs {
			if j := &r.Jobs[i]; j.StepOf == "" && !yield(j, cmp.Or(last[j.Name], j)) {
				return
			}
		}
	}
}

// FromLedger returns a report with the figures of l. kind is run, batch or sim. The makespan is the end of the last
// job: the ends of attempts that are killed then come later. It is the time of the latest fact if a job has not ended.
// The Ledger does not expose the names of its jobs; Describe adds them. The report keeps nothing of l.
func FromLedger(kind string, l *slots.Ledger) *Report {
	// Slots and Jobs are not nil, so that JSON has [] and not null.
	c, st := l.Config(), l.Stats()
	r := &Report{
		Schema: 1, Kind: kind, Policy: c.PolicyName, MakespanSeconds: seconds(makespan(l)), Utilisation: st.Utilisation(), Moves: st.Moves,
		LentSlotSeconds: seconds(st.Lent), Jain: st.Jain, JainInTime: st.JainInTime, HoardingSlotSeconds: seconds(st.WaitingReduce), Config: config(&c),
		Slots: make([]Slot, 0, len(c.Slots)), Jobs: make([]JobReport, 0, l.Jobs()),
	}
	r.spent(&st)
	for _, s := range c.Slots {
		t := l.SlotTimes(s.ID)
		r.Slots = append(r.Slots, Slot{
			ID: int(s.ID), Tracker: int(s.Tracker), Core: int(s.Core), Home: s.Home.String(), BusyS: seconds(t.Busy), LentS: seconds(t.Lent),
		})
	}
	for t := range r.Config.Trackers {
		if l.Graylisted(slots.TrackerID(t)) {
			r.Graylisted = append(r.Graylisted, t)
		}
	}
	for id := range slots.JobID(l.Jobs()) {
		r.Jobs = append(r.Jobs, job(l, id))
	}
	return r
}

// makespan returns the end of the last job, or the time of the latest fact if a job has not ended.
func makespan(l *slots.Ledger) (last time.Duration) {
	for id := range slots.JobID(l.Jobs()) {
		end := l.JobTimes(id).Finish
		if end < 0 {
			return l.Now()
		}
		last = max(last, end)
	}
	return last
}

// config returns the settings of a Ledger. Its driver adds others.
func config(c *slots.Config) Config {
	r := Config{
		Slowstart: Share(c.Slowstart), BorrowMap: Share(c.BorrowMap), BorrowReduce: Share(c.BorrowReduce), Attempts: c.MaxAttempts,
		Seed: c.Seed, Replicas: int(c.Replicas), GroupTrackers: int(c.GroupTrackers), Options: c.Options,
	}
	if c.LocalityDelay != nil {
		r.LocalityDelayS = seconds(*c.LocalityDelay)
	}
	for _, s := range c.Slots {
		// All trackers have the same slots, so only those of the first one are counted.
		r.Trackers = max(r.Trackers, int(s.Tracker)+1)
		if s.Tracker != 0 {
			continue
		}
		r.MaxSlots++
		switch {
		// An extra slot counts in MaxSlots only, whatever its home kind.
		case s.Extra:
		case s.Home == slots.Map:
			r.MapSlots++
		default:
			r.ReduceSlots++
		}
	}
	return r
}

// Set adds the settings that a driver knows and its Ledger does not. s has its defaults.
func (c *Config) Set(s *setup.Config) {
	c.Trackers = s.Trackers
	c.MapSlots = s.MapSlots
	c.ReduceSlots = s.ReduceSlots
	c.MaxSlots = s.MaxSlots
	// A factor of 1 has no effect, and is left out.
	if s.RemotePenalty != slots.One {
		c.RemotePenalty = Share(s.RemotePenalty)
	}
	for _, slow := range s.Slow {
		c.Slow = append(c.Slow, SlowTracker{Tracker: slow.Tracker, Factor: Share(slow.Factor)})
	}
}

// profile returns the demand that the policy assumes for a job, or nil if the policy does not
// place tasks by demand.
func profile(l *slots.Ledger, id slots.JobID) *JobProfile {
	if !l.Traits().ByDemand {
		return nil
	}
	shares := func(v slots.Vector) Demand { return Demand{Share(v.CPU), Share(v.IO), Share(v.Memory)} }
	p, given := l.JobProfile(id)
	return &JobProfile{Assumed: !given, Map: shares(p.Map), Shuffle: shares(p.Shuffle), Reduce: shares(p.Reduce)}
}

// job returns the report of a job, without the names that Describe adds.
func job(l *slots.Ledger, id slots.JobID) JobReport {
	t := l.JobTimes(id)
	_, maps := l.JobTasks(id, slots.Map)
	_, reduces := l.JobTasks(id, slots.Reduce)
	m, r := l.JobCounts(id, slots.Map), l.JobCounts(id, slots.Reduce)
	return JobReport{
		State: l.JobState(id).String(), Maps: int(maps), Reduces: int(reduces),
		Profile: profile(l, id),
		SubmitS: seconds(t.Submit), StartS: seconds(t.Start), MapsDoneS: seconds(t.MapsDone), FinishS: seconds(t.Finish),
		Counters: Counters{
			DataLocalMaps: m.Local, GroupLocalMaps: m.GroupLocal, SpeculativeMaps: m.Speculative, LaunchedMaps: m.Started, LaunchedReduces: r.Started,
			SpeculativeReduces: r.Speculative, PreScheduledMaps: m.PreScheduled,
			FailedMaps: m.Failed, FailedReduces: r.Failed, KilledMaps: m.Killed, KilledReduces: r.Killed,
			SlotsMillisMaps: m.SlotTime.Milliseconds(), SlotsMillisReduces: r.SlotTime.Milliseconds(),
			BorrowedMapSlotMillis: r.Lent.Milliseconds(), BorrowedReduceSlotMillis: m.Lent.Milliseconds(),
		},
	}
}

// Describe adds the names and the deadline of job id.
func (r *Report) Describe(id slots.JobID, spec *slots.JobSpec) {
	j := &r.Jobs[id]
	j.Name = spec.Name
	j.Pool = cmp.Or(spec.Pool, spec.Name) // as the Ledger has it
	j.User = spec.User
	if spec.Deadline > 0 {
		j.DeadlineS = new(seconds(spec.Deadline))
	}
}

// Share returns p as reports show shares: 0.25 for 25 %.
func Share(p slots.PPM) float64 { return float64(p) / float64(slots.One) }

// seconds returns a time in seconds, or -1 for a time that has not come.
func seconds(d time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return d.Seconds()
}

// WriteJSON writes a report file to w: an object for one report, an array for several. It
// fails if w does.
func WriteJSON(w io.Writer, reports []*Report) error {
	type whole struct {
		*Report
		Figures map[string]float64 `json:"figures"` // of Metrics
	}
	all := make([]whole, len(reports))
	for i, r := range reports {
		all[i] = whole{r, r.figures()}
	}
	// The report of a single run is an object, so that scripts need no index.
	var what any = all
	if len(all) == 1 {
		what = all[0]
	}
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// Table returns a table with a row for each report, to compare policies, in lines of at most width columns; 0: 80. If
// jobs of a run did not succeed, a column has their number.
func Table(reports []*Report, width int) string {
	var b strings.Builder
	failed := FailedColumn(reports)
	fmt.Fprintln(&b, "policy\tmakespan\tmean job time\tutilisation\tmoves\tfairness (Jain)\tlent\thoarding"+failed[0])
	// Whole columns are formatted together, so that their numbers have the same form.
	makespan := durations(reports, func(r *Report) float64 { return r.MakespanSeconds })
	mean := durations(reports, (*Report).MeanJobSeconds)
	lent := durations(reports, func(r *Report) float64 { return r.LentSlotSeconds })
	hoarding := durations(reports, func(r *Report) float64 { return r.HoardingSlotSeconds })
	for i, r := range reports {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%.1f%%\t%d\t%.3f\t%s\t%s%s\n", r.Policy, makespan[i], mean[i], 100*r.Utilisation, r.Moves, r.Jain, lent[i], hoarding[i], failed[i+1])
	}
	return errs.Fit(b.String(), width)
}

// FailedColumn returns a column of a table for errs.Fit, behind a tab: its title, then the number of failed jobs
// of each report. All cells are empty if no job failed.
func FailedColumn(reports []*Report) []string {
	column := make([]string, 1+len(reports))
	if slices.ContainsFunc(reports, func(r *Report) bool { return len(r.FailedJobs()) > 0 }) {
		column[0] = "\tfailed jobs"
		for i, r := range reports {
			column[i+1] = "\t" + strconv.Itoa(len(r.FailedJobs()))
		}
	}
	return column
}

// durations returns a column of times in seconds, all with the same number of decimals. There
// are none if no time has a fraction, one if a time is 1000 s or more, and three otherwise.
// Simulated times are often whole seconds. NaN is shown as -.
func durations(reports []*Report, of func(r *Report) float64) (column []string) {
	digits, most := 0, 0.0
	for _, r := range reports {
		s := of(r)
		if s > math.Trunc(s) {
			digits = 3
		}
		if s > most {
			most = s
		}
	}
	if digits > 0 && most >= 1000 {
		digits = 1
	}
	for _, r := range reports {
		cell := "-"
		if s := of(r); !math.IsNaN(s) {
			cell = strconv.FormatFloat(max(0, s), 'f', digits, 64) + "s"
		}
		column = append(column, cell)
	}
	return column
}
