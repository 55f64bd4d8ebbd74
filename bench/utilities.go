package bench

import (
	"fmt"
	"math"
	"time"

	"mrlocal/slots"
)

// utilities are the utilities of the jobs of a run under ras, as its control cycles left
// them [RAS11, Fig. 5 and 6(b)]. They rise with time.
type utilities map[slots.JobID][]judged

// judged is the utility that a job has from an instant on.
type judged struct {
	from    time.Duration
	utility float64
}

// leastUtility stands for the utility of a job of which nothing is placed, which is minus
// infinity. With one map and no reduce it is -2.
const leastUtility = -3

func (u utilities) record(now time.Duration, job slots.JobID, utility float64) {
	u[job] = append(u[job], judged{now, math.Max(utility, leastUtility)})
}

// at returns the utility of a job at an instant; before its first cycle it is the least.
func (u utilities) at(job slots.JobID, at time.Duration) float64 {
	last := float64(leastUtility)
	for _, j := range u[job] {
		if j.from > at {
			break
		}
		last = j.utility
	}
	return last
}

// utility returns a metric of a job's utility: utility itself at the starts of steps, which
// are as in steps; utility_first, as the first task of it is placed; utility_back, the second
// at which it is above 0 or at 0 again after it was below.
func (d *done) utility(name, job, which string) (v value, err error) {
	id := slots.JobID(-1)
	for i := range d.Jobs {
		if d.Jobs[i].Name == job {
			id = slots.JobID(i)
		}
	}
	switch {
	case id < 0:
		return v, fmt.Errorf("no job %s", job)
	case len(d.utilities[id]) == 0:
		return v, fmt.Errorf("only jobs under ras have a utility")
	case name == "utility":
		first, last, err := stepRange(which, d.Jobs[id].FinishS)
		for i := first; i <= last; i++ {
			v.v = append(v.v, d.utilities.at(id, time.Duration(i-1)*step))
			v.x = append(v.x, step.Seconds()*float64(i-1))
		}
		return v, err
	}
	below := false
	for _, j := range d.utilities[id] {
		switch {
		case name == "utility_first" && j.utility > leastUtility:
			return number(j.utility), nil
		case name == "utility_back" && below && j.utility >= 0:
			return number(j.from.Seconds()), nil
		}
		below = below || j.utility < 0
	}
	return number(d.MakespanSeconds), nil
}
