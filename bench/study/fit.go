package study

import (
	"cmp"
	"math"
	"slices"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/internal/stats"
	"mrlocal/trace"
	"mrlocal/workload"
)

// quantiles is the number of quantiles of the times that are kept, evenly spaced from 5 % to 95 %. The
// shortest and the longest times of a sample depend more on other programs than on the job.
const quantiles = 7

// leastSample is the least number of attempts whose median is used.
const leastSample = 3

// sameDivision is the largest ratio of the mean map inputs, in bytes, of two runs of the same division.
const sameDivision = 1.3

// Fit turns runs of one job alone into a workload.Stage for each job of its chain. It also returns
// warmUp, by how much longer the first map on a slot takes. At least one run must have a single map
// slot and a single reduce slot, because tasks run alone only in such a run.
func Fit(runs []*Run) (stages []workload.Stage, warmUp time.Duration) {
	for _, r := range runs {
		r.setConcurrency()
	}
	first := runs[0]
	var cold []float64
	for i := range first.stages {
		f := stageFit{Stage: workload.Stage{Size: newStageOf(first, i).Size}}
		// The first job of a chain is submitted some time after the start of the run. Later ones follow
		// the job before.
		if i == 0 {
			f.Start = toTime(stats.Median(figures(runs, func(r *Run) float64 { return r.stages[0].submitted.Seconds() })))
		}
		// reduceFixed comes before division, which subtracts the fixed time. mapFixed and tasks
		// need the times of all divisions.
		f.divide(runs, i)
		f.reduceFixed()
		for n := range f.groups {
			f.Divided = append(f.Divided, f.division(&f.groups[n]))
		}
		f.mapFixed()
		f.tasks(&f.Map, trace.Map)
		f.tasks(&f.Reduce, trace.Reduce)
		if i == 0 { // a chain goes on with warm slots
			cold = f.cold()
		}
		stages = append(stages, f.Stage)
	}
	return stages, max(0, toTime(stats.Median(cold))).Round(100 * time.Microsecond)
}

// stageFit computes a workload.Stage. Its methods run in the order of Fit, because each uses the
// results of earlier ones. First come the times of tasks alone, then their spread, then the
// slowdown.
type stageFit struct {
	workload.Stage
	groups []group // by division, in ascending order of mapBytes
}

// group has the runs of one division: the maps of these runs have inputs of nearly the same size.
type group struct {
	mapBytes float64 // the mean input of a map, in bytes, in the first run of the group
	runs     []stageOf
}

// stageOf is one stage of a run, with the size of its work.
type stageOf struct {
	run *Run
	*stageRun
	workload.Size
	copied int64 // bytes of map outputs that all reduces together have copied
}

// newStageOf returns a stage of a run. It counts the attempts that committed.
func newStageOf(r *Run, stage int) stageOf {
	s := stageOf{run: r, stageRun: &r.stages[stage]}
	for _, a := range s.attempts {
		if a.Kind == trace.Map {
			s.Maps++
			s.InputBytes += a.bytes
		} else {
			s.Reduces++
			s.copied += a.bytes
		}
	}
	return s
}

// divide puts the runs into groups. A run without maps of this stage is left out.
func (f *stageFit) divide(runs []*Run, stage int) {
	var all []stageOf
	for _, r := range runs {
		if stage >= len(r.stages) {
			continue
		}
		if s := newStageOf(r, stage); s.Maps > 0 {
			all = append(all, s)
		}
	}
	// The last map of a file has a smaller input, so the means are compared.
	mean := func(s *stageOf) float64 { return float64(s.InputBytes) / float64(s.Maps) }
	slices.SortStableFunc(all, func(a, b stageOf) int { return cmp.Compare(mean(&a), mean(&b)) })
	// The runs are sorted by the mean input of a map. A run that is too far above the first run of
	// the last group begins a new group.
	for _, s := range all {
		if n := len(f.groups); n == 0 || mean(&s) > sameDivision*f.groups[n-1].mapBytes {
			f.groups = append(f.groups, group{mapBytes: mean(&s)})
		}
		g := &f.groups[len(f.groups)-1]
		g.runs = append(g.runs, s)
	}
}

// times returns the times of the attempts of a kind, in seconds, that ran alone on the machine and were not
// the first on their slot. If there are none, it returns those of the first ones.
func (s *stageOf) times(kind trace.Kind) (all []float64) {
	var cold []float64
	for i := range s.attempts {
		a := &s.attempts[i]
		switch {
		case a.Kind != kind || math.Round(a.concurrent) != 1:
		case a.First:
			cold = append(cold, a.seconds())
		default:
			all = append(all, a.seconds())
		}
	}
	if len(all) == 0 {
		return cold
	}
	return all
}

// reduceMiB returns how many MiB a reduce copies on average.
func (s *stageOf) reduceMiB() float64 {
	return float64(s.copied) / float64(max(1, s.Reduces)) / (1 << 20)
}

// reduceFixed sets the time of a reduce that copies nothing, Reduce.Fixed. It fits a line through the
// mean times of two runs of one division: that with the fewest and that with the most reduces. It uses
// the first division whose runs differ enough. Without one, the time stays 0.
func (f *stageFit) reduceFixed() {
	for i := range f.groups {
		runs := f.groups[i].runs
		byReduces := func(a, b stageOf) int { return cmp.Compare(a.Reduces, b.Reduces) }
		least, most := slices.MinFunc(runs, byReduces).Reduces, slices.MaxFunc(runs, byReduces).Reduces
		var x, y [2][]float64 // MiB and seconds of a reduce, in runs with the fewest and with the most reduces
		for n := range runs {
			s := &runs[n]
			times := s.times(trace.Reduce)
			for side, reduces := range [2]int{least, most} {
				if s.Reduces == reduces && len(times) > 0 {
					x[side], y[side] = append(x[side], s.reduceMiB()), append(y[side], mean(times))
				}
			}
		}
		// If the reduces of both have nearly the same size, the slope of the line depends on chance.
		if len(x[0]) == 0 || len(x[1]) == 0 || stats.Median(x[0]) < sameDivision*stats.Median(x[1]) {
			continue
		}
		slope := (stats.Median(y[0]) - stats.Median(y[1])) / (stats.Median(x[0]) - stats.Median(x[1]))
		// A line that is below 0 at 0 bytes means that the fixed time is too short to measure.
		f.Reduce.Fixed = max(0, toTime(stats.Median(y[1])-max(0, slope)*stats.Median(x[1])))
		return
	}
}

// mapFixed sets the time of a map without input, Map.Fixed. It is on the line through the times of the
// two divisions with the smallest maps.
func (f *stageFit) mapFixed() {
	if len(f.Divided) < 2 {
		return
	}
	a, b := &f.Divided[0], &f.Divided[1]
	slope := float64(b.Map-a.Map) / float64(b.MapBytes-a.MapBytes)
	f.Map.Fixed = max(0, a.Map-time.Duration(max(0, slope)*float64(a.MapBytes))).Round(time.Microsecond)
}

// division returns the figures of a group, as medians over its runs. They are the time of a map,
// the map output for each byte of input, and the time of a reduce for each MiB. The time of a
// reduce is without its fixed part.
func (f *stageFit) division(g *group) workload.Division {
	var maps, perMiB, ratios []float64
	for i := range g.runs {
		s := &g.runs[i]
		maps = append(maps, s.times(trace.Map)...)
		if s.InputBytes > 0 {
			ratios = append(ratios, float64(s.copied)/float64(s.InputBytes))
		}
		// The mean of a run counts, because reduces of one run may have parts of different sizes.
		if times := s.times(trace.Reduce); len(times) > 0 && s.reduceMiB() > 0 {
			perMiB = append(perMiB, max(0, mean(times)-f.Reduce.Fixed.Seconds())/s.reduceMiB())
		}
	}
	return workload.Division{MapBytes: max(1, int64(g.mapBytes)), Map: toTime(stats.Median(maps)), OutputRatio: ppm.Near(stats.Median(ratios)), ReducePerMiB: toTime(stats.Median(perMiB))}
}

// expected returns the median time, in seconds, that a task of this stage and kind takes alone. It
// follows from the bytes of the task. 0 means that the time is unknown.
func (f *stageFit) expected(s *stageOf, kind trace.Kind) float64 {
	d := f.Divide(s.InputBytes / int64(max(1, s.Maps)))
	if kind == trace.Map {
		return d.Map.Seconds()
	}
	return f.Reduce.Fixed.Seconds() + d.ReducePerMiB.Seconds()*s.reduceMiB()
}

// each calls do with each attempt of a kind and its expected time in seconds. It leaves out stages
// whose expected time is unknown.
func (f *stageFit) each(kind trace.Kind, do func(s *stageOf, a *measuredAttempt, expected float64)) {
	for i := range f.groups {
		for n := range f.groups[i].runs {
			s := &f.groups[i].runs[n]
			expected := f.expected(s, kind)
			if expected <= 0 {
				continue
			}
			for k := range s.attempts {
				if a := &s.attempts[k]; a.Kind == kind {
					do(s, a, expected)
				}
			}
		}
	}
}

// tasks sets the figures of t that do not depend on the division. They are the share of a core that
// tasks of this kind use, the spread of their times, and the slowdown. It divides each time by the
// expected one, so that tasks of different sizes can be compared.
func (f *stageFit) tasks(t *workload.TaskTimes, kind trace.Kind) {
	var ratios, warm []float64
	var cpu, seconds float64
	f.each(kind, func(_ *stageOf, a *measuredAttempt, expected float64) {
		// Only attempts that ran alone show what a task needs by itself.
		if math.Round(a.concurrent) != 1 {
			return
		}
		ratios = append(ratios, a.seconds()/expected)
		if !a.First {
			warm = append(warm, a.seconds()/expected)
		}
		cpu += a.CPU.Seconds()
		for p, d := range a.Phases {
			// A reduce that copies or is held mostly waits for maps. This time does not count.
			if p := trace.Phase(p); p != trace.PhaseCopy && p != trace.PhaseHeld {
				seconds += d.Seconds()
			}
		}
	})
	// The first attempt on a slot takes longer, so it counts only if there are no others.
	if len(warm) > 0 {
		ratios = warm
	}
	if seconds > 0 {
		t.CPU = ppm.Near(cpu / seconds)
	}
	t.Spread = spreadOf(ratios)
	t.Slowdown = f.slowdown(kind, ratios)
}

// slowdown returns factors by which tasks of a kind take longer while 1, 2, ... attempts are at work on
// the machine. The effect of sharing a core is not part of them. alone has the relative times of tasks
// that run alone.
func (f *stageFit) slowdown(kind trace.Kind, alone []float64) []ppm.Share {
	var by [][]float64
	f.each(kind, func(s *stageOf, a *measuredAttempt, expected float64) {
		k := int(math.Round(a.concurrent))
		if k < 2 || a.First {
			return
		}
		// by[k-2] has the relative times of attempts with k at work.
		for len(by) < k-1 {
			by = append(by, nil)
		}
		// had is the time that the attempt would have taken with a core of its own.
		had := s.run.integrate(a, func(core, _ []*measuredAttempt) float64 { return f.share(core, kind) })
		by[k-2] = append(by[k-2], had/expected)
	})
	// A factor is the median with k at work divided by that alone, and at least 1.
	all := []ppm.Share{ppm.One}
	for _, ratios := range by {
		// If there are too few attempts for this number, the factor of one fewer is used.
		slow := all[len(all)-1]
		if len(ratios) >= leastSample && len(alone) > 0 {
			slow = max(ppm.One, ppm.Near(stats.Median(ratios)/stats.Median(alone)))
		}
		all = append(all, slow)
	}
	return all
}

// share returns the speed of an attempt divided by its speed alone. core has the attempts on its core,
// itself included. share assumes that all of them use as much of the core as tasks of this kind.
func (f *stageFit) share(core []*measuredAttempt, kind trace.Kind) float64 {
	cpu := [...]ppm.Share{trace.Map: f.Map.CPU, trace.Reduce: f.Reduce.CPU}[kind]
	return min(1, float64(ppm.One)/(float64(len(core))*float64(min(cmp.Or(cpu, ppm.One), ppm.One))))
}

// cold returns by how many seconds the first map on each slot took longer than expected. Such a map is
// the first to touch the memory of its slot and code that is not in the caches.
func (f *stageFit) cold() (all []float64) {
	f.each(trace.Map, func(s *stageOf, a *measuredAttempt, expected float64) {
		if a.First {
			had := s.run.integrate(a, func(core, _ []*measuredAttempt) float64 { return f.share(core, trace.Map) })
			k := min(int(math.Round(a.concurrent)), len(f.Map.Slowdown))
			all = append(all, had*float64(ppm.One)/float64(f.Map.Slowdown[k-1])-expected)
		}
	})
	return all
}

// seconds returns the time of the work of a in seconds, scaled to the middle speed of the machine.
func (a *measuredAttempt) seconds() float64 { return (a.To - a.from).Seconds() / cmp.Or(a.slower, 1) }

// spreadOf returns the quantiles of ratios, scaled so that a distribution drawn between them has the
// mean of ratios. Without the scaling it would lack the long tail of the sample, and tasks would be
// too short on average. It returns nil if there are no ratios.
func spreadOf(ratios []float64) []ppm.Share {
	if len(ratios) == 0 {
		return nil
	}
	// area is the mean of the distribution that is linear between the quantiles.
	at, area := points(ratios), 0.0
	for i := 1; i < len(at); i++ {
		area += (at[i] + at[i-1]) / 2 / (quantiles - 1)
	}
	all := make([]ppm.Share, quantiles)
	for i := range at {
		all[i] = ppm.Near(at[i] * mean(ratios) / area)
	}
	return all
}

// points returns the quantiles of a sample from 5 % to 95 %, evenly spaced. The sample must not be empty.
func points(sample []float64) (all []float64) {
	sorted := slices.Sorted(slices.Values(sample))
	for i := range quantiles {
		all = append(all, stats.Quantile(sorted, 0.05+0.9*float64(i)/(quantiles-1)))
	}
	return all
}

// toTime returns seconds as a duration in whole microseconds, since measured times are not more
// precise.
func toTime(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
}

// mean returns the mean of a sample, which must not be empty.
func mean(sample []float64) float64 { return stats.IntervalOf(sample).Mean }

// figures returns a figure of each of all.
func figures[T, F any](all []T, of func(T) F) (sample []F) {
	for _, x := range all {
		sample = append(sample, of(x))
	}
	return sample
}
