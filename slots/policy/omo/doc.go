// Package omo holds OMO and its halves, lazy start and batch finish, and the two
// baselines over containers that it is compared with, FRESH and YARN.
//
// Paper: Yang, Wang, Mao, Yao, Mi, Sheng: Optimizing Internal Overlaps by
// Self-Adjusting Resource Allocation in Multi-Stage Computing Systems, IEEE
// Access 2021 (seed 004). Clauses are named as in SPEC 4.5 (O1 to O14) and 5.5
// (A49 to A63); docs/policies.md lists them, and which are the paper's, which
// corrected and which reconstructed.
//
// A container is an open slot, whatever its home kind (O1): all policies here
// lend every slot. As in the Hadoop that the paper changed, a heartbeat starts
// one task; with heartbeat 0 trackers are visited in turn until nothing is left
// to start, so that few tasks spread evenly.
//
// What is learnt (how long tasks take, what maps put out, how fast reduces copy,
// how often containers are released) comes from the Ledger's facts alone.
//
// Memory: a few words a job and a slot. Everything belongs to the policy.
// Neighbours: package slots is the interface, slots/policy the table of names.
package omo
