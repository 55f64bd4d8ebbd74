package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Counters are the job counters of Hadoop 1.0.3 (Task.Counter, JobInProgress.Counter) and
// some more. Failed and killed attempts count only in the counters of attempts. A simulated
// job has those, and under cost l2 also the counters of spills.
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
	DataLocalMaps        int64 `json:"DATA_LOCAL_MAPS"`
	GroupLocalMaps       int64 `json:"RACK_LOCAL_MAPS,omitempty"`
	SpeculativeMaps      int64 `json:"SPECULATIVE_MAPS"` // copies of running maps
	SpeculativeReduces   int64 `json:"SPECULATIVE_REDUCES"`
	PreScheduledMaps     int64 `json:"PRESCHEDULED_MAPS"` // maps by Slot PreScheduling, beyond the even load of their tracker
	LaunchedMaps         int64 `json:"TOTAL_LAUNCHED_MAPS"`
	LaunchedReduces      int64 `json:"TOTAL_LAUNCHED_REDUCES"`
	FailedMaps           int64 `json:"FAILED_MAPS"`
	FailedReduces        int64 `json:"FAILED_REDUCES"`
	KilledMaps           int64 `json:"KILLED_MAPS"`
	KilledReduces        int64 `json:"KILLED_REDUCES"`

	// Slot time of all attempts that have ended, and its part on slots of the other home
	// kind. A borrowed map slot runs a reduce, and a borrowed reduce slot a map.
	SlotsMillisMaps          int64 `json:"SLOTS_MILLIS_MAPS"`
	SlotsMillisReduces       int64 `json:"SLOTS_MILLIS_REDUCES"`
	BorrowedMapSlotMillis    int64 `json:"BORROWED_MAP_SLOT_MILLIS"`
	BorrowedReduceSlotMillis int64 `json:"BORROWED_REDUCE_SLOT_MILLIS"`

	CPUMilliseconds      int64 `json:"CPU_MILLISECONDS"`
	DiskWaitMilliseconds int64 `json:"DISK_WAIT_MILLIS,omitempty"` // waits of attempts for disks that are slowed down
	OutputBytes          int64 `json:"BYTES_WRITTEN"`
}

// Add adds the counters that the data plane of an attempt counts. It does not add the counters of
// attempts, which the Ledger counts.
func (c *Counters) Add(d *Counters) { c.add(d, 1) }

// addAttempts adds the counters of attempts of another job.
func (c *Counters) addAttempts(d *Counters) {
	c.DataLocalMaps += d.DataLocalMaps
	c.GroupLocalMaps += d.GroupLocalMaps
	c.SpeculativeMaps += d.SpeculativeMaps
	c.SpeculativeReduces += d.SpeculativeReduces
	c.PreScheduledMaps += d.PreScheduledMaps
	c.LaunchedMaps += d.LaunchedMaps
	c.LaunchedReduces += d.LaunchedReduces
	c.FailedMaps += d.FailedMaps
	c.FailedReduces += d.FailedReduces
	c.KilledMaps += d.KilledMaps
	c.KilledReduces += d.KilledReduces
	c.SlotsMillisMaps += d.SlotsMillisMaps
	c.SlotsMillisReduces += d.SlotsMillisReduces
	c.BorrowedMapSlotMillis += d.BorrowedMapSlotMillis
	c.BorrowedReduceSlotMillis += d.BorrowedReduceSlotMillis
}

// Sub subtracts the counters that the data plane of an attempt counted, because its output is
// lost. The attempt that replaces it counts the same again.
func (c *Counters) Sub(d *Counters) { c.add(d, -1) }

// add adds sign times the counters of the data plane.
func (c *Counters) add(d *Counters, sign int64) {
	c.MapInputRecords += sign * d.MapInputRecords
	c.MapInputBytes += sign * d.MapInputBytes
	c.MapOutputRecords += sign * d.MapOutputRecords
	c.MapOutputBytes += sign * d.MapOutputBytes
	c.CombineInputRecords += sign * d.CombineInputRecords
	c.CombineOutputRecords += sign * d.CombineOutputRecords
	c.ReduceInputGroups += sign * d.ReduceInputGroups
	c.ReduceInputRecords += sign * d.ReduceInputRecords
	c.ReduceOutputRecords += sign * d.ReduceOutputRecords
	c.ReduceShuffleBytes += sign * d.ReduceShuffleBytes
	c.SpilledRecords += sign * d.SpilledRecords
	c.SpilledBytes += sign * d.SpilledBytes
	c.Spills += sign * d.Spills
	c.KVBufferExpansions += sign * d.KVBufferExpansions
	c.ResumedMaps += sign * d.ResumedMaps
	c.CPUMilliseconds += sign * d.CPUMilliseconds
	c.DiskWaitMilliseconds += sign * d.DiskWaitMilliseconds
	c.OutputBytes += sign * d.OutputBytes
}

// WriteCounters writes the counters of each report, summed over all of its jobs, one per line,
// with the names of the report file. It leaves out counters that are 0. If there are several
// reports, it writes the policy above the counters of each. It fails if w does.
func WriteCounters(w io.Writer, reports ...*Report) error {
	var b bytes.Buffer
	for _, r := range reports {
		if len(reports) > 1 {
			fmt.Fprintln(&b, r.Policy)
		}
		if err := r.counters(&b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// counters appends a line for each counter of all jobs.
func (r *Report) counters(b *bytes.Buffer) error {
	var sum Counters
	for i := range r.Jobs {
		sum.Add(&r.Jobs[i].Counters)
		sum.addAttempts(&r.Jobs[i].Counters)
	}
	text, err := json.Marshal(&sum)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	// The tokens are names and numbers in turn, between two braces.
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	name := ""
	for {
		token, err := d.Token()
		if err != nil {
			return t.Flush() // io.EOF: json.Marshal has made the text, so it has no errors
		}
		switch v := token.(type) {
		case string:
			name = v
		case json.Number:
			if v != "0" {
				fmt.Fprintf(t, "%s\t%s\t\n", name, v)
			}
		}
	}
}
