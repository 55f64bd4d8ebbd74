package main

import (
	"mrlocal/cmd/mrlocal/internal/show"
	"mrlocal/errs"
)

// ganttFlags are --gantt and --step. where ends the help: on which stream the
// picture appears.
func ganttFlags(where string) []flagSpec {
	return []flagSpec{
		toggle("gantt", "", "draw which job used which slot when: a row is a slot, a letter is a job, lower case means lent, . means idle; below it, count the running maps and reduces of each pool at each step of time"+where),
		value("step", "`TIME` of a step in the counts of --gantt", "10s for simulated runs of 20s to 1000s, otherwise chosen by the length of the run"),
	}
}

// picture reads ganttFlags.
func (r *reader) picture() *show.Picture {
	p := &show.Picture{On: r.Line.Has("gantt"), Step: r.Time("step", false)}
	if p.Step > 0 && !p.On {
		r.Keep(errs.Optionf("--step", "needs --gantt"))
	}
	return p
}
