// Package mrlocal is the module's reading map; it has no code.
//
// mrlocal runs MapReduce jobs for real on the files and cores of one machine,
// in bounded memory, and lets a person choose and see how the slots are handed
// out. Read the packages in the order in which the bytes go:
//
//	input    files to splits to record-aligned blocks
//	jobs     what a user writes: Mapper, Folder, Reducer, Job, Chain;
//	         jobs/wordcount, jobs/sort, jobs/grep; jobs/jobtest, the reference
//	spill    the kvbuffer, segments on disk, the merge
//	shuffle  which map output holds which partition
//	output   attempts, commit, parts in order
//
// and then the control beside them:
//
//	slots         the Ledger: pure bookkeeping of slots, jobs and tasks; Policy; FIFO
//	slots/policy  fair, pi-dhfs and the table of names; policytest, their suite
//	slots/pool    OS threads, locked and bound to cores
//	trace         every fact and decision, in one order
//	engine        the coordinator that drives the Ledger for real
//
// workload makes input data; cmd/mrlocal is the command; bench measures;
// internal/membudget is where all large memory comes from, internal/arch the
// rules of the house as tests. ARCHITECTURE.md has the figures.
package mrlocal
