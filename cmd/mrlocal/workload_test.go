package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

// TestABatchGivesItsLedgerWhatASimulationGivesItsOwn runs random workload files with random flags,
// for real and in virtual time. Both must have the same configuration of the Ledger, the same
// submitted jobs, the same injected failures and the same configuration in the report. A job must
// not be submitted before its time, or before the jobs for which it waits have ended.
func TestABatchGivesItsLedgerWhatASimulationGivesItsOwn(t *testing.T) {
	dir := t.TempDir()
	testkit.Check(t, func(rt *rapid.T) {
		w := drawWorkload(rt)
		path := filepath.Join(dir, "w.yaml")
		if err := os.WriteFile(path, []byte(w.text), 0o666); err != nil {
			rt.Fatal(err)
		}
		simulated, simulatedTimes := ledgerInput(rt, dir, slices.Concat([]string{"sim", path}, w.simFlags, w.flags))
		real, realTimes := ledgerInput(rt, dir, slices.Concat([]string{"batch", path, "--pin", "none", "--progress", "none", "--memory", "512MiB"}, w.batchFlags, w.flags))
		w.checkRelease(rt, "simulated", simulatedTimes)
		w.checkRelease(rt, "real", realTimes)
		if d := cmp.Diff(simulated, real); d != "" {
			rt.Fatalf("%s\n%s\n(-simulated +real):\n%s", w.text, w.flags, d)
		}
		if len(real.Jobs) != w.jobs {
			rt.Fatalf("%d jobs, want %d:\n%s", len(real.Jobs), w.jobs, w.text)
		}
	})
}

// ledgerGets has the configuration and the jobs that a driver gives its Ledger.
type ledgerGets struct {
	Ledger slots.Config
	Report report.Config
	Jobs   map[string]submittedJob
}

type submittedJob struct {
	Name, Pool, User           string
	Maps, Reduces              int64
	Priority, Weight, Deadline int64
	Needs                      map[string]slots.Vector // by phase
	Failed                     int                     // attempts, by the file's faults
}

// times are when jobs were submitted and ended, by name.
type times struct{ submitted, ended map[string]time.Duration }

// checkRelease checks the times of a run against the file.
func (w *randomWorkload) checkRelease(t *rapid.T, run string, got times) {
	for name, at := range w.submit {
		if got.submitted[name] < at {
			t.Errorf("%s: %s is submitted at %v:\n%s", run, name, got.submitted[name], w.text)
		}
	}
	for name, other := range w.after {
		if got.submitted[name] < got.ended[other] {
			t.Errorf("%s: %s is submitted at %v, and %s ends at %v:\n%s", run, name, got.submitted[name], other, got.ended[other], w.text)
		}
	}
}

// ledgerInput runs a command, and reads from its files what its Ledger got.
func ledgerInput(t *rapid.T, dir string, args []string) (got ledgerGets, at times) {
	events, rep := filepath.Join(dir, "events"), filepath.Join(dir, "report")
	var stderr bytes.Buffer
	if code := run(t.Context(), append(args, "--events", events, "--report", rep), Env{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &stderr, Getenv: os.Getenv}); code != Done {
		t.Fatalf("%s: exit code %d: %s", args, code, stderr.String())
	}
	var r report.Report
	readJSON(t, rep, &r)
	got = ledgerGets{Report: r.Config, Jobs: map[string]submittedJob{}}
	got.Report.DataPlane, got.Report.TaskTimeoutS, got.Report.Cost, got.Report.ShuffleBytesPerSecond = nil, 0, "", 0 // one driver's own

	text, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(text, []byte("\n"))
	h := trace.Header{}
	if err := json.Unmarshal(head, &h); err != nil {
		t.Fatal(err)
	}
	if got.Ledger, err = slots.ConfigOf(&h); err != nil {
		t.Fatal(err)
	}
	// The engine alone knows cores.
	for i := range got.Ledger.Slots {
		got.Ledger.Slots[i].Core = -1
	}
	at = times{map[string]time.Duration{}, map[string]time.Duration{}}
	var byID []submittedJob
	for line := range bytes.Lines(text) {
		var e struct {
			Op, Phase  string
			Job        int
			At         time.Duration
			OK, Killed bool
			submittedJob
			slots.Vector
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		switch e.Op {
		case "submit":
			e.submittedJob.Needs = map[string]slots.Vector{}
			byID = append(byID, e.submittedJob)
			at.submitted[e.Name] = e.At
		case "job-end":
			at.ended[byID[e.Job].Name] = e.At
		case "finish":
			if !e.OK && !e.Killed {
				byID[e.Job].Failed++
			}
		case "ready": // the engine learns the number of maps bit by bit
			byID[e.Job].Maps = max(byID[e.Job].Maps, e.Maps)
		case "demand":
			byID[e.Job].Needs[e.Phase] = e.Vector
		}
	}
	for _, j := range byID {
		got.Jobs[j.Name] = j
	}
	return got, at
}

func readJSON(t *rapid.T, path string, into any) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// randomWorkload returns a random valid workload file, and random flags for it.
type randomWorkload struct {
	text  string
	flags []string
	jobs  int

	// A simulation takes the bandwidth of the file's network, and a batch that of a flag.
	simFlags, batchFlags []string

	submit map[string]time.Duration // by job
	after  map[string]string        // by job: one that it waits for
}

// yamlMap returns a mapping in flow style with a random part of the keys.
type yamlMap struct {
	t    *rapid.T
	keys []string
}

func (m *yamlMap) must(key string, value any) {
	m.keys = append(m.keys, fmt.Sprintf("%s: %v", key, value))
}

func (m *yamlMap) may(key string, value func() any) {
	if rapid.Bool().Draw(m.t, key) {
		m.must(key, value())
	}
}

func (m *yamlMap) String() string { return "{" + strings.Join(m.keys, ", ") + "}" }

func drawWorkload(t *rapid.T) (w randomWorkload) {
	w.submit, w.after = map[string]time.Duration{}, map[string]string{}
	n := func(least, most int) func() any {
		return func() any { return rapid.IntRange(least, most).Draw(t, "n") }
	}
	of := func(words ...string) func() any {
		return func() any { return rapid.SampledFrom(words).Draw(t, "word") }
	}
	list := func(section string, least, most int, item func(i int, m *yamlMap)) (count int) {
		var items []string
		count = rapid.IntRange(least, most).Draw(t, section)
		for i := range count {
			m := &yamlMap{t: t}
			item(i, m)
			items = append(items, "  - "+m.String()+"\n")
		}
		if count > 0 {
			w.text += section + ":\n" + strings.Join(items, "")
		}
		return count
	}
	vector := func() any {
		m := &yamlMap{t: t}
		for _, key := range []string{"cpu", "io", "mem"} {
			m.may(key, of("0.1", "0.25", "0.9"))
		}
		return m
	}
	trackers, mapSlots, reduceSlots := n(1, 3)().(int), n(1, 3)().(int), n(1, 2)().(int)
	cluster := &yamlMap{t: t}
	cluster.must("trackers", trackers)
	cluster.must("map_slots", mapSlots)
	cluster.must("reduce_slots", reduceSlots)
	cluster.may("slot_weights", of("{map: 1, reduce: 3}", "{map: 5, reduce: 2}"))
	cluster.may("net", func() any {
		if rapid.Bool().Draw(t, "copies take time") {
			w.simFlags, w.batchFlags = []string{"--cost", of("l1", "l2")().(string)}, []string{"--shuffle-bw", "10MB"}
		}
		return "10MB"
	})
	cluster.may("cores", n(1, 4))
	w.text = fmt.Sprintf("cluster: %v\ndefaults: {slowstart: %v, map_time: 1ms, reduce_time: 0s}\n", cluster, of("0", "0.05", "1")())
	locality := &yamlMap{t: t}
	locality.may("replicas", n(1, 4))
	locality.may("group_trackers", n(0, 3))
	w.text += fmt.Sprintf("locality: %v\n", locality)
	if len(locality.keys) == 0 {
		w.text = strings.Replace(w.text, "locality: {}\n", "", 1)
	}
	users := list("users", 0, 2, func(i int, m *yamlMap) {
		m.must("name", fmt.Sprint("u", i))
		m.may("max_running_jobs", n(1, 2))
	})
	pools := list("pools", 0, 3, func(i int, m *yamlMap) {
		m.must("name", fmt.Sprint("p", i))
		m.may("weight", of("0.5", "1", "3"))
		m.may("min_maps", n(0, 3))
		m.may("min_reduces", n(0, 3))
		m.may("max_maps", n(3, 9))
		m.may("max_reduces", n(3, 9))
		m.may("max_running_jobs", n(1, 2))
		m.may("mode", of("fair", "fifo"))
		m.may("preempt_after", of("0s", "1h"))
		m.may("fair_preempt_after", of("0s", "1h"))
	})
	list("slow", 0, 1, func(i int, m *yamlMap) {
		m.must("tracker", i)
		m.must("factor", of("0.5", "0.9")())
	})
	list("capacities", 0, trackers, func(i int, m *yamlMap) {
		m.must("tracker", i)
		m.may("cpu", of("0.5", "2"))
		m.may("io", of("0.5", "2"))
		m.may("mem", of("0.5", "2"))
	})
	w.jobs = list("jobs", 1, 5, func(i int, m *yamlMap) {
		m.must("name", fmt.Sprint("J", i))
		m.must("job", "sleep")
		m.must("maps", n(1, 4)())
		m.may("reduces", n(0, 2))
		m.may("map_time", of("0s", "1ms", "{uniform: [0s, 2ms]}", "{list: [1ms, 2ms]}", "{lognormal: [1ms, 0.3]}"))
		m.may("submit", func() any {
			at := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 4 * time.Millisecond}).Draw(t, "at")
			w.submit[fmt.Sprint("J", i)] = at
			return at
		})
		m.may("deadline", of("1s", "2h"))
		m.may("weight", of("0.5", "2"))
		m.may("priority", of("very_low", "low", "normal", "high", "very_high"))
		m.may("profile", func() any { return fmt.Sprintf("{map: %v, shuffle: %v, reduce: %v}", vector(), vector(), vector()) })
		if pools > 0 {
			m.may("pool", func() any { return fmt.Sprint("p", n(0, pools-1)()) })
		}
		if users > 0 {
			m.may("user", func() any { return fmt.Sprint("u", n(0, users-1)()) })
		}
		if i > 0 {
			m.may("after", func() any {
				other := fmt.Sprint("J", n(0, i-1)())
				w.after[fmt.Sprint("J", i)] = other
				return "[" + other + "]"
			})
		}
	})
	list("faults", 0, 2, func(i int, m *yamlMap) {
		switch i {
		case 0: // after the end of every run
			m.must("at", "1h")
			m.must("tracker", 0)
			m.must("lost", true)
		default:
			m.must("task", "J0/m/0")
			m.must("fail", n(1, 2)())
		}
	})
	flag := func(name string, value func() any) {
		if rapid.IntRange(0, 3).Draw(t, name) == 0 {
			w.flags = append(w.flags, "--"+name, fmt.Sprint(value()))
		}
	}
	flag("map-slots", n(1, 3))
	flag("reduce-slots", n(1, 2))
	flag("max-slots", n(5, 9))
	flag("trackers", n(trackers, trackers+1)) // with fewer, faults and slow trackers are refused
	flag("slowstart", of("0", "0.5"))
	flag("attempts", n(3, 5))
	flag("locality-delay", of("0s", "1ms"))
	flag("replicas", n(1, 2))
	flag("slow", of("0=0.8"))
	flag("remote-penalty", of("1", "1.5"))
	flag("seed", n(1, 9))
	w.flags = append(w.flags, "--sched", of("fifo", "fair", "fair-deficit", "pi-dhfs", "pd-dhfs", "delay", "ras", "dynamicmr", "dynsplit")().(string))
	return w
}
