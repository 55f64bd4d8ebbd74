// Package engine runs MapReduce jobs for real on the files and cores of one
// machine: one chain of jobs (RunChain), or many chains that share the slots in
// pools (RunBatch).
//
// One goroutine, the coordinator, owns the slots.Ledger. Other goroutines post
// facts to its inbox. What the Ledger decides goes to the threads of the slots
// (slots/pool). A map attempt reads a source (engine/source) into a kvbuffer
// (spill). A reduce attempt takes map outputs (shuffle), merges them
// (spill/runs) and writes a part (output). Nothing that happens once a record
// takes a lock, uses a channel or makes an event.
//
// Memory: everything that grows with the data is leased from one
// membudget.Budget of Options.MemoryBytes. An attempt reserves its floor before
// it starts, and holds nothing else while it waits for that.
//
// The life of a chain: it is checked with all others before anything starts
// (check.go), opened when its time has come, its jobs are submitted one after
// the other, and its result is settled (chain.go, arrivals.go). A failure ends
// one chain; the others go on. The states of chains, jobs and attempts are in
// state.go.
//
// The engine knows no policy, no job and no flag by name. Package engine/task is
// what an attempt does, engine/source what a map reads.
package engine
