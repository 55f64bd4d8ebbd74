// Command policy simulates a workload file under an example of a user's own policy: shortest job first.
package main

import (
	"context"
	"fmt"
	"os"

	"mrlocal/report"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/workload"
)

type shortest struct{ jobs slots.Ranking[int32] } // running jobs by the number of tasks left
func (*shortest) Traits() slots.Traits {
	return slots.Traits{Name: "shortest", Rules: map[slots.Rule]string{"fewest-left": "its job has the fewest tasks left"}}
}
func (p *shortest) Reset()   { p.jobs = slots.Ranking[int32]{Less: fewer} } // before each run
func fewer(a, b *int32) bool { return *a < *b }

func (p *shortest) Decide(v *slots.View, d *slots.Decision) { // fills the free slots of v.Tracker()
	for p.update(v); p.start(v, d); p.update(v) {
	} // one task after the other: each grant changes v
}

func (p *shortest) update(v *slots.View) { // ranks the jobs that have changed since its last call
	for _, id := range v.Changed(nil) {
		p.jobs.Remove(int32(id))
		if j := v.Job(id); !j.Ended() {
			p.jobs.Set(int32(id), j.Total(slots.Map)-j.Done(slots.Map)+j.Total(slots.Reduce)-j.Done(slots.Reduce))
		}
	}
}

func (p *shortest) start(v *slots.View, d *slots.Decision) bool { // grants one task; false: no more can start here
	for _, id := range p.jobs.Firsts(nil, p.jobs.Len()) {
		for _, k := range []slots.Kind{slots.Map, slots.Reduce} {
			g := slots.Grant{Slot: slots.NoSlot, Job: slots.JobID(id), Kind: k, Task: slots.NoTask, Rule: "fewest-left"}
			if v.Job(g.Job).Pending(k) > 0 && v.FreeHome(v.Tracker(), k) > 0 && d.Grant(g) { // the Ledger may refuse
				return true
			}
		}
	}
	return false
}

func main() {
	f, err := workload.Load(append(os.Args, "WORKLOAD.yaml")[1])
	if err == nil {
		r, failed := sim.Run(context.Background(), f, sim.Options{Policy: &shortest{}})
		if err = failed; err == nil {
			err = report.WriteTable(os.Stdout, []*report.Report{r})
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "policy:", err)
		os.Exit(1)
	}
}
