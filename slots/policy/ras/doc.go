// Package ras holds RAS, the Resource-aware Adaptive Scheduler: it places tasks by what
// they need of a tracker's CPU, I/O and memory, so that each job meets its completion
// time goal, if it can.
//
// Paper: Polo, Castillo, Carrera, Becerra, Whalley, Steinder, Torres, Ayguadé:
// Resource-aware Adaptive Scheduling for MapReduce Clusters, Middleware 2011 [RAS11];
// its page is docs/papers/ras11.md.
//
// The Placement Algorithm (placement.go) finds, once in a control cycle, how many maps
// and reduces of each job belong on each tracker: the matrices P^M and P^R. The Task
// Scheduler (scheduler.go) starts tasks towards that placement, whenever a slot is
// free, and never overloads a tracker. The formulas are in formulas.go, the state of a
// job in status.go. A slot is a job slot: it is opened for the tasks that are placed on
// its tracker, whatever its home kind [RAS11, section 3].
//
// Feasibility [RAS11, eq. 6] holds after every launch and every switch of a reduce from
// shuffle to reduce: checked builds test it after each decision.
//
// A policy owns all that it keeps: some words for each running job and tracker.
package ras
