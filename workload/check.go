package workload

import (
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
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
	n, what := j.Maps, "maps"
	if f.Reduce {
		n, what = j.Reduces, "reduces"
	}
	if task >= n && (n > 0 || j.Job == "") { // a real job may leave its number of tasks to the run
		d.failAt(s.at, "task", "%s has %d %s, counted from 0", errs.Quote(j.Name), n, what)
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
