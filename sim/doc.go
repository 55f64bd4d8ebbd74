// Package sim runs a workload file in virtual time: with the same slots.Ledger, the
// same policies, events and report as a real run, on a cluster of any size.
//
// Run takes events from one queue, ordered by time and sequence (sim/cost):
// submissions, ends of attempts, completed copies, faults, heartbeats. It tells the
// Ledger all facts of one instant, then asks the Ledger, and obeys its orders at that
// instant. Run draws nothing at random: durations are a hash of seed, job and task
// (workload.Times). So the same seed gives the same bytes of events.
//
// A cost model says how long attempts copy and work (sim/cost). Under every model a
// tracker's speed divides the times of maps and reduces, not of copies, and the remote
// penalty multiplies the times of maps that are not on a tracker with their input. An
// attempt that shall fail fails at the end of its time. What a reduce has copied is its
// own: if a map's output is lost, a reduce that is past its copy goes on, and a reduce
// that still copies waits until the map has run again and copies that output then.
//
// If the policy says when reduces leave their copy phase (slots.PhaseGate), a reduce
// that has copied everything keeps its slot and memory until then.
//
// There are two ways of asking. At heartbeat 0, the driver calls AssignAll at each
// instant, after all its facts. At heartbeat T, tracker i of n has a heartbeat at i·T/n
// and every T from there, as in Hadoop: then it reports what has ended or changed phase
// since its last heartbeat, in that order, and the driver calls Assign for it. A kill
// stops an attempt at once and is reported likewise. Submissions, faults, and the
// availability of map outputs that were reported take effect at their own time. A
// wake-up that a policy asked for is a visit of all trackers, out of turn. While there
// is no job, there are no heartbeats.
//
// Memory: 24 bytes for each event in the queue, about 200 for each slot, 500 for each
// job, and what sim/cost adds. A File is only read.
//
// Neighbours: workload reads the file, slots/setup has the configuration and says
// which job is submitted next, report is the result; engine is the other driver.
package sim
