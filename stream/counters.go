package stream

import "fmt"

// Counters of a child, which Hadoop adds up over all of them.
const (
	mapInputBytes = iota
	mapOutputRecords
	combineInputRecords
	combineOutputRecords
	counters
)

// CounterGroup is the group of these counters in Hadoop.
const CounterGroup = "mrlocal"

// counterNames has the names of the counters in their order. They are those of the report, but for
// the first: Hadoop takes MAP_INPUT_BYTES of any group for an old name of its own "Bytes Read", and
// adds to that (AbstractCounters.findCounter).
func counterNames() [counters]string {
	return [counters]string{"INPUT_BYTES", "MAP_OUTPUT_RECORDS", "COMBINE_INPUT_RECORDS", "COMBINE_OUTPUT_RECORDS"}
}

// tellCounters writes the counters as Hadoop Streaming reads them (PipeMapRed, "reporter:").
func (c *child) tellCounters() {
	if !c.o.Task.Counts {
		return
	}
	for i, name := range counterNames() {
		if c.counters[i] > 0 {
			fmt.Fprintf(c.stderr, "reporter:counter:%s,%s,%d\n", CounterGroup, name, c.counters[i])
		}
	}
}
