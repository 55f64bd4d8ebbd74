package slots

import "time"

// AttemptCounts count a job's attempts of one kind, as Hadoop's job counters do.
type AttemptCounts struct {
	Started     int64
	Failed      int64
	Killed      int64
	Speculative int64
	LostOutputs int64
	Local       int64 // maps started on a tracker that has their input
	GroupLocal  int64 // maps started elsewhere in a group that has it

	PreScheduled int64 // maps started by the rule prescheduled

	// Times of attempts that have ended, however they ended (Hadoop 1.0.3,
	// JobInProgress.meterTaskAttempt). Lent is the part on slots of the other kind.
	SlotTime, Lent time.Duration
}

// JobTimes are times in the life of a job, from the start of the run. A negative time
// has not come yet.
type JobTimes struct {
	Submit   time.Duration
	Start    time.Duration // of its first attempt
	MapsDone time.Duration
	Finish   time.Duration
}

// SlotTimes says how long a slot was used.
type SlotTimes struct {
	Busy, Lent time.Duration // Lent is part of Busy
	Starts     int64
}
