package ras

import (
	"cmp"
	"slices"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
	"mrlocal/slots/demand"
	"mrlocal/trace"
)

// mostRounds bounds the rounds in which maps are placed; they end before as soon as
// the lowest utility does not rise any more.
const mostRounds = 10

// place is Algorithm 1 (R8): reducers first, then maps.
//
// It begins with what runs, not with what was placed in the last cycle, so that any
// divergence of the two is seen. A task that is taken out of the placement is not
// killed; none takes its place when it ends (A41).
func (r *RAS) place(v *slots.View) {
	r.takeStock(v)
	r.switchReducers()
	r.placeReducers()
	r.placeMappers()
	r.switchProfiles()
}

// takeStock places what runs, and has each job's requirement estimated.
func (r *RAS) takeStock(v *slots.View) {
	for _, s := range r.jobs {
		for k := range s.placed {
			clear(s.placed[k])
		}
		clear(s.waiting)
		clear(s.listed)
		s.allotted, s.here = [trace.Kinds]int32{}, [trace.Kinds]int32{}
	}
	clear(r.left)
	for len(r.left) < len(r.byID) {
		r.left = append(r.left, 0)
	}
	for t := range r.nodes {
		n := &r.nodes[t]
		n.load, n.maps, n.copying, n.used, n.reduces, n.room = demand.Vector{}, demand.Vector{}, demand.Vector{}, 0, 0, 0
		n.lost, n.jobs, n.shuffle, n.busy = true, n.jobs[:0], n.shuffle[:0], 0
		extra := 0
		for _, id := range n.slots {
			slot := v.Slot(id)
			n.lost = n.lost && (slot.Extra || slot.State == slots.SlotClosed)
			if slot.Extra {
				if extra++; slot.Busy {
					n.busy = extra
				}
			}
			if !slot.Busy || r.byID[slot.Attempt.Job] == nil {
				continue
			}
			s, k := r.byID[slot.Attempt.Job], slot.Attempt.Kind
			if s.put(k, n, t, 1); k == slots.Map {
				r.left[s.id] += r.lengths.left(v.Now(), &slot)
				r.takeMap(s, n, 1)
				continue
			}
			n.reduces++
			if slot.Advanced {
				r.take(n, s.reducing(n), 1)
				continue
			}
			r.shuffle(s, n, t, 1)
		}
	}
	for _, s := range r.jobs {
		s.estimate(v, &r.lengths, r.left[s.id])
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

// keepRoom is how many slots of a tracker are kept for maps: as many as fit, of the
// job of whose maps most do, up to half of them.
func (r *RAS) keepRoom(n *node) {
	for _, s := range r.jobs {
		if s.left[slots.Map] > 0 {
			n.room = max(n.room, min(fitting(s.mapping(n), n.capacity), int32(len(n.slots)+1)/2))
		}
	}
}

// fitting is how many tasks fit a capacity.
func fitting(needs, capacity demand.Vector) int32 {
	n := slots.PPM(1 << 30)
	for _, of := range [][2]slots.PPM{{needs.CPU, capacity.CPU}, {needs.IO, capacity.IO}, {needs.Memory, capacity.Memory}} {
		if of[0] > 0 {
			n = min(n, of[1]/of[0])
		}
	}
	return int32(n)
}

// takeMap books maps that are placed on a tracker, or taken away.
func (r *RAS) takeMap(s *standing, n *node, count int32) {
	n.maps = n.maps.Plus(s.mapping(n).Times(count))
	r.take(n, s.mapping(n).Times(count), count)
}

// take books what needs so much, in so many slots.
func (r *RAS) take(n *node, needs demand.Vector, slotsUsed int32) {
	n.used += slotsUsed
	n.load = n.load.Plus(needs)
}

// shuffle books a reduce that copies, or takes it away.
func (r *RAS) shuffle(s *standing, n *node, t int, count int32) {
	if s.waiting[t] == 0 {
		n.shuffle = append(n.shuffle, s)
	}
	s.waiting[t] += count
	n.copying = n.copying.Plus(s.copying(n).Times(count))
	r.take(n, s.copying(n).Times(count), count)
}

// switchReducers places reduces that run in shuffle and whose job's map phase is
// complete, or about to be, with what they need to reduce: as many of each tracker as
// fit beside its other reduces. The rest wait for these to end. Until they have
// switched they also count as copying: a map may have to run again.
func (r *RAS) switchReducers() {
	for t := range r.nodes {
		n := &r.nodes[t]
		for _, s := range n.shuffle {
			more := s.reducing(n).Minus(s.copying(n)).AtLeast(demand.Vector{})
			for i := int32(0); s.switched && i < s.waiting[t] && n.load.Minus(n.maps).Plus(more).Fits(n.capacity); i++ {
				n.load = n.load.Plus(more)
			}
		}
	}
}

// placeReducers is lines 1 to 8 as corrected (A39): reducers go first, evenly over the
// trackers, one a tracker in each pass; passes are repeated until there is no room or
// none is left. They have room where other reducers leave it: running maps give way.
func (r *RAS) placeReducers() {
	for _, s := range r.jobs {
		for left := s.pending[slots.Reduce]; left > 0 && r.roomSomewhere(s); {
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

// trackersForReducers is line 2: the trackers by how many reduces are placed there,
// then by how many of the job: no two reduces share a tracker if that can be, and if
// not, rather not two of one job.
func (r *RAS) trackersForReducers(s *standing) []int32 {
	for t := range r.order {
		r.order[t] = int32(t)
	}
	slices.SortFunc(r.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.nodes[a].reduces, r.nodes[b].reduces), cmp.Compare(s.placed[slots.Reduce][a], s.placed[slots.Reduce][b]), cmp.Compare(a, b))
	})
	return r.order
}

// roomSomewhere saves the ordering of trackers that are full.
func (r *RAS) roomSomewhere(s *standing) bool {
	for t := range r.nodes {
		if r.roomForReducer(s, t) {
			return true
		}
	}
	return false
}

func (r *RAS) placeReducer(s *standing, t int) {
	n := &r.nodes[t]
	s.put(slots.Reduce, n, t, 1)
	n.reduces++
	if s.mapsDone {
		r.take(n, s.reducing(n), 1)
		return
	}
	r.shuffle(s, n, t, 1)
}

// roomForReducer is room_for_new_job_slot for a reducer. Beside feasibility (eq. 6)
// it sees to it that nothing waits for ever. Of reduces in shuffle on a tracker
//   - each can switch to reduce beside the others (else none might, A42),
//   - the maps that they wait for have room beside them,
//   - and slots are left for as many maps as fit, up to half of the slots.
func (r *RAS) roomForReducer(s *standing, t int) bool {
	n := &r.nodes[t]
	if n.lost || s.isBarred(slots.Reduce, t) {
		return false
	}
	load := n.load.Minus(n.maps)
	if s.mapsDone {
		return n.reduces < int32(len(n.slots)) && load.Plus(s.reducing(n)).Fits(n.capacity)
	}
	if n.reduces+1+max(n.room, 1) > int32(len(n.slots)) || !load.Plus(s.copying(n)).Fits(n.capacity) {
		return false
	}
	copying := n.copying.Plus(s.copying(n))
	canAll := func(o *standing) bool {
		return copying.Minus(o.copying(n)).Plus(o.reducing(n)).Fits(n.capacity) && (o.mapsDone || copying.Plus(o.mapping(n)).Fits(n.capacity))
	}
	for _, o := range n.shuffle {
		if o.waiting[t] > 0 && !canAll(o) {
			return false
		}
	}
	return canAll(s)
}

// placeMappers is lines 9 to 25: rounds in each of which every tracker gives slots of
// jobs with the highest utility to those with the lowest, and then fills up.
func (r *RAS) placeMappers() {
	for t := range r.nodes {
		r.giveWay(t)
	}
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

// giveWay takes running maps out of the placement that have no room beside the
// reducers, those of the job with the highest utility first.
func (r *RAS) giveWay(t int) {
	n := &r.nodes[t]
	for !n.load.Fits(n.capacity) || n.used > int32(len(n.slots)) {
		out := r.highest(t, 1)
		if out == nil {
			return // reducers alone: eq. 6 held when they were launched
		}
		r.putMap(out, n, t, -1)
	}
}

// lowest is the system's utility, eq. (4): that of the jobs that are worst off, and
// how many they are.
func (r *RAS) lowest() (least utility, jobs int) {
	least = one
	for _, s := range r.jobs {
		switch {
		case s.left[slots.Map] == 0 || s.utility > least:
		case s.utility < least:
			least, jobs = s.utility, 1
		default:
			jobs++
		}
	}
	return least, jobs
}

// removeHighest is lines 11 to 19 as corrected (A40): maps of the job with the highest
// utility are taken out, as long as it stays above that of the job that would get the
// room. The one step too many is taken back. A job's only map is not for the taking:
// without it nobody would be worse off, and the search would end there.
func (r *RAS) removeHighest(n *node, t int) {
	for {
		out := r.highest(t, 2)
		if out == nil {
			return
		}
		r.putMap(out, n, t, -1)
		in := r.neediest(n, t)
		if in == nil || in == out || out.utility <= in.utility {
			r.putMap(out, n, t, 1)
			return
		}
	}
}

// fill is lines 20 to 23: as many maps as there is room for (eq. 5), each for the job
// with the lowest utility.
func (r *RAS) fill(n *node, t int) {
	for in := r.neediest(n, t); in != nil; in = r.neediest(n, t) {
		r.putMap(in, n, t, 1)
	}
}

func (r *RAS) putMap(s *standing, n *node, t int, count int32) {
	s.put(slots.Map, n, t, count)
	r.takeMap(s, n, count)
	s.judge()
}

// highest is job_out: the one with the highest utility of those with a map on the
// tracker, and at least so many placed at all; who came last, of equals.
func (r *RAS) highest(t int, least int32) (out *standing) {
	for _, s := range r.nodes[t].jobs {
		if s.placed[slots.Map][t] > 0 && s.allotted[slots.Map] >= least &&
			(out == nil || s.utility > out.utility || s.utility == out.utility && s.id > out.id) {
			out = s
		}
	}
	return out
}

// neediest is job_in: the one with the lowest utility of those for which there is
// room; who came first, of equals.
func (r *RAS) neediest(n *node, t int) (in *standing) {
	if n.used >= int32(len(n.slots)) {
		return nil
	}
	for _, s := range r.jobs {
		if (in == nil || s.utility < in.utility) && r.roomForMap(s, n, t) {
			in = s
		}
	}
	return in
}

// roomForMap is room_for_new_job_slot for a map: the job has one that is not placed
// (A40), and eq. (6) as corrected (A35) holds with it.
func (r *RAS) roomForMap(s *standing, n *node, t int) bool {
	running := s.left[slots.Map] - s.pending[slots.Map]
	return s.allotted[slots.Map] < s.left[slots.Map] && max(s.allotted[slots.Map]-running, 0) < s.pending[slots.Map] && !s.isBarred(slots.Map, t) &&
		n.load.Plus(s.mapping(n)).Fits(n.capacity)
}

// switchProfiles is lines 26 to 28 (R10): the reduces of a job whose map phase is
// about to be complete are placed as reducing from the next cycle on.
func (r *RAS) switchProfiles() {
	for _, s := range r.jobs {
		s.switched = s.mapsDone || s.pending[slots.Map] == 0 && aboutToComplete(s.work, s.allotted[slots.Map], r.cycle()) && r.lengths.of(s.id).count > 0
	}
}

// needs is what an attempt needs of its tracker.
func (r *RAS) needs(v *slots.View, slot *slots.SlotView) demand.Vector {
	n := &r.nodes[slot.Tracker]
	s := r.byID[slot.Attempt.Job]
	if s == nil { // its job has ended, and it soon will
		s = &standing{id: slot.Attempt.Job, pending: [2]int32{}}
		s.read(v, r.options.ShuffleMemory)
	}
	switch {
	case slot.Attempt.Kind == slots.Map:
		return s.mapping(n)
	case slot.Advanced:
		return s.reducing(n)
	}
	return s.copying(n)
}

// running is what runs on a tracker needs, and how many tasks of each job there are
// (standing.here).
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

// checkFeasible is eq. (6) (A35) on every tracker, of what runs.
func (r *RAS) checkFeasible(v *slots.View) {
	for t := range r.nodes {
		sum := r.running(v, t)
		invariant.Check(sum.Fits(r.nodes[t].capacity), "ras: at %v tracker %d has %+v, and what runs there needs %+v", v.Now(), t, r.nodes[t].capacity, sum)
	}
}
