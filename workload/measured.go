package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"mrlocal/internal/ppm"
)

// Measured is what mrlocal profile has measured: a machine, and the jobs of a file, each alone
// on it. File.Predicted makes of it a file that can be simulated.
type Measured struct {
	Cores       int
	MemoryBytes int64         // that one core copies in a second; 0: not known
	DiskBytes   int64         // that are written in a second, synced; 0: not known
	WarmUp      time.Duration // the first attempt on each slot of a run takes so much longer

	Jobs []MeasuredJob
}

// MeasuredJob is what was measured of one job of the file.
type MeasuredJob struct {
	Name   string
	Runs   string // what ran, as Signature gives it
	Stages []Stage
}

// Stage is one job of a chain.
type Stage struct {
	Size
	Start       time.Duration // from the submission of the chain until this job may start its first attempt
	Divided     []Division    // in ascending order of MapBytes; at least one
	Map, Reduce TaskTimes
}

// Size says how much work a stage is.
type Size struct {
	Maps, Reduces int
	InputBytes    int64 // of all maps
}

// Division is what was measured while each map had so many bytes of input. Times are not in
// proportion to them. A kvbuffer takes a whole block over, or copies its records. A combiner
// finds more equal keys in a larger block, and leaves other work to the reduces.
type Division struct {
	MapBytes     int64
	Map          time.Duration // of a map that is alone on the machine
	OutputRatio  ppm.Share     // bytes that the reduces copy, by bytes of input
	ReducePerMiB time.Duration // more than TaskTimes.Fixed, of a reduce that is alone, for each MiB that it copies
}

// TaskTimes is what tasks of one kind have in common however the input is divided.
type TaskTimes struct {
	Fixed  time.Duration // of a reduce that copies nothing; of a map without input
	Spread []ppm.Share   // measured times by those of the middle: evenly spaced quantiles, the least first
	Phases []PhaseShare  // of the time
	Use
}

// PhaseShare is the part of its time that a task spends in a phase. What is before the first
// one is "start".
type PhaseShare struct {
	Phase string
	Share ppm.Share
}

// Use is what a task takes of the machine.
type Use struct {
	CPU      ppm.Share   // cores that the task uses
	Slowdown []ppm.Share // while 1, 2, ... tasks run on the machine, beyond sharing a core; by its time alone
}

// mostSlowdowns bounds the tasks at a time for which a slowdown is given. A machine with more
// of them is as slow for each as its last entry and its share of the cores say.
const mostSlowdowns = 1024

// At returns a time at each quantile of the spread.
func (t *TaskTimes) At(middle time.Duration) Times {
	all := make([]time.Duration, max(1, len(t.Spread)))
	for i := range all {
		share := ppm.One
		if len(t.Spread) > 0 {
			share = t.Spread[i]
		}
		all[i] = time.Duration(min(float64(float64(middle)*float64(share))/float64(ppm.One), float64(mostTime)))
	}
	return Times{law: quantiles, list: all}
}

// Divide returns the stage as it is with so many bytes of input for each map: on the line
// between two divisions that were measured. Beyond the last one a map takes as long for each
// byte. Below the first one its time goes down to Map.Fixed.
func (s *Stage) Divide(mapBytes int64) Division {
	first, last := s.Divided[0], s.Divided[len(s.Divided)-1]
	between := func(low, high int64, share float64) int64 { return low + int64(share*float64(high-low)) }
	switch {
	case mapBytes >= last.MapBytes:
		last.Map = time.Duration(min(float64(last.Map)*float64(mapBytes)/float64(max(1, last.MapBytes)), float64(mostTime)))
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

// Signature returns what a job runs, apart from where it reads and writes and how it is
// divided: two jobs of one signature take the same time for the same bytes.
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

// Of returns what was measured of a job: of the same name and signature, or else of the same
// signature. It returns nil if nothing like it was measured.
func (m *Measured) Of(j *ListedJob) *MeasuredJob {
	runs := j.Signature()
	var like *MeasuredJob
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

// Predicted returns the file with the times that m has for its jobs, to be simulated under the
// cost measured. A chain becomes as many jobs as it has stages, which follow one another; those
// after the first stand at the end. sizes returns the size of a stage, and whether it is known;
// otherwise it is that of m. The jobs of f that were not measured are an error.
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
			// The name is that of a real chain.
			j.Name, j.After = fmt.Sprintf("%s.%d", f.Jobs[i].Name, n+1), []int{last[i]}
			last[i] = len(p.Jobs)
			p.Jobs = append(p.Jobs, j)
		}
	}
	// What waits for a job waits for all its stages.
	for i := range f.Jobs {
		after := slices.Clone(p.Jobs[i].After)
		for n := range after {
			after[n] = last[after[n]]
		}
		p.Jobs[i].After = after
	}
	return &p, nil
}

// predict gives a job the tasks of a stage and their times.
func (s *Stage) predict(j *ListedJob) {
	j.Maps, j.Reduces = s.Maps, s.Reduces
	j.MapInputBytes = s.InputBytes / int64(max(1, s.Maps))
	d := s.Divide(j.MapInputBytes)
	j.MapTime = s.Map.At(d.Map)
	copied := float64(float64(s.InputBytes)*float64(d.OutputRatio)) / float64(ppm.One)
	each := copied / float64(max(1, s.Reduces))
	j.ReduceTime = s.Reduce.At(s.Reduce.Fixed + time.Duration(min(float64(float64(d.ReducePerMiB)*each)/(1<<20), float64(mostTime/2))))
	j.MapOutputBytes, j.MapEmitsBytes, j.DiskBytes = int64(copied)/int64(max(1, s.Maps)), 0, 0
	j.Uses = [2]Use{s.Map.Use, s.Reduce.Use}
}

// measured reads the section measured.
func (d *decoder) measured(n ast.Node, key string) {
	m := &Measured{}
	d.file.Measured = m
	rate := positive(d, d.bytes)
	d.mapping(n, key, []field{
		{"cores", into(&m.Cores, positive(d, d.count))},
		{"memory", into(&m.MemoryBytes, rate)},
		{"disk", into(&m.DiskBytes, rate)},
		{"warm_up", into(&m.WarmUp, d.time)},
		{"jobs", appended(d, &m.Jobs, d.measuredJob)},
	})
	d.must(n, key, m.Cores > 0, "cores")
}

func (d *decoder) measuredJob(n ast.Node) (j MeasuredJob) {
	d.mapping(n, "job of measured", []field{
		{"name", into(&j.Name, d.name)},
		{"runs", into(&j.Runs, d.word)},
		{"stages", appended(d, &j.Stages, d.stage)},
	})
	d.must(n, "job of measured", j.Name != "", "name")
	d.must(n, "job "+j.Name+" of measured", len(j.Stages) > 0, "stages")
	return j
}

func (d *decoder) stage(n ast.Node) (s Stage) {
	d.mapping(n, "stage", []field{
		{"maps", into(&s.Maps, positive(d, d.count))},
		{"reduces", into(&s.Reduces, d.count)},
		{"input", into(&s.InputBytes, d.bytes)},
		{"start", into(&s.Start, d.time)},
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

func (d *decoder) division(n ast.Node) (v Division) {
	d.mapping(n, "divided", []field{
		{"map_bytes", into(&v.MapBytes, positive(d, d.bytes))},
		{"map", into(&v.Map, d.time)},
		{"output_ratio", into(&v.OutputRatio, d.share)},
		{"reduce_per_mib", into(&v.ReducePerMiB, d.time)},
	})
	d.must(n, "divided", v.MapBytes > 0, "map_bytes")
	return v
}

func (d *decoder) taskTimes(to *TaskTimes) setter {
	phase := func(name string) field {
		return field{name, func(v ast.Node, key string) {
			to.Phases = append(to.Phases, PhaseShare{key, d.share(v, key)})
		}}
	}
	return func(v ast.Node, key string) {
		d.mapping(v, key, []field{
			{"fixed", into(&to.Fixed, d.time)},
			{"spread", into(&to.Spread, d.shares)},
			{"phases", func(v ast.Node, key string) {
				d.mapping(v, key, []field{phase("start"), phase("compute"), phase("io"), phase("copy"), phase("sort"), phase("reduce")})
			}},
			{"cpu", into(&to.CPU, d.share)},
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

// shares reads a list of shares, of which there are at most mostSlowdowns.
func (d *decoder) shares(n ast.Node, key string) (all []ppm.Share) {
	d.list(n, key, func(item ast.Node) { all = append(all, d.share(item, key)) })
	if d.err == nil && len(all) > mostSlowdowns {
		d.fail(n, key, "has %d items; at most %d", len(all), mostSlowdowns)
	}
	return all
}

// Text returns the section as a workload file has it.
func (m *Measured) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "measured:\n  cores: %d\n", m.Cores)
	for _, rate := range []struct {
		key   string
		bytes int64
	}{{"memory", m.MemoryBytes}, {"disk", m.DiskBytes}} {
		if rate.bytes > 0 {
			fmt.Fprintf(&b, "  %s: %dMB\n", rate.key, max(1, rate.bytes/1_000_000))
		}
	}
	fmt.Fprintf(&b, "  warm_up: %v\n  jobs:\n", m.WarmUp)
	for i := range m.Jobs {
		j := &m.Jobs[i]
		fmt.Fprintf(&b, "    - name: %s\n      runs: %s\n      stages:\n", quoted(j.Name), quoted(j.Runs))
		for n := range j.Stages {
			s := &j.Stages[n]
			fmt.Fprintf(&b, "        - {maps: %d, reduces: %d, input: %d, start: %v,\n           divided: [", s.Maps, s.Reduces, s.InputBytes, s.Start)
			for i, d := range s.Divided {
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

func (t *TaskTimes) text() string {
	list := func(all []ppm.Share) string {
		words := make([]string, len(all))
		for i, s := range all {
			words[i] = s.String()
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	phases := make([]string, len(t.Phases))
	for i, p := range t.Phases {
		phases[i] = fmt.Sprintf("%s: %v", p.Phase, p.Share)
	}
	return fmt.Sprintf("{fixed: %v, spread: %s, cpu: %v, slowdown: %s, phases: {%s}}", t.Fixed, list(t.Spread), t.CPU, list(t.Slowdown), strings.Join(phases, ", "))
}

// quoted returns a string in YAML's single quotes, in which only they have a meaning.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
