package workload

import (
	"go.yaml.in/yaml/v4"

	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// readJob reads an item of jobs. A job must have maps to simulate or a job to run.
// readJob checks the job alone. decoder.check compares it with other sections later.
func (d *decoder) readJob(n *yaml.Node) {
	n = d.resolve(n)
	// The fields keep pointers to d.job and d.jobPlaces, so all jobs of a file share them.
	if d.jobFields == nil {
		d.job, d.jobPlaces = &ListedJob{}, &jobPlaces{}
		d.jobFields = d.newJobFields(d.job, d.jobPlaces)
	}
	// The default weight is 1. The field refuses a weight of 0 in the file.
	*d.job, *d.jobPlaces = ListedJob{Submission: setup.Submission{Weight: ppm.One}, Pos: placeOf(n)}, jobPlaces{}
	d.mapping(n, "job", d.jobFields)
	j := *d.job
	d.must(n, "job", j.Name != "", "name")
	object := "job " + j.Name
	switch {
	case d.err != nil:
		return
	case len(d.file.Jobs) == setup.MostJobs:
		d.failAt(j.Pos, object, "one job too many; at most %d", setup.MostJobs)
	case j.Maps == 0 && j.Reduces > 0:
		d.failAt(d.jobPlaces.reduces, object, "reduces without maps")
	case j.Maps == 0 && j.Job == "":
		d.failAt(j.Pos, object, "nothing to do: give maps to simulate it, job to run it, or both")
	case j.MapEmitsBytes > 0 && j.MapEmitsBytes < j.MapOutputBytes:
		d.failAt(j.Pos, object, "map_output is over map_emits: a combiner makes nothing larger")
	case j.Job == "" && j.Args != nil:
		d.failAt(d.jobPlaces.args, object, "args without job")
	}
	d.file.Jobs = append(d.file.Jobs, j)
	d.places.jobs = append(d.places.jobs, *d.jobPlaces)
}

// newJobFields returns the keys of a job, as docs/workloads.md lists them. They set the fields
// of j. They also keep in s the places of the values that decoder.check may refuse.
func (d *decoder) newJobFields(j *ListedJob, s *jobPlaces) []field {
	priorities := []string{"very_low", "low", "normal", "high", "very_high"} // in the order of the constants of package slots
	return []field{
		// Both drivers use these keys.
		{"name", at(&s.name, into(&j.Name, d.name))},
		{"pool", at(&s.pool, into(&j.Pool, d.name))},
		{"user", at(&s.user, into(&j.User, d.name))},
		{"submit", d.set(duration(&j.Submit))},
		{"after", func(v *yaml.Node, key string) {
			// after: J01 is short for after: [J01].
			if text, ok := d.scalar(v); ok {
				s.after = []reference{{text, placeOf(v)}}
				return
			}
			d.list(v, key, func(item *yaml.Node) { s.after = append(s.after, reference{d.name(item, key), placeOf(item)}) })
		}},
		{"weight", d.set(number(&j.Weight, 1))},
		{"priority", d.set(setting.OneOf(nil, func(i int) { j.Priority = slots.Priority(i) + slots.VeryLow }, priorities...))},
		{"deadline", at(&s.deadline, d.set(duration(&j.Deadline)))},
		// The simulator uses these keys. Times, sizes and shares carry their units in the
		// file.
		{"maps", d.set(count(&j.Maps, 0))},
		{"reduces", at(&s.reduces, d.set(count(&j.Reduces, 0)))},
		{"map_time", into(&j.MapTime, d.times)},
		{"reduce_time", into(&j.ReduceTime, d.times)},
		{"map_output", d.set(size(&j.MapOutputBytes, 0))},
		{"map_emits", d.set(size(&j.MapEmitsBytes, 0))},
		{"cpu", d.set(number(&j.CPU, 0))},
		{"disk", d.set(size(&j.DiskBytes, 0))},
		{"profile", d.profile(&j.Profile)},
		{"load", d.profile(&j.Load)},
		// A real run uses these keys.
		{"job", d.set(setting.Choice(&j.Job, realJobs()...))},
		{"args", at(&s.args, func(v *yaml.Node, _ string) { d.args(j, v) })},
	}
}

// profile returns what reads the demands of the tasks of a job, by phase.
func (d *decoder) profile(to **slots.Profile) func(v *yaml.Node, key string) {
	return func(v *yaml.Node, key string) {
		p := &slots.Profile{}
		*to = p
		d.mapping(v, key, []field{
			{"map", into(&p.Map, d.demand)}, {"shuffle", into(&p.Shuffle, d.demand)}, {"reduce", into(&p.Reduce, d.demand)},
		})
	}
}

// demand reads the demand of a task: a share of each resource. A missing resource is 0.
func (d *decoder) demand(n *yaml.Node, what string) (m slots.Vector) {
	d.mapping(n, what, []field{{"cpu", d.set(number(&m.CPU, 0))}, {"io", d.set(number(&m.IO, 0))}, {"mem", d.set(number(&m.Memory, 0))}})
	return m
}

// args reads the args of a real job into j. It does not check their names: the job does
// that when it is built. j.Args keep the order of the file, because it matters to some jobs.
func (d *decoder) args(j *ListedJob, n *yaml.Node) {
	seen := map[string]Pos{}
	j.Args = []Arg{} // not nil: readJob refuses args without a job, even an empty mapping
	for k, v := range d.entriesOf(n, "args") {
		if isMerge(k) {
			d.fail(k, "args", "<< is not allowed in args: their order matters")
			return
		}
		name := d.once(seen, k, "args", "; for several values write %[1]s: [a, b]")
		j.Args = append(j.Args, Arg{Name: name, Values: d.values(v, name), Pos: placeOf(k)})
	}
}

// values reads a single value or a list of single values. It refuses an empty list.
func (d *decoder) values(n *yaml.Node, what string) (values []string) {
	if text, ok := d.scalar(n); ok {
		return []string{text}
	}
	if d.resolve(n).Kind != yaml.SequenceNode {
		d.fail(n, what, "a value or a list of values is expected here")
		return nil
	}
	d.list(n, what, func(item *yaml.Node) {
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
