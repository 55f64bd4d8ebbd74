package predict

import (
	"math"
	"slices"
	"time"

	"mrlocal/internal/ppm"
	"mrlocal/trace"
	"mrlocal/workload"
)

// quantiles is how many quantiles of the times are kept, from the 5 % to the 95 % one. The
// outermost times of a sample say more about the machine's other work than about the job.
const quantiles = 7

// Fit returns what runs of one job alone say about each job of its chain, and the time by
// which the first attempt on a slot is longer. Runs must have different numbers of slots, at
// least one of them a single map and a single reduce slot.
func Fit(runs []*Run) (stages []workload.Stage, warmUp time.Duration) {
	for _, r := range runs {
		r.crowd()
	}
	first := runs[0]
	var extra []float64
	for i := range first.stages {
		s := workload.Stage{Start: first.stages[i].submitted}
		if i > 0 {
			s.Start = 0
		}
		copied := int64(0)
		for _, a := range first.stages[i].attempts {
			if a.kind == trace.Map {
				s.Maps++
				s.InputBytes += a.bytes
			} else {
				s.Reduces++
				copied += a.bytes
			}
		}
		if s.InputBytes > 0 {
			s.OutputRatio = ppm.Near(float64(copied) / float64(s.InputBytes))
		}
		for kind, to := range []*workload.TaskTimes{trace.Map: &s.Map, trace.Reduce: &s.Reduce} {
			var all []attempt
			for _, r := range runs {
				if i >= len(r.stages) {
					continue
				}
				for _, a := range r.stages[i].attempts {
					if a.kind == trace.Kind(kind) {
						all = append(all, a)
					}
				}
			}
			t := fit(all)
			*to = t.TaskTimes
			for _, a := range all {
				// A slot of the first job alone is cold; a chain goes on with warm ones.
				if a.first && i == 0 && a.kind == trace.Map {
					extra = append(extra, a.seconds()/t.slower(a.concurrent)-t.of(&a))
				}
			}
		}
		stages = append(stages, s)
	}
	if len(extra) > 0 {
		warmUp = time.Duration(max(0, median(extra)) * float64(time.Second))
	}
	return stages, warmUp.Round(100 * time.Microsecond)
}

func (a *attempt) seconds() float64 { return (a.to - a.from).Seconds() }

func (a *attempt) mib() float64 { return float64(a.bytes) / (1 << 20) }

// fitted is TaskTimes while they are measured.
type fitted struct{ workload.TaskTimes }

// of returns the time of an attempt alone, in seconds.
func (t *fitted) of(a *attempt) float64 {
	return t.Fixed.Seconds() + t.PerMiB.Seconds()*a.mib()
}

// slower returns the slowdown among so many attempts, between two that were measured if it is
// no whole number.
func (t *fitted) slower(concurrent float64) float64 {
	if len(t.Slowdown) == 0 {
		return 1
	}
	at := min(max(concurrent-1, 0), float64(len(t.Slowdown)-1))
	i := int(at)
	low, high := t.Slowdown[i], t.Slowdown[min(i+1, len(t.Slowdown)-1)]
	return (float64(low) + (at-float64(i))*float64(high-low)) / float64(ppm.One)
}

// fit returns the times of the attempts of one kind.
func fit(all []attempt) (t fitted) {
	if len(all) == 0 {
		return t
	}
	alone := among(all, 1)
	if len(alone) == 0 {
		alone = all // all are the first on their slot
	}
	t.Fixed, t.PerMiB = line(alone)
	var ratios, cpu []float64
	for i := range alone {
		if of := t.of(&alone[i]); of > 0 {
			ratios = append(ratios, alone[i].seconds()/of)
			cpu = append(cpu, alone[i].cpu.Seconds()/max(alone[i].seconds(), 1e-9))
		}
	}
	t.Spread, t.CPU = spread(ratios), ppm.Near(median(cpu))
	most := 1
	for i := range all {
		most = max(most, int(math.Round(all[i].concurrent)))
	}
	t.Slowdown = []ppm.Share{ppm.One}
	for k := 2; k <= most; k++ {
		slow := t.Slowdown[k-2]
		var by []float64
		for _, a := range among(all, k) {
			if of := t.of(&a); of > 0 {
				by = append(by, a.seconds()/of)
			}
		}
		if len(by) > 0 {
			// More tasks at a time never make each of them faster.
			slow = max(slow, ppm.Near(mean(by)/mean(ratios)))
		}
		t.Slowdown = append(t.Slowdown, slow)
	}
	return t
}

// among returns the attempts that ran with so many at a time and were not the first on their
// slot.
func among(all []attempt, k int) (some []attempt) {
	for _, a := range all {
		if !a.first && math.Round(a.concurrent) == float64(k) {
			some = append(some, a)
		}
	}
	return some
}

// line returns the time for no bytes, and for each MiB, by the medians of the smaller and of
// the larger inputs. Where all inputs are alike, all time is by the byte.
func line(all []attempt) (fixed, perMiB time.Duration) {
	least, most := all[0].bytes, all[0].bytes
	for _, a := range all {
		least, most = min(least, a.bytes), max(most, a.bytes)
	}
	var small, large []attempt
	for _, a := range all {
		if a.bytes < least+(most-least)/2 {
			small = append(small, a)
		} else {
			large = append(large, a)
		}
	}
	times := func(some []attempt) (mib, seconds float64) {
		var m, s []float64
		for i := range some {
			m, s = append(m, some[i].mib()), append(s, some[i].seconds())
		}
		return median(m), median(s)
	}
	x2, y2 := times(large)
	if x2 == 0 {
		return toTime(y2), 0
	}
	if len(small) > 0 {
		if x1, y1 := times(small); x2 > 1.3*x1 && y2 > y1 {
			slope := (y2 - y1) / (x2 - x1)
			// No time is negative: then all of it is by the byte.
			if rest := y2 - slope*x2; rest >= 0 {
				return toTime(rest), toTime(slope)
			}
		}
	}
	return 0, toTime(y2 / x2)
}

// spread returns quantiles of ratios whose mean is that of the ratios.
func spread(ratios []float64) []ppm.Share {
	if len(ratios) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(ratios))
	points := make([]float64, quantiles)
	area := 0.0
	for i := range points {
		at := (0.05 + 0.9*float64(i)/(quantiles-1)) * float64(len(sorted)-1)
		low := int(at)
		high := min(low+1, len(sorted)-1)
		points[i] = sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
		if i > 0 {
			area += (points[i] + points[i-1]) / 2 / (quantiles - 1)
		}
	}
	all := make([]ppm.Share, quantiles)
	for i := range points {
		all[i] = ppm.Near(points[i] * mean(ratios) / area)
	}
	return all
}

func toTime(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func mean(all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	return sum / float64(len(all))
}
