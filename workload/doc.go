// Package workload reads workload files.
//
// A workload file (docs/workloads.md) lists jobs that arrive in pools, on a cluster.
// Load and Parse read the YAML and check all of it. They return a File in which
// references are indexes and defaults are applied. The first mistake is an error
// with file, line and column. A long file is read in parts, so that 100,000 jobs
// take tens of megabytes.
//
// Times are the durations of simulated tasks: a pure function of seed, job and task.
//
// Memory: a File belongs to the caller; the package does not write to it afterwards.
// Neighbours: slots/setup makes a File into what a Ledger takes; sim, bench and the
// command line use both. It knows internal/usage and internal/ppm.
package workload
