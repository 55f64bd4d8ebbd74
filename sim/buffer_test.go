package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/shuffle/rule"
	"mrlocal/sim"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

// TestMapsSpillAsTheirKvbufferFills: a map alone computes for 10 s and writes 100 MB in 10 s.
// With a kvbuffer of 50 MB and a mark of 0.8 it spills 40 MB from 4 s to 8 s. It waits from 5
// s on, when the 10 MB behind the mark are full. It spills again from 11 s to 15 s, and its
// input ends at 16 s. It writes the last 20 MB, and reads and writes all for the merge: 38 s.
// With [Split11, dynamic buffer enlargement] x is 50 · 100/40 = 125 MB. If that is below 0.8
// of what the map has in addition to its 50 MB, nothing is spilled early, and nothing merged.
func TestMapsSpillAsTheirKvbufferFills(t *testing.T) {
	for name, c := range map[string]struct {
		cluster, job string
		want         float64
	}{
		"no kvbuffer: the output is written once":           {"", "maps: 1", 20},
		"a kvbuffer that never fills":                       {", kvbuffer: {start: 200MB}", "maps: 1", 20},
		"it spills and merges":                              {", kvbuffer: {start: 50MB}", "maps: 1", 38},
		"it grows":                                          {", kvbuffer: {start: 50MB, memory: 300MB, growth: true}", "maps: 1", 20},
		"x must be below afm times threshold":               {", kvbuffer: {start: 50MB, memory: 206MB, growth: true}", "maps: 1", 38},
		"and just is":                                       {", kvbuffer: {start: 50MB, memory: 207MB, growth: true}", "maps: 1", 20},
		"another threshold":                                 {", kvbuffer: {start: 50MB, memory: 207MB, growth: true, threshold: 0.7}", "maps: 1", 38},
		"at a mark of half, writing keeps up":               {", kvbuffer: {start: 50MB, spill_percent: 0.5}", "maps: 1", 10 + 2.5 + 20},
		"two maps share the disk":                           {", kvbuffer: {start: 50MB, spill_percent: 0.5}", "maps: 2", 17.5 + 45},
		"a merge of three runs at two per pass":             {", kvbuffer: {start: 50MB, merge_factor: 2}", "maps: 1", 38 + 12},
		"a combiner leaves a quarter of four times as much": {", kvbuffer: {start: 200MB}", "maps: 1, map_emits: 400MB", 38},
		"a tracker of half the speed takes twice as long":   {", kvbuffer: {start: 50MB}}\nslow: [{tracker: 0, factor: 0.5}]\nlocality: {replicas: 1", "maps: 1", 76},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 1, cores: 2, disk: 10MB"+c.cluster+"}",
				"jobs: [{name: J, map_time: 20s, map_output: 100MB, disk: 10MB, "+c.job+"}]")
			r, _, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l2"})
			if got := seconds(r); got < c.want-1e-6 || got > c.want+1e-6 {
				t.Errorf("%v s, want %v s", got, c.want)
			}
		})
	}
}

// TestSpillsAreCounted: two maps of three runs each, which are merged once.
func TestSpillsAreCounted(t *testing.T) {
	f := parse(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 1, cores: 2, disk: 10MB, kvbuffer: {start: 50MB, memory: 300MB}}",
		"jobs: [{name: J, maps: 2, map_time: 20s, map_output: 100MB, disk: 10MB}]")
	for growth, want := range map[string][3]int64{"off": {6, 2 * 200_000_000, 0}, "on": {2, 2 * 100_000_000, 2}, "": {6, 2 * 200_000_000, 0}} {
		r, events, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l2", BufferGrowth: growth})
		for _, op := range []trace.Op{trace.OpSpillStart, trace.OpSpillEnd} {
			if got := int64(len(slices.DeleteFunc(slices.Clone(events), func(e trace.Event) bool { return e.Op != op }))); got != want[0] {
				t.Errorf("growth %q: %d events %v, want one for each of %d spills", growth, got, op, want[0])
			}
		}
		if got, want := r.Config.KVBuffer, (report.KVBuffer{StartBytes: 50_000_000, MemoryBytes: 300_000_000, Growth: growth == "on"}); got == nil || *got != want {
			t.Errorf("growth %q: %+v in the report", growth, got)
		}
		if c := r.Jobs[0].Counters; [3]int64{c.Spills, c.SpilledBytes, c.KVBufferExpansions} != want {
			t.Errorf("growth %q: %d spills, %d bytes, %d expansions; want %v", growth, c.Spills, c.SpilledBytes, c.KVBufferExpansions, want)
		}
	}
	if f.Cluster.Buffer.Growth {
		t.Error("the options changed the file")
	}
}

// TestSpillsAreEvents: those of the map above, at their times. The last one is the I/O period, with its merge.
func TestSpillsAreEvents(t *testing.T) {
	f := parse(t, "cluster: {trackers: 1, map_slots: 2, reduce_slots: 1, cores: 2, disk: 10MB, kvbuffer: {start: 50MB}}",
		"jobs: [{name: J, maps: 1, map_time: 20s, map_output: 100MB, disk: 10MB}]")
	_, events, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l2"})
	var got []string
	for _, e := range events {
		switch e.Op {
		case trace.OpBuffer, trace.OpSpillStart, trace.OpSpillEnd:
			got = append(got, fmt.Sprint(e.Op, " ", e.At, " ", e.A, " ", e.B))
		}
	}
	want := []string{"buffer 0s 50000000 40000000", "spill-start 4s 40000000 0", "spill-end 8s 40000000 0", "spill-start 11s 40000000 0", "spill-end 15s 40000000 0",
		"spill-start 16s 20000000 0", "spill-end 38s 20000000 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAMapThatSpillsCanBeKilled: the tracker is lost while its map writes a spill, and while
// it waits for that; the map runs again on the other one.
func TestAMapThatSpillsCanBeKilled(t *testing.T) {
	for at, want := range map[string]float64{"4.5s": 4.5 + 38, "6s": 6 + 38, "30s": 30 + 38} {
		f := parse(t, "cluster: {trackers: 2, map_slots: 1, reduce_slots: 1, cores: 2, disk: 10MB, kvbuffer: {start: 50MB}}",
			"faults: [{at: "+at+", tracker: 0, lost: true}]", "jobs: [{name: J, maps: 1, map_time: 20s, map_output: 100MB, disk: 10MB}]")
		if got := seconds(run(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l2"})); got != want {
			t.Errorf("lost at %s: %v s, want %v s", at, got, want)
		}
	}
}

// TestCopiesAreBounded: a reduce copies 80 MB over a network of 20 MB/s.
func TestCopiesAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		cluster, job string
		want         float64 // after the maps, which end at 1 s
	}{
		"as fast as the network":                      {"", "maps: 1, reduces: 1, map_output: 80MB", 4},
		"five copies of 1 MB/s":                       {", shuffle: {copiers: 5, copy_rate: 1MB}", "maps: 1, reduces: 1, map_output: 80MB", 16},
		"a bound that is more than the network":       {", shuffle: {copiers: 5, copy_rate: 10MB}", "maps: 1, reduces: 1, map_output: 80MB", 4},
		"two reduces within the network":              {", shuffle: {copiers: 5, copy_rate: 1MB}", "maps: 1, reduces: 2, map_output: 160MB", 16},
		"two reduces that want more than the network": {", shuffle: {copiers: 3, copy_rate: 5MB}", "maps: 1, reduces: 2, map_output: 160MB", 8},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, "cluster: {trackers: 1, map_slots: 1, reduce_slots: 2, net: 20MB"+c.cluster+"}", "jobs: [{name: J, map_time: 1s, reduce_time: 0s, "+c.job+"}]")
			if got := seconds(run(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l2"})) - 1; got < c.want-1e-2 || got > c.want+1e-2 {
				t.Errorf("%v s, want %v s", got, c.want)
			}
		})
	}
	f := parse(t, "cluster: {trackers: 1, map_slots: 1, reduce_slots: 2, net: 20MB, shuffle: {copiers: 5, copy_rate: 1MB}}", "jobs: [{name: J, map_time: 1s, reduce_time: 0s, maps: 1, reduces: 1, map_output: 80MB}]")
	if got := seconds(run(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l1"})); got != 17 {
		t.Errorf("under l1: %v s, want 17 s", got)
	}
}

// TestReducesMergeByTheirThresholds: a reduce copies four segments of 20 MB, and works for
// 10 s, of which writing and reading what it copied takes 8 s.
func TestReducesMergeByTheirThresholds(t *testing.T) {
	for shuffle, want := range map[string]float64{
		"":                           10,
		", shuffle: {memory: 200MB}": 10, // one merge in memory
		", shuffle: {memory: 81MB}":  10, // 60 MB, then 20 MB
		", shuffle: {memory: 40MB}":  10, // straight to disk, four files
		", shuffle: {memory: 40MB, merge_factor: 3}": 2 + 12, // two files of 20 MB are merged first
	} {
		f := parse(t, "cluster: {trackers: 1, map_slots: 4, reduce_slots: 1, disk: 10MB, net: 80MB"+shuffle+"}",
			"jobs: [{name: J, maps: 4, reduces: 1, map_time: 2s, reduce_time: 10s, map_output: 20MB, disk: 10MB}]")
		_, events, _ := recorded(t, f, sim.Options{Policy: named(t, "fair"), Cost: "l2"})
		last := events[len(events)-1].At.Seconds()
		var sorts float64
		for _, e := range events {
			if e.Op == trace.OpPhase && e.Phase == trace.PhaseSort && sorts == 0 {
				sorts = e.At.Seconds()
			}
		}
		if got := last - sorts; got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%q: %v s of sort and reduce, want %v s", shuffle, got, want)
		}
	}
}

// TestCoresAreAccounted: a map computes for 6 s and writes for 4 s on one of two cores. A
// core moves 20 MB in a second of kernel time, so 40 MB take 2 s.
func TestCoresAreAccounted(t *testing.T) {
	lines := []string{"cluster: {trackers: 1, map_slots: 1, reduce_slots: 1, cores: 2, disk: 10MB, kernel: 20MB}", "jobs: [{name: J, maps: 1, map_time: 10s, map_output: 40MB, disk: 10MB}]"}
	c := run(t, parse(t, lines...), sim.Options{Policy: named(t, "fair"), Cost: "l2"}).CPU
	if c == nil || c.Source != "model" || c.Cores != 2 {
		t.Fatalf("%+v", c)
	}
	near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
	// Of 20 core-seconds 6 compute, 2 are kernel time; of the other 12 waiting had 4 of 14.
	if r := c.Run; !near(r.User, 0.3) || !near(r.System, 0.1) || !near(r.IOWait, 0.2*12/14) || !near(r.User+r.System+r.IOWait+r.Idle, 1) || r != c.MapPhase {
		t.Errorf("%+v", c)
	}
	if c := run(t, parse(t, "jobs: [{name: J, maps: 1, map_time: 10s}]"), sim.Options{Policy: named(t, "fair"), Cost: "l2"}).CPU; c != nil {
		t.Errorf("without cores: %+v", c)
	}
}

// TestManySpillsAreRefused names the job.
func TestManySpillsAreRefused(t *testing.T) {
	f := parse(t, "cluster: {kvbuffer: {start: 1KiB}, disk: 10MB}", "jobs: [{name: J, maps: 1, map_time: 20s, map_output: 100MB, disk: 10MB}]")
	_, err := sim.Run(t.Context(), f, sim.Options{Cost: "l2", Policy: named(t, "fair")})
	if err == nil || err.Error() != "test.yaml:2:8: job J: a map spills 122100 times; at most 10000" {
		t.Error(err)
	}
}

// TestAMapAloneSpillsAsTheRecurrenceSays: spill i begins when the collector has reached the
// mark again and spill i-1 is written. During the spill the collector fills the room that is
// left, and then waits. The last load and the merge follow at the end.
func TestAMapAloneSpillsAsTheRecurrenceSays(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		start, percent := rapid.Int64Range(2, 60).Draw(rt, "start MB"), rapid.IntRange(5, 100).Draw(rt, "percent")
		output, emits := rapid.Int64Range(1, 300).Draw(rt, "output MB"), rapid.Int64Range(0, 300).Draw(rt, "and more that the combiner removes")
		computes, disk := rapid.IntRange(0, 100).Draw(rt, "computing s"), rapid.Int64Range(1, 50).Draw(rt, "disk MB/s")
		factor := rapid.IntRange(2, 12).Draw(rt, "factor")
		emits += output
		once := float64(output) / float64(disk)
		f := parse(rt, fmt.Sprintf("cluster: {trackers: 1, cores: 1, disk: %dMB, kvbuffer: {start: %dMB, spill_percent: %.2f, merge_factor: %d}}", disk, start, float64(percent)/100, factor),
			fmt.Sprintf("jobs: [{name: J, maps: 1, map_time: %.9fs, map_output: %dMB, map_emits: %dMB, disk: %dMB}]", float64(computes)+once, output, emits, disk))
		got := seconds(run(rt, f, sim.Options{Policy: named(rt, "fair"), Cost: "l2"}))

		all, capacity := float64(emits)*1e6, float64(start)*1e6
		mark := float64(int64(capacity * float64(percent) / 100))
		n := 0
		if all-mark > mark/1e6 {
			n = int((emits*1_000_000 - 1) / int64(mark))
		}
		load, room, write := float64(computes)*mark/all, float64(computes)*min(capacity-mark, mark)/all, once*mark/all
		var begun, ended float64              // of the last spill
		after := func(work float64) float64 { // when the collector has done so much since it began
			if work <= room {
				return begun + work
			}
			return max(begun+room, ended) + work - room
		}
		at := float64(computes)
		for i := range n {
			if i == 0 {
				begun = load
			} else {
				begun = max(after(load), ended)
			}
			ended = begun + write
		}
		runs := make([]int64, 0, n+1)
		for range n {
			runs = append(runs, int64(mark*float64(output)/float64(emits)))
		}
		want := at + once
		if n > 0 {
			last := all - float64(n)*mark
			at = max(after(float64(computes)-float64(n)*load), ended)
			_, read := rule.Passes(append(runs, int64(last*float64(output)/float64(emits))), factor)
			want = at + once*last/all + float64(2*read+2*output*1_000_000)/1e6/float64(disk)
		}
		if got < want-1e-3 || got > want+1e-3 {
			rt.Fatalf("%v s, want %v s with %d spills", got, want, n)
		}
	})
}
