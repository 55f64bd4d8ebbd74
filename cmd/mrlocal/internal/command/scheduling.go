package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// Scheduling holds the values of SchedulingFlags: the slots, the placement, and the options of
// policies. Runs, batches and simulations have the same ones. In Config, a flag that was not given is
// 0 or nil. In PolicyOptions, it has its default.
type Scheduling struct {
	setup.Config
	PolicyOptions policy.Options
	Names         []string // of --sched
}

// NewScheduling returns the settings of a command before it has read its line.
func NewScheduling() Scheduling {
	return Scheduling{PolicyOptions: policy.DefaultOptions(), Names: []string{mrlocal.DefaultPolicy}}
}

// Settings returns the settings that say which task may run where: --sched and those of the policies and
// of setup.Config. b has the bounds. With several, --sched takes several policies. Done must follow
// when the line is read.
func (s *Scheduling) Settings(b setup.Bounds, several bool) []setting.Setting {
	sched := setting.Of("sched", "Policy", "slot policy `NAME`; mrlocal policies lists them", mrlocal.DefaultPolicy,
		setting.Custom{Words: registry.Names(), Read: func(text string) error { return s.readPolicies(text, several) }})
	if several {
		sched.Help = "slot policies `NAME[,NAME]`, one run each, or all; see mrlocal policies"
	}
	all := append(setting.In("POLICIES", []setting.Setting{sched}), s.Config.Fields(b)...)
	if m := setting.Named(all, "max-slots"); m != nil {
		m.Help += "; " + strings.Join(registry.Openers(), ", ") + " can open extra ones"
	}
	if m := setting.Named(all, "slowstart"); m != nil {
		m.Help += "; " + strings.Join(registry.OwnSlowstart(), ", ") + " have their own"
	}
	return append(all, s.PolicyOptions.Fields()...)
}

// Done copies what two packages need: the delay is an option of policies and of the cluster.
func (s *Scheduling) Done() { s.LocalityDelay = s.PolicyOptions.LocalityDelay }

// readPolicies reads names of policies with commas between, or all. A single run takes one name.
func (s *Scheduling) readPolicies(text string, several bool) error {
	known := registry.Names()
	if text == "all" && several { // the registry has the order of mrlocal policies: simplest first
		s.Names = known
		return nil
	}
	names := []string{text}
	if several {
		names = strings.Split(text, ",")
	}
	for i, name := range names {
		switch {
		case name == "all":
			return errors.New("all stands alone, in sim, batch and sweep; run takes one policy")
		// Each policy writes files with its name at the end.
		case slices.Contains(names[:i], name):
			return fmt.Errorf("%s is given twice", errs.Quote(name))
		case !slices.Contains(known, name):
			if near := errs.Nearest(name, known); near != "" {
				return fmt.Errorf("%s: no such policy; did you mean %s?", errs.Quote(name), near)
			}
			return fmt.Errorf("%s: no such policy; there are %s", errs.Quote(name), strings.Join(known, ", "))
		}
	}
	s.Names = names
	return nil
}

// SchedulingFlags returns the flags that say which task may run where. A flag means the same in a
// run, a batch and a simulation. elsewhere is the beginning of the help of a default. It says that the
// workload file comes first, as in "the value in the file, otherwise ". It is empty for a command
// without a workload file. Such a command makes real runs only. Reader.Scheduling reads the flags.
func SchedulingFlags(elsewhere string) []argv.Spec {
	// simulated ends the help of a default that differs in simulations.
	simulated := func(slots string) string {
		if elsewhere == "" {
			return ""
		}
		return "; in a simulation " + slots
	}
	return append([]argv.Spec{
		argv.ValueSpec("map-slots", "`N` home map slots on each tracker", elsewhere+"its cores minus the reduce slots"+simulated("2")),
		argv.ValueSpec("reduce-slots", "`N` home reduce slots on each tracker", elsewhere+"a sixth of its cores, at least 1"+simulated("1")),
		argv.ValueSpec("trackers", "`N` trackers; each is a group of cores, or a node of a simulated cluster", elsewhere+"1"),
		argv.ValueSpec("max-slots", "a policy may open at most `N` slots on each tracker, home slots included; "+strings.Join(registry.Openers(), ", ")+" can open extra ones", "twice the home slots"),
		slowstartFlag(elsewhere),
		argv.ValueSpec("attempts", "`N` attempts at each task", "4"),
	}, append(PolicyFlags(), placementFlags(elsewhere)...)...)
}

// slowstartFlag returns --slowstart. Its help names the policies that ignore the flag, because they
// open the gate of a job by a rule of their own. elsewhere is as in SchedulingFlags.
func slowstartFlag(elsewhere string) argv.Spec {
	return argv.ValueSpec("slowstart", "`SHARE` of maps finished before reduces are ready; "+strings.Join(registry.OwnSlowstart(), ", ")+" have their own", elsewhere+"1.0")
}

// PolicyFlags returns the flags that set options of slot policies. All commands that run something
// under a policy take them.
func PolicyFlags() (flags []argv.Spec) {
	// Fields describes each option, so a new option needs no line here.
	for _, f := range new(policy.Options).Fields() {
		flags = append(flags, argv.ValueSpec(f.Name, f.Help, f.Default))
	}
	return flags
}

// policyOptions reads PolicyFlags. A flag that was not given leaves its field as
// policy.DefaultOptions has it.
func (r *Reader) policyOptions() policy.Options {
	o := policy.DefaultOptions()
	for _, f := range o.Fields() {
		if text, given := r.Line.Value(f.Name); given {
			if err := f.Value.Set(text); err != nil {
				r.Keep(errs.Optionf("--"+f.Name, "%w", err))
			}
		}
	}
	return o
}

// Scheduling reads SchedulingFlags. trackers is the greatest --trackers. slotsEach is the greatest
// number of slots of one kind on a tracker. leastReduces is the least --reduce-slots: 0 for a single
// run, which may be map only, and 1 for all others. r.Err has the first mistake.
func (r *Reader) Scheduling(trackers, slotsEach, leastReduces int) Scheduling {
	return Scheduling{
		PolicyOptions: r.policyOptions(),
		Config: setup.Config{
			Trackers:    r.Count("trackers", 1, trackers),
			MapSlots:    r.Count("map-slots", 1, slotsEach),
			ReduceSlots: r.Count("reduce-slots", leastReduces, slotsEach),
			// The bound is twice that of one kind, because --max-slots counts both kinds.
			MaxSlots:      r.Count("max-slots", 1, 2*slotsEach),
			Attempts:      r.Count("attempts", 1, MostAttempts),
			Replicas:      r.Count("replicas", 1, trackers),
			Slowstart:     r.Share("slowstart"),
			LocalityDelay: r.TimeGiven("locality-delay"),
			RemotePenalty: penalty(&r.Reader),
			Slow:          slow(&r.Reader),
			Seed:          r.Seed(),

			ShuffleBytesPerSecond: r.Rate("shuffle-bw"), // only real runs have this flag
		},
	}
}

// Complete takes the slot weights from the file if no flag sets them.
func (s *Scheduling) Complete(f *workload.File) {
	if !s.PolicyOptions.SlotWeights.Bound() {
		s.PolicyOptions.SlotWeights = f.SlotWeights()
	}
}

// checkPolicy refuses a name that is not among known, the names of all policies.
func (r *Reader) checkPolicy(name string, known []string) {
	if slices.Contains(known, name) {
		return
	}
	if name == "all" {
		r.Keep(errs.Optionf("--sched", "all stands alone, in sim, batch and sweep; run takes one policy"))
		return
	}
	// Mostly the name is only misspelt. Then the message suggests the nearest name and lists no
	// others.
	if near := errs.Nearest(name, known); near != "" && near != name {
		r.Keep(errs.Optionf("--sched", "%s: no such policy; did you mean %s?", errs.Quote(name), near))
		return
	}
	// No name is near, so the user needs the whole list. The error of the registry has it.
	_, err := registry.New(name, policy.Options{})
	r.Keep(err)
}

// NewPolicy makes a policy of that name with the options of s. A policy serves one run only. The
// call fails if the name is unknown, or if the policy refuses its options.
func (s *Scheduling) NewPolicy(name string) (slots.Policy, error) {
	return registry.New(name, s.PolicyOptions)
}

// mostPenalty bounds --remote-penalty and the factors of --slow.
const mostPenalty = 1000

// placementFlags returns the flags that place the inputs of maps and that slow trackers down.
// elsewhere is as in SchedulingFlags.
func placementFlags(elsewhere string) []argv.Spec {
	slow := argv.ValueSpec("slow", "`TRACKER=FACTOR`: that tracker has FACTOR times the speed of the others, as in 3=0.5, above 1 only in a simulation; may be repeated", elsewhere+"none")
	slow.Repeat = true
	return []argv.Spec{
		argv.ValueSpec("replicas", "place the input of each map on `N` trackers, at random", elsewhere+"no placement"),
		argv.ValueSpec("remote-penalty", "a map away from its input takes `X` times as long", "1"),
		slow,
	}
}

// penalty reads --remote-penalty, the factor by which a map takes longer away from its input. The
// factor is from 1 to mostPenalty. penalty returns 0 if the flag was not given.
func penalty(r *argv.Reader) ppm.Share {
	const flag = "remote-penalty"
	text, ok := r.Line.Value(flag)
	if !ok {
		return 0
	}
	p, err := ppm.Parse(text)
	switch {
	case err != nil:
		r.Keep(errs.Optionf("--"+flag, "%s: not a factor; write a decimal number such as 1.5", errs.Quote(text)))
	// A penalty below 1 would make a map faster away from its input.
	case p < ppm.One || p > mostPenalty*ppm.One:
		r.Keep(errs.Optionf("--"+flag, "%s: a factor from 1 (none) to %d", errs.Quote(text), mostPenalty))
	}
	return p
}

// slow reads each --slow TRACKER=FACTOR. A factor below 1 makes the tracker slower. Trackers count
// from 0, and Complete checks that they exist.
func slow(r *argv.Reader) []setup.Slow {
	var all []setup.Slow
	// Two factors for one tracker contradict each other, so the second one is refused.
	seen := map[int]bool{}
	for _, text := range r.Line.Values("slow") {
		number, factor, ok := strings.Cut(text, "=")
		tracker, err := strconv.Atoi(number)
		share, shareErr := ppm.Parse(factor)
		switch {
		case !ok || err != nil || shareErr != nil || tracker < 0:
			r.Keep(errs.Optionf("--slow", "%s: not TRACKER=FACTOR; write 3=0.5", errs.Quote(text)))
		// A ppm.Share counts millionths, so its value 1 is the least factor above 0.
		case share < 1 || share > mostPenalty*ppm.One:
			r.Keep(errs.Optionf("--slow", "%s: a factor above 0, at most %d", errs.Quote(text), mostPenalty))
		case seen[tracker]:
			r.Keep(errs.Optionf("--slow", "tracker %d is given twice", tracker))
		}
		seen[tracker] = true
		all = append(all, setup.Slow{Tracker: tracker, Factor: share})
	}
	return all
}
