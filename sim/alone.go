package sim

import (
	"context"

	"mrlocal/report"
	"mrlocal/workload"
)

// runAlone runs each job of f by itself, under the same options without faults. It adds the
// times to the report of the run of all jobs. A job arrives at 0 and waits for no other. Its
// tasks take as long as in the whole run, and have their inputs on other trackers.
func runAlone(ctx context.Context, f *workload.File, o Options, whole *report.Report) error {
	byName := map[string]*report.Job{}
	for i := range whole.Jobs {
		byName[whole.Jobs[i].Name] = &whole.Jobs[i]
	}
	o.Events, o.Watch, o.Note, o.Alone, o.Faults = nil, nil, nil, false, nil
	for i := range f.Jobs {
		one := *f
		one.Faults = nil
		one.Jobs = []workload.ListedJob{f.Jobs[i]}
		j := &one.Jobs[0]
		if j.Deadline > 0 {
			j.Deadline = max(1, j.Deadline-j.Submit)
		}
		j.Submit, j.After = 0, nil
		o.first = i
		r, err := Run(ctx, &one, o)
		if err != nil {
			return err
		}
		byName[j.Name].SetAlone(r)
	}
	return nil
}
