// Package sim runs a workload file in virtual time: the same slots.Ledger, the
// same policies, events and report as a real run, on a cluster of any size.
//
// Run pops happenings off one heap ordered by (time, sequence): submissions,
// ends of attempts, copies that are complete, faults, beats. All that happens
// at one instant is told to the Ledger before it is asked; its orders are
// obeyed at that instant. Nothing is drawn at random here: durations come from
// a hash of seed, job and task (workload.Times), so the same seed gives the
// same bytes of events.
//
// Three cost models (SPEC 6). L0: a map takes its map_time, a reduce its
// reduce_time from when all outputs of the job's maps are there. L1: a reduce
// first copies each output as it becomes available, over the net bandwidth of
// its tracker, which it has for itself. L0 is L1 with outputs of no bytes, and
// is computed that way (flow.go). A tracker's speed divides the times of maps
// and reduces, not of copies; the remote penalty multiplies those of maps that
// are not on a tracker with their input. An attempt that shall fail does so at
// the end of its time. What has been copied is the reduce's own: one that is
// past its copy goes on when a map's output is lost, one that still copies waits
// for the map to run again and copies that output then. Phases and ends are
// facts; progress is not told.
//
// L2: the tasks of a tracker share its CPU, disk and network (node.go). What the
// file and L1 say of an attempt's time is its time alone; it is cut into periods
// of one resource each: a map computes, then writes its output; a reduce copies,
// then sorts (on the disk), then reduces (on the CPU). Each resource is shared
// evenly but for caps, a job's cpu and disk (pool.go); the network has none
// (link.go). Without contention L2 is L1, to the nanosecond, plus the facts of
// periods, which are those of engine/task: compute, io; copy, sort, reduce.
// Where the papers and SPEC are silent L2 assumes:
//   - a map writes map_output once, a reduce's sort moves its part of all outputs
//     once, at the job's disk rate, within the time that the file gives; the rest
//     of that time is computing. No disk rate: no such period.
//   - a job with a profile, and neither cpu nor disk, has averages: see newNeeds.
//   - copies share the receiving tracker's network only, and all of them use it,
//     also those of outputs that are there already. Copying needs no CPU or disk.
//   - memory that is wanted beyond what a tracker has (the profile's mem, by
//     phase) takes away from the overlap of computing and I/O; where the cluster
//     has overcommit, wanting too much of anything costs speed: see pressure.
//   - a tracker with a capacity of its own (capacities) has so much of the cores,
//     disk and memory of the others. A task whose cap is more than there is runs
//     as much slower there.
//   - a loss of outputs takes from a reduce what it could not have copied without
//     them, if it had had the network for itself.
//
// The events that L2 costs are those of the set of sharers: a resource has one
// virtual time for each cap and is looked at when its first task is due, so that
// a change costs O(log n), and a network goes through the outputs of a job once
// for all reduces of that job which copy there, and only when somebody asks.
// Work is counted in 128 bits, in which time times rate is exact (work.go).
//
// Where the policy says when reduces leave their copy phase (slots.PhaseGate),
// one that has copied everything keeps its slot and memory until then.
//
// Two ways of asking. Heartbeat 0: AssignAll at each instant, after all its
// facts. Heartbeat T: tracker i of n beats at i·T/n and every T from there, as
// Hadoop's do: what ended or changed phase there since its last beat is told
// then, in that order, and Assign(tracker) follows. A kill stops an attempt at
// once and is told likewise. Submissions, faults and the availability of map
// outputs that were told take effect at their own time. A wake-up that a policy
// asked for is a visit of all trackers, out of turn. While no job is there,
// nothing beats.
//
// Memory: 24 bytes a waiting happening, about 150 a slot, 500 a job; under L1
// and L2 also 16 bytes an available output, under L2 about 32 a task that runs
// and 600 a tracker. A File is only read.
//
// Neighbours: workload reads the file, slots/setup turns it into what a Ledger
// takes, report is what comes out; engine is the other driver.
package sim
