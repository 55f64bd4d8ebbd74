package source

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/internal/errs"
)

// mostLineBytes bounds a line of a trace, and a text in an Avro file. The event of a finished task
// has all its counters on one line.
const mostLineBytes = 64 << 20

// eachLine calls f with each line of r, without its line end. at is the place of the line for
// messages: "NAME:LINE", with lines counted from 1. eachLine returns the first error of f or of r.
func eachLine(name string, r io.Reader, f func(at, line string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), mostLineBytes)
	n := 0 // lines that were read; an error of r belongs to the next one
	for s.Scan() {
		n++
		if err := f(fmt.Sprintf("%s:%d", name, n), s.Text()); err != nil {
			return err
		}
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return errs.Inputf(fmt.Sprintf("%s:%d", name, n+1), "longer than %d MiB", mostLineBytes>>20)
	} else if err != nil {
		return errs.Inputf(fmt.Sprintf("%s:%d", name, n+1), "%w", errs.Cause(err))
	}
	return nil
}

// SWIM reads a trace of SWIM, the Statistical Workload Injector for MapReduce
// (github.com/SWIMProjectUCB/SWIM, workloadSuite/README, 1.1). Each line is a job. Its fields are
// separated by tabs. They are name, submission and gap to the job before, in seconds, and the
// bytes of map input, shuffle and reduce output. Some traces have up to three more fields with
// paths. SWIM checks the gap, but uses neither gap nor paths. name is the file, for messages and
// notes.
//
// SWIM is a Reader.
func SWIM(name string, r io.Reader, o Reading) (*Set, error) {
	s := &Set{Notes: []string{"jobs of the SWIM trace " + name}}
	err := eachLine(name, r, func(at, line string) error {
		if strings.TrimSpace(line) == "" {
			return nil
		}
		b := o.building(at)
		b.err = b.readSWIM(strings.Split(strings.TrimSuffix(line, "\r"), "\t"))
		return s.add(&b, o, 1)
	})
	return s.result(name, err)
}

// readSWIM sets the job from the fields of a line.
func (j *TraceJob) readSWIM(fields []string) error {
	if len(fields) < 6 || len(fields) > 9 {
		return fmt.Errorf("%d fields between tabs; a job of SWIM has 6 (name, submission, gap, map input, shuffle and reduce output) and up to 3 paths", len(fields))
	}
	j.Name = fields[0]
	for i, to := range []*time.Duration{&j.Submit, new(time.Duration)} { // the gap is checked and dropped
		seconds, err := strconv.ParseFloat(fields[1+i], 64)
		if err != nil || seconds < 0 || math.IsNaN(seconds) || seconds > mostSeconds {
			return fmt.Errorf("field %d: %s is not a time in seconds from 0 to %d", 2+i, errs.Quote(fields[1+i]), int64(mostSeconds))
		}
		*to = time.Duration(math.Round(seconds * 1e9))
	}
	for i, to := range []*int64{&j.InputBytes, &j.ShuffleBytes, &j.OutputBytes} {
		n, err := strconv.ParseInt(fields[3+i], 10, 64)
		if err != nil || n < 0 || n > mostBytes {
			return fmt.Errorf("field %d: %s is not a number of bytes from 0 to %d", 4+i, errs.Quote(fields[3+i]), int64(mostBytes))
		}
		*to = n
	}
	return nil
}

// These bounds keep sums and products of numbers in traces within 64 bits.
const (
	mostSeconds = 5e9     // a time; large enough for seconds since 1970
	mostBytes   = 1 << 56 // the bytes of a job
)

// Reader reads a trace. name is the file, for messages and notes. A Reader fails with errs.BadInput
// if r fails, or if the trace is not valid or has no jobs.
type Reader = func(name string, r io.Reader, o Reading) (*Set, error)

// Reading says how a Reader reads a trace. A zero field stands for the default that its comment
// names.
type Reading struct {
	SkipFailed bool // leave out jobs that failed or have a mistake; the default is an error
	MostTasks  int  // tasks of all jobs: DefaultMostTasks
}

const (
	// DefaultMostTasks bounds the tasks of a workload.
	DefaultMostTasks = 10_000_000
	// mostJobs bounds the jobs of a trace, and mostAttempts the attempts of a history.
	mostJobs, mostAttempts = 1 << 20, 1 << 21
)

// Failure is the cause of an error that the user can avoid. It is too many tasks, or else a job or a
// record that Reading.SkipFailed leaves out.
type Failure struct {
	TooMany bool // more tasks than Reading.MostTasks or Tasks.Most
	Err     error
}

// Error returns the text of the cause.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// tally counts what a Reader drops or assumes, by its name in words. The zero value is empty.
type tally map[string]int

// add counts n more of what.
func (t *tally) add(n int, what string) {
	if *t == nil {
		*t = tally{}
	}
	if n > 0 {
		(*t)[what] += n
	}
}

// addAll adds the counts of other.
func (t *tally) addAll(other tally) {
	for what, n := range other {
		t.add(n, what)
	}
}

// String returns the counts in one line, sorted by their names.
func (t tally) String() string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(t)) {
		all = append(all, fmt.Sprintf("%s: %d", what, t[what]))
	}
	return cmp.Or(strings.Join(all, "; "), "nothing")
}

// attempt is an attempt of a task that succeeded. Times are in milliseconds since 1970. A reduce
// does not know the end of its shuffle if shuffled lies outside of the attempt. In a trace that Rumen has
// folded, shuffled is the moment of the unfolded trace.
type attempt struct {
	reduce               bool
	start, shuffled, end int64
	bytes                int64 // that a map writes for the reduces, or that a reduce copies
	written              int64 // to the output of the job
}

// building is a job while its tasks are read. After its first mistake it takes no more tasks.
type building struct {
	TraceJob
	copied           int64  // bytes that all reduces copied
	outcome          string // of the job; "": unknown
	dropped, assumed tally
	err              error
	most             int // tasks of a workload
}

// building returns a job without tasks that begins at a place of the trace.
func (o Reading) building(at string) building {
	return building{TraceJob: TraceJob{At: at}, most: cmp.Or(o.MostTasks, DefaultMostTasks)}
}

// fail keeps the first mistake.
func (b *building) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// took returns how long the task of an attempt lasts. A map lasts from its start to its end. In its
// shuffle a reduce waits for maps. This wait depends on the cluster and not on the reduce. So a
// reduce lasts from the end of its shuffle to its end.
func (a attempt) took() (time.Duration, error) {
	start := a.start
	if a.reduce && !a.unshuffled() {
		start = a.shuffled
	}
	switch {
	case a.start < 0 || a.end < 0:
		return 0, errors.New("has no start or no end")
	// In milliseconds this bound is 58 days, longer than any attempt and far from an overflow.
	case a.end < start || a.end-start > mostSeconds:
		return 0, fmt.Errorf("ends %d ms after its start", a.end-start)
	}
	return time.Duration(a.end-start) * time.Millisecond, nil
}

// unshuffled reports whether the end of the shuffle of a reduce is unknown.
func (a attempt) unshuffled() bool {
	return a.shuffled < a.start || a.shuffled > a.end || a.shuffled <= 0
}

// record adds a task. task is its ID, for messages.
func (b *building) record(task string, a attempt) {
	took, err := a.took()
	if err != nil {
		b.fail("task %s %w", errs.Quote(task), err)
	}
	if b.err != nil {
		return
	}
	to := &b.MapTimes
	if a.reduce {
		to = &b.ReduceTimes
	}
	b.repeat(to, took, 1)
	plus := func(to *int64, n int64) { *to = min(*to+min(max(n, 0), mostBytes), mostBytes) }
	if a.reduce {
		plus(&b.copied, a.bytes)
	} else {
		plus(&b.ShuffleBytes, a.bytes)
		plus(&b.OutputBytes, a.written)
	}
	if a.reduce && a.unshuffled() {
		b.assumed.add(1, "reduces that last from their start, because the end of their shuffle is unknown")
	}
}

// repeat adds n tasks to a list of durations. If a job has more tasks than a workload may have, it
// adds one too many, which Set.add then refuses.
func (b *building) repeat(to *[]time.Duration, took time.Duration, n int64) {
	for range min(n, int64(b.most+1-len(*to))) {
		*to = append(*to, took)
	}
}

// submitted sets the moment of submission from milliseconds since 1970.
func (b *building) submitted(ms int64) {
	// The bound keeps a hostile number from overflowing when it becomes nanoseconds.
	b.Submit = time.Duration(min(max(ms, 0), mostSeconds*1000)) * time.Millisecond
}

// count computes the numbers of tasks and the bytes of each map: what all maps wrote for the
// reduces, or else what the reduces copied. A job without reduces has the bytes of its output.
func (b *building) count() {
	b.Maps, b.Reduces = len(b.MapTimes), len(b.ReduceTimes)
	switch {
	case b.Maps == 0 && b.Reduces > 0:
		b.fail("job %s has reduces and no map", errs.Quote(b.Name))
	case b.Maps == 0:
		b.fail("no map of job %s has succeeded", errs.Quote(b.Name))
	case b.ShuffleBytes == 0 && b.copied > 0:
		b.ShuffleBytes = b.copied
		b.assumed.add(1, "jobs whose maps write what their reduces copied, because the trace has no other number")
	}
	b.MapOutputBytes = b.emits() / int64(max(b.Maps, 1))
}

// emits returns the bytes that all maps of j write. The maps of a job without reduces write its
// output.
func (j *TraceJob) emits() int64 {
	if j.Reduces == 0 && j.ShuffleBytes == 0 {
		return j.OutputBytes
	}
	return j.ShuffleBytes
}

// build adds the job of b, or drops it as o says. It changes b.
func (s *Set) build(b *building, o Reading) error {
	if b.count(); b.err == nil && !slices.Contains([]string{"", "SUCCESS", "SUCCEEDED"}, b.outcome) {
		if o.SkipFailed {
			b.fail("ended as %s", b.outcome)
		}
		b.assumed.add(1, "jobs that did not succeed, of which the tasks that succeeded are taken")
	}
	return s.add(b, o, 1)
}

// add adds the job of b count times, or drops it as o says. Each of several jobs gets the name of b
// and its number. They share the lists of durations, so no function changes their elements.
func (s *Set) add(b *building, o Reading, count int) error {
	if b.err == nil {
		b.err = b.checkNames()
	}
	if b.err != nil {
		return s.refuse(b.At, b.err, o)
	}
	if s.tasks += count * (b.Maps + b.Reduces); s.tasks > b.most {
		return errs.Inputf(b.At, "%w", &Failure{true, fmt.Errorf("with job %s there are more than %d tasks", b.Name, b.most)})
	}
	if len(s.Jobs)+count > mostJobs {
		return errs.Inputf(b.At, "more than %d jobs; import a part", mostJobs)
	}
	for n := range count {
		j := b.TraceJob
		if count > 1 {
			j.Name = fmt.Sprintf("%s-%d", j.Name, n)
		}
		s.Jobs = append(s.Jobs, j)
	}
	s.dropped.addAll(b.dropped)
	s.assumed.addAll(b.assumed)
	return nil
}

// refuse returns err with its place at, or counts one more dropped job if o says so.
func (s *Set) refuse(at string, err error, o Reading) error {
	if o.SkipFailed {
		s.dropped.add(1, "jobs that failed or cannot be read")
		return nil
	}
	if placed, ok := errors.AsType[*errs.Error](err); ok {
		at, err = placed.Object, placed.Cause
	}
	return errs.Inputf(at, "%w", &Failure{Err: err})
}

// Account returns what was read, dropped and assumed, one line each, for a file with cluster c and
// rules t. It is called before Scale.
func (s *Set) Account(c Cluster, t Tasks) []string {
	var input, shuffle, output, emitted int64
	tasks := true
	maps, reduces := 0, 0
	for i := range s.Jobs {
		j := &s.Jobs[i]
		tasks = tasks && j.Maps > 0
		maps, reduces = maps+j.Maps, reduces+j.Reduces
		input += j.InputBytes
		shuffle += j.ShuffleBytes
		output += j.OutputBytes
		emitted += j.emits()
	}
	read := fmt.Sprintf("imported: jobs: %d; maps: %d; reduces: %d; bytes of map output: %d", len(s.Jobs), maps, reduces, emitted)
	assumed := slices.DeleteFunc([]string{s.assumed.String()}, func(text string) bool { return text == "nothing" })
	if !tasks {
		read = fmt.Sprintf("imported: jobs: %d; bytes of map input: %d, of shuffle: %d, of output: %d", len(s.Jobs), input, shuffle, output)
		assumed = append(assumed, t.Note())
	}
	if c.Trackers == 0 && s.Trackers == 0 || c.MapSlots == 0 || c.ReduceSlots == 0 {
		c = c.withDefaults(s.Trackers)
		assumed = append(assumed, fmt.Sprintf("cluster: %s, each with %s and %s", errs.Counted(c.Trackers, "tracker"), errs.Counted(c.MapSlots, "map slot"), errs.Counted(c.ReduceSlots, "reduce slot")))
	}
	return []string{read, "dropped: " + s.dropped.String(), "assumed: " + cmp.Or(strings.Join(assumed, "; "), "nothing")}
}

// Join returns a Set with the notes, pools, jobs and counts of all sets, in the order of sets. Times
// of submission do not change, and the jobs are not sorted by them. The result shares the lists of
// task durations with sets. Join fails with errs.BadInput if two jobs have the same name.
func Join(sets []*Set) (*Set, error) {
	all := &Set{}
	for _, s := range sets {
		all.Notes = append(all.Notes, s.Notes...)
		all.Pools = append(all.Pools, s.Pools...)
		all.Jobs = append(all.Jobs, s.Jobs...)
		all.Trackers = max(all.Trackers, s.Trackers)
		all.dropped.addAll(s.dropped)
		all.assumed.addAll(s.assumed)
	}
	return all, all.distinct()
}

// result returns what a Reader has read: s, or err. It fails if s has no jobs, unless some were dropped, or if two
// have the same name.
func (s *Set) result(name string, err error) (*Set, error) {
	if err != nil {
		return nil, err
	}
	if len(s.Jobs) == 0 && len(s.dropped) == 0 {
		return s, errs.Inputf(name, "no jobs")
	}
	return s, s.distinct()
}
