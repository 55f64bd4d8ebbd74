// Package omo holds OMO and its two halves, lazy start and batch finish, and the
// baselines over containers that it is compared with, FRESH and YARN.
//
// Paper: Yang, Wang, Mao, Yao, Mi, Sheng: Optimizing Internal Overlaps by
// Self-Adjusting Resource Allocation in Multi-Stage Computing Systems, IEEE Access
// 2021 [OMO21]; its page is docs/papers/omo21.md. Algorithm 1 is lazy.go, Algorithm 2
// batch.go, Algorithm 3 omo.go; the equations are in formulas.go. FRESH is fresh.go
// [FRESH14], YARN is yarn.go (Hadoop 2.6, RMContainerAllocator).
//
// A container is an open slot, whatever its home kind [OMO21, section III]: all
// policies here lend every slot. As in the Hadoop that the paper changed, a heartbeat
// starts one task. With heartbeat 0 trackers are visited in turn until nothing is left
// to start, so that few tasks spread evenly.
//
// Policies learn from the Ledger's facts alone: how long tasks take, what maps put
// out, how fast reduces copy, how often containers are released.
//
// A policy owns all that it keeps: a few words a job and a slot.
package omo
