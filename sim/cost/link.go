package cost

import (
	"math"
	"slices"
	"time"

	"mrlocal/slots"
)

// link is the network of one tracker, shared by the reduces that copy there. Each reduce
// that has something to copy gets the same part. The work of a reduce is measured in the time
// that its copying takes alone. The outputs that are available (Flow) bound what a reduce can
// copy.
//
// The progress of a reduce does not matter until all outputs are available. So runTo is
// called only when the state is needed. This is when a reduce comes or goes, or when the last
// output of its job becomes available. runTo then goes through the new outputs, once for all
// reduces of the job.
//
// The reduces of a job are in the order in which they came, which is also the order of how
// much they have copied. A reduce that has copied everything that is available waits for the
// next output, like all reduces before it. From then on they have copied equally much. So the
// first reduces of a job form one group, together. Each reduce behind the group still has to
// catch up with it.
//
// served is the work that each reduce that copies has been served since the start. A reduce
// that began, or went on, when served was from has copied served − from. It has caught up when
// served is from plus the work that is available.
//
// A bound on copying limits the part of the link that one reduce gets (share). The work of a
// reduce is then measured in the time that copying takes at that bound.
type link struct {
	share   uint64 // part of the link that a reduce may use, in units of 1/shareUnit; 0: all of it
	moved   Amount // by all reduces, in the time that it takes alone
	at      Amount // the time until which runTo has run, to fractions of a nanosecond
	served  Amount
	copying uint64         // number of reduces that have something to copy
	jobs    []copyingJob   // the spare capacity behind them has copiers to reuse
	done    []slots.SlotID // reduces that have copied everything; Shared.endCopying empties it
}

// copyingJob holds the reduces of one job that copy on one tracker.
type copyingJob struct {
	job      int32 // index in the file
	flow     *Flow
	seen     int32  // number of outputs of flow.Outputs that there includes
	there    Amount // the work of copying the available outputs
	together int    // number of the first copiers that have copied equally much
	waits    bool   // the group together has copied everything that is available
	from     Amount // of the group together, while it copies
	waited   Amount // the total time in which the group together had nothing to copy
	copiers  []copier
}

// copier is one reduce.
type copier struct {
	slot   slots.SlotID
	from   Amount // as long as it is behind the group
	joined Amount // copyingJob.waited when it joined the group
	waited Amount // its waiting before the last loss of outputs
}

// shareUnit is the number of parts into which a bound on copying divides the link.
const shareUnit = 1 << 10

// takes returns how long the link takes to serve work w to each of n reduces.
func (l *link) takes(w Amount, n uint64) Amount {
	switch k := n * l.share; {
	case l.share == 0:
		return w.Times(n)
	case k <= shareUnit:
		return w
	default:
		return w.Times(k).Among(shareUnit)
	}
}

// gives returns the work that each reduce that copies is served in the time took. It is the
// inverse of takes.
func (l *link) gives(took Amount) Amount {
	switch k := l.copying * l.share; {
	case l.share == 0:
		return took.Among(l.copying)
	case k <= shareUnit:
		return took
	default:
		return took.Times(shareUnit).Among(k)
	}
}

// serve adds the work each to the served work of each reduce that copies.
func (l *link) serve(each Amount) {
	l.served = l.served.Plus(each)
	l.moved = l.moved.Plus(each.Times(l.copying))
}

// join lets the reduce on slot id copy from now on.
func (l *link) join(now time.Duration, job int32, f *Flow, id slots.SlotID) {
	l.runTo(now)
	i := l.find(job)
	if i < 0 {
		i = len(l.jobs)
		l.jobs = slices.Grow(l.jobs, 1)[:i+1]
		l.jobs[i] = copyingJob{job: job, flow: f, copiers: l.jobs[i].copiers[:0]}
	}
	j := &l.jobs[i]
	j.copiers = append(j.copiers, copier{slot: id, from: l.served})
	l.copying++
	l.include(j)
	l.catchUp(j)
}

// leave takes a reduce out, and returns how long it had nothing to copy.
func (l *link) leave(now time.Duration, job int32, id slots.SlotID) (waited time.Duration) {
	l.runTo(now)
	i := l.find(job)
	j := &l.jobs[i]
	k := j.find(id)
	w := j.waitedBy(k)
	if k >= j.together || !j.waits {
		l.copying--
	}
	if k < j.together {
		j.together--
	}
	j.copiers = slices.Delete(j.copiers, k, k+1)
	if n := len(l.jobs) - 1; len(j.copiers) == 0 {
		l.jobs[i], l.jobs[n] = l.jobs[n], l.jobs[i] // its memory serves the next job
		l.jobs = l.jobs[:n]
	}
	return w.Floor()
}

// waitedBy returns for how long reduce k has waited for outputs. Reduces below together wait at
// the same time and share one count. For each of them, the time before it joined is subtracted.
func (j *copyingJob) waitedBy(k int) Amount {
	c := &j.copiers[k]
	if k >= j.together {
		return c.waited
	}
	return c.waited.Plus(j.waited).Minus(c.joined)
}

// complete reports whether all outputs of a job are available and the reduce has copied them.
// runTo must have run until now.
func (l *link) complete(job int32, id slots.SlotID) bool {
	j := &l.jobs[l.find(job)]
	k := j.find(id)
	return j.whole() && j.waits && k < j.together
}

// cut is called after lost outputs were taken out of the job's flow. A reduce may have copied
// lost outputs. So cut bounds its copied work by the work that it could have done on the other
// outputs with the link for itself. Afterwards no reduces are together. started returns the time
// at which a reduce began.
func (l *link) cut(now time.Duration, job int32, started func(slots.SlotID) time.Duration) {
	i := l.find(job)
	if i < 0 {
		return
	}
	j := &l.jobs[i]
	all := j.flow.Copying(j.flow.There)
	for k := range j.copiers {
		c := &j.copiers[k]
		had := l.had(j, k)
		if k < j.together && j.waits {
			l.copying++
		}
		c.waited = j.waitedBy(k)
		c.from = l.served.Minus(least(had, AmountOf(j.flow.Reached(started(c.slot), now))))
	}
	j.together, j.waits = 0, false
	j.seen, j.there = j.flow.There, AmountOf(all)
	l.catchUp(j)
}

// least returns the smaller of a and b.
func least(a, b Amount) Amount {
	if b.Less(a) {
		return b
	}
	return a
}

// find returns the index of a job in l.jobs, or a negative number.
func (l *link) find(job int32) int {
	return slices.IndexFunc(l.jobs, func(j copyingJob) bool { return j.job == job })
}

// find returns the index of a reduce in j.copiers.
func (j *copyingJob) find(id slots.SlotID) int {
	return slices.IndexFunc(j.copiers, func(c copier) bool { return c.slot == id })
}

// whole reports whether all outputs of the job are available and counted in there.
func (j *copyingJob) whole() bool { return j.seen == j.flow.Maps && j.flow.Complete() }

// runTo lets all reduces copy until now.
//
// hot: goes through all outputs, for each tracker that has reduces of the job.
func (l *link) runTo(now time.Duration) {
	// Each step ends at now, at the next output, or when the first reduces have caught up.
	end := AmountOf(now)
	for l.at.Less(end) {
		until := end
		for i := range l.jobs {
			j := &l.jobs[i]
			if l.include(j); j.seen < int32(len(j.flow.Outputs)) {
				until = least(until, AmountOf(j.flow.Outputs[j.seen].At))
			}
		}
		if l.copying == 0 {
			l.pass(until)
			continue
		}
		next := l.first()
		ends := l.at.Plus(l.takes(next, l.copying))
		if until.Plus(Crumb()).Less(ends) {
			part := l.gives(until.Minus(l.at))
			l.pass(until)
			l.serve(part)
			continue
		}
		l.pass(least(ends, until))
		l.serve(next)
		for i := range l.jobs {
			l.catchUp(&l.jobs[i])
		}
	}
	for i := range l.jobs {
		l.include(&l.jobs[i])
	}
}

// pass sets l.at to t, and counts the time for the reduces that wait.
func (l *link) pass(t Amount) {
	took := t.Minus(l.at)
	l.at = t
	for i := range l.jobs {
		if j := &l.jobs[i]; j.waits {
			j.waited = j.waited.Plus(took)
		}
	}
}

// include adds the outputs in j.there that have become available until l.at. If the group waited,
// it copies again.
func (l *link) include(j *copyingJob) {
	seen := j.seen
	for n := int32(len(j.flow.Outputs)); seen < n && !l.at.Less(AmountOf(j.flow.Outputs[seen].At)); {
		seen++
	}
	if seen == j.seen {
		return
	}
	j.seen = seen
	there := AmountOf(j.flow.Copying(seen))
	if j.waits && j.there.Less(there) {
		j.waits = false
		j.from = l.served.Minus(j.there)
		l.copying += uint64(j.together)
	}
	j.there = there
}

// front returns how much each reduce must be served until the first reduces of a job that copy
// have caught up. These are the group, or the first reduce behind a group that waits. copies is
// false if no reduce of the job copies.
func (l *link) front(j *copyingJob) (left Amount, copies bool) {
	from := j.from
	if j.together == 0 || j.waits {
		if j.together == len(j.copiers) {
			return Amount{}, false
		}
		from = j.copiers[j.together].from
	}
	return from.Plus(j.there).Minus(l.served), true
}

// first returns the least front of all jobs, or mostWork if no reduce copies.
func (l *link) first() Amount {
	next := Most()
	for i := range l.jobs {
		if left, copies := l.front(&l.jobs[i]); copies {
			next = least(next, left)
		}
	}
	return next
}

// catchUp lets the reduces of a job wait, or join the group, that have copied everything that is
// available. If that is all outputs of the job, the reduces go into l.done.
func (l *link) catchUp(j *copyingJob) {
	for {
		left, copies := l.front(j)
		if !copies || Crumb().Less(left) {
			return
		}
		first, n := 0, j.together // those that stop copying
		if j.together == 0 || j.waits {
			first, n = j.together, 1
			j.copiers[first].joined = j.waited
			j.together++
		}
		j.waits = true
		l.copying -= uint64(n)
		if j.whole() {
			for _, c := range j.copiers[first : first+n] {
				l.done = append(l.done, c.slot)
			}
		}
	}
}

// next returns the time of the next Look: when the first reduce has copied everything, among the
// jobs whose outputs are all available. It is never too late. It is exact if until then no
// reduce comes, goes, or gets more to copy.
func (l *link) next() time.Duration {
	next, any := Most(), false
	for i := range l.jobs {
		if j := &l.jobs[i]; j.whole() {
			if left, copies := l.front(j); copies {
				next, any = least(next, left), true
			}
		}
	}
	if !any {
		return math.MaxInt64
	}
	// all is the work of all reduces until then: a reduce with less left takes only that.
	var all Amount
	for i := range l.jobs {
		j := &l.jobs[i]
		if left, copies := l.front(j); copies {
			n := len(j.copiers)
			if j.waits {
				n -= j.together
			}
			all = all.Plus(least(left, next).Times(uint64(n)))
		}
	}
	if l.share > 0 { // few reduces do not use the whole link, and each takes at least as long as alone
		if all = all.Times(l.share).Among(shareUnit); all.Less(next) {
			all = next
		}
	}
	return l.at.Plus(all).Ceil()
}

// copied returns the work of a reduce so far, in the time that it takes alone. runTo must have
// run until now.
func (l *link) copied(job int32, id slots.SlotID) time.Duration {
	j := &l.jobs[l.find(job)]
	return l.had(j, j.find(id)).Floor()
}

// had returns the work of reduce k so far.
func (l *link) had(j *copyingJob, k int) Amount {
	switch {
	case k >= j.together:
		return l.served.Minus(j.copiers[k].from)
	case j.waits:
		return j.there
	default:
		return l.served.Minus(j.from)
	}
}

// Flows are the shuffles of all jobs of a file, in its order.
type Flows []Flow

// NewFlows returns the flows of a run before it starts.
func NewFlows(c *Config) Flows {
	all := make(Flows, len(c.File.Jobs))
	for i := range all {
		j := &c.File.Jobs[i]
		all[i] = Flow{Maps: int32(j.Maps), Reduces: int64(j.Reduces)}
		if c.BytesPerSecond > 0 {
			all[i].MapBytes, all[i].PerSecond = j.MapOutputBytes, c.BytesPerSecond
		}
	}
	return all
}

// Flow returns the flow of a job, by its index in the file. It belongs to f.
func (f Flows) Flow(job int32) *Flow { return &f[job] }

// MapEnded adds the output of a map attempt that has ended. done is the number of outputs that the
// Ledger has: one more than are available if it has committed this one. MapEnded returns true if
// the last output of the job has become available.
func (f Flows) MapEnded(now time.Duration, t *Task, task slots.TaskID, done, _ int32) (complete bool) {
	flow := &f[t.Job]
	if flow.Reduces == 0 || done <= flow.There {
		return false
	}
	flow.Add(now, task, t.Tracker)
	return flow.Complete()
}

// Flow is the shuffle of one job as if each reduce had the network for itself. It answers
// when a reduce has copied all map outputs. Outputs become available one after the other.
// A reduce that started at s copies them in that order at B bytes per second. It
// waits if the next one is not available yet. It is done at
//
//	max(s + D/B, max over outputs e of t_e + (D - D_before_e)/B)
//
// where t_e is the time at which e became available. D is the number of bytes that one reduce
// copies in all, and D_before_e the number of bytes that became available before e. The
// second term does not depend on the reduce, and
//
//	t_e + (D - D_before_e)/B = (t_e - D_before_e/B) + D/B
//
// So one number, the latest of t_e - D_before_e/B, answers for any reduce in O(1), and
// an output is added in O(1).
//
// A lost output leaves its place in the order, and the outputs behind it move up. Only a
// loss costs O(outputs). If the map runs again, its output is the newest one. Outputs of no
// bytes (L0) need no places.
type Flow struct {
	Maps      int32 // the number of map outputs that each reduce copies per part of
	There     int32 // the number of outputs that are available now, 0 to Maps
	MapBytes  int64 // the size of one output: the parts of all reduces together
	Reduces   int64 // the number of reduces of the job
	PerSecond int64 // B: the bandwidth of the tracker where a reduce runs, in bytes per second

	latest time.Duration // of t_e - D_before_e/B; of the first output it is t_e, so 0 means none

	Outputs []Available // the available outputs in order; empty if MapBytes is 0
}

// Available is a map output that reduces can copy.
type Available struct {
	At      time.Duration   // when the output became available, from the start of the run
	Task    slots.TaskID    // the map that made it
	Tracker slots.TrackerID // the tracker that holds it
}

// Copying returns how long a reduce copies its part of n outputs without waits.
func (f *Flow) Copying(n int32) time.Duration {
	if f.MapBytes == 0 || n == 0 {
		return 0
	}
	return Scaled(f.Bytes(n), int64(time.Second), f.PerSecond)
}

// Bytes returns the bytes of n outputs that are for one reduce, if they are divided evenly.
func (f *Flow) Bytes(n int32) int64 {
	if f.Reduces == 0 {
		return 0
	}
	return int64(Scaled(int64(n), f.MapBytes, f.Reduces))
}

// Add adds an output that became available.
func (f *Flow) Add(at time.Duration, task slots.TaskID, t slots.TrackerID) {
	f.latest = max(f.latest, at-f.Copying(f.There))
	f.There++
	if f.MapBytes > 0 {
		f.Outputs = append(f.Outputs, Available{at, task, t})
	}
}

// Drop removes the outputs for which lost returns true. left is the number of outputs that
// remain, which counts if outputs have no bytes and so no places.
func (f *Flow) Drop(left int32, lost func(a *Available) bool) {
	if f.MapBytes == 0 {
		f.There = left
		return
	}
	kept := f.Outputs
	f.Outputs = f.Outputs[:0]
	f.There, f.latest = 0, 0
	for i := range kept {
		if a := kept[i]; !lost(&a) {
			f.Add(a.At, a.Task, a.Tracker)
		}
	}
}

// Release frees the memory of a job that has ended.
func (f *Flow) Release() { f.Outputs = nil }

// Complete reports whether every output is available.
func (f *Flow) Complete() bool { return f.There == f.Maps }

// Copied returns the time at which a reduce that started at s has copied everything. The flow
// must be complete.
func (f *Flow) Copied(s time.Duration) time.Duration {
	all := f.Copying(f.Maps)
	if f.Maps == 0 {
		return s
	}
	return max(Later(s, all), Later(f.latest, all))
}

// Reached returns how much of the available outputs a reduce that started at s has copied by
// now. The result is the time that copying this part takes without waits, between 0 and
// Copying(There).
func (f *Flow) Reached(s, now time.Duration) time.Duration {
	all := f.Copying(f.There)
	return max(0, all-max(0, Later(max(s, f.latest), all)-now))
}
