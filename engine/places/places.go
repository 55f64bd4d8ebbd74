// Package places checks where the jobs of a run read and write, one against the
// other: no two write to the same place, and what one makes another reads only
// once it has waited for it.
//
// It is decided from names before anything is started; symbolic links are
// followed as far as they exist. It opens nothing and owns nothing.
//
// Neighbours: package engine asks, before it plans inputs (input) and opens
// outputs (output).
package places

import (
	"path/filepath"
	"strings"

	"mrlocal/input"
	"mrlocal/internal/usage"
	"mrlocal/output"
)

// Job is what a job says of its places.
type Job struct {
	Name   string // in messages
	Inputs []string
	Output string // "": nowhere that others could meet
	After  []int  // jobs that have ended before it starts
}

// Map knows which job reads and writes where.
type Map struct {
	jobs     []Job
	outputs  map[string]int      // who writes there
	outPath  []string            // of each job; "": nowhere that others could meet
	inputs   map[string][]reader // who reads there, or below
	resolved map[string]string
	seen     []int32 // for waitsFor: when a job was last looked at
	round    int32

	// Existing are the inputs of each job that must be there up front; Later
	// are the jobs some of whose inputs another one makes.
	Existing [][]string
	Later    map[int]bool
}

// reader is a job that reads a path; all below it, or what a glob matches.
type reader struct {
	job  int
	path string // as named
	glob string // resolved; "": a plain path
}

// New is a map without places; Check fills it.
func New(jobs []Job) *Map {
	return &Map{
		jobs: jobs, outputs: map[string]int{}, outPath: make([]string, len(jobs)), inputs: map[string][]reader{}, Existing: make([][]string, len(jobs)),
		Later: map[int]bool{}, resolved: map[string]string{}, seen: make([]int32, len(jobs)),
	}
}

// Check finds where all jobs read and write, and the first job that cannot:
// its number comes with the error.
func (m *Map) Check() (int, error) {
	for i := range m.jobs {
		if err := m.addOutput(i); err != nil {
			return i, err
		}
	}
	for i := range m.jobs {
		for _, path := range m.jobs[i].Inputs {
			if err := m.addInput(i, path); err != nil {
				return i, err
			}
		}
	}
	for i, path := range m.outPath {
		if path == "" {
			continue
		}
		if err := m.checkOutput(path, i); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// addOutput notes where a job writes. Devices and pipes may be shared.
func (m *Map) addOutput(i int) error {
	name := m.jobs[i].Output
	if name == "" || output.IsDevice(name) {
		return nil
	}
	path := m.resolve(name)
	if other, taken := m.outputs[path]; taken {
		return usage.Errorf("output "+name, "is the output of job %s too", m.jobs[other].Name)
	}
	m.outputs[path], m.outPath[i] = i, path
	return nil
}

// addInput notes where a job reads, and whether another job makes that first.
func (m *Map) addInput(i int, name string) error {
	if name == "-" || name == "" {
		m.Existing[i] = append(m.Existing[i], name)
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
				return usage.Errorf(name, "is written by job %s; name that under after", m.jobs[writer].Name)
			}
			m.Later[i] = true
			return nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	m.Existing[i] = append(m.Existing[i], name)
	return nil
}

// checkOutput refuses an output inside another one, or inside the input of a
// job that may run at the same time.
func (m *Map) checkOutput(path string, i int) error {
	name := m.jobs[i].Output
	for at := path; ; at = filepath.Dir(at) {
		if other, made := m.outputs[at]; made && other != i {
			return usage.Errorf("output "+name, "lies inside the output of job %s", m.jobs[other].Name)
		}
		for _, in := range m.inputs[at] {
			if in.job == i || in.glob != "" && !matches(in.glob, path) || m.waitsFor(i, in.job) || m.waitsFor(in.job, i) {
				continue
			}
			return usage.Errorf("output "+name, "lies inside %s, which job %s reads; let one wait for the other (after)", in.path, m.jobs[in.job].Name)
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
func (m *Map) resolve(path string) string {
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
func (m *Map) waitsFor(i, j int) bool {
	m.round++
	stack := []int{i}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, before := range m.jobs[at].After {
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
