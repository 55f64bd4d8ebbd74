package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/jobprofile"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/policy/settings"
)

const profileHelp = `Runs the job alone with 1 to --map-slots map slots a tracker, throws the results away, and prints the profile that the fastest run shows, as a workload file has it: what a task needs of a tracker's CPU, I/O and memory, by phase. Policy ras places tasks by it. The runs' times stand above it. I/O is measured against --disk-bw. Runs are made under fair, which lends no slots, so that as many maps run as there are map slots.`

func profileCommand() command {
	flags := measuringFlags(value("map-slots", "up to `N` home map slots a tracker", "its cores"))
	return forEachJob(command{name: "profile", usage: "measure what a job's tasks need, for workload files", long: profileHelp},
		func(jobKind) []flagSpec { return flags }, profileJob)
}

func profileJob(ctx context.Context, e env, line argv.Line, name string, build func(*reader) (jobs.Chain, error)) (int, error) {
	note := func(text string) { fmt.Fprint(e.stderr, argv.ErrorLine("", errors.New(text))) }
	chain, o, err := newReader(line).measured(name, build, note)
	if err != nil {
		return 0, err
	}
	o.MapSlots = cmp.Or(o.MapSlots, max(runtime.NumCPU()/max(o.Trackers, 1), 1))
	if err := o.Check(); err != nil { // before fewer slots have run
		return 0, err
	}
	o.Note = note
	var runs []*report.Report
	for n := range o.MapSlots {
		each := o
		each.MapSlots, o.Note = n+1, nil
		if each.Policy, err = registry.New("fair", settings.Defaults()); err != nil {
			return 0, err
		}
		done, err := process.RunChain(ctx, chain, each)
		if err != nil {
			return 0, err
		}
		runs = append(runs, done)
	}
	return exitDone, write(e, jobprofile.Text(runs, runtime.NumCPU()))
}
