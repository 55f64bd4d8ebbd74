package workload

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// check looks up the names in the file, and compares its sections with one another. It runs
// after all sections, so their order does not matter.
func (d *decoder) check() {
	f := d.file
	users := d.unique("user", len(f.Users), func(i int) (string, Pos) { return f.Users[i].Name, d.places.userAt[i] })
	pools := d.unique("pool", len(f.Pools), func(i int) (string, Pos) { return f.Pools[i].Name, d.places.poolAt[i] })
	jobs := d.unique("job", len(f.Jobs), func(i int) (string, Pos) { return f.Jobs[i].Name, d.places.jobs[i].name })
	d.unique("experiment", len(f.Experiments), func(i int) (string, Pos) { return f.Experiments[i].Name, f.Experiments[i].Pos })
	d.unique("capacity of tracker", len(f.Capacities), func(i int) (string, Pos) {
		return strconv.Itoa(int(f.Capacities[i].Tracker)), d.places.capacityAt[i]
	})
	d.unique("speed of tracker", len(f.Slow), func(i int) (string, Pos) { return strconv.Itoa(f.Slow[i].Tracker), d.places.slowAt[i] })
	queues := ppm.Share(0)
	for i := range f.Pools {
		if queues += f.Pools[i].Capacity; d.err == nil && queues > ppm.One {
			d.failAt(d.places.poolAt[i], "pool "+f.Pools[i].Name, "with it the capacities are together over 1")
		}
	}
	// Each count fits into 32 bits, but their sum does not.
	tasks := int64(0)
	for i := range f.Jobs {
		d.checkJob(i, pools, users, jobs)
		if tasks += int64(f.Jobs[i].Maps) + int64(f.Jobs[i].Reduces); d.err == nil && tasks > setup.MostTasks {
			d.failAt(f.Jobs[i].Pos, "job "+f.Jobs[i].Name, "with it the jobs have %d tasks; at most %d", tasks, setup.MostTasks)
		}
		if d.err != nil {
			return
		}
	}
	d.checkCycles()
	// Faults come last, because they name tasks of jobs that are checked by now.
	for i := range f.Faults {
		d.checkFault(i, jobs)
	}
	d.checkTrackers()
}

// unique returns the indexes of n items by their names. It fails if two items have the same
// name. what is the word for an item in the message. at returns the name of item i and its
// place. After an error the map is incomplete.
func (d *decoder) unique(what string, n int, at func(i int) (string, Pos)) map[string]int {
	index := make(map[string]int, n)
	for i := range n {
		name, pos := at(i)
		if before, ok := index[name]; ok {
			_, first := at(before)
			d.failAt(pos, what+" "+errs.Quote(name), "given twice, first %s", first.line())
			return index
		}
		index[name] = i
	}
	return index
}

// checkTrackers fails if the cluster does not have each tracker that the file names. If the file does
// not say how many trackers there are, every tracker passes. Flags may change the number, so
// CheckTrackers checks again.
func (d *decoder) checkTrackers() {
	if n := d.file.Trackers; d.err == nil && n > 0 {
		d.err = d.file.CheckTrackers(n)
	}
}

// checkJob looks up the names in job i, and applies the defaults of the file to it. pools,
// users and jobs have the indexes by name.
func (d *decoder) checkJob(i int, pools, users, jobs map[string]int) {
	j, s := &d.file.Jobs[i], &d.places.jobs[i]
	object := "job " + errs.Quote(j.Name)
	// The figures of two jobs of one name would be mixed up.
	if chain, step := setup.StepOf(j.Name); step > 0 {
		if of, listed := jobs[chain]; listed && d.file.Jobs[of].Job != "" {
			d.failAt(s.name, object, "a later job of chain %s would have this name too", errs.Quote(chain))
		}
	}
	j.Pool = j.PoolOr(j.Name)
	// Without the section pools, each name that jobs use is a pool. With the section, a name
	// that it does not list is a mistake, unless the job has it without naming it.
	if _, ok := pools[j.Pool]; !ok && d.places.hasPools && j.Pool != j.Name && j.Pool != j.User {
		d.failAt(s.pool, object, "unknown pool %s%s", errs.Quote(j.Pool), errs.Suggest(j.Pool, namesOf(pools)))
	}
	if _, ok := users[j.User]; !ok && j.User != "" {
		d.failAt(s.user, object, "unknown user %s%s", errs.Quote(j.User), knownUsers(j.User, users))
	}
	// Only a given deadline has a place, so a deadline of 0s differs from none.
	if s.deadline.Line > 0 && j.Deadline <= j.Submit {
		d.failAt(s.deadline, object, "the deadline %v is in the past when the job is submitted, at %v", j.Deadline, j.Submit)
	}
	seen := map[string]bool{}
	for _, a := range s.after {
		before, ok := jobs[a.name]
		if !ok {
			d.failAt(a.at, object, "unknown job %s in after%s", errs.Quote(a.name), errs.Suggest(a.name, slices.DeleteFunc(namesOf(jobs), func(n string) bool { return n == j.Name })))
			return
		}
		// A repeated name would make the job wait for an end that comes only once.
		if seen[a.name] {
			d.failAt(a.at, object, "%s is twice in after", errs.Quote(a.name))
		}
		seen[a.name] = true
		j.After = append(j.After, before)
	}
	// A job's own time replaces the default.
	if !j.MapTime.Given() {
		j.MapTime = d.places.mapTime
	}
	if !j.ReduceTime.Given() {
		j.ReduceTime = d.places.reduceTime
	}
}

// knownUsers returns the end of the message about an unknown user: how to list the user, or
// which users there are.
func knownUsers(name string, users map[string]int) string {
	if len(users) == 0 {
		return "; list it under users"
	}
	return errs.Suggest(name, namesOf(users))
}

// checkCycles fails if jobs wait for each other in a cycle.
func (d *decoder) checkCycles() {
	if d.err != nil {
		return
	}
	jobs := d.file.Jobs
	circle := setup.Cycle(len(jobs), func(i int) *setup.Submission { return &jobs[i].Submission })
	if circle == nil {
		return
	}
	// A cycle may have thousands of jobs. The message shows the first ones, and the job that
	// closes the cycle.
	const most = 8
	start := circle[0]
	text := errs.Quote(jobs[start].Name)
	for n, i := range append(circle[1:], start) {
		switch {
		case n+1 < most || i == start:
			text += " after " + errs.Quote(jobs[i].Name)
		case n+1 == most:
			text += " after …"
		}
	}
	next := append(circle, start)[1]
	// The place of the message is the name, in after of the first job, of the second job.
	k := slices.Index(jobs[start].After, next)
	d.failAt(d.places.jobs[start].after[k].at, "job "+errs.Quote(jobs[start].Name), "a cycle of after: %s", text)
}

// checkFault checks the tracker of fault i, or looks up its task: J01/m/7 or J01/r/0. jobs
// has the indexes of jobs by name.
func (d *decoder) checkFault(i int, jobs map[string]int) {
	f, s := &d.file.Faults[i], d.places.faults[i]
	// A fault of a tracker has no task. After an error jobs may be incomplete.
	if d.err != nil || f.Tracker >= 0 {
		return
	}
	// A job's name may contain slashes, so the text is cut from its end.
	head, digits := cutLast(s.name)
	name, kind := cutLast(head)
	var task int
	if count(&task, 0).Set(digits) != nil || name == "" || kind != "m" && kind != "r" {
		d.failAt(s.at, "task", "%s is not a task; write J01/m/7 for a map and J01/r/0 for a reduce", errs.Quote(s.name))
		return
	}
	job, ok := jobs[name]
	if !ok {
		d.failAt(s.at, "task", "unknown job %s%s", errs.Quote(name), errs.Suggest(name, namesOf(jobs)))
		return
	}
	f.Job, f.Task = job, task
	f.Reduce = kind == "r"
	j := &d.file.Jobs[job]
	n, what := j.Maps, "map"
	if f.Reduce {
		n, what = j.Reduces, "reduce"
	}
	if task >= n && (n > 0 || j.Job == "") { // a real job may leave its number of tasks to the run
		d.failAt(s.at, "task", "%s has %s, counted from 0", errs.Quote(j.Name), errs.Counted(n, what))
	}
	if f.Reduce && f.Lost {
		d.failAt(s.at, "task", "only the output of a map can be lost")
	}
}

// cutLast cuts text at its last slash. Without a slash, before is empty and after is text.
func cutLast(text string) (before, after string) {
	i := strings.LastIndexByte(text, '/')
	return text[:max(i, 0)], text[i+1:]
}

// namesOf returns the names of an index in the order of the file. It returns at most the
// first 10,000, because the search for the nearest name compares all of them.
func namesOf(index map[string]int) []string {
	const most = 10_000
	names := make([]string, len(index))
	for name, i := range index {
		names[i] = name
	}
	if len(names) > most {
		names = names[:most]
	}
	return names
}

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
