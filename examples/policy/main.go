// Command policy simulates a workload file under an example of a user's own policy: shortest job first.
package main

import (
	"context"
	"fmt"
	"os"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/workload"
)

type shortest struct {
	jobs [2]slots.Ranking[int32] // by kind: the jobs with pending tasks, by the number of tasks left
	todo []slots.JobID           // the jobs to rank at the next visit; kept, so that a decision allocates nothing
}

func (*shortest) Traits() slots.Traits {
	return slots.Traits{Name: "shortest", Rules: map[slots.Rule]string{"fewest-left": "its job has the fewest tasks left"}}
}
func fewer(a, b *int32) bool { return *a < *b }
func (p *shortest) Reset() { // before each run
	*p = shortest{jobs: [2]slots.Ranking[int32]{{Less: fewer}, {Less: fewer}}}
}

func (p *shortest) Decide(v *slots.View, d *slots.Decision) { // fills the free slots of v.Tracker()
	p.todo = v.Changed(p.todo)
	for _, id := range p.todo {
		for k, j := slots.Map, v.Job(id); k <= slots.Reduce; k++ {
			p.jobs[k].Keep(int32(id), j.Pending(k) > 0, j.Total(slots.Map)-j.Done(slots.Map)+j.Total(slots.Reduce)-j.Done(slots.Reduce))
		}
	}
	p.todo = p.todo[:0]
	for k := slots.Map; k <= slots.Reduce; k++ {
		for v.FreeHome(v.Tracker(), k) > 0 && p.jobs[k].Len() > 0 { // one task after the other: each grant changes v
			first, _ := p.jobs[k].First()
			g := slots.Grant{Slot: slots.NoSlot, Job: slots.JobID(first), Kind: k, Task: slots.NoTask, Rule: "fewest-left"}
			if !d.Grant(g) || v.Job(g.Job).Pending(k) == 0 { // the Ledger may refuse: then the next job
				p.jobs[k].Remove(first)
				p.todo = append(p.todo, g.Job)
			}
		}
	}
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
