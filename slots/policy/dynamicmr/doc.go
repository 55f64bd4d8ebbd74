// Package dynamicmr holds the rules that DynamicMR (seed 001) lays over the
// dynamic Hadoop slot allocation (DHSA, which is pi-dhfs and pd-dhfs): real
// speculation after LATE, the balance between copies and pending tasks (SEPB),
// and Slot PreScheduling. Each is a pure function of counts and times; Speculation
// alone keeps something: what it has measured of running and finished attempts.
//
// The seed names SEPB and PreScheduling and gives no algorithm for either. Both
// are reconstructed from what is told of the paper (SPEC 3.1, A22).
//
// Memory: Speculation has 8 bytes a slot, 16 a tracker, and for each running job
// the times of its last finished attempts, half a KiB at most. It owns all of it
// and keeps no View.
//
// Neighbours: slots/demand has slot weights; slots/policy asks these rules in its fair, pi-dhfs and pd-dhfs, and
// makes the policies dynamicmr, late and delay of them.
package dynamicmr
