package capacity_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/capacity"
	"mrlocal/slots/policy/policytest"
	"mrlocal/trace"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(policy.Options) slots.Policy { return capacity.New() })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return capacity.New() }, policytest.Claims{})
}

func TestDrawn(t *testing.T) {
	policytest.Drawn(t, "testdata/drawn.golden", func(policy.Options) slots.Policy { return capacity.New() }, policytest.Claims{}, "")
}

// TestQueuesAndUsersGetWhatIsTheirs: on random queues and users each grant is that of a slow model, which counts by
// the grants and ends alone. No slot idles that the model would give away, and each job ends.
func TestQueuesAndUsersGetWhatIsTheirs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
		tenths := func(name string, least, most int) int64 { return int64(draw(name, least, most)) }
		m := &model{left: 10, slots: [2]int64{int64(draw("map slots", 1, 20)), int64(draw("reduce slots", 1, 6))}}
		c := slots.Config{Slots: policytest.Typed(1, int(m.slots[0]), int(m.slots[1])), Slowstart: slots.One}
		for i := range draw("queues", 1, 4) {
			q := limits{name: fmt.Sprintf("q%d", i), part: tenths("capacity", 0, int(m.left)), most: 10, user: 10, factor: 10}
			if i == 0 && rapid.Bool().Draw(rt, "default has limits") {
				q.name = "default"
			}
			m.left -= q.part
			p := slots.Pool{Name: q.name, Capacity: slots.One / 10 * slots.PPM(q.part)}
			if q.part > 0 || q.name == "default" {
				q.most = tenths("max capacity", max(1, int(q.part)), 10)
				q.user, q.factor = tenths("min user limit", 1, 10), tenths("user limit factor", 1, 30)
				p.MaxCapacity, p.MinUserLimit, p.UserLimitFactor = slots.One/10*slots.PPM(q.most), slots.One/10*slots.PPM(q.user), slots.One/10*slots.PPM(q.factor)
			}
			m.pools, c.Pools = append(m.pools, q), append(c.Pools, p)
		}
		var jobs []policytest.ScriptJob // in the order of submission, so that the index is the id
		at := time.Duration(0)
		for i := range draw("jobs", 1, 8) {
			jobs = append(jobs, policytest.ScriptJob{
				Spec: slots.JobSpec{
					Name: fmt.Sprintf("J%d", i), Pool: rapid.SampledFrom(c.Pools).Draw(rt, "pool").Name, User: rapid.SampledFrom([]string{"ann", "bob", "cid"}).Draw(rt, "user"),
					Maps: int32(draw("maps", 1, 40)), MapsSealed: true, Reduces: int32(draw("reduces", 0, 9)),
				},
				Submit:  at,
				MapTime: policytest.Const(time.Duration(draw("map", 1, 9)) * time.Second), ReduceTime: policytest.Const(time.Duration(draw("reduce", 1, 9)) * time.Second),
			})
			at += time.Duration(draw("time to the next", 0, 5)) * time.Second
		}
		each := func(time.Duration, *slots.Ledger) error {
			for k := range slots.Kind(2) {
				if job := m.next(k); job != nil && m.running(k, func(*modelJob) bool { return true }) < m.slots[k] {
					return fmt.Errorf("a %v slot idles, and job %+v may have it", k, job)
				}
			}
			return m.err
		}
		l, err := policytest.Drive(c, capacity.New(), jobs, policytest.Options{Sinks: []trace.Sink{m}, Each: each})
		if err != nil {
			rt.Fatal(err)
		}
		for id := range slots.JobID(l.Jobs()) {
			if state := l.JobState(id); state != slots.Succeeded {
				rt.Fatalf("job %d: %v", id, state)
			}
		}
	})
}

// limits are those of a pool: its part of the slots, its maximum, the part of a user, and the factor of a user. All
// are in tenths.
type limits struct {
	name                     string
	part, most, user, factor int64
}

// modelJob is a job by its events. The counts are by kind.
type modelJob struct {
	queue, user          string
	tasks, started, done [2]int64
}

// model is a slow model of the Capacity Scheduler: it looks at all jobs for each question.
type model struct {
	pools []limits
	left  int64    // tenths that the pools with a capacity leave
	slots [2]int64 // by kind
	jobs  []*modelJob
	err   error // the first grant that differs
}

// Record compares each start with the choice of the model.
func (m *model) Record(s *trace.Stream, e *trace.Event) error {
	switch e.Op {
	case trace.OpSubmit:
		texts := s.Texts(e.Ref)
		m.jobs = append(m.jobs, &modelJob{queue: m.queueOf(texts[1]).name, user: texts[2], tasks: [2]int64{e.A, e.B}})
	case trace.OpStart:
		j := m.jobs[e.Job]
		if want := m.next(e.Kind); want != j && m.err == nil {
			m.err = fmt.Errorf("a %v of job %d %+v starts, and the model has %+v", e.Kind, e.Job, j, want)
		}
		j.started[e.Kind]++
	case trace.OpFinish:
		m.jobs[e.Job].done[e.Kind]++
	}
	return nil
}

// queueOf returns the limits of the queue of a pool.
func (m *model) queueOf(pool string) limits {
	standard := limits{name: "default", part: m.left, most: 10, user: 10, factor: 10}
	for _, q := range m.pools {
		if q.name == "default" {
			if standard = q; q.part == 0 {
				standard.part = m.left
			}
		}
	}
	for _, q := range m.pools {
		if q.name == pool && q.part > 0 {
			return q
		}
	}
	return standard
}

// running returns how many tasks of kind k run of the jobs for which of holds.
func (m *model) running(k slots.Kind, of func(j *modelJob) bool) (n int64) {
	for _, j := range m.jobs {
		if of(j) {
			n += j.started[k] - j.done[k]
		}
	}
	return n
}

// waits reports whether a task of kind k of the job may start: reduces when all maps are done.
func (j *modelJob) waits(k slots.Kind) bool {
	return j.started[k] < j.tasks[k] && (k == slots.Map || j.done[slots.Map] == j.tasks[slots.Map])
}

// next returns the job that gets the next slot of kind k; nil: none may have it.
func (m *model) next(k slots.Kind) (best *modelJob) {
	names := []string{"default"}
	for _, q := range m.pools {
		if q.name != "default" && q.part > 0 {
			names = append(names, q.name)
		}
	}
	least := math.Inf(1)
	for _, name := range names {
		q := m.queueOf(name)
		inQueue := func(j *modelJob) bool { return j.queue == name }
		uses, has := m.running(k, inQueue), q.part*m.slots[k]/10
		if uses >= max(1, q.most*m.slots[k]/10) {
			continue
		}
		used := 1.0
		if has > 0 {
			used = float64(uses) / float64(has)
		}
		active := map[string]bool{}
		for _, j := range m.jobs {
			if inQueue(j) && j.waits(k) {
				active[j.user] = true
			}
		}
		size := max(1, has) // of the queue, for its users: more if it has borrowed
		if uses >= size {
			size = uses + 1
		}
		even := (size + max(1, int64(len(active))) - 1) / max(1, int64(len(active)))
		limit := max(1, min(max(even, (q.user*size+9)/10), q.factor*max(1, has)/10))
		for _, j := range m.jobs {
			byUser := func(o *modelJob) bool { return inQueue(o) && o.user == j.user }
			if inQueue(j) && j.waits(k) && m.running(k, byUser) < limit {
				if used < least {
					best, least = j, used
				}
				break
			}
		}
	}
	return best
}
