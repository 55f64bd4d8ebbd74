// Package spill is the way of records from map to reduce: the kvbuffer that
// collects and sorts them, the segments it spills, and the merge that reads
// them back in order.
//
//	Emit, EmitSpans, Take -> Buffer -> (spill: segment on disk)* -> MapOutput
//	                MapOutput, MapOutput, ... -> Merge -> Next, NextGroup
//
// A Buffer collects in one of two ways. Sorting, it appends records to chunks,
// or refers to blocks it was given whole, and keeps 16 bytes of index for
// each; entries are sorted, not records. Where all of the job is likely to fit
// in memory they are only divided by partition; a Merge then sorts those of all
// outputs at once (package late). Hash-combining, it folds each value into the
// accumulator of its key, and only distinct keys are sorted. Either way it
// starts small, may grow by the Dynamic Split rule, and otherwise spills at its
// mark while it collects on. What it holds in the end stays in memory, where
// merges read it, until the memory budget evicts it.
//
// Who owns memory: all of it is chunks of the lease a Buffer or Merge is
// given, two of which a Buffer keeps for sorting and writing. A Buffer's chunks
// go over to the MapOutput's own lease at Close. Keys and values that a Merge
// returns are borrowed until its next step.
//
// Order: equal keys come in the order of the maps, and of one map in the order
// in which they were emitted.
//
// The format on disk stands in docs/formats.md. Neighbours: membudget and
// packages run, what a sorted run is, and late below; shuffle holds MapOutputs,
// engine drives.
package spill
