package engine

import (
	"fmt"
	"path/filepath"
	"strings"

	"mrlocal/input"
	"mrlocal/internal/usage"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/slots"
)

// This file checks a run's jobs before anything is started: each by itself,
// then where they read and write, one against the other.

// takeJobs checks what the jobs say of themselves and makes their works.
func (r *run) takeJobs(batch []BatchJob) error {
	if len(batch) == 0 {
		return usage.Errorf("", "no jobs")
	}
	works := make([]work, len(batch))
	r.works = make([]*work, len(batch))
	for i := range batch {
		works[i] = work{run: r, index: i, job: &batch[i], lastID: -1}
		r.works[i] = &works[i]
	}
	for i, w := range r.works {
		if err := w.validate(len(batch)); err != nil {
			return w.named(err)
		}
		for _, b := range batch[i].After {
			r.works[b].dependents = append(r.works[b].dependents, int32(i))
		}
		w.waits = len(batch[i].After)
	}
	return r.checkCycles()
}

func (w *work) validate(jobCount int) error {
	b := w.job
	if err := checkChain(b.Chain); err != nil {
		return err
	}
	if err := b.JobOptions.validate(&b.Chain[0]); err != nil {
		return err
	}
	switch {
	case b.Submit < 0:
		return usage.Errorf("submit", "%v is before the run's start", b.Submit)
	case b.Deadline < 0 || b.Deadline > 0 && b.Deadline <= b.Submit:
		return usage.Errorf("deadline", "%v is not after the submission", b.Deadline)
	case b.Weight < 0:
		return usage.Errorf("weight", "must be above 0")
	case b.Priority < slots.VeryLow || b.Priority > slots.VeryHigh:
		return usage.Errorf("priority", "%d is none", b.Priority)
	}
	for _, a := range b.After {
		if a < 0 || a >= jobCount {
			return usage.Errorf("after", "there is no job %d", a)
		}
	}
	return nil
}

// checkChain refuses chains that cannot run.
func checkChain(chain jobs.Chain) error {
	if len(chain) == 0 {
		return usage.Errorf("job", "an empty chain")
	}
	for i, j := range chain {
		switch {
		case j.NewMapper == nil:
			return usage.Errorf("job "+j.Name, "has no mapper")
		case j.NewReducer == nil && i < len(chain)-1:
			return usage.Errorf("job "+j.Name, "only the last job of a chain may be map-only")
		case j.NewFolder != nil && j.NewCombiner != nil:
			return usage.Errorf("job "+j.Name, "a folder and a combiner exclude each other")
		case j.NewReducer == nil && (j.NewFolder != nil || j.NewCombiner != nil):
			return usage.Errorf("job "+j.Name, "a map-only job combines nothing")
		case j.Reduces < 0 || j.Maps < 0:
			return usage.Errorf("job "+j.Name, "a negative number of tasks")
		case j.NoInput && i > 0:
			return usage.Errorf("job "+j.Name, "only the first job of a chain may be without input")
		}
	}
	return nil
}

// checkCycles refuses jobs that wait for each other.
func (r *run) checkCycles() error {
	left := make([]int, len(r.works))
	var free []int
	for i, w := range r.works {
		if left[i] = w.waits; left[i] == 0 {
			free = append(free, i)
		}
	}
	for n := 0; n < len(free); n++ {
		for _, d := range r.works[free[n]].dependents {
			if left[d]--; left[d] == 0 {
				free = append(free, int(d))
			}
		}
	}
	for i, w := range r.works {
		if left[i] > 0 {
			return w.named(usage.Errorf("after", "jobs wait for each other in a circle"))
		}
	}
	return nil
}

// named adds the job to an error, where there is more than one.
func (w *work) named(err error) error {
	switch {
	case err == nil || w.run.single():
		return err
	case usage.Is(err):
		return usage.Errorf("job "+w.name(), "%v", err)
	}
	return fmt.Errorf("job %s: %w", w.name(), err)
}

func (r *run) single() bool { return r.kind == "run" }

// keptWorks is up to how many jobs a batch keeps plans and outputs from the
// check until they are submitted, and has every submitted job's output begun.
// In a larger batch, which may be very large, a job's input is planned anew
// when it is submitted and when it starts, so that few plans and files exist
// at a time.
const keptWorks = 64

func (r *run) keeps() bool { return len(r.works) <= keptWorks }

// checkPlaces checks where jobs read and write. It returns the bytes of all
// inputs that are known, and how many jobs read streams.
func (r *run) checkPlaces() (totalBytes int64, streamJobs int, err error) {
	m := newMap(r)
	if err := m.check(); err != nil {
		return 0, 0, err
	}
	known := map[string]*input.Plan{} // jobs often read the same
	stdin := -1
	for i, w := range r.works {
		inputs := m.existing[i]
		for _, path := range inputs {
			if path == "-" && stdin >= 0 {
				return 0, 0, w.named(usage.Errorf("-", "job %s reads standard input too; only one can", r.works[stdin].name()))
			}
			if path == "-" {
				stdin = i
			}
		}
		plan, err := w.planOf(inputs, known)
		if err == nil {
			err = w.checkOutput(plan, inputs)
		}
		if err != nil {
			return 0, 0, w.named(err)
		}
		if plan == nil {
			continue
		}
		totalBytes += plan.Bytes
		if len(plan.Streams) > 0 {
			streamJobs++
		}
		if r.blockBytes == 0 {
			r.blockBytes = plan.BlockBytes()
		}
		if r.keeps() && len(w.job.After) == 0 {
			w.plan = plan
		}
		if r.single() {
			w.tellNotes(plan.Notes)
		}
	}
	if len(m.later) > 0 {
		streamJobs++ // what is not there yet may turn out to be one
	}
	return totalBytes, streamJobs, nil
}

// planOf plans inputs, or finds the plan of another job that reads the same.
func (w *work) planOf(inputs []string, known map[string]*input.Plan) (*input.Plan, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	job := &w.job.Chain[0]
	key := fmt.Sprint(strings.Join(inputs, "\x00"), w.job.All, w.blockBytes(), job.Delim, job.SkipBinary)
	if plan := known[key]; plan != nil {
		return plan, nil
	}
	plan, err := w.newPlan(inputs)
	if err == nil && len(known) < keptWorks {
		known[key] = plan
	}
	return plan, err
}

// checkOutput checks the place of the result, as far as it can be now.
func (w *work) checkOutput(plan *input.Plan, inputs []string) error {
	target, err := output.Open(w.outputSpec(plan, inputs))
	if err != nil {
		return err
	}
	if w.run.keeps() {
		w.mu.target = target
	}
	return nil
}

// outputSpec says where the result goes, and which files it must spare.
func (w *work) outputSpec(plan *input.Plan, inputs []string) output.Spec {
	o := &w.job.JobOptions
	spec := output.Spec{Dir: o.OutputDir, File: o.OutputFile, Overwrite: o.Overwrite, Stdout: o.Stdout, Inputs: inputs, Stdin: o.Stdin}
	if plan != nil {
		spec.Found = plan
	}
	if plan != nil && o.Overwrite {
		for i := range plan.Files {
			spec.Files = append(spec.Files, plan.Files[i].Path)
		}
	}
	return spec
}

// checkFaults refuses faults of tasks and trackers that cannot be.
func (r *run) checkFaults() error {
	for _, f := range r.o.Faults {
		switch {
		case f.At < 0 || f.Fail < 0 || f.Task < 0:
			return usage.Errorf("faults", "a negative number")
		case f.Tracker >= r.o.Trackers:
			return usage.Errorf("faults", "there is no tracker %d; they count from 0 to %d", f.Tracker, r.o.Trackers-1)
		case f.Tracker < 0 && (f.Job < 0 || f.Job >= len(r.works)):
			return usage.Errorf("faults", "there is no job %d", f.Job)
		case f.Lost && f.Reduce:
			return usage.Errorf("faults", "only a map's output can be lost")
		}
	}
	return nil
}

// placeMap knows which job reads and writes where.
type placeMap struct {
	run      *run
	outputs  map[string]int      // who writes there
	outPath  []string            // of each job; "": nowhere that others could meet
	inputs   map[string][]reader // who reads there, or below
	existing [][]string          // of each job, the inputs that must be there up front
	later    map[int]bool        // jobs some of whose inputs another one makes
	resolved map[string]string
	seen     []int32 // for waitsFor: when a job was last looked at
	round    int32
}

// reader is a job that reads a path; all below it, or what a glob matches.
type reader struct {
	job  int
	path string // as named
	glob string // resolved; "": a plain path
}

func newMap(r *run) *placeMap {
	return &placeMap{
		run: r, outputs: map[string]int{}, outPath: make([]string, len(r.works)), inputs: map[string][]reader{}, existing: make([][]string, len(r.works)),
		later: map[int]bool{}, resolved: map[string]string{}, seen: make([]int32, len(r.works)),
	}
}

func (m *placeMap) check() error {
	for i, w := range m.run.works {
		if err := m.addOutput(i, w); err != nil {
			return w.named(err)
		}
	}
	for i, w := range m.run.works {
		for _, path := range w.job.Inputs {
			if err := m.addInput(i, path); err != nil {
				return w.named(err)
			}
		}
	}
	for i, w := range m.run.works {
		if m.outPath[i] == "" {
			continue
		}
		if err := m.checkOutput(m.outPath[i], i); err != nil {
			return w.named(err)
		}
	}
	return nil
}

// addOutput notes where a job writes. Devices and pipes may be shared.
func (m *placeMap) addOutput(i int, w *work) error {
	name := w.job.OutputDir
	if name == "" {
		name = w.job.OutputFile
	}
	if name == "" || output.IsDevice(name) {
		return nil
	}
	path := m.resolve(name)
	if other, taken := m.outputs[path]; taken {
		return usage.Errorf("output "+name, "is the output of job %s too", m.run.works[other].name())
	}
	m.outputs[path], m.outPath[i] = i, path
	return nil
}

// addInput notes where a job reads, and whether another job makes that first.
func (m *placeMap) addInput(i int, name string) error {
	if name == "-" || name == "" {
		m.existing[i] = append(m.existing[i], name)
		return nil
	}
	root, glob := input.Root(name)
	path := m.resolve(root)
	if glob {
		rest := strings.TrimPrefix(filepath.Clean(name), filepath.Clean(root))
		m.inputs[path] = append(m.inputs[path], reader{i, name, filepath.Join(path, rest)})
	} else {
		m.inputs[path] = append(m.inputs[path], reader{i, name, ""})
	}
	for at := path; ; at = filepath.Dir(at) {
		if writer, made := m.outputs[at]; made && writer != i {
			if !m.waitsFor(i, writer) {
				return usage.Errorf(name, "is written by job %s; name that under after", m.run.works[writer].name())
			}
			m.later[i] = true
			return nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	m.existing[i] = append(m.existing[i], name)
	return nil
}

// checkOutput refuses an output inside another one, or inside the input of a
// job that may run at the same time.
func (m *placeMap) checkOutput(path string, i int) error {
	name := m.run.works[i].job.OutputDir + m.run.works[i].job.OutputFile
	for at := path; ; at = filepath.Dir(at) {
		if other, made := m.outputs[at]; made && other != i {
			return usage.Errorf("output "+name, "lies inside the output of job %s", m.run.works[other].name())
		}
		for _, in := range m.inputs[at] {
			if in.job == i || in.glob != "" && !matches(in.glob, path) || m.waitsFor(i, in.job) || m.waitsFor(in.job, i) {
				continue
			}
			return usage.Errorf("output "+name, "lies inside %s, which job %s reads; let one wait for the other (after)", in.path, m.run.works[in.job].name())
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// matches reports whether glob matches path or a directory above it.
func matches(glob, path string) bool {
	for depth := strings.Count(glob, string(filepath.Separator)); strings.Count(path, string(filepath.Separator)) > depth; {
		path = filepath.Dir(path)
	}
	ok, err := filepath.Match(glob, path)
	return ok && err == nil
}

// resolve is an absolute path without links, as far as it exists.
func (m *placeMap) resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	if real, ok := m.resolved[abs]; ok {
		return real
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		real = abs
		if dir := filepath.Dir(abs); dir != abs {
			real = filepath.Join(m.resolve(dir), filepath.Base(abs))
		}
	}
	m.resolved[abs] = real
	return real
}

// waitsFor reports whether job i starts only after job j has ended.
func (m *placeMap) waitsFor(i, j int) bool {
	m.round++
	stack := []int{i}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, before := range m.run.works[at].job.After {
			if before == j {
				return true
			}
			if m.seen[before] != m.round {
				m.seen[before] = m.round
				stack = append(stack, before)
			}
		}
	}
	return false
}
