package command

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// Scheduling holds the flags that say which task may run where. Runs, batches and
// simulations have the same ones. A flag that was not given is 0, or nil.
type Scheduling struct {
	setup.Config
	PolicyOptions policy.Options
}

// SchedulingFlags returns the flags that say which task may run where. elsewhere says where the
// value of a flag that is not given comes from. It is empty if there is no workload file; then
// the run is real.
func SchedulingFlags(elsewhere string) []argv.Spec {
	// All commands share these flags, so that a flag means the same in a run, a batch and a
	// simulation.
	simulated := func(slots string) string {
		if elsewhere == "" {
			return ""
		}
		return ", simulated " + slots
	}
	return append([]argv.Spec{
		argv.ValueSpec("map-slots", "`N` home map slots on each tracker", elsewhere+"its cores minus the reduce slots"+simulated("2")),
		argv.ValueSpec("reduce-slots", "`N` home reduce slots on each tracker", elsewhere+"a sixth of its cores, at least 1"+simulated("1")),
		argv.ValueSpec("trackers", "`N` trackers; each is a group of cores, or a node of a simulated cluster", elsewhere+"1"),
		argv.ValueSpec("max-slots", maxSlotsHelp, "twice the home slots"),
		slowstartFlag(elsewhere),
		argv.ValueSpec("attempts", "`N` attempts at each task", "4"),
	}, append(PolicyFlags(), placementFlags(elsewhere)...)...)
}

// slowstartFlag names the policies that have a slowstart of their own in its help. elsewhere is
// as in SchedulingFlags.
func slowstartFlag(elsewhere string) argv.Spec {
	return argv.ValueSpec("slowstart", "`SHARE` of maps finished before reduces are ready; "+strings.Join(registry.OwnSlowstart(), ", ")+" have their own", elsewhere+"1.0")
}

// PolicyFlags returns the flags of slot policies. All commands that run something
// under a policy take them.
func PolicyFlags() (flags []argv.Spec) {
	// The options describe their own flags, so a new option needs no line here.
	for _, f := range new(policy.Options).Fields() {
		flags = append(flags, argv.ValueSpec(f.Name, f.Help, f.Default))
	}
	return flags
}

// policyOptions reads PolicyFlags. A flag that was not given leaves its field as
// policy.DefaultOptions has it.
func (r *Reader) policyOptions() policy.Options {
	const most = 1_000_000 // slots a tracker
	o := policy.DefaultOptions()
	for _, f := range o.Fields() {
		// A flag that was not given must not replace a default by 0.
		if !r.Line.Has(f.Name) {
			continue
		}
		switch p := f.Value.(type) {
		// The type of the field says how its flag is read. A new type of field needs a case
		// here.
		case *slots.PPM:
			*p = r.ShareOr(f.Name, *p)
		case *policy.Override:
			*p = policy.Override{Given: true, Share: r.ShareOr(f.Name, 0)}
		case *time.Duration:
			// A time may be 0, which turns it off, if the least value of the field is 0.
			*p = r.Time(f.Name, f.Least == 0)
		case *int32:
			*p = int32(r.Count(f.Name, f.Least, most))
		case *bool:
			*p = r.Choice(f.Name, f.Choices()...) == "on"
		case *string:
			*p = r.Choice(f.Name, f.Choices()...)
		case *demand.Weights:
			// Weights are whole numbers of slots for a task of each kind.
			p.Map, p.Reduce = r.MapAndReduce(f.Name, demand.MostWeight)
		}
	}
	return o
}

// Bounds of a simulated cluster. Its slots are no threads.
const (
	MostNodes     = 100_000
	MostNodeSlots = 1_000_000

	MostSimulatedSlots = 4_000_000 // on all trackers, extra slots included; they take 1.5 GiB
)

// Scheduling reads SchedulingFlags. trackers and slotsEach bound the trackers, and the
// slots of each. leastReduces is the least --reduce-slots: only a single run can do without.
func (r *Reader) Scheduling(trackers, slotsEach, leastReduces int) Scheduling {
	return Scheduling{
		PolicyOptions: r.policyOptions(),
		Config: setup.Config{
			Trackers:    r.Count("trackers", 1, trackers),
			MapSlots:    r.Count("map-slots", 1, slotsEach),
			ReduceSlots: r.Count("reduce-slots", leastReduces, slotsEach),
			// Twice the bound of one kind, because it counts the slots of both.
			MaxSlots:      r.Count("max-slots", 1, 2*slotsEach),
			Attempts:      r.Count("attempts", 1, MostAttempts),
			Replicas:      r.Count("replicas", 1, trackers),
			Slowstart:     r.Share("slowstart"),
			LocalityDelay: r.Time("locality-delay", true),
			RemotePenalty: penalty(&r.Reader),
			Slow:          slow(&r.Reader),
			Seed:          r.Seed(),

			ShuffleBytesPerSecond: r.Rate("shuffle-bw"), // only real runs have this flag
		},
	}
}

// Complete takes the slot weights from the file if no flag sets them, and checks that
// --slow names trackers that are there.
func (s *Scheduling) Complete(f *workload.File) error {
	if !s.PolicyOptions.SlotWeights.Bound() {
		s.PolicyOptions.SlotWeights = f.SlotWeights()
	}
	trackers := cmp.Or(s.Trackers, f.Trackers, 1)
	for _, slow := range s.Slow {
		if slow.Tracker >= trackers {
			return errs.Optionf("--slow", "there is no tracker %d; they count from 0 to %d", slow.Tracker, trackers-1)
		}
	}
	return nil
}

// Policies returns the names that --sched lists: one, several with commas, or all.
func (r *Reader) Policies() []string {
	text, ok := r.Line.Value("sched")
	if !ok {
		return []string{mrlocal.DefaultPolicy}
	}
	known := registry.Names()
	// The order is that of mrlocal policies: simplest first.
	if text == "all" {
		return known
	}
	names := strings.Split(text, ",")
	// The same policy twice would write the same files twice.
	seen := map[string]bool{}
	for _, name := range names {
		r.checkPolicy(name, known)
		if seen[name] {
			r.Keep(errs.Optionf("--sched", "%s is given twice", argv.Quote(name)))
		}
		seen[name] = true
	}
	return names
}

// checkPolicy refuses a name that no policy has.
func (r *Reader) checkPolicy(name string, known []string) {
	if slices.Contains(known, name) {
		return
	}
	if name == "all" {
		r.Keep(errs.Optionf("--sched", "all stands alone, and only in sim, batch, sweep"))
		return
	}
	// A misspelt name is the usual mistake, so the nearest name is enough.
	if near := errs.Nearest(name, known); near != "" && near != name {
		r.Keep(errs.Optionf("--sched", "%s: no such policy; did you mean %s?", argv.Quote(name), near))
		return
	}
	// No name is near. The error of the registry lists all of them.
	_, err := registry.New(name, policy.Options{})
	r.Keep(err)
}

// NewPolicy makes a policy for one run. Its name has been checked.
func (s *Scheduling) NewPolicy(name string) (slots.Policy, error) {
	return registry.New(name, s.PolicyOptions)
}

// mostPenalty bounds --remote-penalty and the factors of --slow.
const mostPenalty = 1000

// placementFlags returns the flags that say where inputs are, and how fast trackers are.
func placementFlags(elsewhere string) []argv.Spec {
	slow := argv.ValueSpec("slow", "`TRACKER=FACTOR`: that tracker has FACTOR times the speed of the others, as in 3=0.5; may be repeated", elsewhere+"none")
	slow.Repeat = true
	return []argv.Spec{
		argv.ValueSpec("replicas", "place the input of each map on `N` trackers, at random", elsewhere+"no placement"),
		argv.ValueSpec("remote-penalty", "a map away from its input takes `X` times as long", "1"),
		slow,
	}
}

// penalty reads --remote-penalty, a number of at least 1. It returns 0 if the flag was not
// given.
func penalty(r *argv.Reader) ppm.Share {
	const flag = "remote-penalty"
	text, ok := r.Line.Value(flag)
	if !ok {
		return 0
	}
	p, err := ppm.Parse(text)
	switch {
	case err != nil:
		r.Keep(errs.Optionf("--"+flag, "%s: not a factor; write a decimal number such as 1.5", argv.Quote(text)))
	// A penalty below 1 would make a map faster away from its input.
	case p < ppm.One || p > mostPenalty*ppm.One:
		r.Keep(errs.Optionf("--"+flag, "%s: a factor from 1 (none) to %d", argv.Quote(text), mostPenalty))
	}
	return p
}

// slow reads --slow TRACKER=FACTOR.
func slow(r *argv.Reader) []setup.Slow {
	var all []setup.Slow
	// Two factors for one tracker contradict each other.
	seen := map[int]bool{}
	for _, text := range r.Line.Values("slow") {
		// The tracker is a number from 0. complete checks it against the number of trackers,
		// which the file may set.
		number, factor, ok := strings.Cut(text, "=")
		tracker, err := strconv.Atoi(number)
		share, shareErr := ppm.Parse(factor)
		switch {
		case !ok || err != nil || shareErr != nil || tracker < 0:
			r.Keep(errs.Optionf("--slow", "%s: not TRACKER=FACTOR; write 3=0.5", argv.Quote(text)))
		// The share is in parts per million, so 1 is the least factor above 0.
		case share < 1 || share > mostPenalty*ppm.One:
			r.Keep(errs.Optionf("--slow", "%s: a factor above 0, at most %d", argv.Quote(text), mostPenalty))
		case seen[tracker]:
			r.Keep(errs.Optionf("--slow", "tracker %d is given twice", tracker))
		}
		seen[tracker] = true
		all = append(all, setup.Slow{Tracker: tracker, Factor: share})
	}
	return all
}
