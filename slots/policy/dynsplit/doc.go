// Package dynsplit is Dynamic Split, which gives slots to maps and reduces by how
// far each job's maps are, and lets tasks that use different resources overlap.
//
// Paper: Wang, Zhang, Liao, Zha: Dynamic Split Model of Resource Utilization in
// MapReduce, DataCloud-SC 2011 (seed 002, its slides). Clauses are named as in
// SPEC 4.3 (S1 to S10) and 5.3 (A23 to A34); docs/policies.md lists them, and
// which are the paper's, which corrected and which reconstructed.
//
// Dynamic resource allocation (split.go, shares.go): each job has a share of all
// home slots by its weight, and divides it between its maps and its reduces by
// w_m and w_r. A slot is given to the kind of a job that is farthest below its
// share, and changes its home kind with that (slots.Grant.Rehome): it is not
// lent, it has moved. Nothing else says when reduces start: slowstart is 0.
//
// Resource usage pipeline (pipeline.go): a map in its I/O period frees an
// additional map slot; reduces are bounded in total, in copy and in sort and
// compute. It rests on changes of phase, of which the Ledger tells (Observe).
//
// As in the Hadoop that the paper changed, a heartbeat starts one task; with
// heartbeat 0 trackers are visited in turn until nothing is left to start.
//
// Memory: about 100 bytes a job. Everything belongs to the policy. Neighbours:
// package slots is the interface, slots/policy the table of names; the third part
// of the pipeline, the kvbuffer that grows, is package spill's.
package dynsplit
