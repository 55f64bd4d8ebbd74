// Package ras holds RAS, the Resource-aware Adaptive Scheduler: it places tasks by
// what they need of a tracker's CPU, I/O and memory, so that each job meets its
// completion time goal, if it can.
//
// Paper: Polo, Castillo, Carrera, Becerra, Whalley, Steinder, Torres, Ayguadé:
// Resource-aware Adaptive Scheduling for MapReduce Clusters, Middleware 2011 (seed
// 003). Clauses are named as in SPEC 4.4 (R1 to R22) and 5.4 (A35 to A48);
// docs/policies.md lists them, and which are the paper's, which corrected and
// which reconstructed.
//
// Two halves, as in the paper. The Placement Algorithm (placement.go) finds, once in
// a control cycle, how many maps and reduces of each job belong on each tracker: the
// matrices P^M and P^R. The Task Scheduler (scheduler.go) moves what runs towards
// that, whenever a slot is free, without a tracker ever being overloaded. A slot is
// a job slot: it is opened for what the placement has put on its tracker, whatever
// its home kind (R1).
//
// Feasibility (eq. 6) holds after every launch and every switch of a reduce from
// shuffle to reduce: checked builds look after each decision.
//
// Memory: some words for each running job and tracker. Everything belongs to the
// policy. Neighbours: package slots is the interface, slots/demand the profiles,
// slots/policy the table of names.
package ras
