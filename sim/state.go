package sim

// The states of attempts and jobs are ordered: none ever goes back to an earlier state. So
// `state >= attemptEnded` asks whether the attempt has ended, however it ended.

// attemptState is how far an attempt has come.
type attemptState uint8

const (
	attemptStarted attemptState = iota // it is on its slot, and does nothing yet
	attemptCopying                     // a reduce waits for map outputs, or copies them
	attemptHeld                        // a reduce has copied everything, and may not go on yet
	attemptWorking                     // a map, or a reduce that has left its copy phase
	attemptEnded                       // its work is done, and its tracker has not reported the end yet
	attemptKilled                      // it was killed, and its tracker has not reported the end yet
	attemptGone                        // its slot is free
)

func (s attemptState) String() string {
	return [...]string{"started", "copying", "held", "working", "ended", "killed", "gone"}[s]
}

// Next lists the states that may follow s, for checked builds.
func (s attemptState) Next() []attemptState {
	// To gone before the end: its tracker is lost.
	return [...][]attemptState{
		attemptStarted: {attemptCopying, attemptWorking},
		attemptCopying: {attemptHeld, attemptKilled, attemptGone},
		attemptHeld:    {attemptWorking, attemptKilled, attemptGone},
		attemptWorking: {attemptEnded, attemptKilled, attemptGone},
		attemptEnded:   {attemptGone},
		attemptKilled:  {attemptGone},
		attemptGone:    nil,
	}[s]
}

// jobState is how far a job of the file has come.
type jobState uint8

const (
	jobWaiting    jobState = iota // for its time of submission, or for jobs that it names in After
	jobRunning                    // it is in the Ledger
	jobEnded                      // its tasks are done, or it has failed
	jobNotStarted                 // it is never submitted: a job that it waits for has not succeeded, or no tracker is left
)

func (s jobState) String() string {
	return [...]string{"waiting", "running", "ended", "not started"}[s]
}

// Next lists the states that may follow s, for checked builds.
func (s jobState) Next() []jobState {
	return [...][]jobState{{jobRunning, jobNotStarted}, {jobEnded}, nil, nil}[s]
}
