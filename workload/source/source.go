// Package source makes workload files from traces of real clusters, and from random numbers.
//
// SWIM, SLS, Rumen, History and History1 read a trace. Generate draws jobs. Each returns a Set of
// jobs. A job has tasks, or only bytes. Set.Scale changes the size of a Set. Set.File returns the
// text of a workload file, with comments that say how it was made.
//
// A reader returns no part of a trace with a mistake, unless Reading.SkipFailed is set. Its errors
// are of kind errs.BadInput and name file and line. Set.Account says what it dropped and assumed. A
// Set takes memory for all its jobs and the durations of their tasks.
package source

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
	"mrlocal/slots/setup"
)

// Set is a workload that can be written as a file. Scale and File change its jobs. It is not
// safe for use by several goroutines at once.
type Set struct {
	Notes []string    // how the Set was made, one line each
	Pools []TracePool // pools with their weights; jobs may name other pools
	Jobs  []TraceJob

	Trackers         int   // of the cluster in the trace; 0: the trace has none
	tasks            int   // of all jobs, while a Reader counts them
	dropped, assumed tally // by a Reader
}

// TracePool is a pool and its weight in the workload file.
type TracePool struct {
	Name   string
	Weight ppm.Share
}

// TraceJob is a job of a trace, or a drawn one. If it has no tasks (Maps is 0), File computes
// them from its bytes, by the rules of Tasks.
type TraceJob struct {
	Name, Pool, User string
	Submit           time.Duration // from the start of the workload, or from 1970 before Scale
	Deadline         time.Duration // a moment like Submit; 0: none
	At               string        // place in the trace, for messages: "trace.tsv:7"; "": a drawn job

	// InputBytes is what all maps read, ShuffleBytes what all reduces copy, and OutputBytes
	// what the job writes.
	InputBytes, ShuffleBytes, OutputBytes int64
	// MapWork and ReduceWork are the durations of all maps and of all reduces together; 0: they
	// follow from the bytes.
	MapWork, ReduceWork time.Duration

	// Maps and Reduces are numbers of tasks. In a job without reduces the maps write the output.
	Maps, Reduces         int
	MapTimes, ReduceTimes []time.Duration // by task; the list repeats if there are more tasks
	MapOutputBytes        int64           // of each map
}

// Tasks has the rules by which the bytes of a job become tasks. A zero field stands for the
// default that its comment names.
type Tasks struct {
	BlockBytes  int64         // bytes that a map reads, or writes if that is more: 64 MiB
	ReduceBytes int64         // bytes that a reduce copies and writes: 64 MiB, as in SWIM's GenerateReplayScript
	Rate        int64         // bytes that a task processes in a second: 10 MB
	Startup     time.Duration // additional time of each task: 1 s
	Most        int           // tasks of all jobs: DefaultMostTasks
}

// Fields returns the settings of t.
func (t *Tasks) Fields() []setting.Setting {
	return []setting.Setting{
		setting.Of("block-size", "Tasks.BlockBytes", "a map for each `SIZE` of input, or of its output if that is more", "64MiB", setting.Size(&t.BlockBytes, 1<<10, math.MaxInt64)),
		setting.Of("reduce-bytes", "Tasks.ReduceBytes", "a reduce for each `SIZE` of shuffle and output, as in SWIM", "64MiB", setting.Size(&t.ReduceBytes, 1<<10, math.MaxInt64)),
		setting.Of("rate", "Tasks.Rate", "a task works through `SIZE` a second, where nothing says how long it takes", "10MB", setting.Rate(&t.Rate, 1)),
		setting.Of("startup", "Tasks.Startup", "`TIME` that each such task takes in addition", "1s", setting.Time(&t.Startup, 1)),
		setting.Of("most-tasks", "Tasks.Most", "fail if the jobs have more than `N` tasks", strconv.Itoa(DefaultMostTasks), setting.Count(&t.Most, 1, setup.MostTasks)),
	}
}

// withDefaults returns t with the default for each zero field.
func (t Tasks) withDefaults() Tasks {
	return Tasks{
		cmp.Or(t.BlockBytes, 64<<20), cmp.Or(t.ReduceBytes, 64<<20), cmp.Or(t.Rate, 10_000_000), cmp.Or(t.Startup, time.Second), cmp.Or(t.Most, DefaultMostTasks),
	}
}

// Note returns the rules in words, for Set.Notes. It is one line.
func (t Tasks) Note() string {
	t = t.withDefaults()
	return fmt.Sprintf("tasks: a map for each %d bytes of input, or of its output if that is more; a reduce for each %d bytes of shuffle and output; "+
		"a task takes %v and a second for each %d bytes, unless the trace gives times", t.BlockBytes, t.ReduceBytes, t.Startup, t.Rate)
}

// Scaling says how Set.Scale changes a workload. The zero value changes no sizes.
type Scaling struct {
	Bytes ppm.Share // factor of all bytes, or of the number of tasks if a trace has tasks; 0: 1
	Time  ppm.Share // factor of the times of submission; 0: 1
	Jobs  int       // number of jobs to keep, the first ones by submission; 0: all
}

// Fields returns the settings of s.
func (s *Scaling) Fields() []setting.Setting {
	return []setting.Setting{
		setting.Of("bytes", "Bytes", "multiply all bytes by `X`; where a trace has tasks instead, their number", "1", setting.Factor(&s.Bytes, 1, mostFactor)),
		setting.Of("time", "Time", "multiply the moments of submission by `X`; tasks take as long as before", "1", setting.Factor(&s.Time, 1, mostFactor)),
		setting.Of("jobs", "Jobs", "take the first `N` jobs", "all", setting.Count(&s.Jobs, 1, 1_000_000_000)),
	}
}

// Scale sorts the jobs by submission, and moves the first one to time 0. Then it multiplies the
// times of submission and the bytes. The durations of tasks stay. A job with more bytes gets more
// tasks instead. Scale adds a note about each change.
func (s *Set) Scale(by Scaling) {
	slices.SortStableFunc(s.Jobs, func(a, b TraceJob) int { return cmp.Compare(a.Submit, b.Submit) })
	if by.Jobs > 0 && by.Jobs < len(s.Jobs) {
		s.Notes = append(s.Notes, fmt.Sprintf("only the first %d of %s", by.Jobs, errs.Counted(len(s.Jobs), "job")))
		s.Jobs = s.Jobs[:by.Jobs]
	}
	if len(s.Jobs) == 0 {
		return
	}
	first := s.Jobs[0].Submit
	moments := cmp.Or(by.Time, ppm.One)
	bytes := cmp.Or(by.Bytes, ppm.One)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		// A deadline moves with its job, so that the time between them stays the same.
		left := j.Deadline - j.Submit
		j.Submit = time.Duration(times(int64(j.Submit-first), moments))
		if j.Deadline > 0 {
			j.Deadline = j.Submit + left
		}
		j.scale(bytes)
	}
	if moments != ppm.One {
		s.Notes = append(s.Notes, fmt.Sprintf("moments of submission times %v", moments))
	}
	if bytes != ppm.One {
		s.Notes = append(s.Notes, fmt.Sprintf("bytes times %v", bytes))
	}
}

// scale multiplies the bytes of a job, its work and its numbers of tasks; 0 stands for 1. It
// rounds up, so a job with reduces keeps at least one.
func (j *TraceJob) scale(by ppm.Share) {
	if by == 0 || by == ppm.One {
		return
	}
	for _, n := range []*int64{&j.InputBytes, &j.ShuffleBytes, &j.OutputBytes, (*int64)(&j.MapWork), (*int64)(&j.ReduceWork)} {
		*n = times(*n, by)
	}
	for _, n := range []*int{&j.Maps, &j.Reduces} {
		*n = int(min(times(int64(*n), by), math.MaxInt32))
	}
}

// times returns n·p, rounded up, and at most math.MaxInt64.
func times(n int64, p ppm.Share) int64 {
	if f := math.Ceil(float64(float64(n)*float64(p)) / float64(ppm.One)); f < math.MaxInt64 {
		return int64(f)
	}
	return math.MaxInt64
}

// divide gives a job without tasks the tasks that its bytes need. All tasks of a kind take the
// same time. A job without shuffle gets only maps. divide does nothing for a job with tasks.
func (j *TraceJob) divide(t Tasks) {
	if j.Maps > 0 {
		return
	}
	t = t.withDefaults()
	// parts returns a number of tasks: at least 1, even for 0 bytes, and at most what an int
	// holds on every platform.
	parts := func(bytes, of int64) int { return int(max(1, min((bytes-1)/of+1, math.MaxInt32))) }
	// takes returns the time of one of n tasks. It is its part of the work if the trace has
	// it, else the startup and its bytes at the rate. Times are whole milliseconds, because
	// people read workload files.
	takes := func(work time.Duration, bytes int64, n int) time.Duration {
		if work > 0 {
			return max(work/time.Duration(n), time.Millisecond).Round(time.Millisecond)
		}
		seconds := float64(bytes) / float64(n) / float64(t.Rate)
		return (t.Startup + time.Duration(min(seconds, 1e8)*1e9)).Round(time.Millisecond)
	}
	emits := j.emits()
	// A map takes as long as the larger of its input and its output.
	bytes := max(j.InputBytes, emits)
	j.Maps = parts(bytes, t.BlockBytes)
	j.MapTimes = []time.Duration{takes(j.MapWork, bytes, j.Maps)}
	j.MapOutputBytes = emits / int64(j.Maps)
	if j.ShuffleBytes > 0 {
		moved := max(j.ShuffleBytes, j.ShuffleBytes+j.OutputBytes) // max undoes an overflow of the sum
		// SWIM rounds the number of reduces to the nearest whole number.
		j.Reduces = int(max(1, min((moved+t.ReduceBytes/2)/t.ReduceBytes, math.MaxInt32)))
		j.ReduceTimes = []time.Duration{takes(j.ReduceWork, moved, j.Reduces)}
	}
}

// Cluster is the cluster of the file. MapSlots and ReduceSlots are the slots of each tracker. Zero
// fields stand for 10 trackers, 4 map slots and 2 reduce slots.
type Cluster struct{ Trackers, MapSlots, ReduceSlots int }

// Fields returns the settings of c.
func (c *Cluster) Fields() []setting.Setting {
	const most = 100_000
	return []setting.Setting{
		setting.Of("trackers", "Cluster.Trackers", "`N` trackers of the cluster", "10", setting.Count(&c.Trackers, 1, most)),
		setting.Of("map-slots", "Cluster.MapSlots", "`N` map slots on each tracker", "4", setting.Count(&c.MapSlots, 1, most)),
		setting.Of("reduce-slots", "Cluster.ReduceSlots", "`N` reduce slots on each tracker", "2", setting.Count(&c.ReduceSlots, 1, most)),
	}
}

// withDefaults returns c with the default for each zero field. trackers is that of the trace, or 0.
func (c Cluster) withDefaults(trackers int) Cluster {
	return Cluster{cmp.Or(c.Trackers, trackers, 10), cmp.Or(c.MapSlots, 4), cmp.Or(c.ReduceSlots, 2)}
}

// File returns the text of the workload file, with the notes as comments at its head. It first gives
// tasks to the jobs of s that have none. It fails with errs.BadInput if there are no jobs, a job comes after
// setup.MostTime, or there are more than t.Most tasks. The caller owns the text.
func (s *Set) File(c Cluster, t Tasks) ([]byte, error) {
	if len(s.Jobs) == 0 {
		return nil, errs.Inputf("", "no jobs are left")
	}
	tasks, first := 0, -1 // first is the job whose tasks are too many
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Submit > setup.MostTime {
			return nil, errs.Inputf(j.At, "job %s is submitted %v after the first job, and at most %v are possible", j.Name, j.Submit, setup.MostTime)
		}
		s.Jobs[i].divide(t)
		if tasks += s.Jobs[i].Maps + s.Jobs[i].Reduces; tasks > t.withDefaults().Most && first < 0 {
			first = i
		}
	}
	if first >= 0 {
		most := t.withDefaults().Most
		return nil, errs.Inputf(s.Jobs[first].At, "%w", &Failure{true, fmt.Errorf("with job %s there are more than %d tasks, and %d with all jobs; the first %d jobs fit, or about %s of the bytes",
			s.Jobs[first].Name, most, tasks, first, share(float64(most)/float64(tasks)))})
	}
	c = c.withDefaults(s.Trackers)
	var b strings.Builder
	for _, n := range s.Notes {
		// A note may contain the name of a file, which may have line ends and invalid UTF-8.
		b.WriteString("# " + strings.ReplaceAll(strings.ToValidUTF8(n, "\ufffd"), "\n", " ") + "\n")
	}
	fmt.Fprintf(&b, "cluster: {trackers: %d, map_slots: %d, reduce_slots: %d, net: 125MB}\n", c.Trackers, c.MapSlots, c.ReduceSlots)
	s.head(&b)
	b.WriteString("jobs:\n")
	for i := range s.Jobs {
		s.Jobs[i].write(&b)
	}
	return []byte(b.String()), nil
}

// share returns a decimal below x, with one digit that is not 0, and at least
// 0.000001. Numbers of tasks are rounded up, so x itself is a bit too much.
func share(x float64) string {
	unit := 0.1
	for unit > 1e-6 && x*0.95 < unit {
		unit /= 10
	}
	return strconv.FormatFloat(max(math.Floor(x*0.95/unit), 1)*unit, 'g', 1, 64)
}

// head writes the sections users and pools. A file with the section pools must list all pools.
// So pools that only jobs name come after those of the Set, with weight 1.
func (s *Set) head(b *strings.Builder) {
	var users, pools []string
	weights := map[string]ppm.Share{}
	for _, p := range s.Pools {
		pools, weights[p.Name] = append(pools, p.Name), p.Weight
	}
	seen := map[string]bool{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.User != "" && !seen[j.User] {
			seen[j.User] = true
			users = append(users, j.User)
		}
		// Every listed pool has a weight above 0, so 0 means that the pool is not listed yet.
		if j.Pool != "" && weights[j.Pool] == 0 {
			pools, weights[j.Pool] = append(pools, j.Pool), ppm.One
		}
	}
	if len(users) > 0 {
		b.WriteString("users:\n")
		for _, u := range users {
			b.WriteString("  - {name: " + word(u) + "}\n")
		}
	}
	if len(pools) > 0 {
		b.WriteString("pools:\n")
		for _, p := range pools {
			fmt.Fprintf(b, "  - {name: %s, weight: %v}\n", word(p), weights[p])
		}
	}
}

// write writes the job as one line of YAML. It leaves out fields with their default.
func (j *TraceJob) write(b *strings.Builder) {
	fmt.Fprintf(b, "  - {name: %s", word(j.Name))
	field := func(given bool, format string, args ...any) {
		if given {
			fmt.Fprintf(b, format, args...)
		}
	}
	field(j.Pool != "", ", pool: %s", word(j.Pool))
	field(j.User != "", ", user: %s", word(j.User))
	field(j.Submit > 0, ", submit: %v", j.Submit)
	field(j.Deadline > 0, ", deadline: %v", j.Deadline)
	field(true, ", maps: %d, map_time: %s", j.Maps, durations(j.MapTimes, j.Maps))
	if j.Reduces > 0 { // there are no times otherwise
		field(true, ", reduces: %d, reduce_time: %s", j.Reduces, durations(j.ReduceTimes, j.Reduces))
	}
	field(j.MapOutputBytes > 0, ", map_output: %dB", j.MapOutputBytes)
	b.WriteString("}\n")
}

// durations returns the times of n tasks in YAML: one time if all are equal, else a list. A list
// shorter than n needs no more items, because package workload repeats it. all must not be empty.
func durations(all []time.Duration, n int) string {
	all = all[:min(len(all), n)]
	// Compact moves elements and jobs may share a list, so it gets a copy.
	if len(slices.Compact(slices.Clone(all))) == 1 {
		return all[0].String()
	}
	words := make([]string, len(all))
	for i, d := range all {
		words[i] = d.String()
	}
	return "{list: [" + strings.Join(words, ", ") + "]}"
}

// plainName matches names that may need no quotes. They begin with a letter, so they are neither numbers nor dates.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z][-_.a-zA-Z0-9]*$`) })

// word returns a name in YAML. The name gets quotes if a YAML parser could read it as anything
// but text.
func word(name string) string {
	// YAML 1.1 reads these words as booleans or null.
	if plainName().MatchString(name) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(name)) {
		return name
	}
	return strconv.Quote(name)
}

// checkName returns the problem of a name in a trace, as the end of a sentence; "": none. Its
// rules are those of package workload.
func checkName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > 200:
		return "is longer than 200 bytes"
	case strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) || r == '\ufffd' }):
		return "has characters that cannot be printed"
	}
	return ""
}

// checkNames fails if a name of the job cannot stand in a workload file.
func (j *TraceJob) checkNames() error {
	// A job may lack a pool or a user; "none" is then only a name that passes the check.
	for _, n := range [][2]string{{"job", j.Name}, {"pool", cmp.Or(j.Pool, "none")}, {"user", cmp.Or(j.User, "none")}} {
		if problem := checkName(n[1]); problem != "" {
			return fmt.Errorf("the name of its %s %s", n[0], problem)
		}
	}
	return nil
}

// distinct fails if two jobs have the same name.
func (s *Set) distinct() error {
	first := map[string]string{} // the place of a job by its name
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if at, ok := first[j.Name]; ok {
			return errs.Inputf(j.At, "job %s stands at %s already", j.Name, at)
		}
		first[j.Name] = j.At
	}
	return nil
}
