package capacity_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/capacity"
	"mrlocal/slots/policy/policytest"
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

// TestQueuesKeepToTheirLimits: on random queues and users, no queue runs more than its maximum capacity, and no user
// more than the factor of his queue's capacity. Each job ends, so nobody waits for ever.
func TestQueuesKeepToTheirLimits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
		tenths := func(name string, least, most int) slots.PPM {
			return slots.One / 10 * slots.PPM(draw(name, least, most))
		}
		maps, reduces := draw("map slots", 1, 20), draw("reduce slots", 1, 6)
		c := slots.Config{Slots: policytest.Typed(1, maps, reduces), Slowstart: slots.One}
		left := 10
		for i := range draw("queues", 1, 4) {
			part := draw("capacity", 0, left)
			left -= part
			q := slots.Pool{Name: fmt.Sprintf("q%d", i), Capacity: slots.One / 10 * slots.PPM(part)}
			if part > 0 {
				q.MaxCapacity = tenths("max capacity", part, 10)
				q.MinUserLimit, q.UserLimitFactor = tenths("min user limit", 1, 10), tenths("user limit factor", 1, 30)
			}
			c.Pools = append(c.Pools, q)
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
		check := func(e *slots.Explanation) {
			if e.EndOfVisit() || e.Refused != slots.Granted {
				return
			}
			j := jobs[e.Grant.Job].Spec
			q := c.Pools[slices.IndexFunc(c.Pools, func(p slots.Pool) bool { return p.Name == j.Pool })]
			if q.Capacity == 0 {
				return
			}
			// The numbers are those before the grant.
			uses, of, most := e.Why.Numbers[0].Num, e.Why.Numbers[1].Num, e.Why.Numbers[2].Num
			user, limit := e.Why.Numbers[3].Num, e.Why.Numbers[4].Num
			whole := []int{maps, reduces}[e.Grant.Kind]
			if of != int64(q.Capacity.Of(int32(whole))) || most != max(1, int64(q.MaxCapacity.Of(int32(whole)))) || uses >= most {
				rt.Fatalf("queue %s uses %d %v slots of %d, at most %d", q.Name, uses, e.Grant.Kind, of, most)
			}
			if byFactor := max(1, max(1, of)*int64(q.UserLimitFactor)/int64(slots.One)); user >= limit || limit > byFactor {
				rt.Fatalf("user %s uses %d %v slots of queue %s, limit %d, by the factor %d", j.User, user, e.Grant.Kind, q.Name, limit, byFactor)
			}
		}
		l, err := policytest.Drive(c, capacity.New(), jobs, policytest.Options{Explain: check})
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
