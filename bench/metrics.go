package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy/omo"
	"mrlocal/slots/report"
	"mrlocal/trace"
)

// metric returns the numbers of a metric of the run. words are the words in the brackets of an
// expression after the name of the run. It fails if there is no such metric, or if words do not fit
// it.
func (d *done) metric(name string, words []string) (value, error) {
	of, ok := ofRun()[name]
	switch {
	case (ok || name == "released" || name == "expected") && len(words) > 0:
		return value{}, fmt.Errorf("takes only runs, and not %s", strings.Join(words, ", "))
	case ok:
		return number(of(d)), nil
	}
	if of, ok := ofCores()[name]; ok && len(words) == 0 {
		if d.CPU == nil {
			return value{}, fmt.Errorf("needs cost l2, and a cluster with cores")
		}
		return number(of(d.CPU)), nil
	}
	switch name {
	case "last_batch":
		return value{v: d.lastBatches()}, nil
	case "released", "expected":
		return d.releasesOf(name), nil
	case "finish", "maps_done", "start", "response", "submit", "deadline":
		if len(words) != 1 {
			return value{}, fmt.Errorf("needs one job: %s[run, job]", name)
		}
		return d.ofJobs(name, words[0])
	case "utility", "utility_first", "utility_back":
		if want := map[bool]int{true: 2, false: 1}[name == "utility"]; len(words) != want {
			return value{}, fmt.Errorf("needs a job: %s[run, job]; utility also needs steps of %v", name, step)
		}
		return d.utility(name, words[0], words[len(words)-1])
	case "maps", "reduces":
		if len(words) != 2 {
			return value{}, fmt.Errorf("needs a pool and steps of %v, from 1: %s[run, pool, 4..7]", step, name)
		}
		return d.steps(name, words[0], words[1])
	}
	return value{}, fmt.Errorf("no such metric")
}

// ofRun returns the metrics of whole runs by name. Times are in seconds. docs/workloads.md describes
// them.
func ofRun() map[string]func(d *done) float64 {
	return map[string]func(d *done) float64{
		"makespan":    func(d *done) float64 { return d.MakespanSeconds },
		"mean_job":    func(d *done) float64 { return d.MeanJobSeconds() },
		"utilisation": func(d *done) float64 { return d.Utilisation },
		"moves":       func(d *done) float64 { return float64(d.Moves) },
		"jain":        func(d *done) float64 { return d.Jain },
		"hoarding":    func(d *done) float64 { return d.HoardingSlotSeconds },
		"lent":        func(d *done) float64 { return d.LentSlotSeconds },
		"map_phase":   func(d *done) float64 { return d.mapsEnd().Seconds() },
		// map_only, overlap and shuffle_only are the lengths of the stages of [OMO21, Fig. 13].
		"map_only":     func(d *done) float64 { return min(d.firstReduce(), d.mapsEnd()).Seconds() },
		"overlap":      func(d *done) float64 { return max(0, d.mapsEnd()-d.firstReduce()).Seconds() },
		"shuffle_only": func(d *done) float64 { return max(0, d.copyingEnd()-max(d.mapsEnd(), d.firstReduce())).Seconds() },
		// concurrency is the number of maps that run on a tracker, as a mean over trackers and time;
		// reducing is that of reduces.
		"concurrency": func(d *done) float64 { return d.running(trace.Map) },
		"reducing":    func(d *done) float64 { return d.running(trace.Reduce) },
		// These five are of Errors, for the release rates of [OMO21, Fig. 7] while maps run.
		"release_error":  func(d *done) float64 { return d.errors().Estimate },
		"release_before": func(d *done) float64 { return d.errors().Before },
		"release_spread": func(d *done) float64 { return d.errors().Constant },
		"release_fall":   func(d *done) float64 { e := d.errors(); return e.Gap - e.After },
		"spread_fall":    func(d *done) float64 { e := d.errors(); return e.ConstantGap - e.ConstantAfter },
		// spills is the mean number of spills of a map. spilled_bytes is what all maps spill together.
		"spills": func(d *done) float64 { return d.share(func(c *report.Counters) int64 { return c.Spills }) },
		"spilled_bytes": func(d *done) float64 {
			return d.sum(func(j *report.JobReport) int64 { return j.Counters.SpilledBytes })
		},
		"goals_met":    func(d *done) float64 { return d.sum(goalMet) },
		"local":        func(d *done) float64 { return d.share(func(c *report.Counters) int64 { return c.DataLocalMaps }) },
		"task_maps":    func(d *done) float64 { return d.sum(func(j *report.JobReport) int64 { return int64(j.Maps) }) },
		"task_reduces": func(d *done) float64 { return d.sum(func(j *report.JobReport) int64 { return int64(j.Reduces) }) },
		"speculative": func(d *done) float64 {
			return d.sum(func(j *report.JobReport) int64 { return j.Counters.SpeculativeMaps })
		},
	}
}

// ofCores returns the metrics of cores and networks by name. Metrics of cores are shares of all
// core-seconds: of the run, or of its map phase. net is in bytes a second.
func ofCores() map[string]func(c *report.CPU) float64 {
	return map[string]func(c *report.CPU) float64{
		"user":       func(c *report.CPU) float64 { return c.Run.User },
		"sys":        func(c *report.CPU) float64 { return c.Run.System },
		"iowait":     func(c *report.CPU) float64 { return c.Run.IOWait },
		"idle":       func(c *report.CPU) float64 { return c.Run.Idle },
		"net":        func(c *report.CPU) float64 { return c.Run.NetBytesPerSecond },
		"map_user":   func(c *report.CPU) float64 { return c.MapPhase.User },
		"map_sys":    func(c *report.CPU) float64 { return c.MapPhase.System },
		"map_iowait": func(c *report.CPU) float64 { return c.MapPhase.IOWait },
		"map_idle":   func(c *report.CPU) float64 { return c.MapPhase.Idle },
	}
}

// running returns how many tasks of a kind run on a tracker, as a mean over trackers and time.
func (d *done) running(kind trace.Kind) float64 {
	return d.slotTime(kind) / d.MakespanSeconds / float64(d.Config.Trackers)
}

// inputs returns the metrics whose values come from the workload file and not from a run.
func inputs() []string { return []string{"task_maps", "task_reduces", "submit", "deadline"} }

// goalMet returns 1 if the job has a deadline and ended by it, else 0.
func goalMet(j *report.JobReport) int64 {
	if j.DeadlineS != nil && j.FinishS <= *j.DeadlineS {
		return 1
	}
	return 0
}

// job returns the index of a job in the report; negative: there is none.
func (d *done) job(name string) int {
	return slices.IndexFunc(d.Jobs, func(j report.JobReport) bool { return j.Name == name })
}

// ofJobs returns a moment or a time of a job in seconds, by name; for * that of each job, in the order of the file.
func (d *done) ofJobs(name, job string) (v value, err error) {
	for i := range d.Jobs {
		j := &d.Jobs[i]
		if j.Name != job && job != "*" {
			continue
		}
		deadline := 0.0
		if j.DeadlineS != nil {
			deadline = *j.DeadlineS
		}
		v.v = append(v.v, map[string]float64{
			"finish": j.FinishS, "maps_done": j.MapsDoneS, "start": j.StartS, "response": j.FinishS - j.SubmitS, "submit": j.SubmitS, "deadline": deadline,
		}[name])
		if job == "*" {
			v.x = append(v.x, float64(i+1))
		}
	}
	if v.v == nil {
		return v, fmt.Errorf("no job %s", job)
	}
	return v, nil
}

// sum returns the sum of a number over all jobs.
func (d *done) sum(of func(j *report.JobReport) int64) (sum float64) {
	for i := range d.Jobs {
		sum += float64(of(&d.Jobs[i]))
	}
	return sum
}

// share returns the sum of a counter over all jobs, divided by the number of maps that were started.
func (d *done) share(of func(c *report.Counters) int64) float64 {
	return d.sum(func(j *report.JobReport) int64 { return of(&j.Counters) }) / d.sum(func(j *report.JobReport) int64 { return j.Counters.LaunchedMaps })
}

// step is the length of a step of metrics over time, as in [DHFS13, Fig. 5].
const step = 10 * time.Second

// steps returns the number of running tasks of a pool at the start of each step, * of all pools. kind
// is maps or reduces. which is a step (4), a range (4..7) or * for all steps. Steps count from 1.
func (d *done) steps(kind, pool, which string) (v value, err error) {
	k := map[string]trace.Kind{"maps": trace.Map, "reduces": trace.Reduce}[kind]
	p := slices.Index(d.line.Pools, pool)
	if p < 0 && pool != "*" {
		return v, fmt.Errorf("no pool %s", pool)
	}
	first, last, err := stepRange(which, d.MakespanSeconds)
	if err != nil {
		return v, err
	}
	counts := d.line.Counts(step)
	for i := first; i <= last; i++ {
		n := 0
		if i <= len(counts) {
			for of := range counts[i-1] {
				if of == p || p < 0 {
					n += counts[i-1][of][k]
				}
			}
		}
		v.v = append(v.v, float64(n))
		v.x = append(v.x, float64(i))
	}
	return v, nil
}

// stepRange returns the first and the last step of which, as steps describes it. For * the last step
// is the one that contains the time end, in seconds.
func stepRange(which string, end float64) (first, last int, err error) {
	first, last = 1, int(end/step.Seconds())+1
	if which == "*" {
		return first, last, nil
	}
	from, to, several := strings.Cut(which, "..")
	if !several {
		to = from
	}
	if first, err = strconv.Atoi(from); err == nil {
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("%s is not a range of steps", which)
	}
	return first, last, nil
}

// releasesOf returns a metric of [OMO21, Fig. 7] by windows of length step. If name is expected, it is
// the number of containers that OMO's monitor expected at the beginning of a window. Otherwise it is
// the number that was released in the window. x is the beginning of the window in seconds.
func (d *done) releasesOf(name string) (v value) {
	for _, w := range d.releases.Windows() {
		n := float64(w.Released)
		if name == "expected" {
			n = w.Expected
		}
		v.v, v.x = append(v.v, n), append(v.x, w.From.Seconds())
	}
	return v
}

// Errors has mean absolute errors of estimates of release rates over the windows of a run, in
// containers per window. The first window does not count, because its monitor has seen no release.
type Errors struct {
	Estimate float64 // error of the monitor's estimate
	Before   float64 // error of the releases of the window before
	Constant float64 // error of a constant: the mean of all windows, which is known only afterwards
	// Errors of the estimate and of the constant in windows after a gap, which differ from the window before by more
	// than Before, and in the windows that follow those.
	Gap, After, ConstantGap, ConstantAfter float64
}

// errors returns the errors while maps run.
func (d *done) errors() Errors { return ErrorsOf(d.releases.Windows(), d.mapsEnd()) }

// ErrorsOf returns the errors of the estimates in the windows of a run that begin before the time end. All errors
// are 0 if there are fewer than three of them.
func ErrorsOf(windows []omo.Window, end time.Duration) (e Errors) {
	windows = slices.DeleteFunc(slices.Clone(windows), func(w omo.Window) bool { return w.From >= end })
	if len(windows) < 3 {
		return e
	}
	windows = windows[1:]
	mean := 0.0
	for i, w := range windows {
		mean += float64(w.Released) / float64(len(windows))
		if i > 0 {
			e.Before += math.Abs(float64(w.Released-windows[i-1].Released)) / float64(len(windows)-1)
		}
	}
	gaps := 0.0 // number of windows after a gap
	for i, w := range windows {
		wrong := math.Abs(w.Expected - float64(w.Released))
		e.Estimate += wrong / float64(len(windows))
		e.Constant += math.Abs(mean-float64(w.Released)) / float64(len(windows))
		if i > 0 && i+1 < len(windows) && math.Abs(float64(w.Released-windows[i-1].Released)) > e.Before {
			next := windows[i+1]
			gaps++
			e.Gap += wrong
			e.After += math.Abs(next.Expected - float64(next.Released))
			e.ConstantGap += math.Abs(mean - float64(w.Released))
			e.ConstantAfter += math.Abs(mean - float64(next.Released))
		}
	}
	for _, sum := range []*float64{&e.Gap, &e.After, &e.ConstantGap, &e.ConstantAfter} {
		*sum /= max(gaps, 1)
	}
	return e
}

// utilities has the utilities of the jobs of a run under ras, after each control cycle [RAS11,
// Fig. 5 and 6(b)]. The list of a job is in the order of time.
type utilities map[slots.JobID][]judged

// judged is the utility of a job from a time on.
type judged struct {
	from    time.Duration
	utility float64
}

// leastUtility stands for minus infinity: the utility of a job without a placed task. With one map
// and no reduce placed the utility is -2.
const leastUtility = -3

// record adds the utility of a job after a control cycle.
func (u utilities) record(now time.Duration, job slots.JobID, utility float64) {
	u[job] = append(u[job], judged{now, math.Max(utility, leastUtility)})
}

// at returns the utility of a job at a time. Before its first control cycle it is leastUtility.
func (u utilities) at(job slots.JobID, at time.Duration) float64 {
	last := float64(leastUtility)
	for _, j := range u[job] {
		if j.from > at {
			break
		}
		last = j.utility
	}
	return last
}

// utility returns a metric of a job's utility, by name:
//
//	utility        the utility at the start of each step; which is as in steps
//	utility_first  the utility when the first task of the job is placed
//	utility_back   the time in seconds at which the utility is 0 or more again, after it was below 0
func (d *done) utility(name, job, which string) (v value, err error) {
	id := slots.JobID(d.job(job))
	switch {
	case id < 0:
		return v, fmt.Errorf("no job %s", job)
	case len(d.utilities[id]) == 0:
		return v, fmt.Errorf("only jobs under ras have a utility")
	case name == "utility":
		first, last, err := stepRange(which, d.Jobs[id].FinishS)
		for i := first; i <= last; i++ {
			v.v = append(v.v, d.utilities.at(id, time.Duration(i-1)*step))
			v.x = append(v.x, step.Seconds()*float64(i-1))
		}
		return v, err
	}
	below := false // the utility has been below 0
	for _, j := range d.utilities[id] {
		switch {
		case name == "utility_first" && j.utility > leastUtility:
			return number(j.utility), nil
		case name == "utility_back" && below && j.utility >= 0:
			return number(j.from.Seconds()), nil
		}
		below = below || j.utility < 0
	}
	// The utility never gets there, so the end of the run stands for the time.
	return number(d.MakespanSeconds), nil
}

// measures has the attempts of a run, for what its report does not have:
//
//	the stages of map and shuffle [OMO21, Fig. 13]
//	how many maps of a job end together [OMO21, Fig. 8]
//	the running tasks of each pool [DHFS13, Fig. 5]
type measures struct{ line trace.Timeline }

// firstReduce returns the start of the first reduce; negative: none has started.
func (m *measures) firstReduce() time.Duration {
	for i := range m.line.Spans {
		if s := &m.line.Spans[i]; s.Kind == trace.Reduce {
			return s.From
		}
	}
	return trace.Never
}

// mapsEnd returns the end of the last map that finished its task.
func (m *measures) mapsEnd() (end time.Duration) {
	for i := range m.line.Spans {
		if s := &m.line.Spans[i]; s.Kind == trace.Map && s.Done {
			end = max(end, s.To)
		}
	}
	return end
}

// copyingEnd returns the end of the last copy phase: a reduce that enters its next phase has copied everything.
func (m *measures) copyingEnd() (end time.Duration) {
	for _, p := range m.line.Phases {
		if m.line.Spans[p.Span].Kind == trace.Reduce && p.Phase != trace.PhaseCopy {
			end = max(end, p.At)
		}
	}
	return end
}

// lastWindow is the length of a job's last batch of maps [OMO21, section V-C]. Its maps end within
// this time before the end of the last map.
const lastWindow = 10 * time.Second

// lastBatches returns the size of each job's last batch of maps, in the order of job numbers. It leaves
// out jobs without a map that finished its task.
func (m *measures) lastBatches() (sizes []float64) {
	ends := map[int32][]time.Duration{}
	for i := range m.line.Spans {
		if s := &m.line.Spans[i]; s.Kind == trace.Map && s.Done {
			ends[s.Job] = append(ends[s.Job], s.To)
		}
	}
	for _, job := range slices.Sorted(maps.Keys(ends)) {
		last, n := slices.Max(ends[job]), 0
		for _, at := range ends[job] {
			if last-at <= lastWindow {
				n++
			}
		}
		sizes = append(sizes, float64(n))
	}
	return sizes
}

// slotTime returns the slot-seconds of all attempts of a kind that have ended.
func (m *measures) slotTime(kind trace.Kind) float64 {
	var sum time.Duration
	for i := range m.line.Spans {
		if s := &m.line.Spans[i]; s.Kind == kind {
			sum += max(0, s.To-s.From)
		}
	}
	return sum.Seconds()
}
