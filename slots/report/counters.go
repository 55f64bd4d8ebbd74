package report

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

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
