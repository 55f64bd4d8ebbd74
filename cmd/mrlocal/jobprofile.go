package main

import (
	"context"
	"runtime"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/jobprofile"
	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/report"
	"mrlocal/slots/policy"
)

const profileHelp = `Runs the job alone with 1 to --map-slots map slots a tracker, throws the results away, and prints the profile that the fastest run shows, as a workload file has it: what a task needs of a tracker's CPU, I/O and memory, by phase. Policy ras places tasks by it. The runs' times stand above it. I/O is measured against --disk-bw. Runs are made under fair, which lends no slots, so that as many maps run as there are map slots.`

func profileCommand() command {
	c := command{name: "profile", usage: "measure what a job's tasks need, for workload files", args: "JOB [FLAGS] [PATH…]", long: profileHelp}
	for _, j := range jobKinds() {
		c.sub = append(c.sub, command{name: j.name, usage: j.use, args: "[PATH…]", long: profileHelp, flags: append(profileFlags(), j.flags...),
			run: func(ctx context.Context, e env, line argv.Line) (int, error) {
				return profileJob(ctx, e, line, j.name, j.build)
			}})
	}
	return c
}

func profileFlags() []flagSpec {
	return measuringFlags(value("map-slots", "up to `N` home map slots a tracker", "its cores"))
}

func profileJob(ctx context.Context, e env, line argv.Line, name string, build func(*reader) (jobs.Chain, error)) (int, error) {
	o, err := runOptions(line)
	if err != nil {
		return 0, err
	}
	r := newReader(line)
	if r.readAgain(o.Inputs); r.Err != nil {
		return 0, r.Err
	}
	chain, err := build(r)
	if err != nil {
		return 0, err
	}
	if err := checkReduces(name, chain, o); err != nil {
		return 0, err
	}
	var runs []*report.Report
	for n := range max(o.MapSlots, runtime.NumCPU()/max(o.Trackers, 1), 1) {
		if o.MapSlots > 0 && n >= o.MapSlots {
			break
		}
		each := o
		each.MapSlots, each.Stdout = n+1, nil
		if each.Policy, err = policy.New("fair", policy.Defaults()); err != nil {
			return 0, err
		}
		done, err := engine.RunChain(ctx, chain, each)
		if err != nil {
			return 0, err
		}
		runs = append(runs, done)
	}
	return exitDone, jobprofile.Write(e.stdout, runs, runtime.NumCPU())
}
