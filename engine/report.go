package engine

import (
	"time"

	"mrlocal/internal/machine"
	"mrlocal/jobs"
	"mrlocal/slots"
	"mrlocal/spill"
)

// Report is the outcome of a run; its JSON is the report file.
type Report struct {
	Schema             int          `json:"schema"`
	Kind               string       `json:"kind"`
	Policy             string       `json:"policy"`
	Config             ConfigReport `json:"config"`
	MakespanSeconds    float64      `json:"makespan_s"`
	Utilisation        float64      `json:"utilisation"`
	Moves              int64        `json:"moves"`
	LentSlotSeconds    float64      `json:"lent_slot_s"`
	Jain               float64      `json:"jain"`
	HoardingSlotSecond float64      `json:"hoarding_slot_s"`
	PeakRSSBytes       int64        `json:"peak_rss_bytes"`
	AbandonedThreads   int          `json:"abandoned_threads"`
	Slots              []SlotReport `json:"slots"`
	Jobs               []JobReport  `json:"jobs"`
	Notes              []string     `json:"notes,omitempty"`
	Error              string       `json:"error,omitempty"`

	readerGone bool // whoever read the result closed the pipe
}

// ConfigReport lists the effective settings.
type ConfigReport struct {
	Trackers        int     `json:"trackers"`
	MapSlots        int     `json:"map_slots"`
	ReduceSlots     int     `json:"reduce_slots"`
	MaxSlots        int     `json:"max_slots"`
	Pin             bool    `json:"pin"`
	BlockBytes      int64   `json:"block_bytes"`
	MemoryBytes     int64   `json:"memory_bytes"`
	SortBufferBytes int64   `json:"sort_buffer_bytes"`
	SpillPercent    float64 `json:"spill_percent"`
	BufferGrowth    bool    `json:"buffer_growth"`
	GrowthThreshold float64 `json:"growth_threshold"`
	MergeFactor     int     `json:"merge_factor"`
	Compress        string  `json:"compress"`
	Slowstart       float64 `json:"slowstart"`
	BorrowMap       float64 `json:"borrow_map"`
	BorrowReduce    float64 `json:"borrow_reduce"`
	Attempts        int     `json:"attempts"`
	TaskTimeoutS    float64 `json:"task_timeout_s"`
}

// SlotReport is one slot; Core is what its thread read back, -1 where it is
// not bound.
type SlotReport struct {
	ID      int     `json:"id"`
	Tracker int     `json:"tracker"`
	Core    int     `json:"core"`
	Home    string  `json:"home"`
	BusyS   float64 `json:"busy_s"`
	LentS   float64 `json:"lent_s"`
}

// JobReport is one job of the run.
type JobReport struct {
	Name      string   `json:"name"`
	Pool      string   `json:"pool"`
	State     string   `json:"state"`
	Maps      int      `json:"maps"`
	Reduces   int      `json:"reduces"`
	SubmitS   float64  `json:"submit_s"`
	StartS    float64  `json:"start_s"`
	MapsDoneS float64  `json:"maps_done_s"`
	FinishS   float64  `json:"finish_s"`
	DeadlineS *float64 `json:"deadline_s"`
	Counters  Counters `json:"counters"`
}

// Counters are Hadoop's job counters (its "Map-Reduce Framework" group) and
// ours. Those of failed and killed attempts are not added, but for the ones
// that count attempts.
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

// add adds the counters of one attempt.
func (c *Counters) add(d *Counters) {
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

// addBuffer adds what a kvbuffer counted.
func (c *Counters) addBuffer(s spill.Stats) {
	c.MapOutputRecords += s.Records
	c.MapOutputBytes += s.Bytes
	c.CombineInputRecords += s.CombineIn
	c.CombineOutputRecords += s.CombineOut
	c.SpilledRecords += s.SpilledRecords
	c.SpilledBytes += s.SpilledBytes
	c.Spills += s.Spills
	c.KVBufferExpansions += s.Expansions
}

// Last is the report of the job whose output the run's output is.
func (r *Report) Last() *JobReport { return &r.Jobs[len(r.Jobs)-1] }

// Matched reports whether the run wrote any record. A reader that went away
// had something to read.
func (r *Report) Matched() bool {
	return r.readerGone || len(r.Jobs) > 0 && r.Last().Counters.ReduceOutputRecords > 0
}

// report gathers the outcome of the run; err is how it ended.
func (r *run) report(err error) *Report {
	if r.coordinator == nil {
		return nil
	}
	ledger := r.coordinator.ledger
	st := ledger.Stats()
	rep := &Report{
		Schema: 1, Kind: "run", Policy: r.o.Policy.Name(), Config: r.configReport(), MakespanSeconds: seconds(r.now()),
		Utilisation: st.Utilisation(), Moves: st.Moves, LentSlotSeconds: seconds(st.Lent), Jain: st.Jain,
		HoardingSlotSecond: seconds(st.WaitingReduce), PeakRSSBytes: machine.PeakRSSBytes(), AbandonedThreads: r.abandoned, Notes: r.notes,
	}
	for _, s := range ledger.Config().Slots {
		t := ledger.SlotTimes(s.ID)
		rep.Slots = append(rep.Slots, SlotReport{
			ID: int(s.ID), Tracker: int(s.Tracker), Core: r.pool.Core(int(s.ID)), Home: s.Home.String(), BusyS: seconds(t.Busy), LentS: seconds(t.Lent),
		})
	}
	for _, j := range r.jobs {
		if j.submitted {
			rep.Jobs = append(rep.Jobs, j.report(ledger))
		}
	}
	if err == nil {
		return rep
	}
	rep.Error = err.Error()
	if n := len(rep.Jobs); n > 0 && r.ctx.Err() == nil {
		// The Ledger ends a job that cannot go on as it ends one that is
		// cancelled; the run knows that it failed.
		rep.Jobs[n-1].State = slots.Failed.String()
	}
	return rep
}

// report is the job's share of the run's report.
func (j *jobRun) report(l *slots.Ledger) JobReport {
	t := l.JobTimes(j.id)
	_, maps := l.JobTasks(j.id, slots.Map)
	rep := JobReport{
		Name: j.job.Name, Pool: j.job.Name, State: l.JobState(j.id).String(), Maps: int(maps), Reduces: j.parts,
		SubmitS: seconds(t.Submit), StartS: seconds(t.Start), MapsDoneS: seconds(t.MapsDone), FinishS: seconds(t.Finish), Counters: j.counters,
	}
	if counter, ok := j.releaser.(jobs.RecordCounter); ok {
		rep.Counters.ReduceOutputRecords = counter.Records()
	}
	return rep
}

func (r *run) configReport() ConfigReport {
	o, c := &r.o, r.coordinator.ledger.Config()
	return ConfigReport{
		Trackers: o.Trackers, MapSlots: o.MapSlots, ReduceSlots: o.ReduceSlots, MaxSlots: o.MaxSlots, Pin: !o.NoPin,
		BlockBytes: r.plan.BlockBytes(), MemoryBytes: o.MemoryBytes, SortBufferBytes: r.sortBufferBytes, SpillPercent: o.SpillPercent,
		BufferGrowth: !o.NoGrowth, GrowthThreshold: o.GrowthThreshold, MergeFactor: o.MergeFactor, Compress: o.Codec.String(),
		Slowstart: share(*o.Slowstart), BorrowMap: share(c.BorrowMap), BorrowReduce: share(c.BorrowReduce),
		Attempts: o.Attempts, TaskTimeoutS: seconds(o.TaskTimeout),
	}
}

func share(p slots.PPM) float64 { return float64(p) / 1e6 }

func seconds(d time.Duration) float64 { return d.Seconds() }
