// Package omo holds OMO and its two halves, lazy start and batch finish.
//
// Paper: Yang, Wang, Mao, Yao, Mi, Sheng: Optimizing Internal Overlaps by
// Self-Adjusting Resource Allocation in Multi-Stage Computing Systems, IEEE Access
// 2021 [OMO21]; its page is docs/papers/omo21.md. Algorithm 1 is lazy.go, Algorithm 2
// batch.go, Algorithm 3 omo.go; the equations are in formulas.go, the estimate of F_o and
// A_o in monitor.go. Slots take any task (package yarn). The baselines that the
// paper compares with are packages yarn and fresh.
//
// A policy owns all that it keeps: a few words a job and a slot.
package omo
