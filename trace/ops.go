package trace

// Op says what happened. Digests contain the numbers of facts, so their order must not
// change.
type Op uint8

const (
	OpNone Op = iota

	// Facts that the Ledger receives.
	OpSubmit      // a job is submitted
	OpReady       // more maps of a job are known, or may start
	OpDrop        // a task is not needed any more
	OpPhase       // an attempt enters a phase
	OpProgress    // the progress of an attempt, after a Probe of the policy
	OpFinish      // an attempt has ended
	OpLostOutput  // the output of a committed map is gone
	OpLostTracker // a tracker is gone
	OpAbort       // a job is cancelled
	OpDemand      // what a task of a job needs in a phase
	OpRestore     // the output of a map is left from a killed run
	OpPlace       // a tracker has the input of a map

	// OpAssign is a driver's question for orders. The decisions up to the next
	// fact are the Ledger's answer.
	OpAssign

	// Decisions of the Ledger, and results of a fact.
	OpStart    // an attempt starts
	OpLend     // its slot is lent to it
	OpReturn   // a lent slot is free again
	OpKill     // an attempt has to end
	OpAdvance  // a reduce may leave its copy phase
	OpOpen     // a slot takes tasks from now on
	OpDrain    // a slot closes when its attempt ends
	OpClose    // a slot takes no more tasks
	OpHome     // a slot changes its home kind
	OpGate     // a job's reduces may start, or may not any more
	OpAdmit    // a job that waited for a running-job limit may run
	OpMapsDone // the last map of a job is done
	OpJobEnd   // a job has ended

	// Steps inside a task or the setup of a job, which a driver reports.
	OpSpillStart // a map begins to write a spill
	OpSpillEnd   // the spill is written
	OpGrow       // a kvbuffer grows
	OpRefuse     // a kvbuffer may not grow
	OpEvict      // a segment in memory is written to disk
	OpMergeEnd   // a pass of a merge is done
	OpSample     // a job's input was sampled for its cuts
	OpBuffer     // a map has its kvbuffer
	OpFetch      // a reduce has copied outputs of maps
	OpUsage      // what the process uses
	OpCores      // how the cores of the machine spent the time since the last such event
	OpSeen       // the progress of an attempt, for displays; the Ledger does not get it
	OpTimes      // only in files of earlier versions: a map is done
	OpStatus     // the user's code reports the status of an attempt

	numOps
)

// Ops is the number of Ops, with OpNone.
const Ops = numOps

// Class says what a replay does with an event.
type Class uint8

const (
	Detail   Class = iota // it ignores the event: the Ledger neither receives nor makes it
	Fact                  // it gives the event to the Ledger
	Ask                   // it asks the Ledger for orders, which leads to decisions
	Decision              // it compares the event with the next decision of the Ledger
)

// String returns the name of the Op in event files.
func (o Op) String() string { return o.shape().name }

// Class returns the class of o.
func (o Op) Class() Class { return o.shape().class }

// shape returns the shape of o, or that of OpNone for a number that is not an Op.
func (o Op) shape() *shape {
	if o < numOps {
		return &shapes[o]
	}
	return &shapes[OpNone]
}

// parts are the fields of an Event that an Op uses, apart from flags and A to F.
type parts uint16

const (
	hasJob parts = 1 << iota
	hasKind
	hasTask
	hasN
	hasSlot
	hasPhase
	hasRule // the only text that Ref refers to

	ofTask    = hasJob | hasKind | hasTask
	ofAttempt = ofTask | hasN | hasSlot
)

// shape says which fields the events of an Op have in an event file.
type shape struct {
	name     string
	class    Class
	parts    parts
	flags    Flags
	values   []string // names of A, B, ... in order
	optional int      // how many values at the end are left out if they are 0
	words    []string // not nil: A is an index of these, and the file has the word
	texts    []string // names of the texts that Ref refers to
}

// isOptional reports whether value i is left out if it is 0. Older files do not have it.
func (s *shape) isOptional(i int) bool { return i >= len(s.values)-s.optional }

// shapes has the shape of each Op. Names and fields are part of the format of event files
// (docs/formats.md).
var shapes = [numOps]shape{
	OpNone: {name: "none"},

	OpSubmit: {name: "submit", class: Fact, parts: hasJob, flags: Sealed | Unplaced | Single,
		values: []string{"maps", "reduces", "ready", "priority", "weight", "deadline"}, texts: []string{"name", "pool", "user"}},
	OpReady:       {name: "ready", class: Fact, parts: hasJob, flags: Sealed, values: []string{"ready", "maps"}},
	OpDrop:        {name: "drop", class: Fact, parts: ofTask},
	OpPhase:       {name: "phase", class: Fact, parts: ofAttempt | hasPhase},
	OpProgress:    {name: "progress", class: Fact, parts: ofAttempt, values: []string{"ppm", "billionths"}, optional: 1},
	OpFinish:      {name: "finish", class: Fact, parts: ofAttempt, flags: OK | Killed, values: []string{"in_bytes", "out_bytes", "cpu_ns", "copy_bytes", "copy_ns"}},
	OpLostOutput:  {name: "lost-output", class: Fact, parts: ofTask},
	OpLostTracker: {name: "lost-tracker", class: Fact, values: []string{"tracker"}},
	OpAbort:       {name: "abort", class: Fact, parts: hasJob},
	OpDemand:      {name: "demand", class: Fact, parts: hasJob | hasPhase, values: []string{"cpu", "io", "mem"}},
	OpRestore:     {name: "restore", class: Fact, parts: ofTask},
	OpPlace:       {name: "place", class: Fact, parts: ofTask, values: []string{"tracker"}},

	OpAssign: {name: "assign", class: Ask, values: []string{"tracker", "orders", "wake", "facts"}},

	OpStart: {name: "start", class: Decision, parts: ofAttempt | hasRule, flags: Lent | Speculative,
		values: []string{"locality"}, words: levelNames[:]},
	OpLend:     {name: "lend", class: Decision, parts: ofAttempt | hasRule},
	OpReturn:   {name: "return", class: Decision, parts: ofAttempt | hasRule},
	OpKill:     {name: "kill", class: Decision, parts: ofAttempt | hasRule},
	OpAdvance:  {name: "advance", class: Decision, parts: ofAttempt | hasRule},
	OpOpen:     {name: "open", class: Decision, parts: hasSlot | hasRule},
	OpDrain:    {name: "drain", class: Decision, parts: hasSlot | hasRule},
	OpClose:    {name: "close", class: Decision, parts: hasSlot | hasRule},
	OpHome:     {name: "home", class: Decision, parts: hasSlot | hasKind | hasRule},
	OpGate:     {name: "gate", class: Decision, parts: hasJob, flags: OK},
	OpAdmit:    {name: "admit", class: Decision, parts: hasJob},
	OpMapsDone: {name: "maps-done", class: Decision, parts: hasJob},
	OpJobEnd:   {name: "job-end", class: Decision, parts: hasJob, values: []string{"state"}, words: stateNames[:]},

	OpSpillStart: {name: "spill-start", parts: ofAttempt, values: []string{"bytes", "records"}},
	OpSpillEnd:   {name: "spill-end", parts: ofAttempt, values: []string{"bytes", "records"}},
	OpGrow:       {name: "grow", parts: ofAttempt, values: []string{"bytes", "to_bytes"}},
	OpRefuse:     {name: "refuse", parts: ofAttempt, values: []string{"bytes", "free_bytes"}},
	OpEvict:      {name: "evict", parts: ofAttempt, values: []string{"bytes", "records"}},
	OpMergeEnd:   {name: "merge-end", parts: ofAttempt, values: []string{"runs", "bytes"}},
	OpSample:     {name: "sample", parts: hasJob, values: []string{"places", "keys"}},
	OpBuffer:     {name: "buffer", parts: ofAttempt, values: []string{"bytes", "mark_bytes"}},
	OpFetch:      {name: "fetch", parts: ofAttempt, values: []string{"map", "maps", "bytes"}},
	OpUsage:      {name: "usage", values: []string{"cpu_ns", "memory_bytes", "temp_bytes"}},
	OpCores:      {name: "cores", values: []string{"user_ns", "sys_ns", "iowait_ns", "idle_ns"}},
	OpSeen:       {name: "seen", parts: ofAttempt, values: []string{"ppm"}},
	OpTimes:      {name: "times", parts: ofAttempt},
	OpStatus:     {name: "status", parts: ofAttempt, texts: []string{"text"}},
}

// stateNames are a job's states, numbered as package slots has them.
var stateNames = [...]string{"running", "succeeded", "failed", "killed"}

// levelNames are levels of locality, numbered as package slots has them.
var levelNames = [...]string{"any", "group", "tracker"}

// kindNames are in the order of kinds.
var kindNames = [Kinds]string{"map", "reduce"}

// phaseNames are in the order of phases.
var phaseNames = [...]string{"none", "compute", "io", "copy", "sort", "reduce", "held"}

// flagNames are in the order of the bits of Flags.
var flagNames = [...]string{"ok", "killed", "lent", "sealed", "speculative", "unplaced", "single"}
