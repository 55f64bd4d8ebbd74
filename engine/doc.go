// Package engine runs MapReduce jobs for real on the files and cores of one
// machine.
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
// The engine knows no policy, no job and no flag by name.
package engine
