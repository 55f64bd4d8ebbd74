package ras

import (
	"math"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/trace"
)

// mostRounds bounds the rounds in which maps are placed. They end earlier when the
// lowest utility does not rise any more [RAS11, section 3.4].
const mostRounds = 10

// place is [RAS11, Alg. 1]: it places reducers first, then maps.
//
// It begins with the running tasks, not with the placement of the last cycle, so that
// it sees where the two differ. A running task that is taken out of the placement is not
// killed; no other task takes its slot when it ends [RAS11, "removal is not a kill"].
func (r *RAS) place(v *slots.View) {
	r.takeStock(v)
	r.switchReducers()
	r.placeReducers()
	r.placeMappers()
	r.switchProfiles()
}

// takeStock places the running tasks, and estimates what each job requires.
func (r *RAS) takeStock(v *slots.View) {
	for _, s := range r.jobs {
		s.allotted, s.here = [trace.Kinds]int32{}, [trace.Kinds]int32{}
		s.count()
	}
	// By job id: what its running maps still have to do.
	clear(r.left)
	for len(r.left) < len(r.byID) {
		r.left = append(r.left, 0)
	}
	for t := range r.nodes {
		n := &r.nodes[t]
		n.load, n.maps, n.copying, n.used, n.reduces, n.room = demand.Vector{}, demand.Vector{}, demand.Vector{}, 0, 0, 0
		// A job has tasks only on trackers that list it.
		for _, s := range n.jobs {
			s.on[t] = placed{}
		}
		r.sleep(t, math.MaxInt32) // until more is placed there than runs, or something ends
		// A tracker counts as lost until a home slot of it turns out to be open.
		n.lost, n.jobs, n.shuffle, n.busy = true, n.jobs[:0], n.shuffle[:0], 0
		extra := 0
		for _, id := range n.slots {
			slot := v.Slot(id)
			n.lost = n.lost && (slot.Extra || slot.State == slots.SlotClosed)
			// busy is the number of the last extra slot that runs a task, so that it is not
			// closed.
			if slot.Extra {
				if extra++; slot.Busy {
					n.busy = extra
				}
			}
			// An attempt of a job that has ended is killed soon, and has no place.
			if !slot.Busy || r.byID[slot.Attempt.Job] == nil {
				continue
			}
			s, k := r.byID[slot.Attempt.Job], slot.Attempt.Kind
			if s.put(k, n, t, 1); k == slots.Map {
				r.left[s.id] += r.leftOf(v.Now(), &slot)
				r.takeMap(s, n, 1)
				continue
			}
			n.reduces++
			// This reduce has left its copy phase, or may leave it.
			if slot.Advanced {
				r.take(n, s.reducing(n), 1)
				continue
			}
			r.shuffle(s, n, t, 1)
		}
	}
	for _, s := range r.jobs {
		s.estimate(v, average(r.measures.Of(s.id)), r.left[s.id], r.options.RequiredAtFirst)
		s.judge()
	}
	for t := range r.nodes {
		n := &r.nodes[t]
		if before := &r.nodes[max(t-1, 0)]; t > 0 && n.capacity == before.capacity && len(n.slots) == len(before.slots) {
			n.room = before.room // most trackers are like the one before
			continue
		}
		r.keepRoom(n)
	}
}

// keepRoom sets how many slots of a tracker are kept for maps. It keeps as many as
// maps of one job fit, for the job of which most fit, up to half of the slots.
func (r *RAS) keepRoom(n *node) {
	for _, s := range r.jobs {
		if s.left[slots.Map] > 0 {
			n.room = max(n.room, min(fitting(s.mapping(n), n.capacity), int32(len(n.slots)+1)/2))
		}
	}
}

// fitting returns how many tasks with these needs fit into a capacity.
func fitting(needs, capacity demand.Vector) int32 {
	// A task that needs nothing fits any number of times.
	n := slots.PPM(1 << 30)
	for _, of := range [][2]slots.PPM{{needs.CPU, capacity.CPU}, {needs.IO, capacity.IO}, {needs.Memory, capacity.Memory}} {
		if of[0] > 0 {
			n = min(n, of[1]/of[0])
		}
	}
	return int32(n)
}

// takeMap counts maps that are placed on a tracker; a negative count takes some away.
func (r *RAS) takeMap(s *standing, n *node, count int32) {
	n.maps = n.maps.Plus(s.mapping(n).Times(count))
	r.take(n, s.mapping(n).Times(count), count)
}

// take counts tasks that need so much, in so many slots.
func (r *RAS) take(n *node, needs demand.Vector, slotsUsed int32) {
	n.used += slotsUsed
	n.load = n.load.Plus(needs)
}

// shuffle counts reduces in shuffle; a negative count takes some away.
func (r *RAS) shuffle(s *standing, n *node, t int, count int32) {
	if s.on[t].waiting == 0 {
		n.shuffle = append(n.shuffle, s)
	}
	s.on[t].waiting += count
	n.copying = n.copying.Plus(s.copying(n, s.total).Times(count))
	r.take(n, s.copying(n, s.counted).Times(count), count)
}

// switchReducers places running reduces in shuffle, whose job's map phase is complete or
// about to be, by what they need to reduce. On each tracker it places as many as fit
// beside its other reduces. The rest wait until these end. Until they have switched they
// also count as copying, because a map may have to run again [RAS11, Alg. 1, l. 26-28].
func (r *RAS) switchReducers() {
	for t := range r.nodes {
		n := &r.nodes[t]
		for _, s := range n.shuffle {
			more := s.reducing(n).Minus(s.copying(n, s.counted)).AtLeast(demand.Vector{})
			// Maps do not count in this sum: they end soon, and give way.
			for i := int32(0); s.switched && i < s.on[t].waiting && n.load.Minus(n.maps).Plus(more).Fits(n.capacity); i++ {
				n.load = n.load.Plus(more)
			}
		}
	}
}

// placeReducers places reducers first, evenly over the trackers: one a tracker in each
// pass, until there is no room or no reducer is left [RAS11, Alg. 1, l. 1-8], corrected
// [RAS11, "reducer loop"]. Only other reducers take their room: running maps give way.
func (r *RAS) placeReducers() {
	r.free = 0
	for t := range r.nodes {
		if r.nodes[t].takesShuffle() {
			r.free++
		}
	}
	for _, s := range r.jobs {
		// Each pass of the loop places at least one reducer, because a tracker has room.
		for left := s.pending[slots.Reduce]; left > 0 && (r.free > 0 || s.mapsDone) && r.roomSomewhere(s); {
			for _, t := range r.trackersForReducers(s) {
				if left > 0 && r.roomForReducer(s, int(t)) {
					r.placeReducer(s, int(t))
					left--
				}
			}
		}
		s.judge()
	}
}

// trackersForReducers returns the trackers by how many reduces are placed there, then by
// how many of the job [RAS11, Alg. 1, l. 2]: two reduces share a tracker only if they
// must, and then rather reduces of two jobs. Both are small numbers, so it counts how many
// trackers have each pair, and puts each where those before it end. Of equal trackers the
// one with the lower number comes first.
func (r *RAS) trackersForReducers(s *standing) []int32 {
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

// roomSomewhere reports whether a tracker has room for a reducer. It saves sorting the
// trackers if all are full.
func (r *RAS) roomSomewhere(s *standing) bool {
	for t := range r.nodes {
		if r.roomForReducer(s, t) {
			return true
		}
	}
	return false
}

// placeReducer puts a reduce on tracker t, in the plan. It takes what a reduce that copies
// needs, or what it needs for the reduce itself if all maps are done.
func (r *RAS) placeReducer(s *standing, t int) {
	n := &r.nodes[t]
	took := n.takesShuffle()
	s.put(slots.Reduce, n, t, 1)
	r.awake.Put(slots.TrackerID(t), true)
	if n.reduces++; took && !n.takesShuffle() {
		r.free--
	}
	if s.mapsDone {
		r.take(n, s.reducing(n), 1)
		return
	}
	r.shuffle(s, n, t, 1)
}

// roomForReducer is room_for_new_job_slot for a reducer. Besides feasibility [RAS11,
// eq. 6] it makes sure that no task waits for ever [RAS11, "nothing waits for ever"]. Of
// the reduces in shuffle on a tracker
//   - each can switch to reduce beside the others [RAS11, "shuffle memory gate"],
//   - the maps that they wait for have room beside them,
//   - and slots are left for as many maps as fit, up to half of the slots.
func (r *RAS) roomForReducer(s *standing, t int) bool {
	n := &r.nodes[t]
	if n.lost || s.isBarred(slots.Reduce, t) {
		return false
	}
	// Maps are no obstacle: giveWay takes those out that have no room afterwards.
	load := n.load.Minus(n.maps)
	if s.mapsDone {
		return n.reduces < int32(len(n.slots)) && load.Plus(s.reducing(n)).Fits(n.capacity)
	}
	if !n.takesShuffle() || !load.Plus(s.copying(n, s.counted)).Fits(n.capacity) {
		return false
	}
	// The switch happens one reduce at a time, while the others still copy, from all maps.
	copying := n.copying.Plus(s.copying(n, s.total))
	canAll := func(o *standing) bool {
		return copying.Minus(o.copying(n, o.total)).Plus(o.reducing(n)).Fits(n.capacity) && (o.mapsDone || copying.Plus(o.mapping(n)).Fits(n.capacity))
	}
	for _, o := range n.shuffle {
		if o.on[t].waiting > 0 && !canAll(o) {
			return false
		}
	}
	return canAll(s)
}

// takesShuffle reports whether a tracker has a slot for one more reduce in shuffle. At least one
// slot stays for maps, although no map may fit now.
func (n *node) takesShuffle() bool { return n.reduces+1+max(n.room, 1) <= int32(len(n.slots)) }

// placeMappers runs rounds. In each round every tracker moves slots from the jobs with the
// highest utility to those with the lowest, and then fills up [RAS11, Alg. 1, l. 9-25].
func (r *RAS) placeMappers() {
	r.ranked, r.least = true, demand.Vector{CPU: math.MaxInt64, IO: math.MaxInt64, Memory: math.MaxInt64}
	r.needy = slots.Ranking[utility]{Less: func(a, b *utility) bool { return *a < *b }}
	for _, s := range r.jobs {
		if r.rank(s); s.left[slots.Map] > 0 {
			r.least = r.least.AtMost(s.profile.Map)
		}
	}
	defer func() { r.ranked = false }()
	for t := range r.nodes {
		r.giveWay(t)
	}
	// The search ends with the first round that lifts neither the lowest utility nor a job above
	// it.
	lowest, jobs := r.lowest()
	for range mostRounds {
		for t := range r.nodes {
			if n := &r.nodes[t]; !n.lost {
				r.removeHighest(n, t)
				r.fill(n, t)
			}
		}
		was, were := lowest, jobs
		if lowest, jobs = r.lowest(); lowest < was || lowest == was && jobs >= were {
			return
		}
	}
}

// giveWay takes running maps out of the placement if they have no room beside the
// reducers, those of the job with the highest utility first.
func (r *RAS) giveWay(t int) {
	n := &r.nodes[t]
	for !n.load.Fits(n.capacity) || n.used > int32(len(n.slots)) {
		// Here a job may lose its only map on this tracker: there is no room for it.
		out := r.highest(t, 1)
		if out == nil {
			return // reducers alone, which were feasible when they were launched
		}
		r.putMap(out, n, t, -1)
	}
}

// lowest returns the system's utility [RAS11, eq. 4], which is that of the jobs that are
// worst off, and how many jobs have it.
func (r *RAS) lowest() (least utility, jobs int) {
	least = one
	for _, s := range r.jobs {
		switch {
		// A job without maps cannot be helped by placing maps.
		case s.left[slots.Map] == 0 || s.utility > least:
		case s.utility < least:
			least, jobs = s.utility, 1
		default:
			jobs++
		}
	}
	return least, jobs
}

// removeHighest takes maps out of the job with the highest utility. It goes on while that
// utility stays above that of the job that would get the room, and puts the last map back
// [RAS11, Alg. 1, l. 11-19]. This is corrected [RAS11, "mapper loop"]. With take-maps-for any,
// the utility must stay above that of each other job [RAS11, section 3.4]. It never takes a
// job's only map: without it that job would be the worst off, and the search would end.
func (r *RAS) removeHighest(n *node, t int) {
	for {
		least, ok := r.needy.First()
		if !ok {
			return // no other job could have a map more
		}
		// At least two maps in all, so that the job keeps one.
		out := r.highest(t, 2)
		if out == nil || out.withoutMap() <= r.byID[least].utility {
			return // it would get the map back
		}
		r.putMap(out, n, t, -1)
		in := r.neediest(n, t)
		if r.options.TakeMapsFor == "any" {
			in = r.worst(out)
		}
		// Moving the slot would not help the job that is worse off.
		if in == nil || in == out || out.utility <= in.utility {
			r.putMap(out, n, t, 1)
			return
		}
	}
}

// worst returns the job with the lowest utility that has a map to place, whether there is room
// for the map or not. It leaves out the job but. Of equals it is the job submitted first. It
// returns nil if there is none.
func (r *RAS) worst(but *standing) (in *standing) {
	for _, s := range r.jobs {
		if s != but && s.hasMap() && (in == nil || s.utility < in.utility) {
			in = s
		}
	}
	return in
}

// fill places as many maps as there is room for [RAS11, eq. 5], each of the job with the
// lowest utility [RAS11, Alg. 1, l. 20-23].
func (r *RAS) fill(n *node, t int) {
	for in := r.neediest(n, t); in != nil; in = r.neediest(n, t) {
		r.putMap(in, n, t, 1)
		r.awake.Put(slots.TrackerID(t), true)
	}
}

// putMap places count maps of a job on a node, or takes them out if count is negative. It brings
// the job's utility up to date.
func (r *RAS) putMap(s *standing, n *node, t int, count int32) {
	s.put(slots.Map, n, t, count)
	r.takeMap(s, n, count)
	r.recount(s)
	s.judge()
	if r.ranked {
		r.rank(s)
	}
}

// rank keeps which jobs have a map that could be placed, in the order of neediest.
func (r *RAS) rank(s *standing) { r.needy.Keep(int32(s.id), s.hasMap(), s.utility) }

// recount takes in that a job has more or fewer maps placed: its reduces in shuffle need
// as much more or less, on all trackers [RAS11, section 3.4].
func (r *RAS) recount(s *standing) {
	was := s.counted
	if s.count(); min(was, parallelCopies) == min(s.counted, parallelCopies) {
		return
	}
	for t := range r.nodes {
		if n := &r.nodes[t]; s.on[t].waiting > 0 {
			n.load = n.load.Plus(s.copying(n, s.counted).Minus(s.copying(n, was)).Times(s.on[t].waiting))
		}
	}
}

// roomForCopies reports whether one more map of a job may be placed on tracker t. Each placed
// map raises what the job's reduces in shuffle need. Their trackers must have room for that.
func (r *RAS) roomForCopies(s *standing, t int) bool {
	next := max(s.counted, s.total-s.left[slots.Map]+s.allotted[slots.Map]+1)
	if min(next, parallelCopies) == min(s.counted, parallelCopies) {
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

// highest is job_out: of the jobs with a map on the tracker, and at least so many maps
// placed in all, the one with the highest utility; of equals the one submitted last.
func (r *RAS) highest(t int, least int32) (out *standing) {
	for _, s := range r.nodes[t].jobs {
		if s.maps > 0 && s.allotted[slots.Map] >= least &&
			(out == nil || s.utility > out.utility || s.utility == out.utility && s.id > out.id) {
			out = s.standing
		}
	}
	return out
}

// neediest is job_in: of the jobs for which there is room, the one with the lowest
// utility; of equals the one submitted first.
func (r *RAS) neediest(n *node, t int) (in *standing) {
	if n.used >= int32(len(n.slots)) {
		return nil
	}
	// A tracker that is full for the least of all maps is full for each.
	if !n.load.Plus(r.least.AtMost(n.capacity)).Fits(n.capacity) {
		return nil
	}
	// Mostly the first one that could have a map has room for it here.
	if id, ok := r.needy.First(); !ok {
		return nil
	} else if s := r.byID[id]; r.roomForMap(s, n, t) {
		return s
	}
	for _, s := range r.jobs {
		if (in == nil || s.utility < in.utility) && r.roomForMap(s, n, t) {
			in = s
		}
	}
	return in
}

// roomForMap is room_for_new_job_slot for a map: the job has a map that is not placed,
// and the placement is feasible with it [RAS11, eq. 6], corrected [RAS11, "demand
// index"].
func (r *RAS) roomForMap(s *standing, n *node, t int) bool {
	return s.hasMap() && !s.isBarred(slots.Map, t) &&
		n.load.Plus(s.mapping(n)).Fits(n.capacity) && r.roomForCopies(s, t)
}

// hasMap reports whether the job has a map that is not placed and could be. Running maps may be
// placed again where they run. Beyond these, no more maps are placed than can start.
func (s *standing) hasMap() bool {
	running := s.left[slots.Map] - s.pending[slots.Map]
	return s.allotted[slots.Map] < s.left[slots.Map] && max(s.allotted[slots.Map]-running, 0) < s.pending[slots.Map]
}

// switchProfiles marks the jobs whose map phase is about to be complete. From the next cycle on,
// their reduces are placed by what they need to reduce [RAS11, Alg. 1, l. 26-28].
func (r *RAS) switchProfiles() {
	for _, s := range r.jobs {
		s.switched = s.mapsDone || s.pending[slots.Map] == 0 && aboutToComplete(s.work, s.allotted[slots.Map], r.cycle()) && r.measures.Of(s.id).Tasks[slots.Map] > 0
	}
}

// needs returns what an attempt needs of its tracker.
func (r *RAS) needs(v *slots.View, slot *slots.SlotView) demand.Vector {
	n := &r.nodes[slot.Tracker]
	s := r.byID[slot.Attempt.Job]
	if s == nil { // its job has ended, and the attempt ends soon
		s = &standing{id: slot.Attempt.Job, pending: [2]int32{}}
		s.read(v, r.options.ShuffleMemory)
	}
	switch {
	case slot.Attempt.Kind == slots.Map:
		return s.mapping(n)
	case slot.Advanced:
		return s.reducing(n)
	}
	return s.copying(n, s.begun)
}

// running returns what the running attempts of a tracker need, and sets how many tasks of
// each job there are (standing.here).
func (r *RAS) running(v *slots.View, t int) (sum demand.Vector) {
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

// checkFeasible checks [RAS11, eq. 6] for the running attempts of every tracker.
func (r *RAS) checkFeasible(v *slots.View) {
	for t := range r.nodes {
		sum := r.running(v, t)
		invariant.Check(sum.Fits(r.nodes[t].capacity), "ras: at %v tracker %d has %+v, and what runs there needs %+v", v.Now(), t, r.nodes[t].capacity, sum)
	}
}
