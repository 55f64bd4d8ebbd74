// Package report is the outcome of a run, real or simulated: what the report
// file holds, and the table that compares policies.
//
// Both drivers of a slots.Ledger fill the same Report: FromLedger takes what
// the Ledger knows (slots, jobs, attempts, shares), the engine adds what the
// data plane counted. The JSON's names are a contract with whoever reads such
// files: they are added to, never changed.
//
// Memory: a Report is plain data of its own; it keeps neither the Ledger nor
// anything of a run. Neighbours: engine and sim make reports, cmd/mrlocal shows
// them.
package report

import (
	"encoding/json"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/demand"
)

// Report is the outcome of a run; its JSON is the report file.
type Report struct {
	Schema             int     `json:"schema"`
	Kind               string  `json:"kind"` // run, batch or sim
	Policy             string  `json:"policy"`
	Config             Config  `json:"config"`
	MakespanSeconds    float64 `json:"makespan_s"`
	Utilisation        float64 `json:"utilisation"`
	Moves              int64   `json:"moves"`
	LentSlotSeconds    float64 `json:"lent_slot_s"`
	Jain               float64 `json:"jain"`
	HoardingSlotSecond float64 `json:"hoarding_slot_s"`
	PeakRSSBytes       int64   `json:"peak_rss_bytes"`
	AbandonedThreads   int     `json:"abandoned_threads"`
	Slots              []Slot  `json:"slots"`
	Jobs               []Job   `json:"jobs"`

	Notes []string `json:"notes,omitempty"`
	Error string   `json:"error,omitempty"`

	ReaderGone bool `json:"-"` // whoever read the result closed the pipe
}

// Config lists the effective settings. What is left out was off, or is of no
// meaning to the kind of run.
type Config struct {
	Trackers    int `json:"trackers"`
	MapSlots    int `json:"map_slots"`
	ReduceSlots int `json:"reduce_slots"`
	MaxSlots    int `json:"max_slots"`

	*DataPlane // of real runs

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
	Slow          []Slow          `json:"slow,omitempty"`

	ShuffleBytesPerSecond int64 `json:"shuffle_bytes_per_s,omitempty"`
	DiskBytesPerSecond    int64 `json:"disk_bytes_per_s,omitempty"`

	HeartbeatS float64 `json:"heartbeat_s,omitempty"` // of simulated runs; 0: at once
	Cost       string  `json:"cost,omitempty"`
}

// DataPlane lists the settings that only a real run has.
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

// Slow is a tracker that is not as fast as the others.
type Slow struct {
	Tracker int     `json:"tracker"`
	Factor  float64 `json:"factor"` // of the others' speed
}

// Slot is one slot; Core is what its thread read back, -1 where it is not
// bound.
type Slot struct {
	ID      int     `json:"id"`
	Tracker int     `json:"tracker"`
	Core    int     `json:"core"`
	Home    string  `json:"home"`
	BusyS   float64 `json:"busy_s"`
	LentS   float64 `json:"lent_s"`
}

// Job is one job of the run. Times are seconds from the run's start; negative:
// it did not come to that.
type Job struct {
	Name      string   `json:"name"`
	Pool      string   `json:"pool"`
	User      string   `json:"user,omitempty"`
	State     string   `json:"state"`
	Maps      int      `json:"maps"`
	Reduces   int      `json:"reduces"`
	SubmitS   float64  `json:"submit_s"`
	StartS    float64  `json:"start_s"`
	MapsDoneS float64  `json:"maps_done_s"`
	FinishS   float64  `json:"finish_s"`
	DeadlineS *float64 `json:"deadline_s"`
	Counters  Counters `json:"counters"`
	Profile   *Profile `json:"profile,omitempty"` // under a policy that places by demand
	Phases    []Usage  `json:"phases,omitempty"`  // of a real run
	StepOf    string   `json:"step_of,omitempty"` // a later job of the chain that the job of this name began
	Error     string   `json:"error,omitempty"`
}

// Usage is what the attempts of a job that committed have used in one of their
// phases: compute and io of maps, copy, held, sort and reduce of reduces.
// Processor time is that of their own threads and their helpers; bytes are those
// of input, copies, spills and output.
type Usage struct {
	Phase        string  `json:"phase"`
	Attempts     int64   `json:"attempts"`
	WallS        float64 `json:"wall_s"`
	CPUS         float64 `json:"cpu_s"`
	ReadBytes    int64   `json:"read_bytes"`
	WrittenBytes int64   `json:"written_bytes"`
	PeakBytes    int64   `json:"peak_memory_bytes"` // of one attempt
}

// Add adds an attempt's.
func (u *Usage) Add(o *Usage) {
	u.Attempts += o.Attempts
	u.WallS += o.WallS
	u.CPUS += o.CPUS
	u.ReadBytes += o.ReadBytes
	u.WrittenBytes += o.WrittenBytes
	u.PeakBytes = max(u.PeakBytes, o.PeakBytes)
}

// Profile is what a task of a job was taken to need of a tracker, in shares of
// it: a map, a reduce that copies (its I/O for each map), a reduce that reduces.
type Profile struct {
	Assumed bool   `json:"assumed,omitempty"` // the job has no profile: these are the defaults
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

// Counters are Hadoop's job counters (its "Map-Reduce Framework" group) and
// ours. Those of failed and killed attempts are not added, but for the ones
// that count attempts. A simulated job has only these.
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
	DataLocalMaps        int64 `json:"DATA_LOCAL_MAPS"`
	GroupLocalMaps       int64 `json:"RACK_LOCAL_MAPS,omitempty"`
	SpeculativeMaps      int64 `json:"SPECULATIVE_MAPS"`
	LaunchedMaps         int64 `json:"TOTAL_LAUNCHED_MAPS"`
	LaunchedReduces      int64 `json:"TOTAL_LAUNCHED_REDUCES"`
	FailedMaps           int64 `json:"FAILED_MAPS"`
	FailedReduces        int64 `json:"FAILED_REDUCES"`
	KilledMaps           int64 `json:"KILLED_MAPS"`
	KilledReduces        int64 `json:"KILLED_REDUCES"`
	CPUMilliseconds      int64 `json:"CPU_MILLISECONDS"`
	OutputBytes          int64 `json:"BYTES_WRITTEN"`
}

// Add adds what an attempt's data plane counted. The counters of attempts
// themselves are the Ledger's.
func (c *Counters) Add(d *Counters) {
	c.MapInputRecords += d.MapInputRecords
	c.MapInputBytes += d.MapInputBytes
	c.MapOutputRecords += d.MapOutputRecords
	c.MapOutputBytes += d.MapOutputBytes
	c.CombineInputRecords += d.CombineInputRecords
	c.CombineOutputRecords += d.CombineOutputRecords
	c.ReduceInputGroups += d.ReduceInputGroups
	c.ReduceInputRecords += d.ReduceInputRecords
	c.ReduceOutputRecords += d.ReduceOutputRecords
	c.ReduceShuffleBytes += d.ReduceShuffleBytes
	c.SpilledRecords += d.SpilledRecords
	c.SpilledBytes += d.SpilledBytes
	c.Spills += d.Spills
	c.KVBufferExpansions += d.KVBufferExpansions
	c.CPUMilliseconds += d.CPUMilliseconds
	c.OutputBytes += d.OutputBytes
}

// Sub takes back what an attempt's data plane counted, whose output is lost:
// the one that replaces it counts the same.
func (c *Counters) Sub(d *Counters) {
	c.MapInputRecords -= d.MapInputRecords
	c.MapInputBytes -= d.MapInputBytes
	c.MapOutputRecords -= d.MapOutputRecords
	c.MapOutputBytes -= d.MapOutputBytes
	c.CombineInputRecords -= d.CombineInputRecords
	c.CombineOutputRecords -= d.CombineOutputRecords
	c.ReduceInputGroups -= d.ReduceInputGroups
	c.ReduceInputRecords -= d.ReduceInputRecords
	c.ReduceOutputRecords -= d.ReduceOutputRecords
	c.ReduceShuffleBytes -= d.ReduceShuffleBytes
	c.SpilledRecords -= d.SpilledRecords
	c.SpilledBytes -= d.SpilledBytes
	c.Spills -= d.Spills
	c.KVBufferExpansions -= d.KVBufferExpansions
	c.CPUMilliseconds -= d.CPUMilliseconds
	c.OutputBytes -= d.OutputBytes
}

// Last is the report of the job whose output the run's output is.
func (r *Report) Last() *Job { return &r.Jobs[len(r.Jobs)-1] }

// Matched reports whether the run wrote any record. A reader that went away
// had something to read.
func (r *Report) Matched() bool {
	return r.ReaderGone || len(r.Jobs) > 0 && r.Last().Counters.ReduceOutputRecords > 0
}

// MeanJobSeconds is the mean time from a job's submission to its end, over
// the jobs that succeeded; 0 where none did. The later jobs of a chain are
// part of the one that began it.
func (r *Report) MeanJobSeconds() float64 {
	last := map[string]*Job{} // of chains
	for i := range r.Jobs {
		if j := &r.Jobs[i]; j.StepOf != "" {
			last[j.StepOf] = j
		}
	}
	var sum float64
	n := 0
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.StepOf != "" {
			continue
		}
		end := j
		if l := last[j.Name]; l != nil {
			end = l
		}
		if end.State == slots.Succeeded.String() {
			sum += end.FinishS - j.SubmitS
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// FromLedger is a report of all that l knows, at the time of its latest fact:
// the makespan is that time. kind is run, batch or sim. What the Ledger does
// not tell of its jobs (their names) is for Describe, by JobID.
func FromLedger(kind string, l *slots.Ledger) *Report {
	c, st := l.Config(), l.Stats()
	r := &Report{
		Schema: 1, Kind: kind, Policy: c.PolicyName, MakespanSeconds: seconds(l.Now()), Utilisation: st.Utilisation(), Moves: st.Moves,
		LentSlotSeconds: seconds(st.Lent), Jain: st.Jain, HoardingSlotSecond: seconds(st.WaitingReduce), Config: config(&c),
		Slots: make([]Slot, 0, len(c.Slots)), Jobs: make([]Job, 0, l.Jobs()),
	}
	for _, s := range c.Slots {
		t := l.SlotTimes(s.ID)
		r.Slots = append(r.Slots, Slot{
			ID: int(s.ID), Tracker: int(s.Tracker), Core: int(s.Core), Home: s.Home.String(), BusyS: seconds(t.Busy), LentS: seconds(t.Lent),
		})
	}
	for id := range slots.JobID(l.Jobs()) {
		r.Jobs = append(r.Jobs, job(l, id))
	}
	return r
}

// config is what a Ledger's configuration says; a driver adds its own.
func config(c *slots.Config) Config {
	r := Config{
		Slowstart: Share(c.Slowstart), BorrowMap: Share(c.BorrowMap), BorrowReduce: Share(c.BorrowReduce), Attempts: c.MaxAttempts,
		Seed: c.Seed, Replicas: int(c.Replicas), GroupTrackers: int(c.GroupTrackers), LocalityDelayS: seconds(c.LocalityDelay), Options: c.Options,
	}
	for _, s := range c.Slots {
		r.Trackers = max(r.Trackers, int(s.Tracker)+1)
		if s.Tracker != 0 {
			continue
		}
		r.MaxSlots++
		switch {
		case s.Extra:
		case s.Home == slots.Map:
			r.MapSlots++
		default:
			r.ReduceSlots++
		}
	}
	return r
}

func profile(l *slots.Ledger, id slots.JobID) *Profile {
	if !l.PlacesByDemand() {
		return nil
	}
	shares := func(v demand.Vector) Demand { return Demand{Share(v.CPU), Share(v.IO), Share(v.Memory)} }
	p, given := l.JobProfile(id)
	return &Profile{Assumed: !given, Map: shares(p.Map), Shuffle: shares(p.Shuffle), Reduce: shares(p.Reduce)}
}

func job(l *slots.Ledger, id slots.JobID) Job {
	t := l.JobTimes(id)
	_, maps := l.JobTasks(id, slots.Map)
	_, reduces := l.JobTasks(id, slots.Reduce)
	m, r := l.JobCounts(id, slots.Map), l.JobCounts(id, slots.Reduce)
	return Job{
		State: l.JobState(id).String(), Maps: int(maps), Reduces: int(reduces),
		Profile: profile(l, id),
		SubmitS: seconds(t.Submit), StartS: seconds(t.Start), MapsDoneS: seconds(t.MapsDone), FinishS: seconds(t.Finish),
		Counters: Counters{
			DataLocalMaps: m.Local, GroupLocalMaps: m.GroupLocal, SpeculativeMaps: m.Speculative, LaunchedMaps: m.Started, LaunchedReduces: r.Started,
			FailedMaps: m.Failed, FailedReduces: r.Failed, KilledMaps: m.Killed, KilledReduces: r.Killed,
		},
	}
}

// Describe fills in what spec says of job id.
func (r *Report) Describe(id slots.JobID, spec *slots.JobSpec) {
	j := &r.Jobs[id]
	j.Name, j.Pool, j.User = spec.Name, spec.Pool, spec.User
	if j.Pool == "" {
		j.Pool = spec.Name
	}
	if spec.Deadline > 0 {
		deadlineS := seconds(spec.Deadline)
		j.DeadlineS = &deadlineS
	}
}

// Share is p as reports have shares: between 0 and 1.
func Share(p slots.PPM) float64 { return float64(p) / float64(slots.One) }

// seconds of a time; -1 of one that never came.
func seconds(d time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return d.Seconds()
}
