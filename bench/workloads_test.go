package bench_test

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"mrlocal/bench"
	"mrlocal/workload"
)

func load(t *testing.T, name string) *workload.File {
	t.Helper()
	f, err := bench.LoadWorkload(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEveryFileSaysWhereItComesFromAndLoads(t *testing.T) {
	names := bench.Workloads()
	if len(names) < 9 {
		t.Fatal(names)
	}
	real := map[string]bool{"table1-replica.yaml": true, "omo-replica.yaml": true, "omo-fig5-replica.yaml": true, "two-pools.yaml": true, "mix5.yaml": true, "sepb.yaml": true}
	for _, name := range names {
		text, err := bench.WorkloadText(name)
		if err != nil {
			t.Fatal(err)
		}
		if comment, _, _ := strings.Cut(string(text), "\n"); !strings.HasPrefix(comment, "# ") {
			t.Errorf("%s begins with %q", name, comment)
		}
		f := load(t, name)
		if err := f.CheckSimulated(); err != nil {
			t.Error(err)
		}
		if err := f.CheckReal(); real[name] != (err == nil) {
			t.Errorf("%s runs for real: %v, %v", name, real[name], err)
		}
		outputs := map[string]bool{}
		for i := range f.Jobs {
			j := &f.Jobs[i]
			if j.Job == "" || j.Job == "sleep" {
				continue
			}
			output := arg(t, j, "output")
			if outputs[output] || arg(t, j, "overwrite") != "true" {
				t.Errorf("%s: %s: %s is written twice", name, j.Name, output)
			}
			outputs[output] = true
			if arg(t, j, "reducers") != strconv.Itoa(j.Reduces) {
				t.Errorf("%s: %s: %s reducers and %d simulated ones", name, j.Name, arg(t, j, "reducers"), j.Reduces)
			}
		}
	}
}

// arg returns the single value of an option of j.
func arg(t *testing.T, j *workload.ListedJob, name string) string {
	t.Helper()
	for _, a := range j.Args {
		if a.Name == name && len(a.Values) == 1 {
			return a.Values[0]
		}
	}
	t.Errorf("%s: no %s", j.Name, name)
	return ""
}

// table1 is [DHFS13, Table I].
func table1() []row {
	return []row{
		{"wordcount", 10, 64, 160, 30}, {"sort", 20, 64, 320, 200}, {"grep", 30, 64, 480, 120}, {"wordcount", 40, 64, 640, 100}, {"sort", 30, 64, 480, 200},
		{"wordcount", 10, 128, 80, 15}, {"sort", 20, 128, 160, 100}, {"grep", 30, 128, 240, 80}, {"wordcount", 40, 128, 320, 50}, {"grep", 10, 128, 80, 40},
		{"wordcount", 30, 64, 480, 60}, {"sort", 30, 64, 480, 200}, {"grep", 20, 64, 320, 80}, {"wordcount", 20, 128, 160, 30}, {"sort", 10, 128, 80, 60},
		{"wordcount", 10, 256, 40, 20}, {"sort", 20, 256, 80, 40}, {"grep", 30, 256, 120, 60}, {"wordcount", 40, 256, 160, 40}, {"sort", 10, 256, 40, 10},
	}
}

type row struct {
	benchmark          string
	gigabytes, blockMB int
	maps, reduces      int
}

func name(i int) string { return "J" + strconv.Itoa((i+1)/10) + strconv.Itoa((i+1)%10) }

// TestTable1HasTheTasksOfThePaper: one map for each block, and the totals.
func TestTable1HasTheTasksOfThePaper(t *testing.T) {
	for file, want := range map[string]struct{ jobs, maps, reduces, gigabytes int }{
		"table1-5.yaml":  {5, 2080, 650, 130},
		"table1-10.yaml": {10, 2960, 935, 240},
		"table1.yaml":    {20, 4920, 1535, 460},
	} {
		f := load(t, file)
		if len(f.Jobs) != want.jobs {
			t.Fatalf("%s: %d jobs", file, len(f.Jobs))
		}
		if c := f.Config; c.Trackers != 9 || c.MapSlots != 10 || c.ReduceSlots != 2 || c.Slowstart.String() != "1" {
			t.Errorf("%s: %+v, slowstart %v", file, c, c.Slowstart)
		}
		maps, reduces, gigabytes := 0, 0, 0
		for i, j := range f.Jobs {
			r := table1()[i]
			if j.Name != name(i) || j.Pool != j.Name || j.Submit != 0 || j.Maps != r.maps || j.Reduces != r.reduces || r.maps != r.gigabytes*1024/r.blockMB {
				t.Errorf("%s: %+v, not %+v", file, j, r)
			}
			if mapTime, reduceTime := j.MapTime.At(1, i, false, 3), j.ReduceTime.At(1, i, true, 3); mapTime != 20*time.Second*time.Duration(r.blockMB)/64 || reduceTime != 20*time.Second {
				t.Errorf("%s: %s: maps of %v, reduces of %v", file, j.Name, mapTime, reduceTime)
			}
			maps, reduces, gigabytes = maps+j.Maps, reduces+j.Reduces, gigabytes+r.gigabytes
		}
		if maps != want.maps || reduces != want.reduces || gigabytes != want.gigabytes {
			t.Errorf("%s: %d maps, %d reduces, %d GB", file, maps, reduces, gigabytes)
		}
	}
}

// TestTheReplicaKeepsTheNumbersOfTasks: bytes are divided by 1024, so GB become MiB,
// MB become KiB, and a block is still one map.
func TestTheReplicaKeepsTheNumbersOfTasks(t *testing.T) {
	f := load(t, "table1-replica.yaml")
	if len(f.Jobs) != len(table1()) {
		t.Fatalf("%d jobs", len(f.Jobs))
	}
	for i := range f.Jobs {
		j, r := &f.Jobs[i], table1()[i]
		input, block := arg(t, j, "input"), arg(t, j, "block-size")
		if input != "table1-data/"+strconv.Itoa(r.gigabytes)+"MiB.txt" || block != strconv.Itoa(r.blockMB)+"KiB" {
			t.Errorf("%s reads %s in blocks of %s, not %+v", j.Name, input, block, r)
		}
		if j.Name != name(i) || j.Job != r.benchmark || j.Maps != r.maps || j.Reduces != r.reduces || j.Maps*r.blockMB<<10 != r.gigabytes<<20 {
			t.Errorf("%+v, not %+v", j, r)
		}
	}
}

// TestTheFiguresHaveTheTasksOfTheReferences: the fixed-time simulation [DHFS13,
// "fixed-time simulation"] and the one-job simulation [OMO21, "one-job simulation"].
func TestTheFiguresHaveTheTasksOfTheReferences(t *testing.T) {
	f := load(t, "fig5.yaml")
	if c := f.Config; c.Trackers != 1 || c.MapSlots != 90 || c.ReduceSlots != 18 {
		t.Errorf("fig5: %+v", c)
	}
	for i, want := range []struct {
		pool          string
		maps, reduces int
	}{{"pool1", 80, 120}, {"pool2", 380, 60}} {
		if j := f.Jobs[i]; j.Pool != want.pool || j.Maps != want.maps || j.Reduces != want.reduces {
			t.Errorf("fig5: %+v", j)
		}
		for task := range 50 {
			if m, r := f.Jobs[i].MapTime.At(1, i, false, task), f.Jobs[i].ReduceTime.At(1, i, true, task); m < 25*time.Second || m > 35*time.Second || r < 15*time.Second || r > 25*time.Second {
				t.Errorf("fig5: %v, %v", m, r)
			}
		}
	}
	f = load(t, "fig6.yaml")
	if j := f.Jobs[0]; len(f.Jobs) != 1 || j.Maps != 320 || j.Reduces != 200 || j.MapTime.At(1, 0, false, 0) != 160*time.Second || j.ReduceTime.At(1, 0, true, 0) != 20*time.Second || f.MapSlots != 90 || f.ReduceSlots != 18 {
		t.Errorf("fig6: %+v on %+v", j, f.Cluster)
	}
	f = load(t, "slowstart.yaml")
	j := f.Jobs[0]
	if shuffle := int64(j.Maps) * j.MapOutputBytes / int64(j.Reduces) / f.Cluster.NetBytes; shuffle != 20 || j.Maps != 80 || j.Reduces != 4 || f.MapSlots+f.ReduceSlots != 8 {
		t.Errorf("slowstart: a shuffle of %d s: %+v on %+v", shuffle, j, f.Cluster)
	}
}

// TestTheSetsHaveTheJobsOfThePaper checks [OMO21, Table 5]: how many jobs of which sizes a set has,
// as many of each benchmark, on how many nodes. There is a map for each 256 MB and a reduce for
// each 10 GB [OMO21, Table 4]. The shuffled bytes grow with the input.
func TestTheSetsHaveTheJobsOfThePaper(t *testing.T) {
	const kilo, mega, giga = 1 << 10, 1 << 20, 1 << 30
	shuffled := map[string]float64{ // bytes of a job of 20 GB
		"terasort": 20 * giga, "seqcount": 17.5 * giga, "wordcount": 3.9 * giga, "invindex": 3.45 * giga, "histmovies": 22 * kilo, "classification": 6 * mega,
	}
	for file, want := range map[string]struct {
		benchmarks, nodes int
		jobs              map[int]int // by GB of input
	}{
		"omo-a.yaml": {6, 20, map[int]int{20: 6, 10: 6}}, "omo-b.yaml": {2, 20, map[int]int{20: 4, 10: 4}},
		"omo-c.yaml": {6, 20, map[int]int{20: 12}}, "omo-d.yaml": {6, 20, map[int]int{30: 12}}, "omo-e.yaml": {6, 20, map[int]int{40: 12}},
		"omo-f.yaml": {6, 20, map[int]int{20: 18}}, "omo-g.yaml": {6, 20, map[int]int{20: 24}}, "omo-h.yaml": {6, 40, map[int]int{20: 12, 10: 12}},
	} {
		f := load(t, file)
		if c := f.Config; c.Trackers != want.nodes || c.MapSlots != 2 || c.ReduceSlots != 2 {
			t.Errorf("%s: %+v", file, c)
		}
		jobs, each := map[int]int{}, map[string]int{}
		for i := range f.Jobs {
			j := &f.Jobs[i]
			benchmark, gigabytes := strings.TrimRight(j.Name, "0123456789"), j.Reduces*10
			jobs[gigabytes]++
			each[fmt.Sprintf("%s of %d GB", benchmark, gigabytes)]++
			if bytes := float64(j.Maps) * float64(j.MapOutputBytes); j.Maps != 4*gigabytes || math.Abs(bytes/(shuffled[benchmark]*float64(gigabytes)/20)-1) > 0.01 {
				t.Errorf("%s: %s has %d maps, %d reduces and shuffles %.0f bytes", file, j.Name, j.Maps, j.Reduces, bytes)
			}
		}
		if !maps.Equal(jobs, want.jobs) || len(each) != want.benchmarks*len(want.jobs) {
			t.Errorf("%s: %v jobs by GB, want %v; %v", file, jobs, want.jobs, each)
		}
		for of, n := range each {
			if n*want.benchmarks*len(want.jobs) != len(f.Jobs) {
				t.Errorf("%s: %d jobs of %s", file, n, of)
			}
		}
	}
}
