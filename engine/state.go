package engine

// The states of runs, chains, jobs and attempts are ordered: none ever goes back to an
// earlier state. So `state >= jobEnded` asks whether the job has ended, whatever its state is
// by now. Only the coordinator reads and changes states. The outputState of a chain is an
// exception: attempts begin the output too, so the chain's mu guards it.

// runState is how far a run has come.
type runState uint8

const (
	runServing     runState = iota // chains may be opened, and attempts may start
	runExhausted                   // no tracker or no memory is left: every chain fails
	runInterrupted                 // killed attempts end; no attempt starts
)

func (s runState) String() string { return [...]string{"serving", "exhausted", "interrupted"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s runState) Next() []runState {
	return [...][]runState{{runExhausted, runInterrupted}, {runInterrupted}, nil}[s]
}

// outputState is how far the output of a chain has come.
type outputState uint8

const (
	outputPlanned outputState = iota // nothing is written; it may have been opened
	outputBegun                      // attempts write parts
	outputGone                       // it is settled or removed, and cannot be begun any more
)

func (s outputState) String() string { return [...]string{"planned", "begun", "gone"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s outputState) Next() []outputState {
	// From planned to gone: the chain has failed before it wrote a part, or discards its result.
	return [...][]outputState{{outputBegun, outputGone}, {outputGone}, nil}[s]
}

// chainState is how far a chain has come.
type chainState uint8

const (
	chainWaiting  chainState = iota // for its time of submission, or for chains that it names in After
	chainOpening                    // its input is planned and its output begun
	chainRunning                    // one of its jobs is in the Ledger
	chainSettling                   // its result is made durable, or removed
	chainEnded                      // only what the report needs is left
)

func (s chainState) String() string {
	return [...]string{"waiting", "opening", "running", "settling", "ended"}[s]
}

// Next lists the states that may follow s, for checked builds.
func (s chainState) Next() []chainState {
	return [...][]chainState{
		chainWaiting:  {chainOpening, chainEnded}, // to ended: a chain that it waits for has failed
		chainOpening:  {chainRunning, chainSettling},
		chainRunning:  {chainSettling},
		chainSettling: {chainEnded},
		chainEnded:    nil,
	}[s]
}

// jobState is how far a job of a chain has come.
type jobState uint8

const (
	jobOpened   jobState = iota // its tasks are planned; the Ledger does not know it yet
	jobFeeding                  // it is in the Ledger, and its feeder may find more map tasks
	jobSealed                   // all its map tasks are known
	jobEnded                    // its tasks are done, or it has failed: results of attempts do not count any more
	jobReleased                 // its inputs, map outputs and plan are given back
	jobOver                     // only what the report needs is left
)

func (s jobState) String() string {
	return [...]string{"opened", "feeding", "sealed", "ended", "released", "over"}[s]
}

// Next lists the states that may follow s, for checked builds.
func (s jobState) Next() []jobState {
	// From opened to ended: the run was interrupted while the job was opened.
	return [...][]jobState{{jobFeeding, jobEnded}, {jobSealed, jobEnded}, {jobEnded}, {jobReleased}, {jobOver}, nil}[s]
}

// attemptState is how far an attempt has come. Two facts are not part of it. The attempt was
// killed: attempt.killed says so, because its thread reads that too. Its tracker is
// lost: see coordinator.onLostTracker.
type attemptState uint8

const (
	attemptWaiting   attemptState = iota // for a source that another attempt still reads
	attemptRunning                       // on its slot's thread
	attemptEnded                         // its thread has reported how it ended
	attemptAbandoned                     // its thread hangs in user code; what it reports is dropped
)

func (s attemptState) String() string {
	return [...]string{"waiting", "running", "ended", "abandoned"}[s]
}

// Next lists the states that may follow s, for checked builds.
func (s attemptState) Next() []attemptState {
	return [...][]attemptState{{attemptRunning, attemptEnded}, {attemptEnded, attemptAbandoned}, nil, nil}[s]
}
