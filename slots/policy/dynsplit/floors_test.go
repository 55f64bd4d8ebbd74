package dynsplit

import (
	"fmt"
	"math"
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
)

// TestEarlyReducesStayWithinTheWholeSlotsOfTheirShare: with the floor, a reduce whose maps are not
// all done starts only if R_ir has a whole slot for it. As printed, a fraction is enough.
func TestEarlyReducesStayWithinTheWholeSlotsOfTheirShare(t *testing.T) {
	for _, limit := range []string{"both", "floor", "bound", "printed"} {
		for _, jobs := range []int{1, 3} {
			o := policy.DefaultOptions()
			o.EarlyReduces = limit
			s := New(o)
			list := []policytest.ScriptJob{}
			for i := range jobs {
				list = append(list, policytest.ScriptJob{
					Spec: slots.JobSpec{Name: fmt.Sprint(i), Maps: 200, MapsSealed: true, Reduces: 60},
					MapTime: func(task slots.TaskID) time.Duration {
						return 9*time.Second + time.Duration(task*7%20)*100*time.Millisecond
					}, ReduceTime: policytest.Const(30 * time.Second),
				})
			}
			early, above := 0, 0
			ran := make([]int32, jobs)
			_, err := policytest.Drive(slots.Config{Slots: policytest.Typed(1, 10, 10)}, s, list, policytest.Options{Each: func(_ time.Duration, l *slots.Ledger) error {
				for id := range ran {
					j := l.View().Job(slots.JobID(id))
					n := j.Running(slots.Reduce)
					if n > ran[id] && !policy.MapsDone(j) {
						early++
						if float64(n) > math.Floor(s.jobs[id].share[slots.Reduce]) {
							above++
						}
					}
					ran[id] = n
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			if floors := limit == "both" || limit == "floor"; early == 0 || floors != (above == 0) {
				t.Errorf("%s, %d jobs: %d early reduces, and %d start above the whole slots of their share", limit, jobs, early, above)
			}
		}
	}
}
