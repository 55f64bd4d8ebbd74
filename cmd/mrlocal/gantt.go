package main

import (
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/errs"
)

// ganttFlags are what --gantt takes.
func ganttFlags(where string) []flagSpec {
	return []flagSpec{
		toggle("gantt", "", "draw who used which slot when: a row a slot, a letter a job, lower case when lent, . idle; below it the maps and reduces of each pool that run as each step of time starts"+where),
		value("step", "`TIME` of a step of --gantt's counts", "10s for simulated runs of 20s to 1000s, else by the length of the run"),
	}
}

func (r *reader) picture() *show.Picture {
	p := &show.Picture{On: r.Line.Has("gantt"), Step: r.Time("step", false)}
	if p.Step > 0 && !p.On {
		r.Keep(errs.Optionf("--step", "goes with --gantt"))
	}
	return p
}
