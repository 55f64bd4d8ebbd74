// Package policy holds the slot policies: one file a policy, and the table of
// their names.
//
// A policy is a pure function of the View that the Ledger (package slots)
// shows it, plus orderings it keeps of what changed. Each rule of a paper, and
// of Hadoop, is a function that names its clause; docs/policies.md lists them,
// by paper and by number (A54, SPEC 1.3, seed 004), and where we depart and why.
//
// Neighbours: slots defines the interface, slots/fifo is the plainest policy; policytest is the suite that every policy passes.
package policy

import (
	"encoding/json"
	"fmt"
	"strings"

	"mrlocal/errs"
	"mrlocal/internal/nearest"
	"mrlocal/slots"
	"mrlocal/slots/fifo"
	"mrlocal/slots/policy/dynsplit"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/policy/ras"
	"mrlocal/slots/policy/told"
)

// Options are what policies can be told, with what pi-dhfs and pd-dhfs make of it.
type Options told.Options

// Defaults are the options of who was told nothing.
func Defaults() Options { return Options(told.Defaults()) }

// Info describes a policy in a line.
type Info struct {
	Name  string
	Line  string
	Paper string
}

const omoPaper = "Yang, Wang, Mao, Yao, Mi, Sheng: Optimizing Internal Overlaps by Self-Adjusting Resource Allocation, IEEE Access 2021"

const rasPaper = "Polo, Castillo, Carrera, Becerra, Whalley, Steinder, Torres, Ayguadé: Resource-aware Adaptive Scheduling for MapReduce Clusters, Middleware 2011"
const dynamicSplit = "Wang, Zhang, Liao, Zha: Dynamic Split Model of Resource Utilization in MapReduce, DataCloud-SC 2011"

const dynamicMR = "Tang, Lee, He: DynamicMR: A Dynamic Slot Allocation Optimization Framework, TCC 2014"

const dhfs = "Tang, Lee, He: Dynamic Slot Allocation Technique for MapReduce Clusters, CLUSTER 2013"

type entry struct {
	Info
	make func(o Options) slots.Policy
}

func table() []entry {
	return []entry{
		{Info{"fifo", "first job first; map slots run maps, reduce slots run reduces", "Hadoop 1.x JobQueueTaskScheduler"},
			func(Options) slots.Policy { return fifo.New() }},
		{Info{"fair", "pools share each kind of slots fairly; map slots run maps, reduce slots run reduces", "Hadoop 1.x Fair Scheduler (HFS)"},
			func(o Options) slots.Policy { return NewFair(o) }},
		{Info{"pi-dhfs", "fair in each phase; unused slots of one kind are lent to the other kind's tasks", dhfs + ", Algorithm 1"},
			func(o Options) slots.Policy { return NewPIDHFS(o) }},
		{Info{"pd-dhfs", "fair over maps and reduces together; a pool uses both kinds of slots for itself before others do", dhfs + ", Algorithm 2"},
			func(o Options) slots.Policy { return NewPDDHFS(o) }},
		{Info{"pi-fifo", "first job first; unused slots of one kind are lent to the other kind's tasks", dhfs + ", Algorithm 1 in FIFO order"},
			func(o Options) slots.Policy { return NewPIFIFO(o) }},
		{Info{"dynamicmr", "pi-dhfs or pd-dhfs; copies of slow tasks go after pending ones (SEPB), and maps to idle slots at their input (Slot PreScheduling)", dynamicMR},
			func(o Options) slots.Policy { return NewDynamicMR(o) }},
		{Info{"late", "fair, and copies of the tasks that will end last", "Zaharia, Konwinski, Joseph, Katz, Stoica: Improving MapReduce Performance in Heterogeneous Environments (LATE), OSDI 2008"},
			func(o Options) slots.Policy { return NewLate(o) }},
		{Info{"delay", "fair, and jobs wait a little for slots at their input", "Zaharia, Borthakur, Sen Sarma, Elmeleegy, Shenker, Stoica: Delay Scheduling, EuroSys 2010"},
			func(o Options) slots.Policy { return NewDelay(o) }},
		{Info{"fair-deficit", "the job that is owed most slot-time comes first; map slots run maps, reduce slots run reduces", "Hadoop 0.20 Fair Scheduler"},
			func(Options) slots.Policy { return NewDeficit() }},
		{Info{"yarn", "slots take any task; a job's reduces ramp up with the maps that are done, and are killed where they keep all maps from running", "Hadoop 2.x MapReduce on YARN"},
			func(Options) slots.Policy { return omo.NewYARN() }},
		{Info{"lazy-start", "slots take any task; a job's reduces start, all in a row, when their shuffle would end with its maps", omoPaper + ", Algorithm 1"},
			func(Options) slots.Policy { return omo.NewLazyStart() }},
		{Info{"batch-finish", "slots take any task; the last maps of the job that gains most go first, in one wave", omoPaper + ", Algorithm 2"},
			func(Options) slots.Policy { return omo.NewBatchFinish() }},
		{Info{"omo", "slots take any task; lazy start of reduces, then batch finish of maps, then the job with the fewest slots", omoPaper + ", Algorithm 3"},
			func(Options) slots.Policy { return omo.New() }},
		{Info{"fresh", "FRESH-like: slots take any task; each kind gets slots by its remaining work, reduces once a job's maps are done", "after Wang, Yao, Mao, Sheng, Mi: FRESH, CLOUD 2014 (reconstructed)"},
			func(Options) slots.Policy { return omo.NewFresh() }},
		{Info{"ras", "slots take any task; tasks are placed by what they need of CPU, I/O and memory, so that the job worst off against its deadline gets most", rasPaper},
			func(o Options) slots.Policy { return ras.New(told.Options(o)) }},
		{Info{"dynsplit", "a job's slots go from maps to reduces as its maps get done, and change their home kind; a map in its I/O period lets one more map in", dynamicSplit},
			func(o Options) slots.Policy { return dynsplit.New(told.Options(o)) }},
	}
}

// All lists the policies, simplest first.
func All() []Info {
	var infos []Info
	for _, e := range table() {
		infos = append(infos, e.Info)
	}
	return infos
}

// OwnSlowstart names the policies with a slowstart of their own, whatever the
// run's is.
func OwnSlowstart() []string {
	var names []string
	for _, e := range table() {
		if e.make(Defaults()).Traits().OwnSlowstart {
			names = append(names, e.Name)
		}
	}
	return names
}

// New returns a policy for one Ledger.
func New(name string, o Options) (slots.Policy, error) {
	var names []string
	for _, e := range table() {
		if e.Name == name {
			return e.make(o), nil
		}
		names = append(names, e.Name)
	}
	if n := nearest.Name(name, names); n != "" {
		return nil, errs.Optionf("policy "+name, "unknown; did you mean %s?", n)
	}
	return nil, errs.Optionf(strings.TrimSpace("policy "+name), "unknown; there are %s", strings.Join(names, ", "))
}

// ForReplay makes the policy of a recorded run.
func ForReplay(c slots.Config) (slots.Policy, error) {
	o := Defaults()
	if len(c.Options) > 0 {
		if err := json.Unmarshal(c.Options, &o); err != nil {
			return nil, fmt.Errorf("policy: recorded options: %w", err)
		}
	}
	o.BorrowMap, o.BorrowReduce, o.LocalityDelay = c.BorrowMap, c.BorrowReduce, c.LocalityDelay
	return New(c.PolicyName, o)
}
