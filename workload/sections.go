package workload

import (
	"time"

	"github.com/goccy/go-yaml/ast"

	"mrlocal/internal/ppm"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/slots/setup"
)

// places holds what File does not keep of the text: names that are looked up once all
// is read, defaults, and places for messages.
type places struct {
	hasPools bool // the section is there
	// From the section defaults. check gives them to jobs without a time of their own.
	mapTime    Times
	reduceTime Times
	// These lists run parallel to the lists of the File.
	poolAt, userAt []Pos
	slowAt         []Pos
	capacityAt     []Pos
	faults         []reference // a task, or only the place of a tracker
	jobs           []jobPlaces
}

// reference is a name of something else in the file, and its place.
// It is resolved by check, because the other thing may stand further down.
type reference struct {
	name string
	at   Pos
}

// jobPlaces holds the places of a job's values, and the names in its after.
type jobPlaces struct {
	name, pool, user, deadline Pos
	after                      []reference
}

// workload reads the top level of a file. items are the parts of its jobs, if split has
// found any; then body has no jobs of its own.
func (d *decoder) workload(body ast.Node, items []part) {
	if d.err == nil && body == nil {
		d.failAt(Pos{1, 1}, "", "empty: a workload has at least jobs")
	}
	if d.err != nil {
		return
	}
	// A message about an unknown key suggests the nearest of these.
	names := []string{"cluster", "defaults", "locality", "users", "pools", "slow", "capacities", "faults", "jobs", "experiments"}
	jobsDone := false
	d.mapping(body, "workload", names, func(key string, v ast.Node) {
		switch key {
		case "cluster":
			d.cluster(v)
		case "defaults":
			d.defaults(v)
		case "locality":
			d.locality(v)
		case "users":
			d.list(v, key, d.user)
		case "pools":
			d.places.hasPools = true
			d.list(v, key, d.pool)
		case "slow":
			d.list(v, key, d.slow)
		case "capacities":
			d.list(v, key, d.capacity)
		case "faults":
			d.list(v, key, d.fault)
		case "experiments":
			d.list(v, key, d.experiment)
		case "jobs":
			jobsDone = true
			if items == nil {
				d.list(v, key, d.job)
			}
			// A part is parsed, read and dropped before the next one, which bounds the memory.
			for _, p := range items {
				if list := d.parse(p); d.err == nil && list != nil {
					d.list(list, key, d.job)
				}
			}
		}
	})
	if d.err == nil && (!jobsDone || len(d.file.Jobs) == 0) {
		d.failAt(placeOf(body), "", "no jobs")
	}
}

// cluster reads cluster. Each number must be above 0, and the product of trackers and
// slots at most mostSlots.
// A number that is not given stays 0, and flags or defaults apply.
func (d *decoder) cluster(n ast.Node) {
	f := d.file
	c := &f.Cluster
	names := []string{"trackers", "map_slots", "reduce_slots", "cores", "disk", "net", "slot_weights", "overcommit"}
	// The tables keep one rule for each type of value: a count, a rate.
	counts := map[string]*int{"trackers": &f.Trackers, "map_slots": &f.MapSlots, "reduce_slots": &f.ReduceSlots, "cores": &c.Cores}
	rates := map[string]*int64{"disk": &c.DiskBytes, "net": &c.NetBytes}
	d.mapping(n, "cluster", names, func(key string, v ast.Node) {
		switch key {
		case "trackers", "map_slots", "reduce_slots", "cores":
			*counts[key] = positive(d, v, key, d.count(v, key))
		case "disk", "net":
			*rates[key] = positive(d, v, key, d.bytes(v, key))
		case "slot_weights":
			d.slotWeights(v)
		case "overcommit":
			c.Overcommit = d.demand(v, key)
		}
	})
	// Each number fits, but their product decides how much memory a Ledger takes.
	if slots := int64(max(1, f.Trackers)) * (int64(f.MapSlots) + int64(f.ReduceSlots)); slots > mostSlots {
		d.fail(n, "cluster", "%d slots; at most %d", slots, mostSlots)
	}
}

// slotWeights reads slot_weights, which has both kinds: a weight is relative to the other.
func (d *decoder) slotWeights(n ast.Node) {
	c := &d.file.Cluster
	d.mapping(n, "slot_weights", []string{"map", "reduce"}, func(key string, v ast.Node) {
		weight := positive(d, v, key, d.count(v, key))
		if weight > demand.MostWeight {
			d.fail(v, key, "at most %d", demand.MostWeight)
		}
		if key == "map" {
			c.MapWeight = weight
		} else {
			c.ReduceWeight = weight
		}
	})
	if d.err == nil && min(c.MapWeight, c.ReduceWeight) == 0 {
		d.fail(n, "slot_weights", "give map and reduce")
	}
}

// defaults reads defaults. Its times are kept until check gives them to the jobs, because
// jobs may come before defaults in the file.
func (d *decoder) defaults(n ast.Node) {
	names := []string{"slowstart", "map_time", "reduce_time"}
	d.mapping(n, "defaults", names, func(key string, v ast.Node) {
		switch key {
		case "slowstart":
			p := d.share(v, key)
			if p > ppm.One {
				d.fail(v, key, "%v is more than 1, the whole", p)
			}
			d.file.Slowstart = &p
		case "map_time":
			d.places.mapTime = d.times(v, key)
		case "reduce_time":
			d.places.reduceTime = d.times(v, key)
		}
	})
}

// locality reads locality: the synthetic placement of inputs.
func (d *decoder) locality(n ast.Node) {
	d.mapping(n, "locality", []string{"replicas", "group_trackers"}, func(key string, v ast.Node) {
		switch key {
		case "replicas":
			d.file.Replicas = d.count(v, key)
		case "group_trackers":
			d.file.GroupTrackers = d.count(v, key)
		}
	})
}

// user reads an item of users.
func (d *decoder) user(n ast.Node) {
	u := slots.User{}
	d.mapping(n, "user", []string{"name", "max_running_jobs"}, func(key string, v ast.Node) {
		switch key {
		case "name":
			u.Name = d.name(v, key)
			d.places.userAt = append(d.places.userAt, placeOf(v))
		case "max_running_jobs":
			u.MaxRunning = d.count32(v, key)
		}
	})
	d.must(n, "user", u.Name != "", "name")
	d.file.Users = append(d.file.Users, u)
}

// must reports that a key is missing, unless it is given.
// It does nothing after an error, because the key may be missing for that reason.
func (d *decoder) must(n ast.Node, what string, given bool, key string) {
	if d.err == nil && !given {
		d.fail(d.resolve(n), what, "no %s", key)
	}
}

// leastTimeout stands for a preemption timeout of 0s in the file. In a slots.Pool, 0
// means never, so "at once" is the shortest time there is.
// The unit is the nanosecond of time.Duration.
const leastTimeout = 1

// pool reads an item of pools. A minimum above the maximum of the same kind is refused at
// the place of the maximum.
// A maximum that is not given is 0, which means no limit.
func (d *decoder) pool(n ast.Node) {
	p := slots.Pool{Weight: ppm.One}
	var maxMaps, maxReduces ast.Node
	names := []string{"name", "weight", "min_maps", "min_reduces", "max_maps", "max_reduces", "max_running_jobs", "mode", "preempt_after", "fair_preempt_after"}
	d.mapping(n, "pool", names, func(key string, v ast.Node) {
		switch key {
		case "name":
			p.Name = d.name(v, key)
			d.places.poolAt = append(d.places.poolAt, placeOf(v))
		case "weight":
			p.Weight = positive(d, v, key, d.share(v, key))
		case "min_maps":
			p.MinMaps = d.count32(v, key)
		case "min_reduces":
			p.MinReduces = d.count32(v, key)
		case "max_maps":
			p.MaxMaps, maxMaps = d.count32(v, key), v
		case "max_reduces":
			p.MaxReduces, maxReduces = d.count32(v, key), v
		case "max_running_jobs":
			p.MaxRunning = d.count32(v, key)
		case "mode":
			p.FIFO = d.choice(v, key, []string{"fair", "fifo"}) == 1
		case "preempt_after":
			p.PreemptAfter = max(d.time(v, key), leastTimeout)
		case "fair_preempt_after":
			p.FairPreemptAfter = max(d.time(v, key), leastTimeout)
		}
	})
	d.must(n, "pool", p.Name != "", "name")
	if d.err == nil && p.MaxMaps > 0 && p.MinMaps > p.MaxMaps {
		d.fail(maxMaps, "pool "+p.Name, "min_maps %d is over max_maps %d", p.MinMaps, p.MaxMaps)
	}
	if d.err == nil && p.MaxReduces > 0 && p.MinReduces > p.MaxReduces {
		d.fail(maxReduces, "pool "+p.Name, "min_reduces %d is over max_reduces %d", p.MinReduces, p.MaxReduces)
	}
	d.file.Pools = append(d.file.Pools, p)
}

// slow reads an item of slow. It keeps the place of the tracker for check.
// The factor is a speed: 0.5 makes tasks take twice as long.
func (d *decoder) slow(n ast.Node) {
	s, tracker, at := setup.Slow{}, false, placeOf(n)
	d.mapping(n, "slow", []string{"tracker", "factor"}, func(key string, v ast.Node) {
		switch key {
		case "tracker":
			s.Tracker, tracker, at = d.count(v, key), true, placeOf(v)
		case "factor":
			s.Factor = positive(d, v, key, d.share(v, key))
		}
	})
	d.must(n, "slow", tracker, "tracker")
	d.must(n, "slow", s.Factor > 0, "factor")
	d.file.Slow = append(d.file.Slow, s)
	d.places.slowAt = append(d.places.slowAt, at)
}

// capacity reads an item of capacities. A resource that is not given is the whole.
func (d *decoder) capacity(n ast.Node) {
	c, tracker := demand.Capacity{Vector: demand.Whole()}, false
	d.mapping(n, "capacity", []string{"tracker", "cpu", "io", "mem"}, func(key string, v ast.Node) {
		switch key {
		case "tracker":
			c.Tracker, tracker = d.count32(v, key), true
			d.places.capacityAt = append(d.places.capacityAt, placeOf(v))
		case "cpu":
			c.CPU = positive(d, v, key, d.share(v, key))
		case "io":
			c.IO = positive(d, v, key, d.share(v, key))
		case "mem":
			c.Memory = positive(d, v, key, d.share(v, key))
		}
	})
	d.must(n, "capacity", tracker, "tracker")
	d.file.Capacities = append(d.file.Capacities, c)
}

// fault reads an item of faults, which has one of three forms: the loss of a tracker, the
// loss of a map's output, and the failure of a task. check looks up the task's name.
// f.Lost belongs to the first two forms, f.Fail to the third, and only the third has no
// time.
func (d *decoder) fault(n ast.Node) {
	// A negative number stands for no tracker, because tracker 0 exists.
	f := setup.Fault{Tracker: -1}
	var task reference
	has := map[string]ast.Node{}
	d.mapping(n, "fault", []string{"at", "tracker", "lost", "task", "fail"}, func(key string, v ast.Node) {
		has[key] = v
		switch key {
		case "at":
			f.At = d.time(v, key)
		case "tracker":
			f.Tracker = d.count(v, key)
			task.at = placeOf(v)
		case "lost":
			f.Lost = d.yes(v, key)
		case "task":
			task = reference{d.word(v, key), placeOf(v)}
		case "fail":
			f.Fail = positive(d, v, key, d.count(v, key))
		}
	})
	switch {
	case d.err != nil:
		return
	case has["tracker"] == nil && has["task"] == nil:
		d.must(n, "fault", false, "tracker and no task")
	case has["tracker"] != nil && has["task"] != nil:
		d.fail(has["task"], "fault", "of a tracker or of a task, not of both")
	// It needs exactly one of lost and fail, and a tracker cannot fail.
	case f.Lost == (f.Fail > 0) || has["tracker"] != nil && f.Fail > 0:
		d.fail(d.resolve(n), "fault", "is one of {at: 50s, tracker: 3, lost: true}, {task: J01/m/7, fail: 2} and {at: 50s, task: J01/m/7, lost: true}")
	case f.Lost && has["at"] == nil:
		d.must(n, "fault", false, "at: when it is lost")
	case !f.Lost && has["at"] != nil:
		d.fail(has["at"], "at", "a task fails at the end of its time, so it has no at")
	}
	d.file.Faults = append(d.file.Faults, f)
	d.places.faults = append(d.places.faults, task)
}

// times reads one of 20s, {uniform: [25s, 35s]}, {lognormal: [20s, 0.3]} and
// {list: [20s, 30s]}.
// The result is not Given after an error.
func (d *decoder) times(n ast.Node, what string) (t Times) {
	// A single value is a constant time.
	if _, ok := d.scalar(n); ok || d.err != nil {
		return Constant(d.time(n, what))
	}
	d.mapping(n, what, []string{"uniform", "lognormal", "list"}, func(key string, v ast.Node) {
		// Two laws in one mapping contradict each other.
		if t.Given() {
			d.fail(v, what, "is one of a time, uniform, lognormal and list")
		}
		var items []ast.Node
		d.list(v, key, func(item ast.Node) { items = append(items, item) })
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
			t = Times{law: lognormal, a: d.time(items[0], key), sigma: decode(d, items[1], key, parseSigma)}
		}
	})
	if d.err == nil && !t.Given() {
		d.fail(n, what, "is empty; write 20s or {uniform: [25s, 35s]}")
	}
	return t
}
