// Package runs holds the sorted runs of a job, in memory and on disk, and merges
// them.
//
//	MapOutput         the runs of one map attempt: segments, then one in memory
//	Writer            sorted records -> one segment, block by block with checksums
//	cursor, loserTree one run, in memory or on disk -> the least of many
//	Merger            the records or groups of a tree
//	Merge             one partition of many MapOutputs, for a reduce
//
// Equal keys come in the order of the maps, and those of one map in the order in
// which it emitted them.
//
// # Memory
//
// The run in memory belongs to its MapOutput, with a lease of its own, until it
// is evicted and the last Merge that reads it has gone over to the disk. A Merge
// takes its buffers from the lease that it is given: a block of 64 KiB for each
// segment that it reads at once. Keys and values are borrowed: they are valid
// until the next step of the Merge or Merger that returned them.
//
// The format on disk is in docs/formats.md. Neighbours: package record says how
// records lie in memory; package spill makes MapOutputs; membudget evicts them.
package runs
