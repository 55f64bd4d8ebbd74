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
// Two cost models (SPEC 6). L0: a map takes its map_time, a reduce its
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
// Two ways of asking. Heartbeat 0: AssignAll at each instant, after all its
// facts. Heartbeat T: tracker i of n beats at i·T/n and every T from there, as
// Hadoop's do: what ended or changed phase there since its last beat is told
// then, in that order, and Assign(tracker) follows. A kill stops an attempt at
// once and is told likewise. Submissions, faults and the availability of map
// outputs that were told take effect at their own time. A wake-up that a policy
// asked for is a visit of all trackers, out of turn. While no job is there,
// nothing beats.
//
// Memory: 24 bytes a waiting happening, about 100 a slot, 300 a job; under L1
// also 16 bytes an available output. A File is only read.
//
// Neighbours: workload reads the file, slots/setup turns it into what a Ledger
// takes, report is what comes out; engine is the other driver.
package sim
