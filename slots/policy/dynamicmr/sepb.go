package dynamicmr

import "mrlocal/slots"

// Speculative execution performance balancing (SEPB): a copy helps its job, a
// pending task the batch. Reconstructed (A22).

// MostJobsChecked is maxNumOfJobsCheckedForPendingTasks: the percentage of the
// running jobs that are looked through for pending tasks before a copy may
// start. At 0 none are, and a job's copies come when it is the job's turn, as
// LATE has it; at 1 all are, and pending tasks of any job go before copies.
func MostJobsChecked(percentage slots.PPM, running int32) int32 {
	return percentage.CeilOf(running)
}

// LeavesSlots is the condition under which copies may start: fewer tasks pend in
// the jobs checked (totalNumOfPendingMapTasks, or …ReduceTasks) than there are
// idle slots that they may use, so that a slot is left over.
func LeavesSlots(pending, idle int32) bool { return pending < idle }
