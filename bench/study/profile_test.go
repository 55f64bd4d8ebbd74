package study

import (
	"strings"
	"testing"

	"mrlocal/slots/report"
	"mrlocal/workload"
)

// profiled is the report of a run. Each map used half a core of four and a tenth of
// the disk.
func profiled(mapSlots int, seconds float64) *report.Report {
	return &report.Report{
		MakespanSeconds: seconds,
		Config:          report.Config{Trackers: 1, MapSlots: mapSlots, DiskBytesPerSecond: 1000, DataPlane: &report.DataPlane{MemoryBytes: 4000}},
		Jobs: []report.JobReport{{Name: "sort", Maps: 4, Phases: []report.Usage{
			{Phase: "compute", Attempts: 4, WallS: 6, CPUS: 4, ReadBytes: 600, PeakBytes: 1000},
			{Phase: "io", Attempts: 4, WallS: 2, CPUS: 0, WrittenBytes: 200, PeakBytes: 800},
			{Phase: "copy", Attempts: 2, WallS: 2, ReadBytes: 100},
			{Phase: "held", Attempts: 2, WallS: 100},
			{Phase: "sort", Attempts: 2, WallS: 1, CPUS: 1, PeakBytes: 2000},
			{Phase: "reduce", Attempts: 2, WallS: 3, CPUS: 3, WrittenBytes: 2000, PeakBytes: 400},
		}}},
	}
}

func TestTheProfileIsThatOfTheFastestRun(t *testing.T) {
	runs := []*report.Report{profiled(1, 9), profiled(2, 5), profiled(3, 6)}
	if fastest(runs) != runs[1] {
		t.Error("not the fastest")
	}
	want := `# 1 map slot: 9.000 s
# 2 map slots: 5.000 s  the fastest
# 3 map slots: 6.000 s
# sort: shares of 4 cores and 4000 bytes; 1000 bytes of I/O a second
profile: {map: {cpu: 0.125, io: 0.1, mem: 0.25}, shuffle: {cpu: 0, io: 0.0125, mem: 0}, reduce: {cpu: 0.25, io: 0.5, mem: 0.5}}
`
	text := string(profileText(runs, 4))
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	line := text[strings.Index(text, "profile:"):]
	f, err := workload.Parse("p.yaml", []byte("jobs:\n  - name: J\n    maps: 1\n    "+line))
	if err != nil || f.Jobs[0].Profile == nil || f.Jobs[0].Profile.Map.CPU != 125_000 {
		t.Errorf("a workload file does not take it: %v", err)
	}
}

// TestTheIOOfACopyIsThatOfTheCopiesAtATime: the reduce of the test above copies 100 bytes in 2 s, which is
// 0.05 of the disk. That is the I/O of four copies, because the job has four maps. With
// --parallel-copies 2 it is that of two.
func TestTheIOOfACopyIsThatOfTheCopiesAtATime(t *testing.T) {
	r := profiled(1, 1)
	r.Config.ParallelCopies = 2
	if text := string(profileText([]*report.Report{r}, 4)); !strings.Contains(text, "shuffle: {cpu: 0, io: 0.025, mem: 0}") {
		t.Error(text)
	}
}

func TestWithoutADiskThereIsNoIO(t *testing.T) {
	r := profiled(1, 1)
	r.Config.DiskBytesPerSecond = 0
	if p := trackerOf(r, 4).profile(r.Jobs[0].Phases, 1); p.Map.IO != 0 || p.Map.CPU != 0.125 {
		t.Errorf("%+v", p)
	}
}
