package workload

import (
	"errors"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/setting"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

// places holds the parts of the text that decoder.check needs and File does not keep. These
// are names that are not yet looked up, defaults, and places for messages.
type places struct {
	hasPools bool // the file has the section pools
	// mapTime and reduceTime come from the section defaults. decoder.check gives them to the
	// jobs without a time of their own.
	mapTime    Times
	reduceTime Times
	// Item i of each list below belongs to item i of the list of that name in File.
	poolAt, userAt []Pos
	slowAt         []Pos
	capacityAt     []Pos
	faults         []reference // the task of a fault; for a fault of a tracker only the place
	jobs           []jobPlaces
}

// reference is the name of a job or task elsewhere in the file, and the place of that name.
// decoder.check looks it up after all sections, because a job may stand further down.
type reference struct {
	name string
	at   Pos
}

// jobPlaces holds the places of a job's values, and the names in its key after.
type jobPlaces struct {
	name, pool, user, deadline, reduces, args Pos
	after                                     []reference
}

// workload reads the top level of a file from its pieces. The jobs of later pieces belong to the
// list of the first one.
func (d *decoder) workload(pieces []piece) {
	body := d.parse(pieces[0].text, 0)
	if d.err == nil && body == nil {
		d.failAt(Pos{1, 1}, "", "empty; a workload needs at least jobs")
	}
	if d.err != nil {
		return
	}
	jobsDone := false
	d.mapping(body, "workload", []field{
		{"cluster", d.cluster},
		{"defaults", d.defaults},
		{"locality", d.locality},
		{"users", d.items(d.user)},
		{"pools", func(v *yaml.Node, key string) {
			d.places.hasPools = true
			d.list(v, key, d.pool)
		}},
		{"slow", d.items(d.slow)},
		{"capacities", d.items(d.capacity)},
		{"faults", d.items(d.fault)},
		{"jobs", func(v *yaml.Node, key string) {
			jobsDone = true
			d.list(v, key, d.readJob)
			// The tree of a piece is garbage before the next piece is parsed, which bounds the memory.
			for _, p := range pieces[1:] {
				if d.err != nil {
					return
				}
				next := d.parse(jobsLine+p.text, p.skip-1)
				if next == nil {
					return
				}
				// A change may have replaced the whole list.
				if placeOf(v).Line < changedLine {
					d.from = len(d.file.Jobs)
					d.list(next.Content[1], key, d.readJob)
				}
				// What stands after the jobs is read next.
				body.Content = append(body.Content, next.Content[2:]...)
			}
		}},
		{"experiments", d.items(d.experiment)},
		{"measured", d.measured},
	})
	if d.err == nil && (!jobsDone || len(d.file.Jobs) == 0) {
		d.failAt(placeOf(body), "", "no jobs")
	}
}

// settings returns the keys for settings of the configuration, by their names.
func (d *decoder) settings(names ...string) (fields []field) {
	all := d.file.Config.Fields(setup.Simulated())
	for _, name := range names {
		s := setting.Named(all, name)
		set := d.set(s.Value)
		fields = append(fields, field{s.Key(), func(v *yaml.Node, key string) {
			set(v, key)
			d.file.keys[s.Object()] = keyAt{key, placeOf(v)}
		}})
	}
	return fields
}

// cluster reads the section cluster. Each number must be above 0, and the slots of all
// trackers together at most setup.MostSlots. A number that is not given stays 0. Then flags or
// defaults apply.
func (d *decoder) cluster(n *yaml.Node, key string) {
	f := d.file
	c := &f.Cluster
	d.mapping(n, key, append(d.settings("trackers", "map-slots", "reduce-slots", "max-slots"), []field{
		{"cores", d.set(count(&c.Cores, 1))},
		{"disk", d.set(size(&c.DiskBytes, 1))},
		{"net", d.set(size(&c.NetBytes, 1))},
		{"slot_weights", d.slotWeights},
		{"overcommit", into(&c.Overcommit, d.demand)},
		{"kernel", d.set(size(&c.KernelBytes, 1))},
		{"kvbuffer", d.buffer},
		{"shuffle", d.shuffle},
	}...))
	// The memory of a Ledger grows with the product of these numbers.
	if slots := int64(max(1, f.Trackers)) * (int64(f.MapSlots) + int64(f.ReduceSlots)); slots > setup.MostSlots {
		d.fail(n, "cluster", "%d slots; at most %d", slots, setup.MostSlots)
	}
}

// buffer reads kvbuffer of the section cluster. start is required. growth needs memory,
// because it takes its room from there.
func (d *decoder) buffer(n *yaml.Node, key string) {
	b := &d.file.Cluster.Buffer
	d.mapping(n, key, []field{
		{"start", d.set(size(&b.StartBytes, 1))},
		{"memory", d.set(size(&b.MemoryBytes, 1))},
		{"growth", into(&b.Growth, d.yes)},
		{"spill_percent", d.set(setting.Factor(&b.SpillPercent, 1, ppm.One))},
		{"threshold", d.set(setting.Factor(&b.Threshold, 1, ppm.One))},
		{"merge_factor", d.set(count(&b.MergeFactor, 2))},
	})
	d.must(n, key, b.StartBytes > 0, "start")
	d.must(n, key, !b.Growth || b.MemoryBytes > 0, "memory, which growth needs")
}

// shuffle reads shuffle of the section cluster. It refuses copiers without copy_rate and the
// reverse: the simulator needs their product.
func (d *decoder) shuffle(n *yaml.Node, key string) {
	s := &d.file.Cluster.Shuffle
	d.mapping(n, key, []field{
		{"copiers", d.set(count(&s.Copiers, 1))},
		{"copy_rate", d.set(size(&s.CopyBytes, 1))},
		{"memory", d.set(size(&s.MemoryBytes, 1))},
		{"merge_percent", d.set(setting.Factor(&s.MergePercent, 1, ppm.One))},
		{"segments", d.set(count(&s.Segments, 1))},
		{"merge_factor", d.set(count(&s.MergeFactor, 2))},
	})
	if d.err == nil && (s.Copiers > 0) != (s.CopyBytes > 0) {
		d.fail(d.resolve(n), key, "give both copiers and copy_rate, or neither")
	}
	d.must(n, key, s.MemoryBytes > 0 || s.MergePercent == 0 && s.Segments == 0 && s.MergeFactor == 0, "memory")
}

// slotWeights reads slot_weights of the section cluster. It must have both kinds, because a
// weight means something only together with the other.
func (d *decoder) slotWeights(n *yaml.Node, key string) {
	c := &d.file.Cluster
	d.mapping(n, key, []field{{"map", d.set(setting.Count(&c.MapWeight, 1, slots.MostWeight))}, {"reduce", d.set(setting.Count(&c.ReduceWeight, 1, slots.MostWeight))}})
	if d.err == nil && min(c.MapWeight, c.ReduceWeight) == 0 {
		d.fail(n, key, "give map and reduce")
	}
}

// defaults reads the section defaults. It keeps the times in d.places until check gives
// them to the jobs, because jobs may come before defaults in the file.
func (d *decoder) defaults(n *yaml.Node, key string) {
	d.mapping(n, key, append(d.settings("slowstart", "attempts"),
		field{"map_time", into(&d.places.mapTime, d.times)}, field{"reduce_time", into(&d.places.reduceTime, d.times)}))
}

// locality reads the section locality, which describes a placement of input: the replicas
// of each block, and the trackers of each group.
func (d *decoder) locality(n *yaml.Node, key string) {
	d.mapping(n, key, append(d.settings("replicas", "remote-penalty"), field{"group_trackers", d.set(count(&d.file.GroupTrackers, 0))}))
}

// user reads an item of users.
func (d *decoder) user(n *yaml.Node) {
	u, place := slots.User{}, Pos{}
	d.mapping(n, "user", []field{
		{"name", at(&place, into(&u.Name, d.name))},
		{"max_running_jobs", d.set(count(&u.MaxRunning, 1))},
	})
	d.must(n, "user", u.Name != "", "name")
	d.file.Users, d.places.userAt = append(d.file.Users, u), append(d.places.userAt, place)
}

// must fails with the message that key is missing, unless given is true. what names the
// mapping n. After an error must does nothing, because that error may be why given is false.
func (d *decoder) must(n *yaml.Node, what string, given bool, key string) {
	if d.err == nil && !given {
		d.fail(d.resolve(n), what, "no %s", key)
	}
}

// leastTimeout, one nanosecond, stands for a preemption timeout of 0s in the file: preempt
// at once. In a slots.Pool a timeout of 0 means never.
const leastTimeout = 1

// pool reads an item of pools. It refuses a minimum above the maximum of the same kind, at
// the place of the maximum. A missing maximum stays 0, which means no limit.
func (d *decoder) pool(n *yaml.Node) {
	p := slots.Pool{Weight: ppm.One}
	var place, maxMaps, maxReduces Pos
	timeout := func(v *yaml.Node, key string) time.Duration { return max(d.time(v, key), leastTimeout) }
	d.mapping(n, "pool", []field{
		{"name", at(&place, into(&p.Name, d.name))},
		{"weight", d.set(number(&p.Weight, 1))},
		{"min_maps", d.set(count(&p.MinMaps, 0))},
		{"min_reduces", d.set(count(&p.MinReduces, 0))},
		{"max_maps", at(&maxMaps, d.set(count(&p.MaxMaps, 1)))},
		{"max_reduces", at(&maxReduces, d.set(count(&p.MaxReduces, 1)))},
		{"max_running_jobs", d.set(count(&p.MaxRunning, 1))},
		{"mode", d.set(setting.Either(&p.FIFO, "fifo", "fair", false))},
		{"preempt_after", into(&p.PreemptAfter, timeout)},
		{"fair_preempt_after", into(&p.FairPreemptAfter, timeout)},
		{"capacity", d.set(setting.Factor(&p.Capacity, 1, ppm.One))},
		{"max_capacity", d.set(setting.Factor(&p.MaxCapacity, 1, ppm.One))},
		{"min_user_limit", d.set(setting.Factor(&p.MinUserLimit, 1, ppm.One))},
		{"user_limit_factor", d.set(number(&p.UserLimitFactor, 1))},
	})
	d.must(n, "pool", p.Name != "", "name")
	if p.Capacity == 0 && (p.MaxCapacity > 0 || p.MinUserLimit > 0 || p.UserLimitFactor > 0) {
		d.failAt(place, "pool "+p.Name, "max_capacity, min_user_limit and user_limit_factor need capacity")
	}
	if p.MaxMaps > 0 && p.MinMaps > p.MaxMaps {
		d.failAt(maxMaps, "pool "+p.Name, "min_maps %d is over max_maps %d", p.MinMaps, p.MaxMaps)
	}
	if p.MaxReduces > 0 && p.MinReduces > p.MaxReduces {
		d.failAt(maxReduces, "pool "+p.Name, "min_reduces %d is over max_reduces %d", p.MinReduces, p.MaxReduces)
	}
	if p.MaxCapacity > 0 && p.Capacity > p.MaxCapacity {
		d.failAt(place, "pool "+p.Name, "capacity %v is over max_capacity %v", p.Capacity, p.MaxCapacity)
	}
	d.file.Pools, d.places.poolAt = append(d.file.Pools, p), append(d.places.poolAt, place)
}

// slow reads an item of slow. The factor is a speed: with 0.5 tasks take twice as long.
func (d *decoder) slow(n *yaml.Node) {
	s, place := setup.Slow{}, Pos{}
	d.mapping(n, "slow", []field{
		{"tracker", at(&place, d.set(count(&s.Tracker, 0)))},
		{"factor", d.set(setting.Factor(&s.Factor, 1, setup.MostFactor))},
	})
	d.must(n, "slow", place.Line > 0, "tracker")
	d.must(n, "slow", s.Factor > 0, "factor")
	d.file.trackersAt = append(d.file.trackersAt, trackerAt{s.Tracker, place})
	d.file.Slow, d.places.slowAt = append(d.file.Slow, s), append(d.places.slowAt, place)
}

// capacity reads an item of capacities. The tracker has the whole of a missing resource.
func (d *decoder) capacity(n *yaml.Node) {
	c, place := slots.Capacity{Vector: slots.WholeVector()}, Pos{}
	d.mapping(n, "capacity", []field{
		{"tracker", at(&place, d.set(count(&c.Tracker, 0)))},
		{"cpu", d.set(number(&c.CPU, 1))},
		{"io", d.set(number(&c.IO, 1))},
		{"mem", d.set(number(&c.Memory, 1))},
	})
	d.must(n, "capacity", place.Line > 0, "tracker")
	d.file.trackersAt = append(d.file.trackersAt, trackerAt{int(c.Tracker), place})
	d.file.Capacities, d.places.capacityAt = append(d.file.Capacities, c), append(d.places.capacityAt, place)
}

// fault reads an item of faults, which has one of three forms:
//
//	{at: 50s, tracker: 3, lost: true}      a tracker is lost
//	{at: 50s, task: J01/m/7, lost: true}   the output of a map is lost
//	{task: J01/m/7, fail: 2}               the first 2 attempts of a task fail
//
// checkFault looks up the name of the task later.
func (d *decoder) fault(n *yaml.Node) {
	// A negative number stands for no tracker, because tracker 0 exists.
	f := setup.Fault{Tracker: -1}
	var task reference
	var when, tracker, of Pos // Line 0: the key is not given
	d.mapping(n, "fault", []field{
		{"at", at(&when, d.set(duration(&f.At)))},
		{"tracker", at(&tracker, d.set(count(&f.Tracker, 0)))},
		{"lost", into(&f.Lost, d.yes)},
		{"task", at(&of, into(&task.name, d.word))},
		{"fail", d.set(count(&f.Fail, 1))},
	})
	task.at = of
	if f.Tracker >= 0 {
		task.at = tracker
		d.file.trackersAt = append(d.file.trackersAt, trackerAt{f.Tracker, tracker})
	}
	switch {
	case d.err != nil:
		return
	case tracker.Line+of.Line == 0:
		d.must(n, "fault", false, "tracker and no task")
	case tracker.Line > 0 && of.Line > 0:
		d.failAt(of, "fault", "has tracker and task; give only one of them")
	// A fault has exactly one of lost and fail. fail is for tasks only.
	case f.Lost == (f.Fail > 0) || tracker.Line > 0 && f.Fail > 0:
		d.fail(d.resolve(n), "fault", "write one of {at: 50s, tracker: 3, lost: true}, {task: J01/m/7, fail: 2} and {at: 50s, task: J01/m/7, lost: true}")
	case f.Lost && when.Line == 0:
		d.must(n, "fault", false, "at, the time of the loss")
	case !f.Lost && when.Line > 0:
		d.failAt(when, "at", "a task fails at the end of its time, so it has no at")
	}
	d.file.Faults = append(d.file.Faults, f)
	d.places.faults = append(d.places.faults, task)
}

// times reads one of 20s, {uniform: [25s, 35s]}, {lognormal: [20s, 0.3]} and
// {list: [20s, 30s]}.
func (d *decoder) times(n *yaml.Node, what string) (t Times) {
	// A single value is a constant time.
	if _, ok := d.scalar(n); ok || d.err != nil {
		return Constant(d.time(n, what))
	}
	law := func(v *yaml.Node, key string) {
		if t.Given() { // the mapping has a law already
			d.fail(v, what, "give only one of a time, uniform, lognormal and list")
		}
		var items []*yaml.Node
		d.list(v, key, func(item *yaml.Node) { items = append(items, item) })
		switch {
		case d.err != nil:
		case key == "list":
			t = Times{law: listed, list: make([]time.Duration, len(items))}
			for i, item := range items {
				t.list[i] = d.time(item, key)
			}
			if len(items) == 0 {
				d.fail(v, key, "is empty")
			}
		// The two other laws have two parameters each.
		case len(items) != 2:
			d.fail(v, key, "has %d items; it is [least, most] or [median, sigma], as in uniform: [25s, 35s] and lognormal: [20s, 0.3]", len(items))
		case key == "uniform":
			t = Times{law: uniform, a: d.time(items[0], key), b: d.time(items[1], key)}
			if d.err == nil && t.a > t.b {
				d.fail(items[0], key, "%v is over %v", t.a, t.b)
			}
		default:
			t = Times{law: lognormal, a: d.time(items[0], key), sigma: d.sigma(items[1], key)}
		}
	}
	d.mapping(n, what, []field{{"uniform", law}, {"lognormal", law}, {"list", law}})
	if d.err == nil && !t.Given() {
		d.fail(n, what, "is empty; write 20s or {uniform: [25s, 35s]}")
	}
	return t
}

// ParseFault reads one fault, written as an item of faults with or without its braces:
// "at: 50s, tracker: 3, lost: true". The run has one job of the given name and the given
// number of trackers; 0: any tracker is accepted. An error is of kind errs.BadOptions, and
// object names the option in it.
func ParseFault(object, text, job string, trackers int) (setup.Fault, error) {
	d := newDecoder(object, 0)
	inner := strings.TrimSpace(text)
	if !strings.HasPrefix(inner, "{") {
		inner = "{" + inner + "}"
	}
	if at, _ := forbidden(inner); at >= 0 || strings.ContainsAny(inner, "\n\r") {
		return setup.Fault{}, errs.Optionf(object, "%s: not one line of UTF-8 text", errs.Quote(text))
	}
	d.file.Trackers = trackers
	d.file.Jobs = []ListedJob{{Submission: setup.Submission{Name: job}, Job: job}}
	if body := d.parse(inner, 0); d.err == nil {
		d.fault(body)
	}
	if d.err == nil {
		d.checkFault(0, map[string]int{job: 0})
	}
	d.checkTrackers()
	if d.err == nil {
		return d.file.Faults[0], nil
	}
	// The message quotes the whole text, so it needs no line and column.
	cause := d.err
	if e, ok := errors.AsType[*errs.Error](d.err); ok {
		cause = e.Cause
	}
	return setup.Fault{}, errs.Optionf(object, "%s: %v", errs.Quote(text), cause)
}
