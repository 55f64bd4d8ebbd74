package sim_test

import (
	"bytes"
	"context"
	"strings"
	"time"

	"mrlocal/sim"
	"mrlocal/slots"
	"mrlocal/slots/explain"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/trace"
	"mrlocal/workload"
)

// tester is what a testing.T and a rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// named is a policy that may borrow everything.
func named(t tester, name string) slots.Policy {
	t.Helper()
	return with(t, name, policy.DefaultOptions())
}

func with(t tester, name string, o policy.Options) slots.Policy {
	t.Helper()
	p, err := registry.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// policies are the names of all policies.
func policies() (names []string) {
	for _, p := range registry.All() {
		names = append(names, p.Name)
	}
	return names
}

// isTyped reports whether a policy lends no slots.
func isTyped(t tester, name string) bool {
	return !named(t, name).Traits().Lends
}

// both are the policies of [DHFS13].
func both() []string { return []string{"pi-dhfs", "pd-dhfs"} }

// parse reads a workload given line by line.
func parse(t tester, lines ...string) *workload.File {
	t.Helper()
	f, err := workload.Parse("test.yaml", []byte(strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// run simulates f and must succeed.
func run(t tester, f *workload.File, o sim.Options) *report.Report {
	t.Helper()
	r, err := sim.Run(context.Background(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recorded is run with all its events, and with its event file, which must be
// replayable.
func recorded(t tester, f *workload.File, o sim.Options) (*report.Report, []trace.Event, []byte) {
	t.Helper()
	log := &policytest.Log{}
	o.Watch = func(s *trace.Stream) { s.Attach(log) }
	r, file := written(t, f, o)
	if diff, err := explain.Replay(bytes.NewReader(file), registry.ForReplay, explain.ReplayOptions{}); err != nil || diff != nil {
		t.Fatalf("replay: %v %v", diff, err)
	}
	return r, log.Events, file
}

// written is run with its event file.
func written(t tester, f *workload.File, o sim.Options) (*report.Report, []byte) {
	t.Helper()
	var file bytes.Buffer
	o.Events = &file
	return run(t, f, o), file.Bytes()
}

// seconds of the only job, or of the whole run.
func seconds(r *report.Report) float64 { return r.MakespanSeconds }

// job is the report of a job.
func job(t tester, r *report.Report, name string) *report.JobReport {
	t.Helper()
	for i := range r.Jobs {
		if r.Jobs[i].Name == name {
			return &r.Jobs[i]
		}
	}
	t.Fatalf("no job %s in the report", name)
	return nil
}

// shipped is a workload that comes with mrlocal.
func shipped(t tester, name string) *workload.File {
	t.Helper()
	f, err := workload.Load("../bench/workloads/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// paperJobs returns jobs of [DHFS13, Table I], counted from 1.
func paperJobs(t tester, reduceTime time.Duration, numbers ...int) *workload.File {
	t.Helper()
	f := shipped(t, "table1.yaml")
	var jobs []workload.ListedJob
	for _, n := range numbers {
		j := f.Jobs[n-1]
		j.ReduceTime = workload.Constant(reduceTime)
		jobs = append(jobs, j)
	}
	f.Jobs = jobs
	return f
}

// aggregate is a cluster of one tracker [DHFS13, "fixed-time simulation"].
func aggregate(p slots.Policy, mapSlots, reduceSlots int) sim.Options {
	return sim.Options{Policy: p, Config: setup.Config{Trackers: 1, MapSlots: mapSlots, ReduceSlots: reduceSlots}}
}

// upTo are the numbers 1 to n.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}
