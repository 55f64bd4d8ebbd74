// Package engine runs MapReduce jobs for real on the files and cores of one
// machine: one chain of jobs (RunChain), or many that share the slots in pools
// (RunBatch).
//
// One coordinator goroutine owns the slots.Ledger: workers report facts
// through its inbox, and what the Ledger decides goes to the slots' threads
// (slots/pool). Map attempts read splits (input), collect into a kvbuffer
// (spill); reduce attempts take map outputs (shuffle), merge them (spill) and
// write parts (output). No event, lock or channel is touched per record.
//
// Memory: everything that grows with the data is leased from one
// membudget.Budget of Options.MemoryBytes. An attempt reserves its floor
// before it starts and holds nothing else while it waits.
//
// A job's life: checked with all others before anything starts (check.go),
// opened when its time has come, submitted, and settled when its attempts have
// ended, well or not (arrivals.go, work.go). What goes wrong ends that job.
//
// The engine knows no policy, no job and no flag by name. Neighbours below it:
// engine/task is what an attempt does, engine/source what a map reads.
package engine
