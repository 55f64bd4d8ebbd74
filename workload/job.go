package workload

import (
	"github.com/goccy/go-yaml/ast"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/setup"
)

// jobKeys returns the keys of a job, as docs/workloads.md lists them.
// Their order is that of the suggestions for an unknown key.
func jobKeys() []string {
	return []string{
		"name", "pool", "user", "submit", "after", "weight", "priority", "deadline",
		"maps", "reduces", "map_time", "reduce_time", "map_output", "cpu", "disk", "profile",
		"job", "args",
	}
}

// job reads an item of jobs. A job must have something to do: maps to simulate, or a job to
// run.
// The checks here concern the job alone. check compares it with other sections.
func (d *decoder) job(n ast.Node) {
	n = d.resolve(n)
	// A weight that is not given is 1. A weight of 0 in the file is refused.
	j := Job{Submission: setup.Submission{Weight: ppm.One}, Pos: placeOf(n)}
	s := jobPlaces{}
	var reduces, args Pos
	// The lists are made once for each file: files may have 100,000 jobs.
	if d.jobKeys == nil {
		d.jobKeys, d.realJobs = jobKeys(), realJobs()
	}
	d.mapping(n, "job", d.jobKeys, func(key string, v ast.Node) {
		switch {
		case d.scheduled(&j, &s, key, v) || d.simulated(&j, key, v):
		case key == "job":
			if i := d.choice(v, key, d.realJobs); i >= 0 {
				j.Job = d.realJobs[i]
			}
		case key == "args":
			d.args(&j, v)
			args = placeOf(v)
		}
		if key == "reduces" {
			reduces = placeOf(v)
		}
	})
	d.must(n, "job", j.Name != "", "name")
	object := "job " + j.Name
	switch {
	case d.err != nil:
		return
	case j.Maps == 0 && j.Reduces > 0:
		d.failAt(reduces, object, "reduces without maps")
	case j.Maps == 0 && j.Job == "":
		d.failAt(j.Pos, object, "nothing to do: give maps to simulate it, job to run it, or both")
	case j.Job == "" && j.Args != nil:
		d.failAt(args, object, "args without job")
	}
	d.file.Jobs = append(d.file.Jobs, j)
	d.places.jobs = append(d.places.jobs, s)
}

// scheduled reads a key that both drivers use; false if key is none.
// s keeps the places of values that check may refuse.
func (d *decoder) scheduled(j *Job, s *jobPlaces, key string, v ast.Node) bool {
	switch key {
	case "name":
		j.Name = d.name(v, key)
		s.name = placeOf(v)
	case "pool":
		j.Pool = d.name(v, key)
		s.pool = placeOf(v)
	case "user":
		j.User = d.name(v, key)
		s.user = placeOf(v)
	case "submit":
		j.Submit = d.time(v, key)
	// One name may stand without a list.
	case "after":
		if text, ok := d.scalar(v); ok {
			s.after = []reference{{text, placeOf(v)}}
			break
		}
		d.list(v, key, func(item ast.Node) {
			s.after = append(s.after, reference{d.name(item, key), placeOf(item)})
		})
	case "weight":
		j.Weight = positive(d, v, key, d.share(v, key))
	// The list is in ascending order, as the constants of slots are.
	case "priority":
		j.Priority = slots.Priority(d.choice(v, key, []string{"very_low", "low", "normal", "high", "very_high"})) + slots.VeryLow
	case "deadline":
		j.Deadline = d.time(v, key)
		s.deadline = placeOf(v)
	default:
		return false
	}
	return true
}

// simulated reads a key that the simulator uses; false if key is none.
// Times, sizes and shares carry their units in the file.
func (d *decoder) simulated(j *Job, key string, v ast.Node) bool {
	switch key {
	case "maps":
		j.Maps = d.count(v, key)
	case "reduces":
		j.Reduces = d.count(v, key)
	case "map_time":
		j.MapTime = d.times(v, key)
	case "reduce_time":
		j.ReduceTime = d.times(v, key)
	case "map_output":
		j.MapOutputBytes = d.bytes(v, key)
	case "cpu":
		j.CPU = d.share(v, key)
	case "disk":
		j.DiskBytes = d.bytes(v, key)
	case "profile":
		j.Profile = &demand.Profile{}
		d.mapping(v, key, []string{"map", "shuffle", "reduce"}, func(key string, v ast.Node) {
			switch key {
			case "map":
				j.Profile.Map = d.demand(v, key)
			case "shuffle":
				j.Profile.Shuffle = d.demand(v, key)
			case "reduce":
				j.Profile.Reduce = d.demand(v, key)
			}
		})
	default:
		return false
	}
	return true
}

// demand reads a share of each resource; one that is not given is 0.
func (d *decoder) demand(n ast.Node, what string) (m demand.Vector) {
	shares := map[string]*ppm.Share{"cpu": &m.CPU, "io": &m.IO, "mem": &m.Memory}
	d.mapping(n, what, []string{"cpu", "io", "mem"}, func(key string, v ast.Node) {
		*shares[key] = d.share(v, key)
	})
	return m
}

// args reads the args of a job. Only the job knows their keys.
// Values are in the order of the file, because some jobs give it a meaning.
func (d *decoder) args(j *Job, n ast.Node) {
	m, ok := d.resolve(n).(ast.MapNode)
	// A list of args would lose which value belongs to which.
	if !ok {
		d.fail(n, "args", "keys and values are expected here")
	}
	j.Args = []Arg{}
	for it := entriesOf(m); d.err == nil && it.Next(); {
		if it.Key().IsMergeKey() {
			d.fail(it.Key(), "args", "<< is not for args, which are taken in their order")
			return
		}
		a := Arg{Name: d.name(it.Key(), "args"), Pos: placeOf(it.Key())}
		for i := range j.Args {
			if before := &j.Args[i]; before.Name == a.Name {
				d.failAt(a.Pos, "args", "%s is given twice, first on line %d; for several values write %s: [a, b]", a.Name, before.Pos.Line, a.Name)
			}
		}
		// All values stay text: only the job knows their types.
		a.Values = d.values(it.Value(), a.Name)
		j.Args = append(j.Args, a)
	}
}

// values reads a single value or a list of them, which may not be empty.
func (d *decoder) values(n ast.Node, what string) (values []string) {
	if text, ok := d.scalar(n); ok {
		return []string{text}
	}
	if _, ok := d.resolve(n).(*ast.SequenceNode); !ok {
		d.fail(n, what, "a value or a list of values is expected here")
		return nil
	}
	d.list(n, what, func(item ast.Node) {
		text, ok := d.scalar(item)
		if !ok {
			d.fail(item, what, "a single value is expected here")
		}
		values = append(values, text)
	})
	if d.err == nil && len(values) == 0 {
		d.fail(n, what, "is empty")
	}
	return values
}
