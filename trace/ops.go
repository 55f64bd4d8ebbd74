package trace

// Op says what happened.
type Op uint8

const (
	OpNone Op = iota

	// Facts, as told to the Ledger.
	OpSubmit
	OpReady
	OpDrop
	OpPhase
	OpProgress
	OpFinish
	OpLostOutput
	OpLostTracker
	OpAbort
	OpDemand

	// OpAssign is the driver asking for orders; the decisions up to the next
	// fact are its answer.
	OpAssign

	// Decisions and what follows from facts, both made by the Ledger.
	OpStart
	OpLend
	OpReturn
	OpKill
	OpAdvance
	OpOpen
	OpDrain
	OpClose
	OpHome
	OpGate
	OpAdmit
	OpMapsDone
	OpJobEnd

	// What happens below a task, told by the engine or the simulator.
	OpSpillStart
	OpSpillEnd
	OpGrow
	OpRefuse
	OpEvict
	OpRelease
	OpCopyStart
	OpCopyEnd
	OpMergeStart
	OpMergeEnd
	OpSample
	OpCommit
	OpAbandon
	OpNote

	numOps
)

// Class is what part an Op plays in a replay.
type Class uint8

const (
	Detail   Class = iota // not the Ledger's; ignored by a replay
	Fact                  // fed to the Ledger
	Ask                   // fed to the Ledger, which answers with decisions
	Decision              // compared
)

func (o Op) String() string { return o.shape().name }

// Class says what part o plays in a replay.
func (o Op) Class() Class { return o.shape().class }

func (o Op) shape() *shape {
	if o < numOps {
		return &shapes[o]
	}
	return &shapes[OpNone]
}

// parts are the fields of an Event, other than A to F, that an Op uses.
type parts uint16

const (
	hasJob parts = 1 << iota
	hasKind
	hasTask
	hasN
	hasSlot
	hasPhase
	hasRule

	ofTask    = hasJob | hasKind | hasTask
	ofAttempt = ofTask | hasN | hasSlot
)

// shape is how an Op's events look in an event file.
type shape struct {
	name   string
	class  Class
	parts  parts
	flags  Flags
	values []string // names of A, B, ... in order
	words  []string // where A is one of these, by number
	texts  []string // names of the texts that Ref refers to
}

var shapes = [numOps]shape{
	OpNone: {name: "none"},

	OpSubmit: {name: "submit", class: Fact, parts: hasJob, flags: Sealed | Unplaced | Single,
		values: []string{"maps", "reduces", "ready", "priority", "weight", "deadline"}, texts: []string{"name", "pool", "user"}},
	OpReady:       {name: "ready", class: Fact, parts: hasJob, flags: Sealed, values: []string{"ready", "maps"}},
	OpDrop:        {name: "drop", class: Fact, parts: ofTask},
	OpPhase:       {name: "phase", class: Fact, parts: ofAttempt | hasPhase},
	OpProgress:    {name: "progress", class: Fact, parts: ofAttempt, values: []string{"ppm"}},
	OpFinish:      {name: "finish", class: Fact, parts: ofAttempt, flags: OK | Killed, values: []string{"in_bytes", "out_bytes", "cpu_ns", "copy_bytes", "copy_ns"}},
	OpLostOutput:  {name: "lost-output", class: Fact, parts: ofTask},
	OpLostTracker: {name: "lost-tracker", class: Fact, values: []string{"tracker"}},
	OpAbort:       {name: "abort", class: Fact, parts: hasJob},
	OpDemand:      {name: "demand", class: Fact, parts: hasJob | hasPhase, values: []string{"cpu", "io", "mem"}},

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
	OpRelease:    {name: "release", parts: ofAttempt, values: []string{"bytes", "records"}},
	OpCopyStart:  {name: "copy-start", parts: ofAttempt, values: []string{"map", "bytes"}},
	OpCopyEnd:    {name: "copy-end", parts: ofAttempt, values: []string{"map", "bytes"}},
	OpMergeStart: {name: "merge-start", parts: ofAttempt, values: []string{"runs", "bytes"}},
	OpMergeEnd:   {name: "merge-end", parts: ofAttempt, values: []string{"runs", "bytes"}},
	OpSample:     {name: "sample", parts: hasJob, values: []string{"places", "keys"}},
	OpCommit:     {name: "commit", parts: ofAttempt, values: []string{"bytes", "records"}},
	OpAbandon:    {name: "abandon", parts: ofAttempt, values: []string{"bytes", "records"}},
	OpNote:       {name: "note", texts: []string{"text"}},
}

// stateNames are a job's states, numbered as package slots has them.
var stateNames = [...]string{"running", "succeeded", "failed", "killed"}

// levelNames are levels of locality, numbered as package slots has them.
var levelNames = [...]string{"any", "group", "tracker"}

var kindNames = [Kinds]string{"map", "reduce"}

var phaseNames = [...]string{"none", "compute", "io", "copy", "sort", "reduce", "held"}

var ruleNames = [numRules]string{
	RuleNone: "none", RuleFIFO: "fifo", RuleMinShare: "min-share", RuleFairShare: "fair-share",
	RuleOwnSlots: "own-slots", RuleMapBorrows: "map-borrows", RuleReduceBorrows: "reduce-borrows",
	RuleSpeculative: "speculative", RuleDeadlockGuard: "deadlock-guard", RuleLostRace: "lost-race",
	RuleDropped: "dropped", RuleJobEnded: "job-ended", RuleLostTracker: "lost-tracker",
	RuleReclaim: "reclaim", RuleResize: "resize",
	RuleDeficit: "deficit", RuleFewest: "fewest-containers", RuleLazyStart: "lazy-start", RuleConsecutive: "consecutive-reduces",
	RuleBatchFinish: "batch-finish", RuleRampUp: "ramp-up", RuleRemainingWork: "remaining-work",
	RuleLowestUtility: "lowest-utility", RuleSplit: "dynamic-split", RuleAdditional: "additional-map", RulePreScheduled: "pre-scheduled",
}

// flagNames in the order of the flags' bits.
var flagNames = [...]string{"ok", "killed", "lent", "sealed", "speculative", "unplaced", "single"}
