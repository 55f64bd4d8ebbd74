// Package omo holds OMO, its two halves, lazy start and batch finish, and the fair
// scheduler over containers that all three build on.
//
// Paper: Yang, Wang, Mao, Yao, Mi, Sheng: Optimizing Internal Overlaps by
// Self-Adjusting Resource Allocation in Multi-Stage Computing Systems, IEEE Access
// 2021 [OMO21]; its page is docs/papers/omo21.md. Algorithm 1 is lazy.go, Algorithm 2
// batch.go, Algorithm 3 omo.go. The deficits of the fair scheduler are in deficit.go, the
// equations in formulas.go, and the estimate of F_o and A_o in monitor.go. Releases
// watches the estimate in a recorded run.
//
// Memory: a policy owns a few words per job and slot.
package omo

import (
	"fmt"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/yarn"
)

// New returns the policy omo.
func New(o policy.Options) *OMO {
	return &OMO{options: o, name: "omo", lazy: true, batch: true, requireReduceStarted: true}
}

// NewLazyStart returns the policy lazy-start: [OMO21, Alg. 1] over the fair scheduler.
func NewLazyStart(o policy.Options) *OMO { return &OMO{options: o, name: "lazy-start", lazy: true} }

// NewBatchFinish returns the policy batch-finish: [OMO21, Alg. 2] over the fair
// scheduler.
func NewBatchFinish(o policy.Options) *OMO {
	return &OMO{options: o, name: "batch-finish", batch: true}
}

// NewFair returns the policy fair-containers: the fair scheduler over containers alone
// [OMO21, Table 3].
func NewFair(o policy.Options) *OMO { return &OMO{options: o, name: "fair-containers"} }

// OMO is the paper's scheduler [OMO21, Alg. 3]: lazy start of reduces, then batch finish
// of maps, then the fair scheduler over containers. New returns all of it. The other
// constructors leave out lazy start, batch finish or both.
//
// The estimates F_o, A_o and D are common to all jobs. When they change, each job's
// rank among the candidates can change. All jobs are ranked again only when an eighth of
// them have changed. So the cost of a decision does not grow with the number of jobs. A job
// that changes is always ranked by the newest estimates.
type OMO struct {
	yarn.Base
	name string

	lazy  bool // reduces start by [OMO21, Alg. 1], else at the run's slowstart
	batch bool // maps by [OMO21, Alg. 2]

	// requireReduceStarted: only a job whose reduce stage has begun finishes its
	// maps in a batch. For batch-finish it is not set: at its slowstart of 1 no such
	// job has a pending map [OMO21, "batch candidates"].
	requireReduceStarted bool

	options policy.Options

	given float64 // F_o as a test sets it; 0: that of the monitor

	monitor monitor
	jobs    []omoJob      // by id
	live    []slots.JobID // active jobs, and those that ended since the last refresh
	active  int           // D: number of active jobs
	stale   bool          // estimates have changed since all jobs were ranked by them
	changes int           // number of changes of jobs since then
	stages  int64         // number of reduce stages that have begun

	updated  time.Duration // time of the last update of deficits
	newJob   bool          // a job was submitted since then
	batching slots.JobID   // with BatchReserve: the job whose batch has begun; negative: none

	begun slots.Ranking[stage]   // lazy: jobs in their reduce stage with a reduce to start
	ready slots.Ranking[int32]   // lazy: jobs whose reduce stage should begin, by containers
	waves slots.Ranking[float64] // batch: by minus the benefit
	fair  slots.Ranking[owed]    // jobs with a task to start
}

// omoJob is the state of a job that the View does not have.
type omoJob struct {
	account  account
	active   bool  // it is admitted and has not ended
	asked    int32 // number of the request of its maps in the monitor; only with containers of resources
	begun    bool  // its reduce stage has begun
	stage    int64 // number of reduce stages that began before its own
	launched int32 // number of reduces that have started at least once
}

// stage is the sort key of a job in its reduce stage. Jobs that have not launched all their
// reduces come before jobs that must repeat some. Of equals, the job whose stage began earlier
// comes first.
type stage struct {
	repeats bool
	number  int64
}

// stageLess orders stages.
func stageLess(a, b *stage) bool {
	if a.repeats != b.repeats {
		return b.repeats
	}
	return a.number < b.number
}

// owedLess orders owed.
func owedLess(a, b *owed) bool {
	if a.deficit != b.deficit {
		return a.deficit > b.deficit
	}
	return a.Less(&b.Fewest)
}

// noJob stands for no job in OMO.batching.
const noJob slots.JobID = -1

// The rules of the policies, in addition to yarn.RuleFewest.
const (
	ruleLazyStart   slots.Rule = "lazy-start"
	ruleConsecutive slots.Rule = "consecutive-reduces"
	ruleBatchFinish slots.Rule = "batch-finish"
	ruleDeficit     slots.Rule = "container-deficit"
)

// Traits implements slots.Policy. With lazy start the gate of reduces is open, and
// [OMO21, Alg. 1] decides; else they start at the run's slowstart.
func (s *OMO) Traits() slots.Traits {
	rules := map[slots.Rule]string{
		yarn.RuleFewest: yarn.FewestWords,
		ruleDeficit:     "its job is the one that is owed most: fair share of the containers less those it has, over time",
	}
	if s.lazy {
		rules[ruleLazyStart] = "the reduce stage of its job begins, because the shuffle should end when the pending maps do (Algorithm 1). Of such jobs this one has the fewest containers"
		rules[ruleConsecutive] = "once a job's reduce stage has begun, all its reduces start one after the other (Principle 1)"
	}
	if s.batch {
		rules[ruleBatchFinish] = "its job gains most from having its last maps done in one wave (Algorithm 2)"
	}
	if s.options.ContainerCopies {
		rules[policy.RuleSpeculative] = s.options.SpeculativeWords() + "; no pending task could start on the tracker"
	}
	return slots.Traits{Name: s.name, Uses: slots.JobWeight | slots.JobPriority, Lends: true, OwnSlowstart: s.lazy, ByDemand: s.options.Containers == yarn.OfResources, Options: s.options, Rules: rules}
}

// Reset implements slots.Policy.
func (s *OMO) Reset() {
	*s = OMO{
		name: s.name, lazy: s.lazy, batch: s.batch, requireReduceStarted: s.requireReduceStarted, given: s.given,
		options: s.options, batching: noJob,
	}
	s.monitor.window = s.options.ReleaseWindow
	s.Nodes = yarn.NewNodes(s.options.Containers)
	if s.options.ContainerCopies {
		s.Slow = s.options.Stragglers()
	}
	s.begun.Less = stageLess
	s.ready.Less = func(a, b *int32) bool { return *a < *b }
	s.waves.Less = func(a, b *float64) bool { return *a < *b }
	s.fair.Less = owedLess
}

// Observe implements slots.Observer. It measures finished tasks and released containers.
func (s *OMO) Observe(f slots.Fact) {
	if s.Slow != nil {
		s.Slow.Observe(&f)
	}
	if policy.Freed(&f) {
		s.Finish(&f)
		windows := s.monitor.windows
		s.monitor.released(f.At, s.All.Mean(slots.Map))
		s.lookAround(windows)
	}
	if t, needs, ok := s.Nodes.Released(&f); ok {
		s.monitor.gave(t, needs)
	}
}

// Decide is one heartbeat, which starts one task.
func (s *OMO) Decide(v *slots.View, d *slots.Decision) {
	s.Nodes.See(v)
	windows := s.monitor.windows
	if s.monitor.close(v.Now(), s.All.Mean(slots.Map)) {
		s.stale = true
		s.lookAround(windows)
	}
	s.Update(v, s)
	s.updateDeficits(v)
	s.refresh(v)
	if s.Slow != nil {
		s.Slow.Look(v)
	}
	started := v.FreeAt(v.Tracker()) > 0 && (s.allocate(v, d) || s.copySlow(v, d))
	s.Decline(v, d, started, "lazy start holds the pending reduces back: their shuffle would end before the maps do")
	s.End(v, s)
	if !started {
		s.Nodes.Unblock(v, d)
	}
	s.monitor.available(v.Now(), available(v))
	if s.Slow != nil && yarn.Idle(v) > 0 {
		s.Slow.Ask(v, d)
	}
}

// Speculates implements slots.Speculator.
func (s *OMO) Speculates(_ *slots.View, k slots.Kind) bool {
	return s.Slow != nil && s.Slow.Worth(k) > 0
}

// copySlow starts a copy of a running task, and reports whether one started [OMO21, "duplicate
// tasks"].
func (s *OMO) copySlow(v *slots.View, d *slots.Decision) bool {
	return s.Slow != nil && s.Slow.Copy(v, func(a slots.AttemptID, why slots.Why) bool {
		g := slots.GrantOf(a.Job, a.Kind, policy.RuleSpeculative)
		g.Task, g.Speculative = a.Task, true
		return s.Grant(v, d, s, g, func() slots.Why { return why })
	})
}

// lookAround notes the free resources of the trackers if a window of releases has begun. windows
// is monitor.windows before the call that may have begun one.
func (s *OMO) lookAround(windows int64) {
	if s.Nodes.On() && s.monitor.windows != windows {
		s.monitor.left = s.Nodes.Free(s.monitor.left[:0])
	}
}

// allocate is [OMO21, Alg. 3] for one container, and reports whether a task started. Lazy start
// goes before batch finish [OMO21, "lazy start first"].
func (s *OMO) allocate(v *slots.View, d *slots.Decision) bool {
	return s.lazyStartReduce(v, d) || s.batchFinishMap(v, d) || s.fairScheduler(v, d)
}

// fairScheduler is [OMO21, Alg. 3, l. 9]. By Options.ContainerOrder, it starts a task of the
// job with the largest deficit, or with the fewest containers for its weight [OMO21, "order by
// containers"]. If the run's slowstart opens the gate, a job's reduces go before its maps and
// so start one after the other.
func (s *OMO) fairScheduler(v *slots.View, d *slots.Decision) bool {
	for {
		id, ok := yarn.First(&s.fair)
		if !ok {
			return false
		}
		k := slots.Map
		if !s.lazy && s.Startable(v.Job(id), slots.Reduce) > 0 {
			k = slots.Reduce
		}
		rule := yarn.RuleFewest
		if s.options.ContainerOrder == orderDeficit {
			rule = ruleDeficit
		}
		if s.Grant(v, d, s, slots.GrantOf(id, k, rule), func() slots.Why { return s.whyFewest(v, id) }) {
			return true
		}
	}
}

// available returns the number of available containers in the paper's sense [OMO21,
// "available containers"]. These run maps, or reduces of jobs whose map stage is complete.
func available(v *slots.View) int32 {
	return v.Running(slots.Map) + v.Running(slots.Reduce) - v.Waiting()
}

// estimates returns F_o and A_o for the maps of a job. known is false until a container has been
// released.
func (s *OMO) estimates(id slots.JobID) (frequency, available float64, known bool) {
	m := &s.monitor
	if s.given > 0 {
		return s.given, m.averages, m.averages > 0
	}
	frequency = m.frequencyOf(s.jobs[id].asked)
	return frequency, m.averages, frequency > 0
}

// refresh ranks all jobs by the newest estimates, if that is due.
func (s *OMO) refresh(v *slots.View) {
	if !s.stale || s.changes*8 < len(s.live) {
		return
	}
	s.stale, s.changes = false, 0
	kept := s.live[:0]
	for _, id := range s.live {
		if s.jobs[id].active {
			kept = append(kept, id)
			s.Rank(v, v.Job(id))
		}
	}
	s.live, s.changes = kept, 0
}

// Rank implements yarn.Ranker. It updates the state of a job that may have changed, and ranks it
// among the candidates of each step.
func (s *OMO) Rank(v *slots.View, j slots.JobView) {
	id := j.ID()
	s.changes++
	at := policy.At(&s.jobs, id)
	at.account.accrue(v.Now(), yarn.Held(j))
	if active := !j.Ended() && j.Runnable(); active != at.active {
		at.active = active
		s.stale = true
		if active {
			s.active++
			s.newJob = true
			if s.Nodes.On() {
				at.asked = s.monitor.ask(yarn.Request(j, slots.Map))
			}
			s.live = append(s.live, id)
		} else {
			s.active--
		}
	}
	maps, reduces := s.Startable(j, slots.Map), s.Startable(j, slots.Reduce)
	s.fair.Keep(int32(id), maps > 0 || !s.lazy && reduces > 0, owed{at.account.deficit, yarn.FewestOf(j)})
	if s.lazy {
		s.begun.Keep(int32(id), at.begun && reduces > 0, stage{at.launched >= j.Total(slots.Reduce), at.stage})
		s.ready.Keep(int32(id), !at.begun && reduces > 0 && s.starts(v, j), yarn.Held(j))
	}
	if s.batch {
		gain := s.benefit(j)
		s.waves.Keep(int32(id), maps > 0 && gain > 0, -gain)
	}
}

// What follows explains decisions in the paper's words. Policies call it only while explanations
// are on (Decision.Explaining).

// whyFewest returns the reasons of a grant by the fair scheduler, with the jobs after the winner.
func (s *OMO) whyFewest(v *slots.View, id slots.JobID) slots.Why {
	w := slots.Why{Numbers: yarn.FairNumbers(v.Job(id)), Beaten: policy.Beaten(&s.fair, id, v, yarn.Holds)}
	if s.options.ContainerOrder == orderDeficit {
		deficit := func(j slots.JobView) float64 { return s.jobs[j.ID()].account.deficit }
		w.Numbers = append(w.Numbers, slots.Decimal("container-seconds it is owed", deficit(v.Job(id))))
		w.Beaten = policy.Beaten(&s.fair, id, v, func(j slots.JobView) string {
			return fmt.Sprintf("it is owed %.3g container-seconds; %s", deficit(j), yarn.Holds(j))
		})
	}
	return w
}

// whyReduce returns the reasons of a reduce by [OMO21, Alg. 1].
func (s *OMO) whyReduce(v *slots.View, id slots.JobID, rule slots.Rule) slots.Why {
	j := v.Job(id)
	w := slots.Why{Numbers: s.overlapNumbers(v, j)}
	if rule == ruleConsecutive {
		w.Numbers = []slots.Number{slots.Whole("reduces launched", s.jobs[id].launched-1), slots.Whole("reduces of the job", j.Total(slots.Reduce))}
		w.Beaten = policy.Beaten(&s.begun, id, v, func(slots.JobView) string { return "its reduce stage began later" })
	}
	w.Beaten = andThen(w.Beaten, policy.Beaten(&s.ready, id, v, func(j slots.JobView) string { return "its reduce stage has not begun; " + yarn.Holds(j) }))
	w.Beaten = andThen(w.Beaten, policy.Beaten(&s.fair, id, v, func(slots.JobView) string { return "a reduce stage goes first" }))
	return w
}

// andThen appends the entries of more whose jobs are not in all.
func andThen(all, more []slots.Beaten) []slots.Beaten {
	for _, b := range more {
		if !slices.ContainsFunc(all, func(a slots.Beaten) bool { return a.Job == b.Job }) {
			all = append(all, b)
		}
	}
	return all
}

// overlapNumbers returns the numbers of [OMO21, eq. 2-3] for a job, as far as they are known.
func (s *OMO) overlapNumbers(v *slots.View, j slots.JobView) []slots.Number {
	all := []slots.Number{slots.Whole("pending maps m'", yarn.Unstarted(j))}
	g, ok := s.gapOf(v, j)
	if !ok {
		return all
	}
	observed, level, _ := s.estimates(j.ID())
	all = append(all, slots.Decimal("x*", g.aligned()), slots.Decimal("T_s", g.shuffle), slots.Decimal("T_m", g.mapTime))
	if yarn.Unstarted(j) == 0 || g.frequency > 0 {
		all = append(all, slots.Decimal("β", gap(g.shuffle, g.mapTime, g.frequency, yarn.Unstarted(j))))
	}
	return append(all, slots.Decimal("F_o", observed), slots.Decimal("A_o", level), slots.Whole("D", s.active))
}

// whyBatch returns the reasons of a grant by batch finish, in the paper's symbols.
func (s *OMO) whyBatch(v *slots.View, id slots.JobID) slots.Why {
	j := v.Job(id)
	observed, level, _ := s.estimates(j.ID())
	return slots.Why{
		Numbers: []slots.Number{
			slots.Whole("pending maps m'", yarn.Unstarted(j)), slots.Decimal("t_fair - t_batch", s.benefit(j)), slots.Decimal("T_m", s.Of(id).Mean(slots.Map).Seconds()),
			slots.Decimal("F_o", observed), slots.Decimal("A_o", level), slots.Whole("D", s.active),
		},
		Beaten: andThen(policy.Beaten(&s.waves, id, v, func(slots.JobView) string { return "it gains less" }),
			policy.Beaten(&s.fair, id, v, func(slots.JobView) string { return "it does not finish its maps in a batch" })),
	}
}
