package process

import (
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// FaultFlag is --fault of a single run. A batch has its faults in the workload file.
func FaultFlag() argv.Spec {
	f := argv.ValueSpec("fault", "make something go wrong, as an item of faults in a workload file does: `FAULT` is 'at: 5s, tracker: 1, lost: true', 'task: JOB/m/7, fail: 2' or 'at: 5s, task: JOB/m/7, lost: true'; may be repeated", "none")
	f.Repeat = true
	return f
}

// Faults reads --fault, for a run of a job of that name on so many trackers; 0: one.
func Faults(r *argv.Reader, job string, trackers int) (all []setup.Fault) {
	for _, text := range r.Line.Values("fault") {
		f, err := workload.ParseFault("--fault", text, job, max(1, trackers))
		r.Keep(err)
		all = append(all, f)
	}
	return all
}
