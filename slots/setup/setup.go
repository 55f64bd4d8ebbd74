// Package setup holds the configuration of a run and the submission of a job, in the
// form that both drivers take. engine and sim embed Config in their Options and take
// a Submission for each job. Package workload fills both from a file. So a batch and
// a simulation of the same file give the Ledger the same configuration and the same jobs.
//
// Release decides which job is submitted next, by Submit times and by After.
//
// The package is pure. Its results belong to the caller.
package setup

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/slots"
)

// Bounds of the fields of Config. They lie far above useful values, and below those at which memory
// runs out. A driver of real runs has lower ones, because its slots are threads.
const (
	MostCount = 1_000_000 // of each count
	MostSlots = 1 << 22   // on all trackers, extra slots included; the simulator takes 1.5 GiB for them

	// MostTime bounds every time, so that sums of times fit into a time.Duration.
	MostTime = 100_000 * time.Hour
)

// Bounds of a workload file.
const (
	// MostJobs bounds its jobs. A simulation of that many, each in its own pool, takes 1.2 GB.
	MostJobs = 1 << 18
	// MostTasks bounds the tasks of all jobs together. Without a bound a typing mistake could take all memory.
	// An event file has fewer tasks (trace.MaxTasks), so the simulator writes none of more.
	MostTasks = 40_000_000
)

// Config describes the cluster of a run, its pools and users, and injected faults. The zero
// value of each field means that it is not set. Each count is at most MostCount, and all trackers
// together have at most MostSlots slots.
type Config struct {
	Trackers    int // groups of cores, or nodes of a simulated cluster; 0: 1
	MapSlots    int // home slots of each tracker; 0: the driver's default
	ReduceSlots int // home slots of each tracker; 0: the driver's default
	MaxSlots    int // slots of each tracker that a policy may open, home slots included; 0: twice the home slots

	Slowstart     *slots.PPM     // share of a job's maps that must be done before its reduces start; nil: 1
	Attempts      int            // failed attempts of a task that fail its job; 0: 4
	LocalityDelay *time.Duration // for policies that wait for local slots; nil: the policy's own, 0: none
	RemotePenalty slots.PPM      // factor of the time of a map away from its input, at least 1; 0: 1.0
	Seed          uint64         // of placement and of drawn times; 0: 1

	Replicas      int // trackers that hold the input of each map, placed at random by Seed; 0: input has no place
	GroupTrackers int // trackers of a group (Hadoop's rack); 0: there are no groups

	// ShuffleBytesPerSecond is what the reduces of a tracker can copy together; 0: unbounded.
	// A simulation takes it from the network of its file.
	ShuffleBytesPerSecond int64

	Pools      []slots.Pool     // a job whose pool is not listed gets a pool of weight 1
	Users      []slots.User     // a user who is not listed has no limit
	Capacities slots.Capacities // of trackers that do not have the whole of each resource
	Slow       []Slow           // trackers that are slower, or in the simulator faster, than the others
	Faults     []Fault
}

// Slow is a tracker whose attempts take 1/Factor times as long as elsewhere.
type Slow struct {
	Tracker int
	Factor  slots.PPM // above 0
}

// Fault is an injected fault, of one of three sorts. A tracker is lost (Tracker ≥ 0), a map's
// committed output is lost (Lost), or the first attempts of a task fail (Fail > 0).
type Fault struct {
	At time.Duration // of a loss, from the start of the run

	// Tracker is lost at At. Its attempts are killed and its slots close. Maps run again if
	// their output lies there and their job has not ended. Negative: the fault is that of a
	// task.
	Tracker int

	Job    int // the index of the job; for a chain, the first job of the chain
	Reduce bool
	Task   int
	Fail   int // the first Fail attempts of the task fail at the end of their time

	// Lost: the committed output of the map is lost at At.
	Lost bool
}

// TimedFaults returns the losses of trackers and of map outputs, in the order of their times.
// The slice is a new one.
func TimedFaults(faults []Fault) []Fault {
	timed := slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return !f.Lost && f.Tracker < 0 })
	slices.SortStableFunc(timed, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return timed
}

// LateFaults returns a note about the faults whose time had not come when the run ended. left is their
// number. It returns "" if left is 0.
func LateFaults(end time.Duration, left int) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("faults: the run ended at %v, before %d of the faults", end.Round(time.Millisecond), left)
}

// UnknownTasks returns a note for each task that a fault names and the job does not have. job is the
// index that Fault.Job has for it. maps and reduces are the numbers of its tasks. For a chain they are
// those of its first job, because faults concern no other.
func UnknownTasks(faults []Fault, job, maps, reduces int) (notes []string) {
	for _, f := range faults {
		kind, tasks := slots.Map, maps
		if f.Reduce {
			kind, tasks = slots.Reduce, reduces
		}
		text := fmt.Sprintf("faults: there is no %s task %d; the job has %d", kind, f.Task, tasks)
		if f.Tracker < 0 && f.Job == job && f.Task >= tasks && !slices.Contains(notes, text) {
			notes = append(notes, text)
		}
	}
	return notes
}

// Or returns c, completed from o: a field that c leaves at its zero value has the value
// of o. Slow has the trackers of both; for a tracker that both list, the entry of c counts.
func (c Config) Or(o Config) Config {
	slow := slices.DeleteFunc(slices.Clone(o.Slow), func(s Slow) bool {
		return slices.ContainsFunc(c.Slow, func(own Slow) bool { return own.Tracker == s.Tracker })
	})
	c.Slow = append(slow, c.Slow...)
	own, other := reflect.ValueOf(&c).Elem(), reflect.ValueOf(o)
	for i := range own.NumField() {
		if f := own.Field(i); f.IsZero() { // an empty list that is not nil counts as set
			f.Set(other.Field(i))
		}
	}
	return c
}

// WithDefaults returns c with every field set that has a default. mapSlots and
// reduceSlots are the driver's default home slots of each tracker.
func (c Config) WithDefaults(mapSlots, reduceSlots int) Config {
	d := Config{Trackers: 1, MapSlots: mapSlots, ReduceSlots: reduceSlots, Slowstart: new(slots.One), Attempts: 4, RemotePenalty: slots.One, Seed: 1}
	c = c.Or(d)
	c.MaxSlots = cmp.Or(c.MaxSlots, 2*(c.MapSlots+c.ReduceSlots))
	return c
}

// Bounds are the bounds of fields of Config for one driver.
type Bounds struct {
	Trackers  int    // most trackers
	Slots     int    // most home slots of one kind of a tracker
	Reduces   int    // least home reduce slots: 0 where a run may have none
	Rate      int64  // least bytes a second of copies; 0: nothing limits them
	Otherwise string // begins the description of each default, as where a file comes first
}

// Simulated returns the bounds of a simulated cluster, whose slots are not threads. They are those of a
// workload file, too, which gives the bandwidth of copies.
func Simulated() Bounds {
	return Bounds{Trackers: 100_000, Slots: MostCount, Reduces: 1, Otherwise: "the value in the file, otherwise "}
}

// MostFactor bounds RemotePenalty, and the factors of Slow.
const MostFactor = 1000 * slots.One

// Fields returns the settings of c. A new field that a user sets by name needs a line here.
func (c *Config) Fields(b Bounds) []setting.Setting {
	or := b.Otherwise
	all := append(setting.In("SLOTS", []setting.Setting{
		setting.Of("map-slots", "MapSlots", "`N` home map slots on each tracker", or+"its cores minus the reduce slots; in a simulation 2", setting.Count(&c.MapSlots, 1, b.Slots)).InShortHelp(),
		setting.Of("reduce-slots", "ReduceSlots NoReduces", "`N` home reduce slots on each tracker", or+"a sixth of its cores, at least 1; in a simulation 1", setting.Count(&c.ReduceSlots, b.Reduces, b.Slots)).InShortHelp(),
		setting.Of("trackers", "Trackers", "`N` trackers; each is a group of cores, or a node of a simulated cluster", or+"1", setting.Count(&c.Trackers, 1, b.Trackers)),
		setting.Of("max-slots", "MaxSlots", "a policy may open at most `N` slots on each tracker, home slots included", "twice the home slots", setting.Count(&c.MaxSlots, 1, 4*b.Slots)),
		setting.Of("slowstart", "Slowstart", "`SHARE` of maps finished before reduces are ready", or+"1.0", setting.Optional(&c.Slowstart, setting.Share)),
		setting.Of("replicas", "Replicas", "place the input of each map on `N` trackers, at random", or+"no placement", setting.Count(&c.Replicas, 1, b.Trackers)),
		setting.Of("seed", "Seed", "seed `N` of drawn times and of the placement", "1", setting.Seed(&c.Seed)),
	}), setting.In("FAULTS AND EFFECTS", []setting.Setting{
		setting.Of("attempts", "Attempts", "`N` attempts at each task; by default a job also fails if its own code fails twice in a place with the same error", "4", setting.Count(&c.Attempts, 1, MostCount)),
		setting.Of("slow", "Slow", "`TRACKER=FACTOR`: that tracker has FACTOR times the speed of the others, as in 3=0.5, above 1 only in a simulation; may be repeated, or have several with commas between", or+"none", setting.Value{Set: c.readSlow, Show: c.showSlow}),
		setting.Of("remote-penalty", "RemotePenalty", "a map away from its input takes `X` times as long", "1", setting.Factor(&c.RemotePenalty, slots.One, MostFactor)),
		setting.Of("shuffle-bw", "ShuffleBytesPerSecond", "limit the copying of the reduces of each tracker to `SIZE` a second", "no limit", setting.Rate(&c.ShuffleBytesPerSecond, b.Rate)),
	})...)
	if b.Rate == 0 {
		return all[:len(all)-1]
	}
	return all
}

// readSlow adds TRACKER=FACTOR[,TRACKER=FACTOR] to c.Slow. Check finds a tracker that does not exist.
func (c *Config) readSlow(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		number, factor, ok := strings.Cut(part, "=")
		s := Slow{}
		if !ok || setting.Count(&s.Tracker, 0, MostCount).Set(number) != nil {
			return fmt.Errorf("%s: not TRACKER=FACTOR; write 3=0.5", errs.Quote(part))
		}
		if err := setting.Factor(&s.Factor, 1, MostFactor).Set(factor); err != nil {
			return err
		}
		// Two factors for one tracker contradict each other.
		if slices.ContainsFunc(c.Slow, func(o Slow) bool { return o.Tracker == s.Tracker }) {
			return fmt.Errorf("tracker %d is given twice", s.Tracker)
		}
		c.Slow = append(c.Slow, s)
	}
	return nil
}

// showSlow returns a text that readSlow reads.
func (c *Config) showSlow() string {
	var all []string
	for _, s := range c.Slow {
		all = append(all, fmt.Sprintf("%d=%v", s.Tracker, s.Factor))
	}
	return strings.Join(all, ",")
}

// Check fails if the value of a field cannot be used, for a run of that many jobs. c has its
// defaults. The errors are of kind errs.BadOptions. They name a field of the Options that
// Config is embedded in.
func (c *Config) Check(jobs int) error {
	if err := setting.Check(c.Fields(Bounds{Trackers: MostCount, Slots: MostCount, Rate: 1})); err != nil {
		return err
	}
	if err := Within("GroupTrackers", int64(c.GroupTrackers), 0, MostCount); err != nil {
		return err
	}
	if home := c.MapSlots + c.ReduceSlots; c.MaxSlots < home {
		return errs.Fieldf("Options.MaxSlots", "%d: must be at least %d, the home slots of a tracker", c.MaxSlots, home)
	}
	if c.MaxSlots > MostSlots/c.Trackers {
		return errs.Fieldf("Options.Trackers, Options.MapSlots, Options.ReduceSlots", "%s with %s each, extra slots included; at most %d slots in all", errs.Counted(c.Trackers, "tracker"), errs.Counted(c.MaxSlots, "slot"), MostSlots)
	}
	if d := c.LocalityDelay; d != nil && (*d < 0 || *d > MostTime) {
		return errs.Fieldf("Options.LocalityDelay", "%v: must be from 0 to %v", *d, MostTime)
	}
	if slices.ContainsFunc(c.Pools, func(p slots.Pool) bool { return p.Name == "" }) {
		return errs.Fieldf("Options.Pools", "a pool has no name")
	}
	if slices.ContainsFunc(c.Users, func(u slots.User) bool { return u.Name == "" }) {
		return errs.Fieldf("Options.Users", "a user has no name")
	}
	for _, s := range c.Slow {
		switch {
		case s.Tracker < 0 || s.Tracker >= c.Trackers:
			return errs.Fieldf("Options.Slow, Options.Trackers", "%w", NoTracker(s.Tracker, c.Trackers))
		case s.Factor <= 0:
			return errs.Fieldf("Options.Slow", "tracker %d: the factor %v must be above 0", s.Tracker, s.Factor)
		}
	}
	for _, f := range c.Faults {
		switch {
		case f.At < 0 || f.Fail < 0 || f.Task < 0:
			return errs.Fieldf("Options.Faults", "a time, a task or a number of failures is negative")
		case max(f.Fail, f.Task) > math.MaxInt32:
			return errs.Fieldf("Options.Faults", "a number above %d", math.MaxInt32)
		case f.Tracker >= 0 && f.Fail > 0:
			return errs.Fieldf("Options.Faults", "tracker %d cannot fail attempts; the fault of a task has a negative Tracker", f.Tracker)
		case f.Tracker < 0 && f.Lost == (f.Fail > 0):
			return errs.Fieldf("Options.Faults", "the fault of task %d of job %d needs either Lost or Fail", f.Task, f.Job)
		case f.Tracker >= c.Trackers:
			return errs.Fieldf("Options.Faults, Options.Trackers", "%w", NoTracker(f.Tracker, c.Trackers))
		case f.Tracker < 0 && (f.Job < 0 || f.Job >= jobs):
			return errs.Fieldf("Options.Faults", "there is no job %d", f.Job)
		case f.Tracker < 0 && f.Lost && f.Reduce:
			return errs.Fieldf("Options.Faults", "the output of reduce task %d of job %d cannot be lost; only a map's output can", f.Task, f.Job)
		}
	}
	return nil
}

// NoTracker returns the error for a tracker that a run does not have.
func NoTracker(tracker, trackers int) error {
	return fmt.Errorf("there is no tracker %d; they count from 0 to %d", tracker, trackers-1)
}

// Within returns an error of kind errs.BadOptions if the value of a field of Options is not from
// least to most.
func Within(field string, value, least, most int64) error {
	switch {
	case value < least:
		return errs.Fieldf("Options."+field, "%d: must be at least %d", value, least)
	case value > most:
		return errs.Fieldf("Options."+field, "%d: must be at most %d", value, most)
	}
	return nil
}

// Cores returns the function that binds slot i of a tracker to a core, from 0 to cores - 1.
// Each tracker has a group of neighbouring cores, and its slots are bound to them in turn. With
// more trackers than cores, the trackers are bound to the cores in turn.
func Cores(trackers, cores int) func(tracker, i int) int32 {
	return func(tracker, i int) int32 {
		if trackers > cores {
			return int32(tracker % cores)
		}
		from, to := tracker*cores/trackers, (tracker+1)*cores/trackers
		return int32(from + i%(to-from))
	}
}

// Extra returns how many extra slots a tracker has under a policy: as many as
// slots.Opener.Extra returns, up to MaxSlots. It is 0 if p is not a slots.Opener. c has its
// defaults.
func (c *Config) Extra(p slots.Policy) int {
	opener, opens := p.(slots.Opener)
	most := c.MaxSlots - c.MapSlots - c.ReduceSlots
	if !opens || most <= 0 {
		return 0
	}
	return min(opener.Extra([2]int32{slots.Map: int32(c.MapSlots), slots.Reduce: int32(c.ReduceSlots)}, most), most)
}

// Ledger returns the configuration of the run's Ledger under a policy. c has its defaults.
// core returns the core of slot i of a tracker; with nil, no slot is bound to a core. The
// result shares Pools and Users with c. It leaves out the capacities of trackers that the
// run does not have, because a workload file may be run with fewer trackers.
func (c *Config) Ledger(p slots.Policy, core func(tracker, i int) int32) slots.Config {
	layout := slots.Layout{Trackers: c.Trackers, MapSlots: c.MapSlots, ReduceSlots: c.ReduceSlots, MaxSlots: c.MapSlots + c.ReduceSlots + c.Extra(p), Core: core}
	l := slots.Config{
		Slots: layout.Slots(), Slowstart: *c.Slowstart, MaxAttempts: c.Attempts, Replicas: int32(c.Replicas), GroupTrackers: int32(c.GroupTrackers),
		CopyBandwidth: c.ShuffleBytesPerSecond, LocalityDelay: c.LocalityDelay, Seed: c.Seed, Pools: c.Pools, Users: c.Users,
	}
	l.Capacities = slices.DeleteFunc(slices.Clone(c.Capacities), func(has slots.Capacity) bool { return int(has.Tracker) >= c.Trackers })
	return l
}

// Warnings returns a line for each setting that is legal but may be a mistake. The lines
// are about min shares that together exceed the slots, if p uses min shares; about more replicas than trackers; and, in
// a real run, about a Slow factor above 1, which has no effect. c has its defaults.
func (c *Config) Warnings(p slots.Policy, simulated bool) (lines []string) {
	for k, slotCount := range [2]int{slots.Map: c.Trackers * c.MapSlots, slots.Reduce: c.Trackers * c.ReduceSlots} {
		kind, least := slots.Kind(k), int64(0)
		for i := range c.Pools {
			least += int64(c.Pools[i].Min(kind))
		}
		if least > int64(slotCount) && p.Traits().Uses&slots.MinShare != 0 {
			lines = append(lines, fmt.Sprintf("pools: the minimum shares are %s of the %d there are: pools below them share the slots in proportion to the lesser of min share and demand", errs.Counted(least, kind.String()+" slot"), slotCount))
		}
	}
	if c.Replicas > c.Trackers {
		there := fmt.Sprintf("there are %d trackers", c.Trackers)
		if c.Trackers == 1 {
			there = "there is one tracker"
		}
		lines = append(lines, fmt.Sprintf("locality: %d replicas, and %s: every tracker has every block", c.Replicas, there))
	}
	for _, slow := range c.Slow {
		if !simulated && slow.Factor > slots.One {
			lines = append(lines, fmt.Sprintf("slow: tracker %d cannot be faster than normal (%v) in a real run; only a simulation can do that", slow.Tracker, slow.Factor))
		}
	}
	return lines
}

// Ignored calls note with a line if the policy ignores settings that a pool or one of n jobs has.
// job returns a job.
func (c *Config) Ignored(p slots.Policy, n int, job func(i int) *Submission, note func(string)) {
	var set slots.Settings
	put := func(given bool, s slots.Settings) {
		if given {
			set |= s
		}
	}
	for i := range c.Pools {
		q := &c.Pools[i]
		put(q.Weight != 0 && q.Weight != slots.One, slots.PoolWeight)
		put(q.MinMaps > 0 || q.MinReduces > 0, slots.MinShare)
		put(q.MaxMaps > 0 || q.MaxReduces > 0, slots.PoolMax)
		put(q.FIFO, slots.PoolMode)
		put(q.PreemptAfter > 0 || q.FairPreemptAfter > 0, slots.Preemption)
		put(q.Capacity > 0 || q.MaxCapacity > 0 || q.MinUserLimit > 0 || q.UserLimitFactor > 0, slots.PoolCapacity)
	}
	for i := range n {
		j := job(i)
		put(j.Weight != 0 && j.Weight != slots.One, slots.JobWeight)
		put(j.Priority != slots.Normal, slots.JobPriority)
	}
	t := p.Traits()
	if ignored := set &^ t.Uses; ignored != 0 {
		note(fmt.Sprintf("pools, jobs: %s ignores %s", t.Name, strings.Join(ignored.Names(), ", ")))
	}
}

// Submission is a job as its user submits it, without its tasks and its functions.
type Submission struct {
	Name     string // of the job in messages and reports
	Pool     string // "": as PoolOr says
	User     string
	Priority slots.Priority
	Weight   slots.PPM      // inside the pool; 0: 1.0
	Submit   time.Duration  // from the start of the run
	Deadline time.Duration  // from the start of the run; 0: none
	Profile  *slots.Profile // what its tasks need; nil: unknown
	After    []int          // the indexes of the jobs that end before this one is submitted
}

// Check fails if the value of a field cannot be used, for a run of that many jobs. The errors
// are of kind errs.BadOptions and name the field.
func (s *Submission) Check(jobs int) error {
	switch {
	case s.Submit < 0:
		return errs.Fieldf("Submission.Submit", "%v is before the run's start", s.Submit)
	case s.Deadline < 0 || s.Deadline > 0 && s.Deadline <= s.Submit:
		return errs.Fieldf("Submission.Deadline", "%v is not after the submission", s.Deadline)
	case s.Weight < 0:
		return errs.Fieldf("Submission.Weight", "must be above 0")
	case s.Profile != nil && s.Profile.Negative():
		return errs.Fieldf("Submission.Profile", "a number is negative")
	case s.Priority < slots.VeryLow || s.Priority > slots.VeryHigh:
		return errs.Fieldf("Submission.Priority", "%d is not between %d and %d", s.Priority, slots.VeryLow, slots.VeryHigh)
	}
	for _, a := range s.After {
		if a < 0 || a >= jobs {
			return errs.Fieldf("Submission.After", "there is no job %d", a)
		}
	}
	return nil
}

// PoolOr returns the pool of the job. A job that names none is in the pool of its user [DHFS13, section II-A]
// (Hadoop 1.0.3, PoolManager.getPoolName), and without a user in the pool own.
func (s *Submission) PoolOr(own string) string { return cmp.Or(s.Pool, s.User, own) }

// StepName returns the name of a job of a chain in a workload. step counts the jobs from 0: those of a
// chain J are J, J.2, J.3 and so on.
func StepName(chain string, step int) string {
	if step == 0 {
		return chain
	}
	return fmt.Sprintf("%s.%d", chain, step+1)
}

// StepOf is the reverse of StepName. For a name that StepName does not make, it returns the name and 0.
func StepOf(name string) (chain string, step int) {
	at := strings.LastIndexByte(name, '.')
	if n, _ := strconv.Atoi(name[at+1:]); at > 0 && n > 1 && StepName(name[:at], n-1) == name {
		return name[:at], n - 1
	}
	return name, 0
}

// Spec returns the job as a Ledger takes it, without tasks. The driver adds the tasks.
func (s *Submission) Spec() slots.JobSpec {
	return slots.JobSpec{Name: s.Name, Pool: s.Pool, User: s.User, Priority: s.Priority, Weight: s.Weight, Deadline: s.Deadline, Profile: s.Profile}
}

// Room is what a machine has for the slots of a real run.
type Room struct {
	Cores       int   // on which the process may run
	WorkCores   int   // cores that it can keep busy: fewer with a CPU quota
	MemoryBytes int64 // of the run
	SlotBytes   int64 // memory that a slot needs
	MostSlots   int   // for which the process may have threads
	NoReduces   bool  // the run needs no reduce slots
}

// Fit returns c with its defaults for a real run. A tracker has as many home slots as cores, a sixth
// of them for reduces, or fewer where r or MaxSlots say so. But it has at least one of each kind. note
// says why there are fewer; "": there are not. What is set in c stays.
func (c Config) Fit(r Room) (fit Config, note string) {
	trackers := max(1, c.Trackers)
	most, why := max(1, r.Cores/trackers), ""
	lower := func(slots int64, reason string) {
		if slots < int64(most) {
			most, why = int(max(slots, 1)), reason
		}
	}
	lower(int64(max(1, r.WorkCores/trackers)), fmt.Sprintf("the CPU quota is %d of %d cores", r.WorkCores, r.Cores))
	lower(r.MemoryBytes/r.SlotBytes/int64(trackers), fmt.Sprintf("a slot takes %dMiB of %dMiB of memory", r.SlotBytes>>20, r.MemoryBytes>>20))
	lower(int64(r.MostSlots/trackers), "the process may have few threads (ulimit -u or -v, or pids.max of the control group)")
	if c.MaxSlots > 0 {
		lower(int64(c.MaxSlots), "")
	}
	maps, reduces := c.homeSlots(most, r.NoReduces)
	if c.MapSlots > 0 {
		reduces = max(min(reduces, most-maps), min(reduces, 1))
	}
	usualMaps, usualReduces := c.homeSlots(max(1, r.Cores/trackers), r.NoReduces)
	if why != "" && (maps < usualMaps || reduces < usualReduces) {
		note = fmt.Sprintf("slots: by default a tracker has %d for maps and %d for reduces here, not %d and %d: %s", maps, reduces, usualMaps, usualReduces, why)
	}
	return c.WithDefaults(maps, reduces), note
}

// homeSlots returns the home slots of a tracker for the given number of cores. Those that are set stay.
func (c *Config) homeSlots(cores int, noReduces bool) (maps, reduces int) {
	reduces = cmp.Or(c.ReduceSlots, max(1, cores/6))
	if noReduces {
		reduces = 0
	}
	return cmp.Or(c.MapSlots, max(1, cores-reduces)), reduces
}
