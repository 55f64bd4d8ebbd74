package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/testkit"
	"mrlocal/workload"
	"mrlocal/workload/source"
)

type reader = source.Reader

// text returns the jobs of a set as lines of a workload file, which package workload accepts.
func text(t *testing.T, s *source.Set, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	file, err := s.File(source.Cluster{}, source.Tasks{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := workload.Parse("made", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	if err := f.CheckSimulated(); err != nil {
		t.Fatal(err)
	}
	return string(file)
}

func open(t *testing.T, name string, read reader) (*source.Set, error) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return read(name, f, source.Reading{})
}

// Each number is computed by hand from the files in testdata.
func TestTracesBecomeWorkloads(t *testing.T) {
	for _, c := range []struct {
		file string
		read reader
		want []string
	}{
		// 200 MB are three blocks of 64 MiB, which take 6.67 s each at 10 MB/s. 150 MB are a bit more
		// than two times 64 MiB, which SWIM rounds to two reduces of 75 MB each.
		{"swim.tsv", source.SWIM, []string{
			"{name: a, maps: 1, map_time: 1s, map_output: 500B}",
			"{name: b, submit: 1m1s, maps: 3, map_time: 7.667s, reduces: 2, reduce_time: 8.5s, map_output: 33333333B}",
			"{name: c, submit: 1m1.5s, maps: 1, map_time: 1s}",
		}},
		{"load.json", source.SLS, []string{
			"- {name: ann}", "- {name: prod, weight: 1}", "- {name: adhoc, weight: 1}",
			"{name: job_1, pool: prod, user: ann, maps: 3, map_time: {list: [3s, 4s, 4s]}, reduces: 1, reduce_time: 7s}",
			"{name: job_2-0, pool: adhoc, submit: 2.5s, maps: 1, map_time: 10ms}",
			"{name: job_2-1, pool: adhoc, submit: 2.5s, maps: 1, map_time: 10ms}",
		}},
		// The cluster of the trace; the containers of a DAG are maps.
		{"dag.json", source.SLS, []string{
			"# imported: jobs: 1; maps: 3; reduces: 0; bytes of map output: 0",
			"# dropped: delays of requests for containers: 1",
			"# assumed: jobs of type dag whose containers are maps: 1; cluster: 3 trackers, each with 4 map slots and 2 reduce slots",
			"cluster: {trackers: 3, map_slots: 4, reduce_slots: 2, net: 125MB}",
			"{name: job_1, maps: 3, map_time: {list: [17.043s, 22ms, 22ms]}}",
		}},
		// Jobs 2 and 4 have no reduces. The maps of job 2 write 10,000 bytes to HDFS.
		{"trace.rumen", source.Rumen, []string{
			"# imported: jobs: 4; maps: 6; reduces: 2; bytes of map output: 11299",
			"# dropped: attempts that failed, were killed or were replaced: 3; tasks of set-up and clean-up: 1; tasks without an attempt that succeeded: 2",
			"# assumed: jobs that did not succeed, of which the tasks that succeeded are taken: 1; jobs whose maps write what their reduces copied, because the trace has no other number: 1; reduces that last from their start, because the end of their shuffle is unknown: 1; cluster: 10 trackers, each with 4 map slots and 2 reduce slots",
			"{name: job_1_0001, pool: prod, user: ann, maps: 2, map_time: {list: [3s, 4.5s]}, reduces: 1, reduce_time: 2.25s, map_output: 600B}",
			"{name: job_1_0002, submit: 1s, maps: 2, map_time: {list: [1s, 2s]}, map_output: 5000B}",
			"{name: job_1_0003, submit: 2s, maps: 1, map_time: 1s, reduces: 1, reduce_time: 2s, map_output: 90B}",
			"{name: job_1_0004, submit: 3s, maps: 1, map_time: 1s, map_output: 8B}",
		}},
		// Escapes, a stack trace over several lines, a configuration, and a history without escapes.
		{"jobs.history1", source.History1, []string{
			"# imported: jobs: 2; maps: 3; reduces: 1; bytes of map output: 11001",
			"# dropped: attempts that failed, were killed or were replaced: 1; tasks of set-up and clean-up: 1",
			"{name: job_1_0001, pool: prod, user: ann, maps: 2, map_time: {list: [4s, 2.5s]}, reduces: 1, reduce_time: 2.25s, map_output: 2000B}",
			"{name: job_1_0002, user: bob, submit: 1s, maps: 1, map_time: 1.5s, map_output: 7000B}",
		}},
		// The failed attempt of map 0 does not count; the reduce lasts from 1007000 to 1009250.
		{"job.jhist", source.History, []string{
			"{name: job_1_0007, pool: prod, user: ann, maps: 2, map_time: {list: [4s, 2.5s]}, reduces: 1, reduce_time: 2.25s, map_output: 2000B}",
		}},
		// Written by Hadoop 3.4.2; texts and counters that are not read were taken out.
		{"binary.jhist", source.History, []string{
			"{name: job_1795428964713_0001, pool: root.default, user: ann, maps: 5, map_time: {list: [3.57s, 3.775s, 3.463s, 3.947s, 1.916s]}, reduces: 1, reduce_time: 587ms, map_output: 1360034B}",
		}},
	} {
		s, err := open(t, c.file, c.read)
		if err == nil {
			s.Notes = append(s.Notes, s.Account(source.Cluster{}, source.Tasks{})...)
			s.Scale(source.Scaling{})
		}
		got := text(t, s, err)
		for _, want := range c.want {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("%s: no line %s in\n%s", c.file, want, got)
			}
		}
	}
}

// Rumen's Folder repeats jobs under their IDs. It moves the starts and ends of attempts, but not the end of their
// shuffle.
func TestATraceThatRumenHasFolded(t *testing.T) {
	// A reduce that starts at 10 s and ends at 20 s. moved is what the Folder adds, in ms; shuffled is -1 if the
	// trace has no end of the shuffle.
	job := func(moved, shuffled int) string {
		return fmt.Sprintf(`{"jobID":"job_1_0001","submitTime":%d,"outcome":"SUCCESS","mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":%d,"finishTime":%d,"mapOutputBytes":8}]}],
			"reduceTasks":[{"attempts":[{"result":"SUCCESS","startTime":%d,"shuffleFinished":%d,"finishTime":%d}]}]}`+"\n", 1+moved, 5000+moved, 7000+moved, 10_000+moved, shuffled, 20_000+moved)
	}
	s, err := source.Rumen("t", strings.NewReader(job(0, 14_000)+job(30_000, 14_000)+job(60_000, 99_000)+job(90_000, 104_000)+job(120_000, -1)), source.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	s.Notes = append(s.Notes, s.Account(source.Cluster{}, source.Tasks{})...)
	got := text(t, s, err)
	for _, want := range []string{
		"jobs whose ID the trace repeats, which get a number: 4", "reduces that last from their start, because the end of their shuffle is unknown: 3",
		"{name: job_1_0001, submit: 1ms, maps: 1, map_time: 2s, reduces: 1, reduce_time: 6s,", // its shuffle ends at 14 s
		"{name: job_1_0001-2, submit: 30.001s, maps: 1, map_time: 2s, reduces: 1, reduce_time: 10s,",
		"{name: job_1_0001-3, submit: 1m0.001s, maps: 1, map_time: 2s, reduces: 1, reduce_time: 10s,",
		"{name: job_1_0001-4, submit: 1m30.001s, maps: 1, map_time: 2s, reduces: 1, reduce_time: 6s,",
		"{name: job_1_0001-5, submit: 2m0.001s, maps: 1, map_time: 2s, reduces: 1, reduce_time: 10s,",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestScalingChangesWhatItNames(t *testing.T) {
	s, err := open(t, "swim.tsv", source.SWIM)
	s.Scale(source.Scaling{Bytes: 10 * ppm.One, Time: ppm.One / 2, Jobs: 2})
	got := text(t, s, err)
	if !strings.Contains(got, "{name: b, submit: 30.5s, maps: 30, map_time: 7.667s, reduces: 22, reduce_time: 7.818s, map_output: 33333333B}") || strings.Contains(got, "name: c") {
		t.Error(got)
	}
	// A job with known tasks gets more tasks, and each takes as long as before.
	s, err = open(t, "job.jhist", source.History)
	s.Scale(source.Scaling{Bytes: 2 * ppm.One})
	if got := text(t, s, err); !strings.Contains(got, "maps: 4, map_time: {list: [4s, 2.5s]}, reduces: 2, reduce_time: 2.25s, map_output: 2000B}") {
		t.Error(got)
	}
}

// avroEvent is a schema of events: nothing, or the submission of a job.
const avroEvent = `{"type":"record","name":"Event","namespace":"a.b","fields":[{"name":"event","type":["null",{"type":"record","name":"JobSubmitted","fields":[{"name":"jobid","type":"string"}]}]}]}`

// doubled returns the schema of a record with 2^levels nulls. A value of it has no bytes.
func doubled(levels int) string {
	schema, name := `"null"`, "null"
	for i := range levels {
		inner := name
		name = fmt.Sprint("R", i)
		schema = fmt.Sprintf(`{"type":"record","name":%q,"fields":[{"name":"a","type":%s},{"name":"b","type":%q}]}`, name, schema, inner)
	}
	return schema
}

func TestBadTracesNameFileLineAndCause(t *testing.T) {
	for _, c := range []struct {
		read       reader
		text, want string
	}{
		{source.SWIM, "", "t: no jobs"},
		{source.SWIM, "a\t0\t0\t1\t1\n", "t:1: 5 fields"},
		{source.SWIM, "a\t0\t0\t1\t1\t1\nb\t-1\t0\t1\t1\t1\n", "t:2: field 2: -1 is not a time"},
		{source.SWIM, "a\tNaN\t0\t1\t1\t1\n", "t:1: field 2: NaN is"},
		{source.SWIM, "a\t1\t0\t1\t1\t1.5\n", "t:1: field 6: 1.5 is not a number of bytes"},
		{source.SWIM, "a\t1\t0\t99999999999999999999\t1\t1\n", "t:1: field 4"},
		{source.SWIM, "a\t1\t0\t1\t1\t1\na\t1\t0\t1\t1\t1\n", "t:2: job a stands at t:1 already"},
		{source.SWIM, "\x01\t1\t0\t1\t1\t1\n", "t:1: the name of its job has characters"},
		{source.SLS, "", "t: no jobs"},
		{source.SLS, "{\n\"job.id\": \"a\",\n]\n", "t:3: is not valid JSON"},
		{source.SLS, "{\"job.id\": \"a\"}", "t:1: job a has no job.tasks"},
		{source.SLS, "\n\n{\"job.id\": \"a\", \"job.tasks\": [{\"duration.ms\": 0}]}", "t:3: job a, task 0: lasts 0 ms"},
		{source.SLS, "{\"job.tasks\": [{\"duration.ms\": 5, \"container.type\": \"reduce\"}]}", "t:1: job job_1 has reduces and no map"},
		{source.SLS, "{\"job.tasks\": [{\"duration.ms\": 5, \"container.type\": \"am\"}]}", "container.type am is neither"},
		{source.SLS, "{\"job.tasks\": [{\"duration.ms\": 5, \"count\": 2000000000}]}", "there are more than 10000000 tasks"},
		{source.SLS, "{\"job.start.ms\": {}, \"job.tasks\": []}", "t:1: a single value is expected"},
		{source.History, "Avro-Binary\n", "t:2: the schema is cut short"},
		{source.History, "Avro-Binary\n{\n", "t:2: schema: the JSON is cut short"},
		{source.History, "Avro-Binary\n" + avroEvent + "\n", "t: no job was submitted"},
		{source.History, "Avro-Binary\n" + avroEvent + "\n\x02\x04j", "t: event 1: is cut short"},
		{source.History, "Avro-Binary\n" + avroEvent + "\n\x04", "t: event 1: has an index out of range"},
		{source.History, "Avro-Binary\n" + avroEvent + "\n\x02\x01", "t: event 1: has a text of -1 bytes"},
		{source.History, "Avro-Binary\n" + avroEvent + "\n\x02\x04j1", "t: no map of job j1 has succeeded"},
		{source.History, "Avro-Binary\n" + `{"type":"record","name":"E","namespace":"a","fields":[{"name":"event","type":[{"type":"record","name":"JobSubmitted","fields":[{"name":"jobid","type":"string"}]}]},{"name":"again","type":"a.JobSubmitted"}]}` + "\n\x00\x04j1\x04j2", "t: no map of job j1 has succeeded"},
		{source.History, "Avro-Binary\n" + `{"type":"array","items":"int"}` + "\n\x01\x02\x02\x00", "t: event 1: an object is expected, not a list"},
		{source.History, "Avro-Binary\n\"null\"\n\x02", "t: event 1: is empty"},
		{source.History, "Avro-Binary\n\"x\"\n\x02", "t: event 1: has the type x, which the schema lacks"},
		{source.History, "Avro-Binary\n" + `{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}` + "\n\x02", "t: event 1: has more than"},
		{source.History, "Avro-Binary\n" + `{"type":"array","items":"null"}` + "\n\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", "t: event 1: has more than"},
		{source.History, "Avro-Binary\n" + `{"type":"array","items":{"type":"array","items":"null"}}` + "\n\xc0\x3e" + strings.Repeat("\x80\x40\x00", 4000), "t: event 1: has more than"},
		{source.History, "Avro-Binary\n" + doubled(20) + "\n\x00", "t: event 1: has more than"},
		{source.History, "hello\n", "t:1: hello is not a history"},
		{source.History, "Avro-Json\n{}\n", "t: no job was submitted"},
		{source.History, "Avro-Json\n{}\n\n{\"type\":", "t:4: the JSON is cut short"},
		{source.History, "Avro-Json\n{}\n{\"event\":{\"x.MapAttemptFinished\":{\"attemptId\":\"m1\"}}}\n", "t:3: MapAttemptFinished: attempt m1 ends, but has not started"},
		{source.History, "Avro-Json\n{}\n{\"event\":{\"x.JobSubmitted\":{\"jobid\":\"j1\"}}}\n", "t: no map of job j1 has succeeded"},
		{source.SLS, `{"job.id":1,"job.tasks":3}`, "t:1: field job.tasks: a list is expected, not the number"},
		{source.SLS, `[1]`, "t:1: an object is expected, not a list"},
		{source.SLS, "{\"job.id\":1,\n\n", "t:3: the JSON is cut short"},
		{source.SLS, `{"num.nodes":-3}`, "t:1: num.nodes: -3 is not a whole number"},
		{source.SLS, `{"job.tasks":["x"]}`, "t:1: field job.tasks: an object is expected, not a text"},
		{source.Rumen, "", "t: no jobs"},
		{source.Rumen, `{"name":"<root>","children":[]}`, "t:1: has no jobID"},
		{source.Rumen, `{"jobID":"a","submitTime":1}`, "t:1: no map of job a has succeeded"},
		{source.Rumen, `{"jobID":"a","mapTasks":[]}`, `t:1: submitTime "" is not a time`},
		{source.Rumen, "{\"jobID\":\"a\",\"mapTasks\":[\n{\"attempts\":[\n{\"startTime\":1,,}]}]}", "t:3: is not valid JSON"},
		{source.Rumen, "{\"jobID\":\"a\",\n\"mapTasks\":[{\"attempts\":[{\"startTime\":\"x\"}]}]}", "t:2: field mapTasks.attempts.startTime: a number is expected, not a text"},
		{source.Rumen, `{"jobID":"a","submitTime":1,"mapTasks":[{"taskID":"m1","attempts":[{"result":"SUCCESS","startTime":5,"finishTime":3}]}]}`, `t:1: task m1 ends -2 ms after its start`},
		{source.Rumen, `{"jobID":"a","submitTime":1,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":5}]}]}`, `t:1: task "" has no start or no end`},
		{source.History1, "", "t: no jobs"},
		{source.History1, "Avro-Json\n", "t:1: Avro-Json is not a record"},
		{source.History1, "Meta VERSION=\"1\" .\nJob JOBID=\"j\n", "t:2: the record is cut short"},
		{source.History1, "Meta VERSION=\"1\" .\nJob JOBID=\"j .\n", "t:2: the value of JOBID has no end"},
		{source.History1, "Meta VERSION=\"1\" .\n\nJob JOBID .\n", `t:3: "JOBID ." is not KEY="VALUE"`},
		{source.History1, "Job SUBMIT_TIME=\"1\"\n", "t:1: the record of a job has no JOBID"},
		{source.History1, "Job JOBID=\"j\" SUBMIT_TIME=\"x\"\n", "t:1: SUBMIT_TIME: x is not a whole number"},
		{source.History1, "Job JOBID=\"j\" SUBMIT_TIME=\"5\"\n", "t:1: no map of job j has succeeded"},
		{source.History1, "MapAttempt TASKID=\"m\"\n", "t:1: TASKID m is not the ID of a task"},
		{source.History1, "MapAttempt TASKID=\"task_1_2_m_3\" START_TIME=\"4\"\n", "t:1: no job was submitted"},
		{source.History1, "MapAttempt TASKID=\"task_1_2_m_3\" TASK_ATTEMPT_ID=\"a\" TASK_STATUS=\"SUCCESS\"\n", "t:1: attempt a ends, but has not started"},
	} {
		if _, err := c.read("t", strings.NewReader(c.text), source.Reading{}); err == nil || !errors.Is(err, errs.BadInput) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v instead of %s", c.text, err, c.want)
		}
	}
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	for _, o := range []source.Options{
		{Jobs: 50}, {Jobs: 50, Arrivals: "bursts", Sizes: source.Sizes{Law: "pareto", Bytes: 1 << 20, Shape: 1.1}, Deadlines: ppm.One, Pools: []source.TracePool{{Name: "p", Weight: ppm.One}, {Name: "true", Weight: 3 * ppm.One}}},
		{Jobs: 50, Arrivals: "fixed", Sizes: source.Sizes{Law: "fb-2009"}, Bytes: ppm.One / 100},
	} {
		a, err := source.Generate(o)
		first := text(t, a, err)
		if b, err := source.Generate(o); text(t, b, err) != first {
			t.Errorf("%+v: two texts", o)
		}
		if o.Seed = 2; o.Arrivals != "fixed" {
			if b, err := source.Generate(o); text(t, b, err) == first {
				t.Errorf("%+v: the seed changes nothing", o)
			}
		}
	}
}

// The laws have the means and medians that their definitions give.
func TestDrawsFollowTheirLaws(t *testing.T) {
	const n = 20_000
	of := func(o source.Options) []source.TraceJob {
		o.Jobs = n
		s, err := source.Generate(o)
		if err != nil {
			t.Fatal(err)
		}
		return s.Jobs
	}
	near := func(what string, got, want, by float64) {
		t.Helper()
		if math.Abs(got/want-1) > by {
			t.Errorf("%s: %v instead of %v", what, got, want)
		}
	}
	share := func(jobs []source.TraceJob, has func(source.TraceJob) bool) float64 {
		k := 0
		for _, j := range jobs {
			if has(j) {
				k++
			}
		}
		return float64(k) / n
	}
	for _, arrivals := range []string{"poisson", "fixed", "bursts"} {
		jobs := of(source.Options{Arrivals: arrivals, Every: 3 * time.Second})
		near(arrivals, jobs[n-1].Submit.Seconds()/n, 3, 0.05)
		at := map[time.Duration]bool{}
		for _, j := range jobs {
			at[j.Submit] = true
		}
		if most := map[string]int{"bursts": n / 10}[arrivals]; most > 0 && len(at) > most {
			t.Errorf("%d moments in bursts of 10", len(at))
		}
	}
	jobs := of(source.Options{Sizes: source.Sizes{Law: "lognormal", Bytes: 1 << 30, Shape: 1}})
	near("below the median", share(jobs, func(j source.TraceJob) bool { return j.InputBytes < 1<<30 }), 0.5, 0.03)
	near("below e times the median", share(jobs, func(j source.TraceJob) bool { return j.InputBytes < 2918732888 }), 0.8413, 0.02) // Φ(1)
	jobs = of(source.Options{Sizes: source.Sizes{Law: "pareto", Bytes: 1000, Shape: 2}})
	near("over twice the least", share(jobs, func(j source.TraceJob) bool { return j.InputBytes > 2000 }), 0.25, 0.05) // (1/2)^2
	jobs = of(source.Options{Sizes: source.Sizes{Law: "fb-2009"}, Deadlines: ppm.One / 4})
	near("small jobs", share(jobs, func(j source.TraceJob) bool { return strings.HasSuffix(j.Name, "-small") }), 1081918./1129193, 0.01)
	near("deadlines", share(jobs, func(j source.TraceJob) bool { return j.Deadline > 0 }), 0.25, 0.05)
}

// The sum of the classes is the number of jobs in the trace, as the paper counts them.
func TestTheClassesOfFB2009AreWhole(t *testing.T) {
	jobs := 0
	for _, c := range source.FB2009() {
		jobs += c.Jobs
	}
	if jobs != 1_129_193 {
		t.Errorf("%d jobs", jobs)
	}
}

// TestALongDocumentIsRefused needs half a GiB of memory.
func TestALongDocumentIsRefused(t *testing.T) {
	if !testkit.Long() {
		t.Skip("takes half a GiB")
	}
	_, err := source.Rumen("t", io.MultiReader(strings.NewReader("{}\n\n{\"x\":\""), endless{}), source.Reading{SkipFailed: true})
	if err == nil || err.Error() != "t:3: a single object is longer than 256 MiB" {
		t.Error(err)
	}
}

// endless is a reader of a text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestTooManyTasksAreRefused(t *testing.T) {
	s, err := source.SWIM("t", strings.NewReader("b\t0\t0\t1\t1\t1\na\t0\t0\t1342177280\t1\t1\n"), source.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	want := "t:2: with job a there are more than 10 tasks, and 23 with all jobs; the first 1 jobs fit, or about 0.4 of the bytes"
	if _, err := s.File(source.Cluster{}, source.Tasks{Most: 10}); err == nil || err.Error() != want {
		t.Error(err)
	}
	if _, err := s.File(source.Cluster{}, source.Tasks{Most: 23}); err != nil {
		t.Error(err)
	}
	// Readers of tasks stop before they have too many.
	for _, c := range []struct {
		read reader
		text string
	}{
		{source.SLS, `{"job.tasks": [{"duration.ms": 5, "count": 2000000000}]}`},
		{source.SLS, `{"job.count": 6, "job.tasks": [{"duration.ms": 5, "count": 2}]}`},
		{source.Rumen, `{"jobID":"a","submitTime":1,"mapTasks":[` + strings.Repeat(`{"attempts":[{"result":"SUCCESS","startTime":5,"finishTime":7}]},`, 50) + `{}]}`},
	} {
		if _, err := c.read("t", strings.NewReader(c.text), source.Reading{MostTasks: 10, SkipFailed: true}); err == nil || !strings.Contains(err.Error(), "there are more than 10 tasks") {
			t.Errorf("%.60s: %v", c.text, err)
		}
	}
}

// What cannot become a job is left out and counted.
func TestFailedJobsAreSkipped(t *testing.T) {
	good := "\nJob JOBID=\"j_1_2\" SUBMIT_TIME=\"5\"\nMapAttempt TASKID=\"task_1_2_m_1\" TASK_ATTEMPT_ID=\"a\" START_TIME=\"5\" TASK_STATUS=\"SUCCESS\" FINISH_TIME=\"9\"\n"
	good = strings.Replace(good, "j_1_2", "job_1_2", 1)
	for _, c := range []struct {
		read         reader
		text         string
		jobs         int
		wantDropped  string
		wantImported string
	}{
		{source.SWIM, "a\t0\t0\t1\t1\t1\nb\t-1\t0\t1\t1\t1\n\x01\t0\t0\t1\t1\t1\n", 1, "jobs that failed or cannot be read: 2", "jobs: 1; bytes of map input: 1, of shuffle: 1, of output: 1"},
		{source.SLS, `{"job.id":"a"}{"job.tasks":[{"duration.ms":5}]}`, 1, "jobs that failed or cannot be read: 1", "jobs: 1; maps: 1; reduces: 0; bytes of map output: 0"},
		{source.Rumen, `{"jobID":"a","submitTime":1,"outcome":"KILLED","mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":5,"finishTime":7}]}]}`, 0, "jobs that failed or cannot be read: 1", ""},
		{source.History, "Avro-Json\n{}\n{\"type\":", 0, "jobs that failed or cannot be read: 1", ""},
		{source.History1, "Task X" + good, 1, "records that cannot be read: 1", "jobs: 1; maps: 1; reduces: 0; bytes of map output: 0"},
		{source.History1, "Job JOBID=\"k\" SUBMIT_TIME=\"5\"" + good, 1, "jobs that failed or cannot be read: 1", ""},
	} {
		if _, err := c.read("t", strings.NewReader(c.text), source.Reading{}); c.jobs > 0 && err == nil {
			t.Errorf("%.60q: no error without skipping", c.text)
		}
		s, err := c.read("t", strings.NewReader(c.text), source.Reading{SkipFailed: true})
		if err != nil {
			t.Errorf("%.60q: %v", c.text, err)
			continue
		}
		account := strings.Join(s.Account(source.Cluster{}, source.Tasks{}), "\n")
		if len(s.Jobs) != c.jobs || !strings.Contains(account, "dropped: "+c.wantDropped+"\n") || !strings.Contains(account, c.wantImported) {
			t.Errorf("%.60q: %d jobs\n%s", c.text, len(s.Jobs), account)
		}
	}
}

// A reader returns for any text. Its errors name the file, and what it accepts is a workload.
func FuzzTraces(f *testing.F) {
	f.Add([]byte("a\t0\t0\t1\t1\t1\nb\t400000000\t0\t1\t1\t1\n"), false) // later than a workload may last
	f.Add([]byte("Avro-Binary\n"+avroEvent+"\n\x02\x04j1"), false)       // shorter than a whole schema
	for _, name := range []string{"swim.tsv", "load.json", "dag.json", "job.jhist", "trace.rumen", "jobs.history1"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text []byte, skip bool) {
		for _, read := range []reader{source.SWIM, source.SLS, source.Rumen, source.History, source.History1} {
			s, err := read("t", bytes.NewReader(text), source.Reading{SkipFailed: skip, MostTasks: 100_000})
			if err != nil {
				if !strings.HasPrefix(err.Error(), "t") || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "json: ") {
					t.Fatal(err)
				}
				continue
			}
			s.Scale(source.Scaling{Bytes: 2 * ppm.One})
			if file, err := s.File(source.Cluster{}, source.Tasks{}); err == nil && len(file) < 1<<20 {
				if _, err := workload.Parse("made", file); err != nil {
					t.Fatalf("%v\n%s", err, file)
				}
			}
		}
	})
}
