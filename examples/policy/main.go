// Command policy simulates a workload file under an example of a user's own policy: shortest job first.
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/workload"
)

type shortest struct {
	Step uint                   `json:"step,omitempty"` // an option: numbers of tasks left are compared in steps of it; 0: of 1
	jobs [2]slots.Ranking[uint] // by kind: the jobs with pending tasks, by the number of tasks left
	todo []slots.JobID          // the jobs to rank at the next visit; kept, so that a decision allocates nothing
}

func (p *shortest) Traits() slots.Traits {
	return slots.Traits{Name: "shortest", Options: p, Rules: map[slots.Rule]string{"fewest-left": "its job has the fewest tasks left"}}
}
func (p *shortest) fewer(a, b *uint) bool { return *a/max(p.Step, 1) < *b/max(p.Step, 1) }
func (p *shortest) Reset() { // before each run
	p.jobs, p.todo = [2]slots.Ranking[uint]{{Less: p.fewer}, {Less: p.fewer}}, nil
}
func (p *shortest) Decide(v *slots.View, d *slots.Decision) { // fills the free slots of v.Tracker()
	p.todo = append(p.todo, v.Changed()...)
	for _, id := range p.todo {
		for k, j := slots.Map, v.Job(id); k <= slots.Reduce; k++ {
			p.jobs[k].Keep(int32(id), j.Pending(k) > 0, uint(j.Total(slots.Map)-j.Done(slots.Map)+j.Total(slots.Reduce)-j.Done(slots.Reduce)))
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
	step := flag.Uint("step", 0, "compare numbers of tasks left in steps of `N`; 0: of 1")
	flag.Parse()
	fatal := log.New(os.Stderr, "policy: ", 0).Fatal
	if f, err := workload.Load(append(flag.Args(), "WORKLOAD.yaml")[0]); err != nil {
		fatal(err)
	} else if r, err := sim.Run(context.Background(), f, sim.Options{Policy: &shortest{Step: *step}}); err != nil {
		fatal(err)
	} else {
		os.Stdout.WriteString(report.Table([]*report.Report{r}, 0))
	}
}
