// Package dynsplit is Dynamic Split: it divides slots between maps and reduces by how
// far each job's maps are, and lets tasks that use different resources overlap.
//
// Paper: Wang, Zhang, Liao, Zha: Dynamic Split Model of Resource Utilization in
// MapReduce, DataCloud-SC 2011, of which we have the slides [Split11]; its page is
// docs/papers/split11.md.
//
// Dynamic resource allocation is split.go and shares.go. Each job has a share of all
// home slots by its weight, and divides it between its maps and its reduces by w_m and
// w_r. A free slot goes to the kind of a job that is farthest below its share, and
// changes its home kind (slots.Grant.Rehome): it is not lent. Nothing else says when
// reduces start: the slowstart is 0.
//
// The resource usage pipeline is pipeline.go. A map in its I/O period opens an
// additional map slot. Reduces are bounded in total, in copy, and in sort and compute.
// The pipeline follows changes of phase, which the Ledger reports (Observe). Its third
// part, the kvbuffer that grows, is in package spill.
//
// As in the Hadoop that the paper changed, a heartbeat starts one task. With heartbeat
// 0 trackers are visited in turn until nothing is left to start.
//
// A policy owns all that it keeps: about 100 bytes a job.
package dynsplit
