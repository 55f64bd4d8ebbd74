package ras

import (
	"math"
	"slices"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
	"mrlocal/trace"
)

// mostRounds bounds the rounds in which maps are placed. The rounds end earlier when the
// lowest utility does not rise any more [RAS11, section 3.4].
const mostRounds = 10

// place is [RAS11, Alg. 1]: it places reducers first, then maps.
//
// It begins with the running tasks, not with the placement of the last cycle, because the
// two may differ. A running task that is taken out of the placement is not killed. It ends by
// itself, and no task starts in its place [RAS11, "removal is not a kill"].
//
// Only the jobs in r.touched have another placement than before. So the cost of a placement grows
// with the slots and with the jobs that have changed, not with all jobs.
func (r *RAS) place(v *slots.View) {
	r.now = v.Now()
	r.placeRunning(v)
	r.switchReducers()
	r.placeReducers()
	r.placeMappers()
	r.switchProfiles()
	r.keepPlaced()
}

// placeRunning empties the placement, places the running tasks, and estimates how many maps each
// job requires.
func (r *RAS) placeRunning(v *slots.View) {
	r.touched = slices.DeleteFunc(r.touched, func(s *rasJob) bool { return r.byID[s.id] != s })
	for _, s := range r.touched {
		s.allotted = [trace.Kinds]int32{}
		s.here = [trace.Kinds]int32{}
		s.part = 0
		s.count()
	}
	for t := range r.nodes {
		n := &r.nodes[t]
		n.load = slots.Vector{}
		n.maps = slots.Vector{}
		n.copying = slots.Vector{}
		n.used, n.reduces = 0, 0
		n.room = 0
		// Only jobs in the list of the tracker have entries to empty.
		for _, s := range n.jobs {
			s.on[t] = placed{}
		}
		r.sleep(t) // placing a task that does not run yet wakes the tracker
		// A tracker counts as lost until a home slot of it turns out to be open.
		n.lost = true
		n.jobs = n.jobs[:0]
		n.shuffle = n.shuffle[:0]
		n.busy = 0
		extra := 0
		for _, id := range n.slots {
			slot := v.Slot(id)
			n.lost = n.lost && (slot.Extra || slot.State == slots.SlotClosed)
			// open must not close a busy slot, and slots close from the highest number down.
			if slot.Extra {
				if extra++; slot.Busy {
					n.busy = extra
				}
			}
			// The Ledger kills the attempts of a job that has ended, so they do not count.
			if !slot.Busy || r.byID[slot.Attempt.Job] == nil {
				continue
			}
			s, k := r.byID[slot.Attempt.Job], slot.Attempt.Kind
			r.touch(s)
			if s.put(k, n, t, 1); k == slots.Map {
				s.part += r.leftOf(v.Now(), &slot)
				r.chargeMap(s, n, 1)
				continue
			}
			n.reduces++
			// An advanced reduce needs the resources of its reduce phase from now on.
			if slot.Advanced {
				r.charge(n, s.reducing(n), 1)
				continue
			}
			r.shuffle(s, n, t, 1)
		}
	}
	for _, s := range r.touched {
		r.estimate(s)
	}
	for t := range r.nodes {
		n := &r.nodes[t]
		if before := &r.nodes[max(t-1, 0)]; t > 0 && n.capacity == before.capacity && len(n.slots) == len(before.slots) {
			n.room = before.room // the same result, because most trackers are equal
			continue
		}
		r.keepRoom(n)
	}
}

// keepRoom sets n.room, the number of slots that reduces in shuffle leave to maps. It is the
// largest number of maps of one job that fit on the tracker, up to half of the slots.
func (r *RAS) keepRoom(n *node) {
	for _, g := range r.groups {
		n.room = max(n.room, min(fitting(g.needs.AtMost(n.capacity), n.capacity), int32(len(n.slots)+1)/2))
	}
}

// fitting returns how many tasks with these needs fit into a capacity.
func fitting(needs, capacity slots.Vector) int32 {
	n := slots.PPM(1 << 30) // the result for a task that needs nothing
	for _, of := range [][2]slots.PPM{{needs.CPU, capacity.CPU}, {needs.IO, capacity.IO}, {needs.Memory, capacity.Memory}} {
		if of[0] > 0 {
			n = min(n, of[1]/of[0])
		}
	}
	return int32(n)
}

// chargeMap adds count maps of a job to the load of a tracker; a negative count removes some.
func (r *RAS) chargeMap(s *rasJob, n *node, count int32) {
	n.maps = n.maps.Plus(s.mapping(n).Times(count))
	r.charge(n, s.mapping(n).Times(count), count)
}

// charge adds needs and slots to the load of a tracker.
func (r *RAS) charge(n *node, needs slots.Vector, slotsUsed int32) {
	n.used += slotsUsed
	n.load = n.load.Plus(needs)
}

// shuffle adds count reduces in shuffle of a job to the load of a tracker; a negative count
// removes some.
func (r *RAS) shuffle(s *rasJob, n *node, t int, count int32) {
	if s.on[t].waiting == 0 {
		n.shuffle = append(n.shuffle, s)
	}
	s.on[t].waiting += count
	n.copying = n.copying.Plus(s.copying(n, s.total).Times(count))
	r.charge(n, s.copying(n, s.counted).Times(count), count)
}

// switchReducers reserves room for running reduces to switch from shuffle to reduce [RAS11,
// Alg. 1, l. 26-28]. The map phase of their job must be complete or about to be. On each
// tracker it reserves room for as many as fit next to the other reduces. The rest wait until
// those end. Until they have switched they also count in n.copying, because a map may have to
// run again.
func (r *RAS) switchReducers() {
	for t := range r.nodes {
		n := &r.nodes[t]
		for _, s := range n.shuffle {
			more := s.reducing(n).Minus(s.copying(n, s.counted)).AtLeast(slots.Vector{})
			// Maps do not count here, because removeMaps removes maps without room later.
			for i := int32(0); s.switched && i < s.on[t].waiting && n.load.Minus(n.maps).Plus(more).Fits(n.capacity); i++ {
				n.load = n.load.Plus(more)
			}
		}
	}
}

// placeReducers places pending reducers evenly over the trackers [RAS11, Alg. 1, l. 1-8],
// corrected [RAS11, "reducer loop"]. Each pass places one per tracker, until there is no room or
// no reducer is left. Only other reducers limit their room, because removeMaps removes maps
// without room later.
func (r *RAS) placeReducers() {
	r.free = 0
	for t := range r.nodes {
		if r.nodes[t].takesShuffle() {
			r.free++
		}
	}
	for s := r.nextReducing(0); s != nil; s = r.nextReducing(s.id + 1) {
		// roomSomewhere makes sure that each pass places at least one reducer.
		for left := s.pending[slots.Reduce]; left > 0 && r.roomSomewhere(s); {
			for _, t := range r.trackersForReducers(s) {
				if left > 0 && r.roomForReducer(s, int(t)) {
					r.placeReducer(s, int(t))
					left--
				}
			}
		}
		s.setUtility()
	}
}

// trackersForReducers returns the trackers in the order in which they get a reducer [RAS11, Alg.
// 1, l. 2]. The keys are the number of reduces that are placed there, then the number of those of
// the job, then the id. So two reduces share a tracker only if they must, and preferably those of
// two jobs. Both numbers are small, so it is a counting sort. The slice is scratch.
func (r *RAS) trackersForReducers(s *rasJob) []int32 {
	most := int32(0)
	for t := range r.nodes {
		most = max(most, r.nodes[t].reduces)
	}
	pairOf := func(t int) int32 { return r.nodes[t].reduces*(most+1) + s.on[t].tasks[slots.Reduce] }
	clear(r.counts)
	for int32(len(r.counts)) <= (most+1)*(most+1) {
		r.counts = append(r.counts, 0)
	}
	for t := range r.nodes {
		r.counts[pairOf(t)+1]++
	}
	for i := range r.counts[1:] {
		r.counts[i+1] += r.counts[i]
	}
	for t := range r.nodes {
		at := &r.counts[pairOf(t)]
		r.order[*at] = int32(t)
		*at++
	}
	return r.order
}

// roomSomewhere reports whether some tracker has room for a reducer of a job.
func (r *RAS) roomSomewhere(s *rasJob) bool {
	for t := range r.nodes {
		if r.roomForReducer(s, t) {
			return true
		}
	}
	return false
}

// placeReducer places a reduce on tracker t. Its needs are those of a reduce in shuffle, or
// those of its reduce phase if all maps are done.
func (r *RAS) placeReducer(s *rasJob, t int) {
	n := &r.nodes[t]
	took := n.takesShuffle()
	r.touch(s)
	s.put(slots.Reduce, n, t, 1)
	r.awake.Put(slots.TrackerID(t), true)
	if n.reduces++; took && !n.takesShuffle() {
		r.free--
	}
	if s.mapsDone {
		r.charge(n, s.reducing(n), 1)
		return
	}
	r.shuffle(s, n, t, 1)
}

// roomForReducer is room_for_new_job_slot for a reducer. In addition to feasibility [RAS11,
// eq. 6] it makes sure that no task waits for ever [RAS11, "nothing waits for ever"]. With
// the new one, the reduces in shuffle on a tracker must satisfy three conditions:
//   - each of them can switch to reduce next to the others [RAS11, "shuffle memory gate"],
//   - the maps that they wait for have room next to them,
//   - they leave n.room slots to maps.
func (r *RAS) roomForReducer(s *rasJob, t int) bool {
	n := &r.nodes[t]
	if n.lost || s.isBarred(slots.Reduce, t) {
		return false
	}
	// Maps do not count, because removeMaps removes those without room afterwards.
	load := n.load.Minus(n.maps)
	if s.mapsDone {
		return n.reduces < int32(len(n.slots)) && load.Plus(s.reducing(n)).Fits(n.capacity)
	}
	if !n.takesShuffle() || !load.Plus(s.copying(n, s.counted)).Fits(n.capacity) {
		return false
	}
	// Reduces switch one at a time, while the others still copy. The worst case is that they copy
	// from all maps.
	copying := n.copying.Plus(s.copying(n, s.total))
	canAll := func(o *rasJob) bool {
		return copying.Minus(o.copying(n, o.total)).Plus(o.reducing(n)).Fits(n.capacity) && (o.mapsDone || copying.Plus(o.mapping(n)).Fits(n.capacity))
	}
	return canAll(s) && !slices.ContainsFunc(n.shuffle, func(o *rasJob) bool { return o.on[t].waiting > 0 && !canAll(o) })
}

// takesShuffle reports whether a tracker has a slot for one more reduce in shuffle. At least one
// slot remains for maps, even if no map fits now.
func (n *node) takesShuffle() bool { return n.reduces+1+max(n.room, 1) <= int32(len(n.slots)) }

// placeMappers places maps in rounds. In each round it moves slots on every tracker from the jobs
// with the highest utility to those with the lowest. Then it uses the remaining room [RAS11, Alg.
// 1, l. 9-25].
func (r *RAS) placeMappers() {
	r.least = slots.Vector{CPU: math.MaxInt64, IO: math.MaxInt64, Memory: math.MaxInt64}
	for _, g := range r.groups {
		r.least = r.least.AtMost(g.needs)
	}
	for _, s := range r.touched {
		r.rank(s)
	}
	for t := range r.nodes {
		r.removeMaps(t)
	}
	// The rounds end with the first one that raises neither the lowest utility nor one of the jobs
	// that have it.
	lowest, jobs := r.lowest()
	for range mostRounds {
		for t := range r.nodes {
			if n := &r.nodes[t]; !n.lost {
				r.removeHighest(n, t)
				if invariant.Enabled {
					r.checkCandidates(n, t)
				}
				r.fill(n, t)
			}
		}
		was, were := lowest, jobs
		if lowest, jobs = r.lowest(); lowest < was || lowest == was && jobs >= were {
			return
		}
	}
}

// removeMaps takes running maps out of the placement of a tracker until the rest has room next to
// the reducers. Maps of the job with the highest utility go first.
func (r *RAS) removeMaps(t int) {
	n := &r.nodes[t]
	for !n.load.Fits(n.capacity) || n.used > int32(len(n.slots)) {
		out := r.highest(t, 1) // a job may lose its only map here
		if out == nil {
			return // no map is left, and the reducers were feasible when they were launched
		}
		r.putMap(out, n, t, -1)
	}
}

// lowest returns the utility of the system [RAS11, eq. 4], which is the lowest utility of a job,
// and how many jobs have it.
func (r *RAS) lowest() (least utility, jobs int) {
	if r.unplaced > 0 {
		return none, r.unplaced
	}
	least = one
	for _, s := range r.touched { // each job with maps, because maps of each are placed
		switch {
		// Placing maps cannot raise the utility of a job without maps.
		case s.left[slots.Map] == 0 || s.utility > least:
		case s.utility < least:
			least, jobs = s.utility, 1
		default:
			jobs++
		}
	}
	return least, jobs
}

// removeHighest takes maps of the job with the highest utility out of a tracker, one at a time
// [RAS11, Alg. 1, l. 11-19], corrected [RAS11, "mapper loop"]. It ends when the utility of that
// job would not stay above that of the job that would get the room. It then puts the last map
// back. With take-maps-for any, the utility must stay above the lowest of all other jobs
// [RAS11, section 3.4]. It never takes a job's only map, because that job would then have the
// lowest utility of all.
func (r *RAS) removeHighest(n *node, t int) {
	for {
		least := r.worst(nil)
		if least == nil {
			return // no job has a map to place
		}
		out := r.highest(t, 2) // with two maps or more, so that the job keeps one
		if out == nil || out.withoutMap() <= least.utility {
			return // the comparison below would put the map back
		}
		r.putMap(out, n, t, -1)
		in := r.lowestWithRoom(n, t)
		if r.options.TakeMapsFor == "any" {
			in = r.worst(out)
		}
		// The move would not raise the lower of the two utilities.
		if in == nil || in == out || out.utility <= in.utility {
			r.putMap(out, n, t, 1)
			return
		}
	}
}

// fill places maps on a tracker until it has no room for another one [RAS11, eq. 5]. Each map is
// one of the job with the lowest utility [RAS11, Alg. 1, l. 20-23].
func (r *RAS) fill(n *node, t int) {
	for in := r.lowestWithRoom(n, t); in != nil; in = r.lowestWithRoom(n, t) {
		r.putMap(in, n, t, 1)
		r.awake.Put(slots.TrackerID(t), true)
	}
}

// putMap places count maps of a job on a tracker, or takes them out if count is negative. It
// updates the job's utility.
func (r *RAS) putMap(s *rasJob, n *node, t int, count int32) {
	r.touch(s)
	s.put(slots.Map, n, t, count)
	r.chargeMap(s, n, count)
	r.recount(s)
	s.setUtility()
	r.rank(s)
}

// recount updates s.counted after a change of the job's placed maps. Its reduces in shuffle then
// need more or less, on all trackers [RAS11, section 3.4].
func (r *RAS) recount(s *rasJob) {
	was := s.counted
	if s.count(); min(was, s.copies) == min(s.counted, s.copies) {
		return
	}
	for t := range r.nodes {
		if n := &r.nodes[t]; s.on[t].waiting > 0 {
			n.load = n.load.Plus(s.copying(n, s.counted).Minus(s.copying(n, was)).Times(s.on[t].waiting))
		}
	}
}

// roomToCopy reports whether one more map of a job may be placed on tracker t. Each placed
// map raises the needs of the job's reduces in shuffle. Their trackers must have room for that.
func (r *RAS) roomToCopy(s *rasJob, t int) bool {
	next := max(s.counted, s.total-s.left[slots.Map]+s.allotted[slots.Map]+1)
	if min(next, s.copies) == min(s.counted, s.copies) {
		return true
	}
	for at := range r.nodes {
		n := &r.nodes[at]
		load := n.load.Plus(s.copying(n, next).Minus(s.copying(n, s.counted)).Times(s.on[at].waiting))
		if at == t {
			load = load.Plus(s.mapping(n))
		}
		if s.on[at].waiting > 0 && !load.Fits(n.capacity) {
			return false
		}
	}
	return true
}

// highest is job_out. Of the jobs with a map on tracker t and at least least maps placed in
// all, it has the highest utility. Of equals it is the one submitted last; nil: there is none.
func (r *RAS) highest(t int, least int32) (out *rasJob) {
	for _, s := range r.nodes[t].jobs {
		if s.maps > 0 && s.allotted[slots.Map] >= least &&
			(out == nil || s.utility > out.utility || s.utility == out.utility && s.id > out.id) {
			out = s.rasJob
		}
	}
	return out
}

// lowestWithRoom is job_in: of the jobs with a map to place for which there is room, the one with
// the lowest utility. Of equals it is the one submitted first; nil: there is none.
func (r *RAS) lowestWithRoom(n *node, t int) (in *rasJob) {
	if n.used >= int32(len(n.slots)) {
		return nil
	}
	// If r.least does not fit, no map does. This saves most calls of roomForMap.
	if !n.load.Plus(r.least.AtMost(n.capacity)).Fits(n.capacity) {
		return nil
	}
	for _, g := range r.groups {
		if s := r.idleWithRoom(g, n, t); s != nil && (in == nil || s.id < in.id) {
			in = s
		}
	}
	if in != nil {
		return in
	}
	// The first job of the ranking is the answer if it has room, which it mostly has.
	if id, ok := r.byUtility.First(); !ok {
		return nil
	} else if s := r.byID[id]; r.roomForMap(s, n, t) {
		return s
	}
	for _, s := range r.touched {
		if (in == nil || s.before(in)) && r.roomForMap(s, n, t) {
			in = s
		}
	}
	return in
}

// roomForMap is room_for_new_job_slot for a map: the job has a map that is not placed,
// and the placement is feasible with it [RAS11, eq. 6], corrected [RAS11, "demand
// index"].
func (r *RAS) roomForMap(s *rasJob, n *node, t int) bool {
	return s.hasMap() && !s.isBarred(slots.Map, t) &&
		n.load.Plus(s.mapping(n)).Fits(n.capacity) && r.roomToCopy(s, t)
}

// hasMap reports whether the job has a map that is not placed and may be. A running map that was
// taken out may be placed again. In addition to the running maps, only maps that may start are
// placed.
func (s *rasJob) hasMap() bool {
	running := s.left[slots.Map] - s.pending[slots.Map]
	return s.allotted[slots.Map] < s.left[slots.Map] && max(s.allotted[slots.Map]-running, 0) < s.pending[slots.Map]
}

// switchProfiles marks the jobs whose map phase is about to be complete. From the next cycle on,
// their reduces are placed by what they need to reduce [RAS11, Alg. 1, l. 26-28].
func (r *RAS) switchProfiles() {
	for _, s := range r.touched {
		s.switched = s.mapsDone || s.pending[slots.Map] == 0 && aboutToComplete(s.work, s.allotted[slots.Map], r.cycle()) && r.measures.Of(s.id).Tasks[slots.Map] > 0
	}
}

// needs returns the needs of the attempt on a slot.
func (r *RAS) needs(v *slots.View, slot *slots.SlotView) slots.Vector {
	n := &r.nodes[slot.Tracker]
	s := r.byID[slot.Attempt.Job]
	if s == nil { // the job has ended, and the Ledger kills the attempt
		s = &rasJob{id: slot.Attempt.Job, pending: [2]int32{}}
		s.read(v, r.options.ShuffleMemory)
	}
	return s.needs(slot.Attempt.Kind, n, slot.Advanced)
}

// running returns the sum of the needs of the running attempts of a tracker. It also sets
// rasJob.here, the number of running tasks, for each job in the tracker's list.
func (r *RAS) running(v *slots.View, t int) (sum slots.Vector) {
	for _, s := range r.nodes[t].jobs {
		s.here = [trace.Kinds]int32{}
	}
	for _, id := range r.nodes[t].slots {
		slot := v.Slot(id)
		if !slot.Busy {
			continue
		}
		sum = sum.Plus(r.needs(v, &slot))
		if s := r.byID[slot.Attempt.Job]; s != nil {
			s.here[slot.Attempt.Kind]++
		}
	}
	return sum
}

// loads returns the needs of the running attempts of each tracker.
func (r *RAS) loads(v *slots.View) (all []slots.Vector) {
	for t := range r.nodes {
		all = append(all, r.running(v, t))
	}
	return all
}

// checkFeasible checks [RAS11, eq. 6] for the running attempts of every tracker, after a decision.
// before has their needs before it.
func (r *RAS) checkFeasible(v *slots.View, before []slots.Vector) {
	for t, sum := range r.loads(v) {
		capacity := r.nodes[t].capacity.AtLeast(before[t])
		invariant.Check(sum.Fits(capacity), "ras: at %v tracker %d has %+v, and what runs there needs %+v", v.Now(), t, capacity, sum)
	}
}
