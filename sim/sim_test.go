package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"mrlocal/report"
	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/trace"
	"mrlocal/workload"
)

// named is a policy that may borrow everything.
func named(t testing.TB, name string) slots.Policy {
	t.Helper()
	return with(t, name, policy.Options{BorrowMap: slots.One, BorrowReduce: slots.One})
}

func with(t testing.TB, name string, o policy.Options) slots.Policy {
	t.Helper()
	p, err := policy.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// policies are those of the five of this simulator's tables that there are.
func policies() (names []string) {
	for _, p := range policy.All() {
		switch p.Name {
		case "fifo", "fair", "pi-dhfs", "pd-dhfs", "pi-fifo":
			names = append(names, p.Name)
		}
	}
	return names
}

// both are the DHFS policies that there are.
func both() (names []string) {
	for _, name := range policies() {
		if name == "pi-dhfs" || name == "pd-dhfs" {
			names = append(names, name)
		}
	}
	return names
}

// parse reads a workload given line by line.
func parse(t testing.TB, lines ...string) *workload.File {
	t.Helper()
	f, err := workload.Parse("test.yaml", []byte(strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// run simulates f and must succeed.
func run(t testing.TB, f *workload.File, o sim.Options) *report.Report {
	t.Helper()
	r, err := sim.Run(context.Background(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recorded is run with all its events, and with its event file, which must be
// replayable.
func recorded(t testing.TB, f *workload.File, o sim.Options) (*report.Report, []trace.Event, []byte) {
	t.Helper()
	var file bytes.Buffer
	log := &trace.Log{}
	o.Events = &file
	o.Watch = func(s *trace.Stream) { s.Attach(log) }
	r := run(t, f, o)
	if diff, err := slots.Replay(bytes.NewReader(file.Bytes()), policy.ForReplay); err != nil || diff != nil {
		t.Fatalf("replay: %v %v", diff, err)
	}
	return r, log.Events, file.Bytes()
}

// seconds of the only job, or of the whole run.
func seconds(r *report.Report) float64 { return r.MakespanSeconds }

// job is the report of a job.
func job(t testing.TB, r *report.Report, name string) *report.Job {
	t.Helper()
	for i := range r.Jobs {
		if r.Jobs[i].Name == name {
			return &r.Jobs[i]
		}
	}
	t.Fatalf("no job %s in the report", name)
	return nil
}

// tableI is Table I of seed 000: block size in MB, maps, reduces.
var tableI = [20][3]int{
	{64, 160, 30}, {64, 320, 200}, {64, 480, 120}, {64, 640, 100}, {64, 480, 200},
	{128, 80, 15}, {128, 160, 100}, {128, 240, 80}, {128, 320, 50}, {128, 80, 40},
	{64, 480, 60}, {64, 480, 200}, {64, 320, 80}, {128, 160, 30}, {128, 80, 60},
	{256, 40, 20}, {256, 80, 40}, {256, 120, 60}, {256, 160, 40}, {256, 40, 10},
}

// paperJobs is RefSim-0's workload of SPEC 8.1: all jobs at 0, a pool a job,
// maps of 20 s per 64 MB, on one aggregate tracker.
func paperJobs(t testing.TB, mapSlots, reduceSlots int, reduceTime time.Duration, jobs ...int) *workload.File {
	t.Helper()
	lines := []string{fmt.Sprintf("cluster: {trackers: 1, map_slots: %d, reduce_slots: %d}", mapSlots, reduceSlots), "jobs:"}
	for _, i := range jobs {
		row := tableI[i-1]
		lines = append(lines, fmt.Sprintf("  - {name: J%02d, maps: %d, reduces: %d, map_time: %ds, reduce_time: %v}", i, row[1], row[2], 20*row[0]/64, reduceTime))
	}
	return parse(t, lines...)
}

// upTo are the numbers 1 to n.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}
