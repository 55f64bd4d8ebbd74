package workload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"mrlocal/internal/ppm"
	"mrlocal/slots/setup"
)

// Measured holds the results of mrlocal profile: a machine, and jobs that ran alone on it.
// File.Predicted uses it to simulate a file.
type Measured struct {
	Cores  int
	WarmUp time.Duration // the additional time of the first attempt on each slot of a run
	Probe  Probe         // the speed of the machine during the measurement; zero: not known

	Jobs []ProfiledJob
}

// Probe is the time of a fixed piece of work on one thread, which no job influences. A zero time
// is not known.
type Probe struct {
	Alone time.Duration // while the other cores are idle
	All   time.Duration // while all cores do the same work
}

// Slower returns p divided by first, alone and on all cores: above 1 the machine is slower than
// it was at first. A ratio is 1 if one of its two times is not known.
func (p Probe) Slower(first Probe) (alone, all float64) {
	ratio := func(now, first time.Duration) float64 {
		if now <= 0 || first <= 0 {
			return 1
		}
		return float64(now) / float64(first)
	}
	return ratio(p.Alone, first.Alone), ratio(p.All, first.All)
}

// SlowerBeside returns the factor by which a task takes longer on a machine that has become slower,
// while k tasks run on it. alone and all are the results of Probe.Slower. The factor is alone for
// one task, and all for at least as many tasks as cores. Between these two numbers of tasks it is on
// a straight line. On a machine of one core it is always all.
func SlowerBeside(k float64, cores int, alone, all float64) float64 {
	if cores < 2 {
		return all
	}
	return alone + (all-alone)*min(1, max(0, k-1)/float64(cores-1))
}

// Slowed returns a copy of m for a machine that has become slower. alone and all are the results
// of Probe.Slower. All times are multiplied by SlowerBeside for one task. A slowdown next to k tasks
// is multiplied by SlowerBeside for k tasks, divided by that for one. m does not change.
func (m *Measured) Slowed(alone, all float64) *Measured {
	slow := *m
	one := SlowerBeside(1, m.Cores, alone, all)
	scale := func(d *time.Duration) {
		*d = time.Duration(min(math.Round(float64(*d)*one), float64(setup.MostTime)))
	}
	contend := func(u *Use) {
		u.Slowdown = slices.Clone(u.Slowdown)
		for i, s := range u.Slowdown {
			u.Slowdown[i] = max(ppm.One, ppm.Near(float64(s)/float64(ppm.One)*SlowerBeside(float64(i+1), m.Cores, alone, all)/one))
		}
	}
	scale(&slow.WarmUp)
	slow.Jobs = slices.Clone(m.Jobs)
	for i := range slow.Jobs {
		j := &slow.Jobs[i]
		j.Stages = slices.Clone(j.Stages)
		for n := range j.Stages {
			s := &j.Stages[n]
			s.Divided = slices.Clone(s.Divided)
			contend(&s.Map.Use)
			contend(&s.Reduce.Use)
			scale(&s.Start)
			scale(&s.Map.Fixed)
			scale(&s.Reduce.Fixed)
			for k := range s.Divided {
				scale(&s.Divided[k].Map)
				scale(&s.Divided[k].ReducePerMiB)
			}
		}
	}
	return &slow
}

// ProfiledJob holds what was measured of one job of the file, which may be a chain.
type ProfiledJob struct {
	Name   string
	Runs   string // ListedJob.Signature of the job
	Stages []Stage
}

// Stage holds what was measured of one job of a chain.
type Stage struct {
	Size
	Start       time.Duration // from the submission of the chain until this job may start its first attempt
	Divided     []Division    // in ascending order of MapBytes; at least one
	Map, Reduce TaskTimes
}

// Size is the amount of work of a stage.
type Size struct {
	Maps, Reduces int
	InputBytes    int64 // of all maps together
}

// Division holds what was measured while each map had MapBytes bytes of input. The times are not
// in proportion to these bytes. A kvbuffer takes over a whole block, or copies its records. A
// combiner finds more equal keys in a larger block, which also changes the work of the reduces.
type Division struct {
	MapBytes     int64
	Map          time.Duration // the time of a map that is alone on the machine
	OutputRatio  ppm.Share     // bytes that the reduces copy, divided by bytes of input
	ReducePerMiB time.Duration // the time of a reduce that is alone, minus TaskTimes.Fixed, for each MiB that it copies
}

// TaskTimes holds what tasks of one kind have in common for every division of the input.
type TaskTimes struct {
	Fixed time.Duration // the time of a reduce that copies nothing, or of a map without input
	// Spread has evenly spaced quantiles of the measured times, each divided by the middle
	// time. The least comes first.
	Spread []ppm.Share
	Use
}

// Use is the load that a task puts on the machine.
type Use struct {
	CPU ppm.Share // cores that the task uses
	// Slowdown[n-1] is the slowdown of the task while n tasks run on the machine. It is the
	// time of the task divided by its time alone, without the effect of sharing a core.
	Slowdown []ppm.Share
}

// mostSlowdowns bounds the entries of Use.Slowdown and of TaskTimes.Spread. With more tasks at a
// time than entries of Slowdown, the last entry applies.
const mostSlowdowns = 1024

// At returns the times of tasks whose middle time is the given one: the spread multiplied by it.
func (t *TaskTimes) At(middle time.Duration) Times {
	all := make([]time.Duration, max(1, len(t.Spread)))
	for i := range all {
		share := ppm.One
		if len(t.Spread) > 0 {
			share = t.Spread[i]
		}
		all[i] = time.Duration(min(float64(float64(middle)*float64(share))/float64(ppm.One), float64(setup.MostTime)))
	}
	return Times{law: quantiles, list: all}
}

// Divide returns the division of the stage with mapBytes bytes of input for each map. Between
// two measured divisions its fields are on a straight line. Beyond the last one the time of a
// map is in proportion to its bytes. Below the first one the time of a map is on the line down
// to Map.Fixed at 0 bytes.
func (s *Stage) Divide(mapBytes int64) Division {
	first, last := s.Divided[0], s.Divided[len(s.Divided)-1]
	between := func(low, high int64, share float64) int64 { return low + int64(share*float64(high-low)) }
	switch {
	case mapBytes >= last.MapBytes:
		last.Map = time.Duration(min(float64(last.Map)*float64(mapBytes)/float64(max(1, last.MapBytes)), float64(setup.MostTime)))
		last.MapBytes = mapBytes
		return last
	case mapBytes <= first.MapBytes:
		first.Map = time.Duration(between(int64(s.Map.Fixed), int64(first.Map), float64(mapBytes)/float64(first.MapBytes)))
		first.MapBytes = mapBytes
		return first
	}
	i := slices.IndexFunc(s.Divided, func(d Division) bool { return mapBytes < d.MapBytes })
	a, b := &s.Divided[i-1], &s.Divided[i]
	share := float64(mapBytes-a.MapBytes) / float64(b.MapBytes-a.MapBytes)
	return Division{
		MapBytes: mapBytes, Map: time.Duration(between(int64(a.Map), int64(b.Map), share)),
		OutputRatio:  ppm.Share(between(int64(a.OutputRatio), int64(b.OutputRatio), share)),
		ReducePerMiB: time.Duration(between(int64(a.ReducePerMiB), int64(b.ReducePerMiB), share)),
	}
}

// Signature returns the real job and its args, without the args that say where the job reads and
// writes and how it is divided. Two jobs of one signature take the same time for the same bytes.
func (j *ListedJob) Signature() string {
	var b strings.Builder
	b.WriteString(j.Job)
	for i := range j.Args {
		switch a := &j.Args[i]; a.Name {
		case "input", "output", "output-file", "overwrite", "block-size", "reducers", "all":
		default:
			fmt.Fprintf(&b, " %s=%s", a.Name, strings.Join(a.Values, ","))
		}
	}
	return b.String()
}

// Of returns the measured job for j: one of the same name and signature, or else the first one
// of the same signature. It returns nil if there is none. The result belongs to m.
func (m *Measured) Of(j *ListedJob) *ProfiledJob {
	runs := j.Signature()
	var like *ProfiledJob
	for i := range m.Jobs {
		switch of := &m.Jobs[i]; {
		case of.Runs != runs:
		case of.Name == j.Name:
			return of
		case like == nil:
			like = of
		}
	}
	return like
}

// Predicted returns a copy of f in which jobs have the times that m measured, for the cost level
// measured. A chain becomes one job for each stage, and each waits for the one before. The first
// stage keeps the index of the chain, and the others come after all jobs of f.
//
// sizes returns the size of a stage of a job, counted from 0, and whether it is known. If it is
// not, Predicted takes the size from m. Predicted fails with errs.BadInput if m has nothing like a
// job of f. The result shares lists with f, but not Jobs.
func (f *File) Predicted(m *Measured, sizes func(job string, stage int) (Size, bool)) (*File, error) {
	p := *f
	p.Jobs = slices.Clone(f.Jobs)
	p.Cluster.Cores, p.Cluster.WarmUp = m.Cores, m.WarmUp
	last := make([]int, len(f.Jobs)) // the last stage of each job
	for i := range f.Jobs {
		of := m.Of(&f.Jobs[i])
		if of == nil {
			return nil, f.Errorf(f.Jobs[i].Pos, "job "+f.Jobs[i].Name, "nothing that runs %q was measured; profile this file, or one with such a job", f.Jobs[i].Signature())
		}
		last[i] = i
		for n := range of.Stages {
			s := of.Stages[n]
			if size, ok := sizes(f.Jobs[i].Name, n); ok {
				s.Size = size
			}
			j := f.Jobs[i]
			s.predict(&j)
			if n == 0 {
				j.Submit += s.Start
				p.Jobs[i] = j
				continue
			}
			// A real run gives the jobs of a chain the same names.
			j.Name = setup.StepName(f.Jobs[i].Name, n)
			j.StepOf = f.Jobs[i].Name
			j.After = []int{last[i]}
			last[i] = len(p.Jobs)
			p.Jobs = append(p.Jobs, j)
		}
	}
	// A job that waits for a chain waits for its last stage.
	for i := range f.Jobs {
		after := slices.Clone(p.Jobs[i].After)
		for n := range after {
			after[n] = last[after[n]]
		}
		p.Jobs[i].After = after
	}
	return &p, nil
}

// predict sets the number of tasks of a job, their times and their bytes to those of the stage.
func (s *Stage) predict(j *ListedJob) {
	j.Maps, j.Reduces = s.Maps, s.Reduces
	j.MapInputBytes = s.InputBytes / int64(max(1, s.Maps))
	d := s.Divide(j.MapInputBytes)
	j.MapTime = s.Map.At(d.Map)
	copied := float64(float64(s.InputBytes)*float64(d.OutputRatio)) / float64(ppm.One)
	each := copied / float64(max(1, s.Reduces))
	j.ReduceTime = s.Reduce.At(s.Reduce.Fixed + time.Duration(min(float64(float64(d.ReducePerMiB)*each)/(1<<20), float64(setup.MostTime/2))))
	j.MapOutputBytes = int64(copied) / int64(max(1, s.Maps))
	j.MapEmitsBytes, j.DiskBytes = 0, 0
	j.Uses = [2]Use{s.Map.Use, s.Reduce.Use}
}

// measured reads the section measured.
func (d *decoder) measured(n *yaml.Node, key string) {
	m := &Measured{}
	d.file.Measured = m
	d.mapping(n, key, []field{
		{"cores", d.set(count(&m.Cores, 1))},
		{"warm_up", d.set(duration(&m.WarmUp))},
		{"probe", func(v *yaml.Node, key string) {
			d.mapping(v, key, []field{
				{"alone", d.set(duration(&m.Probe.Alone))},
				{"all", d.set(duration(&m.Probe.All))},
			})
			d.must(v, key, m.Probe.Alone > 0, "alone")
			d.must(v, key, m.Probe.All > 0, "all")
		}},
		{"jobs", appended(d, &m.Jobs, d.measuredJob)},
	})
	d.must(n, key, m.Cores > 0, "cores")
}

// measuredJob reads an item of jobs in the section measured.
func (d *decoder) measuredJob(n *yaml.Node) (j ProfiledJob) {
	d.mapping(n, "job of measured", []field{
		{"name", into(&j.Name, d.name)},
		{"runs", into(&j.Runs, d.word)},
		{"stages", appended(d, &j.Stages, d.stage)},
	})
	d.must(n, "job of measured", j.Name != "", "name")
	d.must(n, "job "+j.Name+" of measured", len(j.Stages) > 0, "stages")
	return j
}

// stage reads an item of stages. Its divisions must come in ascending order of map_bytes, because
// Divide looks for neighbours.
func (d *decoder) stage(n *yaml.Node) (s Stage) {
	d.mapping(n, "stage", []field{
		{"maps", d.set(count(&s.Maps, 1))},
		{"reduces", d.set(count(&s.Reduces, 0))},
		{"input", d.set(size(&s.InputBytes, 0))},
		{"start", d.set(duration(&s.Start))},
		{"divided", appended(d, &s.Divided, d.division)},
		{"map", d.taskTimes(&s.Map)},
		{"reduce", d.taskTimes(&s.Reduce)},
	})
	d.must(n, "stage", s.Maps > 0, "maps")
	d.must(n, "stage", len(s.Divided) > 0, "divided")
	for i := range s.Divided[:max(0, len(s.Divided)-1)] {
		if d.err == nil && s.Divided[i].MapBytes >= s.Divided[i+1].MapBytes {
			d.fail(n, "divided", "is not in ascending order of map_bytes")
		}
	}
	return s
}

// division reads an item of divided. Only map_bytes is required.
func (d *decoder) division(n *yaml.Node) (v Division) {
	d.mapping(n, "divided", []field{
		{"map_bytes", d.set(size(&v.MapBytes, 1))},
		{"map", d.set(duration(&v.Map))},
		{"output_ratio", d.set(number(&v.OutputRatio, 0))},
		{"reduce_per_mib", d.set(duration(&v.ReducePerMiB))},
	})
	d.must(n, "divided", v.MapBytes > 0, "map_bytes")
	return v
}

// taskTimes returns a setter for the values of tasks of one kind. A spread has quantiles, so it
// must be ascending. It refuses a slowdown below 1.
func (d *decoder) taskTimes(to *TaskTimes) setter {
	return func(v *yaml.Node, key string) {
		d.mapping(v, key, []field{
			{"fixed", d.set(duration(&to.Fixed))},
			{"spread", into(&to.Spread, d.shares)},
			{"cpu", d.set(number(&to.CPU, 0))},
			{"slowdown", into(&to.Slowdown, d.shares)},
		})
		if d.err == nil && !slices.IsSorted(to.Spread) {
			d.fail(v, "spread", "is not in ascending order")
		}
		if at := slices.IndexFunc(to.Slowdown, func(s ppm.Share) bool { return s < ppm.One }); d.err == nil && at >= 0 {
			d.fail(v, "slowdown", "%v is below 1: other tasks do not make a task faster", to.Slowdown[at])
		}
	}
}

// shares reads a list of at most mostSlowdowns shares.
func (d *decoder) shares(n *yaml.Node, key string) (all []ppm.Share) {
	d.list(n, key, func(item *yaml.Node) { all = append(all, d.share(item, key)) })
	if d.err == nil && len(all) > mostSlowdowns {
		d.fail(n, key, "has %d items; at most %d", len(all), mostSlowdowns)
	}
	return all
}

// Text returns the section measured of a workload file. Parse reads the same values from it.
func (m *Measured) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "measured:\n  cores: %d\n  warm_up: %v\n", m.Cores, m.WarmUp)
	if m.Probe != (Probe{}) {
		fmt.Fprintf(&b, "  probe: {alone: %v, all: %v}\n", m.Probe.Alone, m.Probe.All)
	}
	b.WriteString("  jobs:\n")
	for i := range m.Jobs {
		j := &m.Jobs[i]
		fmt.Fprintf(&b, "    - name: %s\n      runs: %s\n      stages:\n", quoted(j.Name), quoted(j.Runs))
		for n := range j.Stages {
			s := &j.Stages[n]
			fmt.Fprintf(&b, "        - {maps: %d, reduces: %d, input: %d, start: %v,\n           divided: [", s.Maps, s.Reduces, s.InputBytes, s.Start)
			for i := range s.Divided {
				d := &s.Divided[i]
				if i > 0 {
					b.WriteString(",\n             ")
				}
				fmt.Fprintf(&b, "{map_bytes: %d, map: %v, output_ratio: %v, reduce_per_mib: %v}", d.MapBytes, d.Map, d.OutputRatio, d.ReducePerMiB)
			}
			fmt.Fprintf(&b, "],\n           map: %s", s.Map.text())
			if s.Reduces > 0 {
				fmt.Fprintf(&b, ",\n           reduce: %s", s.Reduce.text())
			}
			b.WriteString("}\n")
		}
	}
	return b.String()
}

// text returns the values as a mapping on one line.
func (t *TaskTimes) text() string {
	return fmt.Sprintf("{fixed: %v, spread: %s, cpu: %v, slowdown: %s}", t.Fixed, listText(t.Spread), t.CPU, listText(t.Slowdown))
}

// listText returns a list of words on one line.
func listText[T fmt.Stringer](all []T) string {
	return strings.ReplaceAll(fmt.Sprint(all), " ", ", ")
}

// quoted returns a string in single quotes for YAML. Inside of them only a single quote has a
// meaning, and doubling it takes the meaning away.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
