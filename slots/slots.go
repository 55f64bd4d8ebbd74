// Package slots is the control plane's bookkeeping: who holds which slot, what
// is pending, and which task goes where. It is pure: no goroutine, no lock, no
// clock, no file. Time is an argument.
//
// A Ledger is told facts (Submit, Ready, Phase, Progress, Finish, ...) and
// asked for orders (Assign, AssignAll). It shows a live View to a Policy, which
// answers with grants; the Ledger checks each grant, applies it at once and
// keeps the promises no policy may break: no task runs twice by accident, no
// reduce starts before its gate, and a run never deadlocks (guard.go). The
// real engine and the simulator drive the same Ledger; slots/replay feeds it the
// facts of a recorded run and must see the same decisions.
//
// Cost: a fact costs O(1) plus O(log n) of the orderings it changes; an Assign
// costs what changed since the last one. A task is at most 32 bytes.
//
// Ownership: everything belongs to the goroutine that calls the Ledger. What
// Assign returns is valid until the next Assign; a View and a Decision are
// valid until Decide returns.
//
// Neighbours: slots/fifo is the plainest policy, slots/policy holds the others, slots/policy/policytest the
// suite that each must pass, slots/setup reads a Config out of a workload file,
// slots/locality knows where inputs are, slots/demand what tasks need, slots/weight what they weigh, slots/replay and slots/explain read recorded runs, slots/pool is the threads
// that real slots are.
package slots

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mrlocal/slots/demand"
	"mrlocal/trace"
)

// Ids count from 0 in the order in which things became known.
type (
	SlotID    int32
	TrackerID int32
	JobID     int32
	PoolID    int32
	TaskID    int32
)

// NoSlot and NoTask leave the choice to the Ledger.
const (
	NoSlot SlotID = -1
	NoTask TaskID = -1
)

// Kind, Phase and Rule are the words this package shares with event files.
type (
	Kind  = trace.Kind
	Phase = trace.Phase
	Rule  = trace.Rule
)

const (
	Map    = trace.Map
	Reduce = trace.Reduce

	PhaseNone    = trace.PhaseNone
	PhaseCompute = trace.PhaseCompute
	PhaseIO      = trace.PhaseIO
	PhaseCopy    = trace.PhaseCopy
	PhaseSort    = trace.PhaseSort
	PhaseReduce  = trace.PhaseReduce
	PhaseHeld    = trace.PhaseHeld
)

// Attempt names one try at one task.
type AttemptID struct {
	Job  JobID
	Kind Kind
	Task TaskID
	N    int32 // from 0
}

func (a AttemptID) String() string {
	return fmt.Sprintf("job %d %s %d attempt %d", a.Job, a.Kind, a.Task, a.N)
}

// Slot is one slot of a tracker. Home is the kind it is meant for; a task of
// the other kind on it makes the slot lent.
type Slot struct {
	ID      SlotID
	Tracker TrackerID
	Core    int32 // -1: not bound
	Home    Kind
	Extra   bool // closed until a policy opens it; counts in no capacity of the papers
	Weight  PPM  // of a home slot, where the policy has slot weights; New sets it, so that it is recorded
}

// Pool is a share of the slots. A job whose pool is not configured gets one of
// weight 1 and no minimum.
type Pool struct {
	Name       string `json:"name"`
	Weight     PPM    `json:"weight,omitempty"` // 0: 1.0
	MinMaps    int32  `json:"min_maps,omitempty"`
	MinReduces int32  `json:"min_reduces,omitempty"`
	MaxMaps    int32  `json:"max_maps,omitempty"` // 0: no limit
	MaxReduces int32  `json:"max_reduces,omitempty"`
	FIFO       bool   `json:"fifo,omitempty"` // jobs inside by priority and submission, else by fair share
	MaxRunning int32  `json:"max_running_jobs,omitempty"`

	// Below its min share, or below half of its fair share, for so long, the
	// pool may have tasks of others killed (SPEC 1.7). 0: never.
	PreemptAfter     time.Duration `json:"preempt_after_ns,omitempty"`
	FairPreemptAfter time.Duration `json:"fair_preempt_after_ns,omitempty"`
}

// User is who submits jobs. One that is not configured has no limit.
type User struct {
	Name       string `json:"name"`
	MaxRunning int32  `json:"max_running_jobs,omitempty"` // 0: no limit
}

// Min is the pool's min share of kind k.
func (p *Pool) Min(k Kind) int32 {
	if k == Map {
		return p.MinMaps
	}
	return p.MinReduces
}

// Max is the pool's limit of kind k, 0 for none.
func (p *Pool) Max(k Kind) int32 {
	if k == Map {
		return p.MaxMaps
	}
	return p.MaxReduces
}

// Config is all that a Ledger's decisions depend on besides its policy and the
// facts. It is recorded whole, so that a replay needs nothing else.
type Config struct {
	// Slots of every tracker; Slots[i].ID is i, trackers count from 0.
	Slots []Slot `json:"-"` // recorded in the header's own field

	// Slowstart is the share of a job's maps that must be done before its
	// reduces are ready (SPEC 1.8). While the number of maps is not final the
	// gate is closed, except at 0, where it is open from the start. New takes it
	// from a policy that has its own (Traits.OwnSlowstart).
	Slowstart PPM `json:"slowstart"`

	// BorrowMap and BorrowReduce are the papers' percentages. A policy that
	// borrows has them already and New takes them from it (Traits.Borrows); they
	// stand here so that they are recorded.
	BorrowMap    PPM `json:"borrow_map"`
	BorrowReduce PPM `json:"borrow_reduce"`

	// CopyBandwidth is how many bytes a second a reduce can copy, where that is
	// known before any has; 0: it is not. It is for policies that estimate how
	// long a shuffle takes.
	CopyBandwidth int64 `json:"copy_bytes_per_s,omitempty"`

	// Capacities are of trackers that have not the whole of each resource; for
	// policies that place by demand.
	Capacities demand.Capacities `json:"capacities,omitempty"`

	MaxAttempts int    `json:"max_attempts"` // failed attempts of a task that fail its job; 0: 4
	Pools       []Pool `json:"pools,omitempty"`
	Users       []User `json:"users,omitempty"`

	// MaxTrackerFailures is how many attempts of a job may fail on a tracker
	// before it gets no more of the job's tasks (SPEC 1.12); 0: 4.
	MaxTrackerFailures int32 `json:"max_tracker_failures"`

	// Replicas is on how many trackers the input of each map is: a synthetic
	// placement, drawn from Seed. 0: input has no place. GroupTrackers is how
	// many trackers are a group; 0: there are no groups.
	Replicas      int32 `json:"replicas,omitempty"`
	GroupTrackers int32 `json:"group_trackers,omitempty"`

	// LocalityDelay is for policies that wait for local slots; it stands here
	// so that it is recorded.
	LocalityDelay time.Duration `json:"locality_delay_ns,omitempty"`

	// Options are the policy's own (Traits.Options); New takes them from it.
	Options json.RawMessage `json:"options,omitempty"`

	PolicyName string `json:"-"` // recorded in the header's own field; "": the policy's own
	Seed       uint64 `json:"-"` // the same
}

// defaultMaxAttempts is mapred.map.max.attempts (SPEC 1.12).
const defaultMaxAttempts = 4

func (c Config) withDefaults() Config {
	if c.MaxAttempts == 0 {
		c.MaxAttempts = defaultMaxAttempts
	}
	if c.MaxTrackerFailures == 0 {
		c.MaxTrackerFailures = defaultMaxTrackerFailures
	}
	c.Pools = append([]Pool(nil), c.Pools...)
	for i := range c.Pools {
		if c.Pools[i].Weight == 0 {
			c.Pools[i].Weight = One
		}
	}
	return c
}

func (c *Config) validate() error {
	if len(c.Slots) == 0 {
		return errors.New("slots: a ledger without slots")
	}
	top := TrackerID(0)
	for i, s := range c.Slots {
		if s.ID != SlotID(i) {
			return fmt.Errorf("slots: slot %d stands at place %d", s.ID, i)
		}
		if s.Tracker < 0 || s.Home >= trace.Kinds || s.Weight < 0 || int(s.Tracker) > len(c.Slots) {
			return fmt.Errorf("slots: slot %d: tracker %d, home %d", i, s.Tracker, s.Home)
		}
		top = max(top, s.Tracker)
	}
	for _, p := range []PPM{c.Slowstart, c.BorrowMap, c.BorrowReduce} {
		if p < 0 || p > One {
			return fmt.Errorf("slots: share %v is not between 0 and 1", p)
		}
	}
	if c.MaxAttempts < 1 {
		return fmt.Errorf("slots: %d attempts a task", c.MaxAttempts)
	}
	seen := map[string]bool{}
	for _, p := range c.Pools {
		if seen[p.Name] || p.Weight < 1 || min(p.MinMaps, p.MinReduces, p.MaxMaps, p.MaxReduces) < 0 {
			return fmt.Errorf("slots: pool %q: duplicate name, or a negative number", p.Name)
		}
		if p.MaxRunning < 0 || p.PreemptAfter < 0 || p.FairPreemptAfter < 0 {
			return fmt.Errorf("slots: pool %q: a negative limit or time", p.Name)
		}
		seen[p.Name] = true
	}
	if err := c.Capacities.Validate(int32(top)); err != nil {
		return fmt.Errorf("slots: %w", err)
	}
	users := map[string]bool{}
	for _, u := range c.Users {
		if users[u.Name] || u.MaxRunning < 0 {
			return fmt.Errorf("slots: user %q: duplicate name, or a negative limit", u.Name)
		}
		users[u.Name] = true
	}
	if min(c.Replicas, c.GroupTrackers, c.MaxTrackerFailures) < 0 || c.LocalityDelay < 0 || c.CopyBandwidth < 0 {
		return fmt.Errorf("slots: %d replicas, %d trackers a group, %d failures a tracker, delay %v, %d bytes copied a second", c.Replicas, c.GroupTrackers, c.MaxTrackerFailures, c.LocalityDelay, c.CopyBandwidth)
	}
	return nil
}

// header is what a stream records of the configuration.
func (c *Config) header() (trace.Header, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return trace.Header{}, fmt.Errorf("slots: record the configuration: %w", err)
	}
	h := trace.Header{Policy: c.PolicyName, Seed: c.Seed, Config: text}
	for _, s := range c.Slots {
		h.Slots = append(h.Slots, trace.Slot{ID: int32(s.ID), Tracker: int32(s.Tracker), Core: s.Core, Home: s.Home, Extra: s.Extra, Weight: int64(s.Weight)})
	}
	return h, nil
}

// ConfigOf is the configuration that a recorded run had.
func ConfigOf(h *trace.Header) (Config, error) {
	var c Config
	if err := json.Unmarshal(h.Config, &c); err != nil {
		return c, fmt.Errorf("slots: recorded configuration: %w", err)
	}
	c.PolicyName, c.Seed = h.Policy, h.Seed
	for _, s := range h.Slots {
		c.Slots = append(c.Slots, Slot{ID: SlotID(s.ID), Tracker: TrackerID(s.Tracker), Core: s.Core, Home: s.Home, Extra: s.Extra, Weight: PPM(s.Weight)})
	}
	return c, nil
}
