package paths

import (
	"os"
	"path/filepath"
	"strings"

	"mrlocal/internal/errs"
)

// JobFiles are the names of the files that a job of a batch reads and writes.
type JobFiles struct {
	Name   string // for messages
	Inputs []string
	Output string // "": no file
	After  []int  // indices in the batch of the jobs that end before this one starts
}

// BatchInputs are the inputs of a batch that exist before it starts.
type BatchInputs struct {
	Existing [][]string // of each job: inputs that no other job makes
	Later    bool       // some job reads the output of another one
}

// CheckBatch checks the files of all jobs against each other, by their names. It fails if two
// outputs overlap, or if an output lies inside an input. It also fails if a job reads the output of
// another one without waiting for it. refused is the index of the job that is wrong.
func CheckBatch(jobs []JobFiles) (in *BatchInputs, refused int, err error) {
	b := &batch{
		jobs: jobs, outputs: map[string]int{}, outputAt: make([]string, len(jobs)), readers: map[string][]reader{}, located: map[string]string{},
		seen: make([]int32, len(jobs)), in: BatchInputs{Existing: make([][]string, len(jobs))},
	}
	for i := range jobs {
		if err := b.addOutput(i); err != nil {
			return nil, i, err
		}
	}
	for i := range jobs {
		for _, name := range jobs[i].Inputs {
			if err := b.addInput(i, name); err != nil {
				return nil, i, err
			}
		}
	}
	for i, path := range b.outputAt {
		if path == "" {
			continue
		}
		if err := b.checkOutput(path, i); err != nil {
			return nil, i, err
		}
	}
	return &b.in, 0, nil
}

// batch has the places where the jobs read and write. Paths are those of Locate.
type batch struct {
	jobs     []JobFiles
	outputs  map[string]int      // job that writes to a path
	outputAt []string            // path of each job's output; "": a device, or none
	readers  map[string][]reader // by the path from which they read
	located  map[string]string   // results of Locate, because many jobs share directories
	seen     []int32             // for waitsFor: round in which a job was last visited
	round    int32
	in       BatchInputs
}

// reader is a job that reads a file, all files below a directory, or the files that match a glob.
type reader struct {
	job  int
	name string // as the user named it
	glob string // with the path of its root; "": no glob
}

// addOutput notes where job i writes. It fails if another job writes there too. Several jobs may
// write to one device or pipe.
func (b *batch) addOutput(i int) error {
	name := b.jobs[i].Output
	if name == "" {
		return nil
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	path := b.locate(name)
	if other, taken := b.outputs[path]; taken {
		return errs.Optionf("output "+name, "is the output of job %s too", b.jobs[other].Name)
	}
	b.outputs[path], b.outputAt[i] = i, path
	return nil
}

// addInput notes an input of job i. If another job makes it, job i must wait for that job.
func (b *batch) addInput(i int, name string) error {
	if name == "-" || name == "" {
		b.in.Existing[i] = append(b.in.Existing[i], name)
		return nil
	}
	root, glob := globRoot(name)
	path := b.locate(root)
	r := reader{job: i, name: name}
	if glob {
		r.glob = filepath.Join(path, strings.TrimPrefix(filepath.Clean(name), filepath.Clean(root)))
	}
	b.readers[path] = append(b.readers[path], r)
	for at := path; ; at = filepath.Dir(at) {
		if writer, made := b.outputs[at]; made && writer != i {
			if !b.waitsFor(i, writer) {
				return errs.Optionf(name, "is written by job %s; list that job under after", b.jobs[writer].Name)
			}
			b.in.Later = true
			return nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	b.in.Existing[i] = append(b.in.Existing[i], name)
	return nil
}

// checkOutput fails if the output of job i, at path, lies inside another output. It also fails if the
// output lies inside an input of a job that may run at the same time.
func (b *batch) checkOutput(path string, i int) error {
	name := b.jobs[i].Output
	for at := path; ; at = filepath.Dir(at) {
		if other, made := b.outputs[at]; made && other != i {
			return errs.Optionf("output "+name, "lies inside the output of job %s", b.jobs[other].Name)
		}
		for _, r := range b.readers[at] {
			// Two jobs never run at the same time if one waits for the other.
			if r.job == i || r.glob != "" && !matches(r.glob, path) || b.waitsFor(i, r.job) || b.waitsFor(r.job, i) {
				continue
			}
			return errs.Optionf("output "+name, "lies inside %s, which job %s reads; let one wait for the other (after)", r.name, b.jobs[r.job].Name)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// matches reports whether glob matches path or a directory above it.
func matches(glob, path string) bool {
	for depth := strings.Count(glob, string(filepath.Separator)); strings.Count(path, string(filepath.Separator)) > depth; {
		// A glob that matches a directory reads everything below it.
		path = filepath.Dir(path)
	}
	ok, err := filepath.Match(glob, path)
	return ok && err == nil
}

// locate is Locate, but calls it only once for each name.
func (b *batch) locate(name string) string {
	if path, known := b.located[name]; known {
		return path
	}
	path := Locate(name)
	b.located[name] = path
	return path
}

// waitsFor reports whether job i starts only after job j has ended.
func (b *batch) waitsFor(i, j int) bool {
	// With a new round number, no job counts as visited, and seen need not be cleared.
	b.round++
	stack := []int{i}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, before := range b.jobs[at].After {
			if before == j {
				return true
			}
			if b.seen[before] != b.round {
				b.seen[before] = b.round
				stack = append(stack, before)
			}
		}
	}
	return false
}
