package slots

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/trace"
)

// DefaultParallelCopies is how many map outputs a reduce copies at a time, unless it is set (Hadoop 1.0.3,
// mapred.reduce.parallel.copies).
const DefaultParallelCopies = 5

// DefaultQueue is the name of the queue of all pools that have no capacity. A pool of this name has its limits,
// also without a capacity: it then has what the other queues leave.
const DefaultQueue = "default"

// Config is everything that a Ledger's decisions depend on, apart from the policy and
// the facts. The header of an event file contains all of it, so that a replay needs
// nothing else. All zero values are valid, except that of Slots.
type Config struct {
	// Slots of all trackers. Slots[i].ID is i; trackers count from 0.
	Slots []Slot `json:"-"` // the header of event files has a field for them

	// Slowstart is the share of a job's maps that must be done before its reduces
	// may start (Hadoop 1.0.3, JobInProgress.scheduleReduces). While the number of
	// maps is not final, the reduces may start only if Slowstart is 0. New
	// overwrites it if the policy has Traits.OwnSlowstart.
	Slowstart PPM `json:"slowstart"`

	// BorrowMap is the share of map slots that reduces may borrow, BorrowReduce the
	// share of reduce slots that maps may borrow [DHFS13, section III-A]. New
	// overwrites both if the policy has Traits.Borrows.
	BorrowMap    PPM `json:"borrow_map"`
	BorrowReduce PPM `json:"borrow_reduce"`

	// CopyBandwidth is how many bytes per second a reduce can copy, for policies
	// that estimate the time of a shuffle. 0: not known in advance.
	CopyBandwidth int64 `json:"copy_bytes_per_s,omitempty"`

	// ParallelCopies is how many map outputs a reduce copies at a time, for policies that
	// reserve resources for copying; 0: DefaultParallelCopies.
	ParallelCopies int32 `json:"parallel_copies,omitempty"`

	// Capacities are the resources of trackers that do not have exactly the whole
	// of each, for policies that place tasks by demand.
	Capacities Capacities `json:"capacities,omitempty"`

	MaxAttempts int    `json:"max_attempts"`    // a job fails with this many failed attempts of a task; 0: 4
	Pools       []Pool `json:"pools,omitempty"` // names differ
	Users       []User `json:"users,omitempty"` // names differ

	// MaxTrackerFailures is how many attempts of a job fail on a tracker before the
	// tracker gets no more tasks of the job; 0: 4.
	MaxTrackerFailures int32 `json:"max_tracker_failures"`

	// Replicas is the number of trackers that have the input of a map. The Ledger
	// draws these trackers from Seed. 0: only the inputs that Ledger.Place reports have places.
	// GroupTrackers is the number of trackers in a group; 0: there are no groups.
	Replicas      int32 `json:"replicas,omitempty"`
	GroupTrackers int32 `json:"group_trackers,omitempty"`

	// LocalityDelay is for policies that wait for local slots [Delay10]. The Ledger
	// only records it. nil: the policy's own; 0: none.
	LocalityDelay *time.Duration `json:"locality_delay_ns,omitempty"`

	// Options are the policy's own, as JSON. New takes them from Traits.Options.
	Options json.RawMessage `json:"options,omitempty"`

	PolicyName string `json:"-"` // "": New takes it from Traits.Name; the header has a field for it
	Seed       uint64 `json:"-"` // the header has a field for it
}

// Pool configures a pool of jobs, which has a share of the slots (Hadoop 1.0.3,
// PoolManager). A pool that is not configured has weight 1, no minimum and no limits.
type Pool struct {
	Name       string `json:"name"`
	Weight     PPM    `json:"weight,omitempty"` // 0: 1.0
	MinMaps    int32  `json:"min_maps,omitempty"`
	MinReduces int32  `json:"min_reduces,omitempty"`
	MaxMaps    int32  `json:"max_maps,omitempty"` // running at the same time; 0: no limit
	MaxReduces int32  `json:"max_reduces,omitempty"`
	FIFO       bool   `json:"fifo,omitempty"`             // its jobs are ordered by priority and submission, not by fair share
	MaxRunning int32  `json:"max_running_jobs,omitempty"` // 0: no limit

	// Preemption timeouts (Hadoop 1.0.3, FairScheduler.tasksToPreempt). The policy may kill
	// tasks of other pools if this pool has been below its min share for PreemptAfter.
	// FairPreemptAfter is the same for half of its fair share. 0: never.
	PreemptAfter     time.Duration `json:"preempt_after_ns,omitempty"`
	FairPreemptAfter time.Duration `json:"fair_preempt_after_ns,omitempty"`

	// Settings of a queue of the Capacity Scheduler (Hadoop 1.0.3, CapacitySchedulerQueue).
	Capacity        PPM `json:"capacity,omitempty"`          // share of the slots of each kind; 0: the pool is not a queue of its own
	MaxCapacity     PPM `json:"max_capacity,omitempty"`      // share that it may use if others leave it; 0: all
	MinUserLimit    PPM `json:"min_user_limit,omitempty"`    // share of the queue that a user may always use; 0: 1.0
	UserLimitFactor PPM `json:"user_limit_factor,omitempty"` // multiple of Capacity that one user may use; 0: 1.0
}

// User configures a user who submits jobs. A user that is not configured has no
// limit.
type User struct {
	Name       string `json:"name"`
	MaxRunning int32  `json:"max_running_jobs,omitempty"` // 0: no limit
}

// Min returns the min share of kind k, in slots.
func (p *Pool) Min(k Kind) int32 { return [...]int32{Map: p.MinMaps, Reduce: p.MinReduces}[k] }

// Max returns the limit of running tasks of kind k, 0 if there is none.
func (p *Pool) Max(k Kind) int32 { return [...]int32{Map: p.MaxMaps, Reduce: p.MaxReduces}[k] }

// Defaults of Hadoop 1.0.3: mapred.map.max.attempts and mapred.max.tracker.failures.
const (
	defaultMaxAttempts        = 4
	defaultMaxTrackerFailures = 4
)

// withDefaults returns c with defaults for zero values. It copies the pools, which belong to
// the caller, before it sets their weights.
func (c Config) withDefaults() Config {
	c.MaxAttempts = cmp.Or(c.MaxAttempts, defaultMaxAttempts)
	c.MaxTrackerFailures = cmp.Or(c.MaxTrackerFailures, defaultMaxTrackerFailures)
	c.Pools = append([]Pool(nil), c.Pools...)
	for i := range c.Pools {
		c.Pools[i].Weight = cmp.Or(c.Pools[i].Weight, One)
	}
	return c
}

// validate fails if the Ledger cannot work with c. For wrong options the error is of kind
// errs.BadOptions and names the field of the driver's Options that the user has set. Wrong
// slots give a plain error, because only a bug in a driver makes them.
func (c *Config) validate() error {
	if len(c.Slots) == 0 {
		return errors.New("slots: a ledger without slots")
	}
	top := TrackerID(0)
	for i, s := range c.Slots {
		if s.ID != SlotID(i) {
			return fmt.Errorf("slots: slot %d is at index %d", s.ID, i)
		}
		// The bound of Tracker keeps a damaged event file from making huge lists of trackers.
		if s.Tracker < 0 || s.Home >= trace.Kinds || s.Weight < 0 || int(s.Tracker) > len(c.Slots) {
			return fmt.Errorf("slots: slot %d: wrong tracker %d, home kind %d or weight %d", i, s.Tracker, s.Home, s.Weight)
		}
		top = max(top, s.Tracker)
	}
	for _, p := range []struct {
		field string
		share PPM
	}{{"Slowstart", c.Slowstart}, {"BorrowMap", c.BorrowMap}, {"BorrowReduce", c.BorrowReduce}} {
		if p.share < 0 || p.share > One {
			return errs.Fieldf("Options."+p.field, "%v: is not between 0 and 1", p.share)
		}
	}
	if c.MaxAttempts < 1 {
		return errs.Fieldf("Options.Attempts", "%d: must be at least 1", c.MaxAttempts)
	}
	seen := map[string]bool{}
	queues := PPM(0)
	for _, p := range c.Pools {
		if seen[p.Name] {
			return errs.Fieldf("Options.Pools", "pool %q is there twice", p.Name)
		}
		if p.Weight < 1 || min(p.MinMaps, p.MinReduces, p.MaxMaps, p.MaxReduces) < 0 || p.MaxRunning < 0 || min(p.PreemptAfter, p.FairPreemptAfter) < 0 {
			return errs.Fieldf("Options.Pools", "pool %q has a negative number, or no weight", p.Name)
		}
		if p.Capacity == 0 && p.Name != DefaultQueue && (p.MaxCapacity > 0 || p.MinUserLimit > 0 || p.UserLimitFactor > 0) {
			return errs.Fieldf("Options.Pools", "pool %q has limits of a queue, which need a capacity", p.Name)
		}
		if most := cmp.Or(p.MaxCapacity, One); p.Capacity < 0 || p.Capacity > most || most > One || p.MinUserLimit < 0 || p.MinUserLimit > One || p.UserLimitFactor < 0 {
			return errs.Fieldf("Options.Pools", "pool %q: its capacity is not from 0 to its maximum capacity, or a limit of users is not a share", p.Name)
		}
		if queues += p.Capacity; queues > One {
			return errs.Fieldf("Options.Pools", "pool %q: the capacities of the pools are together over 1", p.Name)
		}
		seen[p.Name] = true
	}
	if err := c.Capacities.Validate(int32(top)); err != nil {
		return errs.Fieldf("Options.Capacities", "%w", err)
	}
	users := map[string]bool{}
	for _, u := range c.Users {
		if users[u.Name] {
			return errs.Fieldf("Options.Users", "user %q is there twice", u.Name)
		}
		if u.MaxRunning < 0 {
			return errs.Fieldf("Options.Users", "user %q has a negative limit", u.Name)
		}
		users[u.Name] = true
	}
	if min(c.Replicas, c.GroupTrackers, c.MaxTrackerFailures) < 0 || c.LocalityDelay != nil && *c.LocalityDelay < 0 || min(c.CopyBandwidth, int64(c.ParallelCopies)) < 0 {
		return fmt.Errorf("slots: a number is negative: %d replicas, %d trackers per group, %d failures per tracker, locality delay %v, %d copied bytes per second, %d copies at a time", c.Replicas, c.GroupTrackers, c.MaxTrackerFailures, c.LocalityDelay, c.CopyBandwidth, c.ParallelCopies)
	}
	return nil
}

// header returns the header of an event file: the configuration as JSON, and the fields that
// the header has of its own. ConfigOf is the inverse.
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

// ConfigOf returns the configuration of a recorded run. It copies what it needs of h. It fails
// if the configuration in the header is not valid JSON for a Config.
func ConfigOf(h *trace.Header) (c Config, err error) {
	if err := json.Unmarshal(h.Config, &c); err != nil {
		return c, fmt.Errorf("recorded configuration: %s", errs.OfJSON(err))
	}
	c.PolicyName, c.Seed = h.Policy, h.Seed
	for _, s := range h.Slots {
		c.Slots = append(c.Slots, Slot{ID: SlotID(s.ID), Tracker: TrackerID(s.Tracker), Core: s.Core, Home: s.Home, Extra: s.Extra, Weight: PPM(s.Weight)})
	}
	return c, nil
}

// Settings are settings of pools and jobs that a policy may use or ignore. A user sets them in a
// workload file. Limits of running jobs are not among them, because the Ledger keeps them.
type Settings uint16

const (
	PoolWeight Settings = 1 << iota
	MinShare
	PoolMax
	PoolMode
	Preemption
	JobWeight
	JobPriority
	PoolCapacity
)

// PoolSettings are all settings of a pool, and those of the jobs in it.
const PoolSettings = PoolWeight | MinShare | PoolMax | PoolMode | JobWeight | JobPriority

// settingNames are in the order of the bits, as workload files have them.
var settingNames = []string{"weight of pools", "min_maps and min_reduces", "max_maps and max_reduces", "mode: fifo", "preempt_after and fair_preempt_after", "weight of jobs", "priority", "capacity, max_capacity, min_user_limit and user_limit_factor"}

// Names returns the names of the settings in s.
func (s Settings) Names() (names []string) {
	for i, name := range settingNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
