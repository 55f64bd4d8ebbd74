package slots

import "mrlocal/trace"

// FIFO is Hadoop's first scheduler (JobQueueTaskScheduler, SPEC 1.5): typed
// slots, the first job in order of priority, submission and id that has a task;
// a tracker takes its part of the load, ceil(load factor · capacity), so that
// few tasks spread evenly; per heartbeat at most one reduce, and at most one map
// that is not near its input. It is what a nil Policy means.
type FIFO struct {
	first   [2]Ranking[fifoKey]
	changed []JobID
	refused []JobID
}

type fifoKey struct{ priority Priority }

// fifoLess is FifoComparator (SPEC 1.3): priority, then submission, which the
// ids are in the order of.
func fifoLess(a, b *fifoKey) bool { return a.priority > b.priority }

// NewFIFO returns a FIFO.
func NewFIFO() *FIFO { return &FIFO{} }

// Reset implements Resetter.
func (f *FIFO) Reset() {
	*f = FIFO{}
	for k := range f.first {
		f.first[k].Less = fifoLess
	}
}

// Name implements Policy.
func (*FIFO) Name() string { return "fifo" }

// Decide implements Policy.
func (f *FIFO) Decide(v *View, d *Decision) {
	f.update(v)
	t := v.Tracker()
	for f.fits(v, d, t, Map) && f.grantFirst(v, d, Map) {
		if s := d.Started(); s.Locality == LevelAny && v.Placed(s.Attempt.Job) {
			d.Decline(Map, "a heartbeat starts at most one map away from its input")
			break
		}
	}
	if f.fits(v, d, t, Reduce) && f.grantFirst(v, d, Reduce) {
		d.Decline(Reduce, "a heartbeat starts at most one reduce")
	}
}

// fits: something is pending, and the tracker has a slot for it and not yet its
// part of the load.
func (f *FIFO) fits(v *View, d *Decision, t TrackerID, k Kind) bool {
	pending, free := v.Pending(k) > 0, v.FreeHome(t, k) > 0
	if pending && free && v.RunningAt(t, k) < LoadCap(v, t, k) {
		return true
	}
	if d.Explaining() {
		why := "the tracker has its part of the load"
		if !pending {
			why = "no " + k.String() + " is pending"
		} else if !free {
			why = "no " + k.String() + " slot of the tracker is free"
		}
		d.Decline(k, why, f.numbers(v, k)...)
	}
	return false
}

// numbers are what FIFO looks at for kind k.
func (f *FIFO) numbers(v *View, k Kind) []Number {
	t := v.Tracker()
	all := []Number{
		{Name: "pending " + k.String() + "s", Num: int64(v.Pending(k))},
		{Name: "running on the tracker", Num: int64(v.RunningAt(t, k))},
		{Name: "the tracker's part of the load", Num: int64(LoadCap(v, t, k))},
	}
	if c := int64(v.Capacity(k)); c > 0 {
		all = append(all, Number{Name: k.String() + " load factor", Num: int64(v.Pending(k)) + int64(v.Running(k)), Den: c})
	}
	return all
}

// why is what a grant to the first job rests on; the others come after it in
// order of priority and submission.
func (f *FIFO) why(v *View, k Kind, winner JobID) Why {
	w := Why{Numbers: f.numbers(v, k)}
	var later []int32
	for range MostBeaten + 1 {
		id, ok := f.first[k].First()
		if !ok {
			break
		}
		f.first[k].Remove(id)
		later = append(later, id)
		if JobID(id) == winner {
			continue
		}
		why := "it was submitted later"
		if v.Job(JobID(id)).Priority() < v.Job(winner).Priority() {
			why = "its priority is lower"
		}
		w.Beaten = append(w.Beaten, Beaten{Pool: v.Job(JobID(id)).Pool(), Job: JobID(id), Why: why})
	}
	for _, id := range later {
		f.rank(v, JobID(id))
	}
	return w
}

// LoadCap is how many tasks of kind k a tracker of typed slots takes under an
// even load (SPEC 1.5, CapBasedLoadManager with max diff 0): its share of what
// is pending and running.
func LoadCap(v *View, t TrackerID, k Kind) int32 {
	return ShareOfLoad(v.Pending(k)+v.Running(k), v.CapacityAt(t, k), v.Capacity(k))
}

// ShareOfLoad is min(ceil(demand/all · own), own), in integers: a ceiling of
// floating point gives a slot too much now and then.
func ShareOfLoad(demand, own, all int32) int32 {
	if all == 0 {
		return 0
	}
	return int32(min((int64(demand)*int64(own)+int64(all)-1)/int64(all), int64(own)))
}

// grantFirst starts a task of the first job that may have one.
func (f *FIFO) grantFirst(v *View, d *Decision, k Kind) bool {
	granted := false
	for !granted {
		id, ok := f.first[k].First()
		if !ok {
			break
		}
		if d.Explaining() {
			d.Because(f.why(v, k, JobID(id)))
		}
		granted = d.Grant(Grant{Slot: NoSlot, Job: JobID(id), Kind: k, Task: NoTask, Rule: trace.RuleFIFO})
		if !granted {
			f.first[k].Remove(id)
			f.refused = append(f.refused, JobID(id))
		}
	}
	for _, id := range f.refused {
		f.rank(v, id)
	}
	f.refused = f.refused[:0]
	f.update(v)
	return granted
}

func (f *FIFO) update(v *View) {
	f.changed = v.Changed(f.changed[:0])
	for _, id := range f.changed {
		f.rank(v, id)
	}
}

func (f *FIFO) rank(v *View, id JobID) {
	j := v.Job(id)
	for k := range f.first {
		if j.Pending(Kind(k)) > 0 {
			f.first[k].Set(int32(id), fifoKey{j.Priority()})
		} else {
			f.first[k].Remove(int32(id))
		}
	}
}
