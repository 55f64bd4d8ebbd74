// Package registry is the table of slot policies. The command, replays and explanations make
// policies by name here.
//
// A policy of this project has one entry in All. Its package is below slots/policy.
// Close relatives share a package. A user's policy needs no entry, because the drivers take any
// slots.Policy (examples/policy).
//
// Ownership: a policy belongs to the caller of New.
package registry

import (
	"fmt"
	"slices"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/capacity"
	"mrlocal/slots/policy/dhfs"
	"mrlocal/slots/policy/dynamicmr"
	"mrlocal/slots/policy/dynsplit"
	"mrlocal/slots/policy/fair"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/policy/fresh"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/policy/ras"
	"mrlocal/slots/policy/yarn"
)

// Entry is a policy of the table.
type Entry struct {
	Name  string                              `json:"name"`
	Line  string                              `json:"line"`  // what it does, in a line
	Key   string                              `json:"-"`     // of its page in docs/papers; "": there is none, because the source is Hadoop or the user
	Paper string                              `json:"paper"` // the reference
	New   func(o policy.Options) slots.Policy `json:"-"`     // makes the policy; some ignore o
}

// Baseline is the policy that others are compared with: Hadoop's, which lends no slot.
const Baseline = "fair"

const (
	dhfs13      = "Tang, Lee, He: Dynamic Slot Allocation Technique for MapReduce Clusters, CLUSTER 2013"
	dynamicmr14 = "Tang, Lee, He: DynamicMR: A Dynamic Slot Allocation Optimization Framework, TCC 2014"
	late08      = "Zaharia, Konwinski, Joseph, Katz, Stoica: Improving MapReduce Performance in Heterogeneous Environments (LATE), OSDI 2008"
	delay10     = "Zaharia, Borthakur, Sen Sarma, Elmeleegy, Shenker, Stoica: Delay Scheduling, EuroSys 2010"
	omo21       = "Yang, Wang, Mao, Yao, Mi, Sheng: Optimizing Internal Overlaps by Self-Adjusting Resource Allocation, IEEE Access 2021"
	fresh14     = "after Wang, Yao, Mao, Sheng, Mi: FRESH, CLOUD 2014 (reconstructed)"
	ras11       = "Polo, Castillo, Carrera, Becerra, Whalley, Steinder, Torres, Ayguadé: Resource-aware Adaptive Scheduling for MapReduce Clusters, Middleware 2011"
	split11     = "Wang, Zhang, Liao, Zha: Dynamic Split Model of Resource Utilization in MapReduce, DataCloud-SC 2011"
)

// All returns the table, the simplest policies first.
func All() []Entry {
	return []Entry{
		// The fields are Name, Line, Key, Paper and New.
		{"fifo", "first job first; map slots run maps, reduce slots run reduces", "", "Hadoop 1.x JobQueueTaskScheduler", without(fifo.New)},
		{Baseline, "pools share each kind of slots fairly; map slots run maps, reduce slots run reduces", "", "Hadoop 1.x Fair Scheduler (HFS)", with(fair.New)},
		// The two policies of the DHFS paper, and the first of them without pools.
		{"pi-dhfs", "fair in each phase; unused slots of one kind are lent to the other kind's tasks", "DHFS13", dhfs13 + ", Algorithm 1", with(dhfs.NewPI)},
		{"pd-dhfs", "fair over maps and reduces together; a pool uses both kinds of slots for itself before others do", "DHFS13", dhfs13 + ", Algorithm 2", with(dhfs.NewPD)},
		{"pi-fifo", "first job first; unused slots of one kind are lent to the other kind's tasks", "DHFS13", dhfs13 + ", Algorithm 1 in FIFO order", with(dhfs.NewFIFO)},
		{"dynamicmr", "pi-dhfs or pd-dhfs; copies of slow tasks go after pending ones (SEPB), and maps to idle slots at their input (Slot PreScheduling)", "DynamicMR14", dynamicmr14, dynamicmr.New},
		{"late", "fair, and copies of the tasks that will end last", "LATE08", late08, with(fair.NewLate)},
		{"delay", "fair, and jobs wait a little for slots at their input", "Delay10", delay10, with(fair.NewDelay)},
		{"fair-deficit", "the job that is owed most slot-time comes first; map slots run maps, reduce slots run reduces", "", "Hadoop 0.20 Fair Scheduler", without(fair.NewDeficit)},
		{"capacity", "the queue that uses least of its capacity comes first; in it the first job whose user is below the limit", "", "Hadoop 1.x Capacity Scheduler", without(capacity.New)},
		{"yarn", "slots take any task; a job's reduces ramp up with the maps that are done, and are killed where they keep all maps from running", "", "Hadoop 2.x MapReduce on YARN", with(yarn.New)},
		{"fair-containers", "slots take any task; the job that is owed most comes first, its reduces before its maps", "OMO21", omo21 + ", section V-A", with(omo.NewFair)},
		{"lazy-start", "slots take any task; a job's reduces start, all in a row, when their shuffle would end with its maps", "OMO21", omo21 + ", Algorithm 1", with(omo.NewLazyStart)},
		{"batch-finish", "slots take any task; the last maps of the job that gains most go first, in one wave", "OMO21", omo21 + ", Algorithm 2", with(omo.NewBatchFinish)},
		{"omo", "slots take any task; lazy start of reduces, then batch finish of maps, then the job that is owed most", "OMO21", omo21 + ", Algorithm 3", with(omo.New)},
		{"fresh", "FRESH-like: slots take any task; each kind gets slots by its remaining work, reduces once a job's maps are done", "FRESH14", fresh14, without(fresh.New)},
		{"ras", "slots take any task; tasks are placed by their needs of CPU, I/O and memory; jobs farthest behind their deadlines get most", "RAS11", ras11, with(ras.New)},
		{"dynsplit", "slots change their home kind from map to reduce as a job's maps finish; a map in its I/O period lets one more start", "Split11", split11, with(dynsplit.New)},
	}
}

// with returns Entry.New of a constructor with options.
func with[P slots.Policy](make func(o policy.Options) P) func(policy.Options) slots.Policy {
	return func(o policy.Options) slots.Policy { return make(o) }
}

// without returns Entry.New of a constructor without options.
func without[P slots.Policy](make func() P) func(policy.Options) slots.Policy {
	return func(policy.Options) slots.Policy { return make() }
}

// Names returns the names of all policies, in the order of All.
func Names() []string { return namesOf(func(slots.Policy) bool { return true }) }

// OwnSlowstart returns the names of the policies with a slowstart of their own,
// which replaces the run's.
func OwnSlowstart() []string {
	return namesOf(func(p slots.Policy) bool { return p.Traits().OwnSlowstart })
}

// Openers returns the names of the policies that open extra slots, some of them only under
// options of theirs (slots.Opener).
func Openers() []string {
	return namesOf(func(p slots.Policy) bool { _, opens := p.(slots.Opener); return opens })
}

// namesOf returns the names of the policies for which is holds, in the order of All. is
// gets new policies that no run uses.
func namesOf(is func(slots.Policy) bool) (names []string) {
	for _, e := range All() {
		if is(e.New(policy.DefaultOptions())) {
			names = append(names, e.Name)
		}
	}
	return names
}

// New returns a new policy for one Ledger. It fails with an error of kind errs.BadOptions for wrong
// options (Options.Check) or an unknown name. In the latter case the error has the nearest name, or
// all names.
func New(name string, o policy.Options) (slots.Policy, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if err := Check(name); err != nil {
		return nil, errs.Optionf("policy", "%w", err)
	}
	all := All()
	return all[slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })].New(o), nil
}

// Check returns an error if there is no policy of that name. Its text has the name, and the nearest one or all.
func Check(name string) error {
	if all := Names(); !slices.Contains(all, name) {
		return fmt.Errorf("%s: no such policy%s", errs.Quote(name), errs.Suggest(name, all))
	}
	return nil
}

// ForReplay returns the policy of a recorded run. c is the run's configuration. It fails if
// the recorded options are not readable, or if the name is unknown. Options that the run did
// not record have their defaults.
func ForReplay(c slots.Config) (slots.Policy, error) {
	o := policy.DefaultOptions()
	if err := o.SetRecorded(&c); err != nil {
		return nil, err
	}
	return New(c.PolicyName, o)
}
