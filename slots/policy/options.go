package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/slots"
)

// Options are the options of all policies, in groups by policy. DefaultOptions returns
// what applies when the user sets none. An Options is a plain value.
type Options struct {
	// Policies that lend slots: pi-dhfs, pd-dhfs, pi-fifo, dynamicmr. BorrowMap is
	// percentageOfBorrowedMapSlots, the share of the map slots that reduces may
	// borrow. BorrowReduce is percentageOfBorrowedReduceSlots, the share of the
	// reduce slots that maps may borrow. The Ledger records both (slots.Traits).
	BorrowMap    slots.PPM `json:"-"`
	BorrowReduce slots.PPM `json:"-"`

	// Policies with pools: fair, delay, late, pi-dhfs, pd-dhfs. LocalityDelay is
	// how long a job waits for a slot at its input, and then once more for a slot
	// in the same group [Delay10]. 0: jobs do not wait. nil: the policy's own delay,
	// which delay alone has. The Ledger's configuration records it.
	LocalityDelay *time.Duration `json:"-"`

	// ras:
	//
	//   - Cycle is the control cycle, the time between two placements. 0: the mean time of
	//     a map, between 250 ms and 10 s.
	//   - ShuffleMemory: a reduce that copies holds the memory that it needs to reduce.
	//   - RequiredAtFirst is how many maps a job with a goal requires before its first map is
	//     done: "all", also as "", or "one".
	//   - TakeMapsFor says how long ras takes maps out of the placement of the job with the
	//     highest utility. With "room", or "", as long as that utility stays above the
	//     lowest of the jobs that then have room for a map. With "any", as long as it stays
	//     above the lowest of all other jobs [RAS11, "mapper loop"].
	//   - PreemptReduces: if a reduce waits for room to reduce, ras kills a reduce of a job
	//     with a later goal.
	Cycle           time.Duration `json:"cycle_ns,omitempty"`
	ShuffleMemory   bool          `json:"shuffle_memory,omitempty"`
	RequiredAtFirst string        `json:"required_at_first,omitempty"`
	TakeMapsFor     string        `json:"take_maps_for,omitempty"`
	PreemptReduces  bool          `json:"preempt_reduces,omitempty"`

	// dynamicmr:
	//
	//   - DHSA is the allocation that dynamicmr builds on: "pi", "pd", or "off", which is
	//     fair.
	//   - SEPB: dynamicmr starts copies of slow tasks.
	//   - SEPBJobs is the share of the running jobs whose pending tasks go before copies: 0
	//     is job-first, as in LATE, 1 is batch-first. SEPBMapJobs and SEPBReduceJobs replace
	//     it for copies of that kind.
	//   - PreScheduling: a tracker may take maps at their input beyond its part of the load.
	//   - SlotWeights are what tasks weigh: a tracker runs no more than its home slots weigh
	//     together. The zero value sets no bound.
	DHSA           string        `json:"dhsa,omitempty"`
	SEPB           bool          `json:"sepb"`
	SEPBJobs       slots.PPM     `json:"sepb_jobs"`
	SEPBMapJobs    Override      `json:"sepb_map_jobs,omitzero"`
	SEPBReduceJobs Override      `json:"sepb_reduce_jobs,omitzero"`
	PreScheduling  bool          `json:"prescheduling"`
	SlotWeights    slots.Weights `json:"slot_weights,omitzero"`

	// dynamicmr, late, and policies with ContainerCopies. CopyAfter is the least time that an attempt runs before it is
	// copied. It should be longer than the time between two reports of progress. 0: 100 ms.
	// CopyRule says which running tasks are worth a copy: "late", also as "", or "hadoop",
	// those far behind the average progress.
	CopyAfter time.Duration `json:"copy_after_ns,omitempty"`
	CopyRule  string        `json:"copy_rule,omitempty"`

	// fair-containers, batch-finish, lazy-start, omo:
	//
	//   - ContainerOrder is the order of jobs in their fair scheduler. "deficit" goes by the
	//     container time below their fair share, "count" by the containers that a job has.
	//   - Containers, also for yarn, is "slots", also as "", or "resources". With the latter
	//     a tracker runs no more than its CPU and memory have room for.
	//   - ContainerCopies: a container for which no task is pending may copy a slow running
	//     one, by CopyAfter and CopyRule.
	//   - BatchReserve: a batch of last maps that has begun gets every free container until
	//     all its maps have started.
	//   - LazyRoom says from which containers lazy start subtracts those of a job's reduces, to
	//     learn how many its maps then get. "all", also as "", is all of them, as in [OMO21, eq.
	//     3]. "share" is the job's own share of them [OMO21, "room in the share"].
	//   - ReleaseWindow is T_w, the least length of a window in which releases are counted.
	//     0: 10 s, and for short maps a third of a map's time.
	ContainerOrder  string        `json:"container_order,omitempty"`
	Containers      string        `json:"containers,omitempty"`
	ContainerCopies bool          `json:"container_copies,omitempty"`
	BatchReserve    bool          `json:"batch_reserve,omitempty"`
	LazyRoom        string        `json:"lazy_room,omitempty"`
	ReleaseWindow   time.Duration `json:"release_window_ns,omitempty"`

	// dynsplit, per tracker. AdditionalMapSlots is how many extra map slots open while maps
	// are in their I/O period. ReduceTotal, ReduceShuffle and ReduceCompute bound the reduces
	// that run, that copy, and that sort or reduce at a time; 0: no bound. EarlyReduces is
	// the rule that holds back reduces whose maps are not all done: "floor", "bound", "both"
	// (also as ""), or "printed", which applies neither.
	EarlyReduces       string `json:"early_reduces,omitempty"`
	AdditionalMapSlots int32  `json:"additional_map_slots"`
	ReduceTotal        int32  `json:"reduce_total"`
	ReduceShuffle      int32  `json:"reduce_shuffle"`
	ReduceCompute      int32  `json:"reduce_compute"`
}

// SetRecorded sets the options that a run has recorded in its configuration c, and leaves the others
// as they are. It fails if c.Options are not readable.
//
// The Ledger records an option in one of two places. By default it is a key of c.Options, because a
// policy gives all its options to the Ledger (slots.Traits.Options). An option with the key "-" is a
// field of c itself, which SetRecorded copies.
func (o *Options) SetRecorded(c *slots.Config) error {
	if len(c.Options) > 0 {
		if err := json.Unmarshal(c.Options, o); err != nil {
			return fmt.Errorf("recorded options: %s", errs.OfJSON(err))
		}
	}
	o.BorrowMap = c.BorrowMap
	o.BorrowReduce = c.BorrowReduce
	o.LocalityDelay = c.LocalityDelay
	return nil
}

// TimeOr returns the time that given points to, or other if it is nil.
func TimeOr(given *time.Duration, other time.Duration) time.Duration {
	if given == nil {
		return other
	}
	return *given
}

// Override is a share that replaces another one if Given is set.
type Override struct {
	Given bool      `json:"given"`
	Share slots.PPM `json:"share"`
}

// copyHadoop is Hadoop's own rule of speculation (Options.CopyRule).
const copyHadoop = "hadoop"

// DefaultOptions returns the options that apply when the user sets none.
func DefaultOptions() Options {
	return Options{
		BorrowMap: slots.One, BorrowReduce: slots.One,
		ContainerOrder: "deficit",
		DHSA:           "pi", SEPB: true, SEPBJobs: slots.One, PreScheduling: true,
		AdditionalMapSlots: 1,
	}
}

// Check returns an error of kind errs.BadOptions if the value of an option is out of range or no
// choice. An empty choice stands for the default one.
func (o *Options) Check() error { return setting.Check(o.Fields()) }

// mostSlots bounds options that count slots of a tracker.
const mostSlots = 1_000_000

// Fields returns all options, with pointers to the fields of o. A new option needs a field in
// Options and a line here.
func (o *Options) Fields() []setting.Setting {
	return setting.In("POLICIES", []setting.Setting{
		setting.Of("borrow-map", "BorrowMap", "`SHARE` of the map slots that reduces may borrow", "1", setting.Share(&o.BorrowMap)),
		setting.Of("borrow-reduce", "BorrowReduce", "`SHARE` of the reduce slots that maps may borrow", "1", setting.Share(&o.BorrowReduce)),
		setting.Of("locality-delay", "LocalityDelay", "how long a job waits for a slot near its input, `TIME`; 0: not at all", "4.5s under delay, else 0", setting.Optional(&o.LocalityDelay, func(d *time.Duration) setting.Value { return setting.Time(d, 0) })),
		setting.Of("dhsa", "DHSA", "what dynamicmr allocates by, `pi|pd|off`: as pi-dhfs, as pd-dhfs, or as fair", "pi", setting.Choice(&o.DHSA, "pi", "pd", "off")),
		setting.Of("sepb", "SEPB", "let dynamicmr copy slow tasks: `on|off`", "on", setting.Either(&o.SEPB, "on", "off", true)),
		setting.Of("sepb-jobs", "SEPBJobs", "`SHARE` of the running jobs whose pending tasks go before dynamicmr's copies; 0: job-first, as under late; 1: batch-first", "1", setting.Share(&o.SEPBJobs)),
		setting.Of("sepb-map-jobs", "SEPBMapJobs", "the same `SHARE` for copies of maps alone", "that of both kinds", override(&o.SEPBMapJobs)),
		setting.Of("sepb-reduce-jobs", "SEPBReduceJobs", "the same `SHARE` for copies of reduces alone", "that of both kinds", override(&o.SEPBReduceJobs)),
		setting.Of("prescheduling", "PreScheduling", "let dynamicmr give a tracker maps at their input beyond its part of the load: `on|off`", "on", setting.Either(&o.PreScheduling, "on", "off", true)),
		setting.Of("slot-weights", "SlotWeights", "what tasks weigh under dynamicmr, `map=N,reduce=N`: a tracker runs no more than its home slots weigh together", "no bound but the slots", weights(&o.SlotWeights)),
		setting.Of("copy-after", "CopyAfter", "how long an attempt must have run before it is copied, `TIME`", "100ms", setting.Time(&o.CopyAfter, 1)),
		setting.Of("copy-rule", "CopyRule", "which running tasks are copied, `late|hadoop`. late: the slow ones that will end last; hadoop: as in Hadoop 1.x, those 0.2 behind the average progress of their job", "late", setting.Choice(&o.CopyRule, "late", "hadoop")),
		setting.Of("container-order", "ContainerOrder", "how omo and its parts order jobs, `deficit|count`: by what they are owed, or by the containers that they have", "deficit", setting.Choice(&o.ContainerOrder, "deficit", "count")),
		setting.Of("containers", "Containers", "what a container is under yarn, omo and its parts, `slots|resources`. slots: a slot; resources: a slot with the CPU and memory that the profile of its job asks for", "slots", setting.Choice(&o.Containers, "slots", "resources")),
		setting.Of("container-copies", "ContainerCopies", "let omo and its parts copy slow tasks where no pending task may start: `off|on`", "off", setting.Either(&o.ContainerCopies, "on", "off", false)),
		setting.Of("batch-reserve", "BatchReserve", "keep what becomes free for a batch of last maps until all of it has started (omo, batch-finish): `off|on`", "off", setting.Either(&o.BatchReserve, "on", "off", false)),
		setting.Of("lazy-room", "LazyRoom", "where omo and lazy-start take the room for a job's reduces from, `all|share`. all: from all containers, as the paper has it; share: from the job's own share of them", "all", setting.Choice(&o.LazyRoom, "all", "share")),
		setting.Of("release-window", "ReleaseWindow", "the least time over which omo counts released containers, `TIME`", "10s, or a third of a map's time if that is less", setting.Time(&o.ReleaseWindow, 1)),
		setting.Of("additional-map-slots", "AdditionalMapSlots", "map slots per tracker that open while maps are in their I/O period, at most `N` (dynsplit)", "1", setting.Count(&o.AdditionalMapSlots, 0, mostSlots)),
		setting.Of("early-reduces", "EarlyReduces", "which limit holds for reduces that would wait for maps (dynsplit), `both|floor|bound|printed`. floor: for each job, the whole slots of its share. bound: for all jobs together, the sum of their shares. both: both limits. printed: as on the slides, where a part of a slot is enough for one more reduce", "both", setting.Choice(&o.EarlyReduces, "both", "floor", "bound", "printed")),
		setting.Of("reduce-total", "ReduceTotal", "reduces a tracker runs at a time, at most `N` (dynsplit)", "no bound", setting.Count(&o.ReduceTotal, 1, mostSlots)),
		setting.Of("reduce-shuffle", "ReduceShuffle", "reduces that copy on a tracker at a time, at most `N` (dynsplit)", "no bound", setting.Count(&o.ReduceShuffle, 1, mostSlots)),
		setting.Of("reduce-compute", "ReduceCompute", "reduces that sort or reduce on a tracker at a time, at most `N` (dynsplit)", "no bound", setting.Count(&o.ReduceCompute, 1, mostSlots)),
		setting.Of("control-cycle", "Cycle", "how often ras places tasks anew, `TIME`", "the mean time of a map, from 250ms to 10s", setting.Time(&o.Cycle, 1)),
		setting.Of("shuffle-memory", "ShuffleMemory", "under ras, let a reduce hold the memory of its reduce phase while it copies: `off|on`", "off", setting.Either(&o.ShuffleMemory, "on", "off", false)),
		setting.Of("preempt-reduces", "PreemptReduces", "let ras kill a reduce, at most once per task, when a reduce of a job with an earlier goal waits for its room: `off|on`", "off", setting.Either(&o.PreemptReduces, "on", "off", false)),
		setting.Of("required-at-first", "RequiredAtFirst", "`all|one`: how many maps ras takes a job with a goal to require before its first map is done", "all", setting.Choice(&o.RequiredAtFirst, "all", "one")),
		setting.Of("take-maps-for", "TakeMapsFor", "how long ras takes maps from the job with the highest utility, `room|any`. room: while this utility stays above the lowest one of the jobs that have room for a map. any: while it stays above the lowest one of all other jobs that have a map to place", "room", setting.Choice(&o.TakeMapsFor, "room", "any")),
	})
}

// override returns the value of a share that replaces another one.
func override(p *Override) setting.Value {
	return setting.Value{Set: func(text string) error {
		p.Given = true
		return setting.Share(&p.Share).Set(text)
	}, Show: func() string {
		if !p.Given {
			return ""
		}
		return p.Share.String()
	}, Valid: func() error { return setting.Share(&p.Share).Check() }}
}

// weights returns the value of map=N,reduce=N, in either order. Both must be there.
func weights(p *slots.Weights) setting.Value {
	return setting.Value{Set: func(text string) error {
		var w slots.Weights
		for part := range strings.SplitSeq(text, ",") {
			kind, number, _ := strings.Cut(part, "=")
			of := map[string]*int32{"map": &w.Map, "reduce": &w.Reduce}[kind]
			if of == nil || *of != 0 {
				return fmt.Errorf("%s: not map=N,reduce=N; write map=1,reduce=2", errs.Quote(text))
			}
			if err := setting.Count(of, 1, slots.MostWeight).Set(number); err != nil {
				return err
			}
		}
		if min(w.Map, w.Reduce) < 1 {
			return fmt.Errorf("%s: give map and reduce; write map=1,reduce=2", errs.Quote(text))
		}
		*p = w
		return nil
	}, Show: func() string {
		if *p == (slots.Weights{}) {
			return ""
		}
		return fmt.Sprintf("map=%d,reduce=%d", p.Map, p.Reduce)
	}, Valid: func() error {
		if !p.Valid() {
			return fmt.Errorf("map=%d,reduce=%d: each is from 1 to %d", p.Map, p.Reduce, slots.MostWeight)
		}
		return nil
	}}
}
