package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/usage"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
)

// TestLendingKeepsToItsPercentages is A4 and A6 with two to nine trackers: by
// the papers' counts, never more is lent than floor(capacity · percentage).
func TestLendingKeepsToItsPercentages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := policy.Options{BorrowMap: slots.PPM(rapid.IntRange(0, 1_000_000).Draw(rt, "of maps")), BorrowReduce: slots.PPM(rapid.IntRange(0, 1_000_000).Draw(rt, "of reduces"))}
		c := slots.Config{
			Slots:     policytest.Typed(rapid.IntRange(2, 9).Draw(rt, "trackers"), rapid.IntRange(1, 6).Draw(rt, "maps"), rapid.IntRange(1, 4).Draw(rt, "reduces")),
			Slowstart: rapid.SampledFrom([]slots.PPM{0, slots.One / 2, slots.One}).Draw(rt, "slowstart"),
		}
		each := func(_ time.Duration, l *slots.Ledger) error {
			lent, capacity := l.LentBy()
			for k, share := range []slots.PPM{o.BorrowMap, o.BorrowReduce} {
				if lent[k] > share.Of(capacity[k]) {
					return fmt.Errorf("%d of %d %v slots are lent at %v", lent[k], capacity[k], slots.Kind(k), share)
				}
			}
			return nil
		}
		jobs := drawJobs(rt)
		for _, name := range []string{"pi-dhfs", "pd-dhfs", "pi-fifo"} {
			if _, err := policytest.Drive(c, mustNew(t, name, o), jobs, policytest.Options{Each: each}); err != nil {
				rt.Fatalf("%s: %v", name, err)
			}
		}
	})
}

func drawJobs(t *rapid.T) (jobs []policytest.Job) {
	for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
		seconds := func(name string, least int) time.Duration {
			return time.Duration(rapid.IntRange(least, 9).Draw(t, name)) * time.Second
		}
		jobs = append(jobs, policytest.Job{
			Spec: slots.JobSpec{
				Name: fmt.Sprintf("J%02d", i), MapsSealed: true,
				Maps: int32(rapid.IntRange(1, 60).Draw(t, "maps")), Reduces: int32(rapid.IntRange(0, 40).Draw(t, "reduces")),
			},
			Submit: seconds("submit", 0), MapTime: policytest.Const(seconds("map", 1)), ReduceTime: policytest.Const(seconds("reduce", 1)),
		})
	}
	return jobs
}

// TestPoolsShareEvenly: while two pools of equal weight have more to do than
// there are slots, neither runs over one task more than the other, per phase
// under every fair policy (D23).
func TestPoolsShareEvenly(t *testing.T) {
	for _, name := range []string{"fair", "pi-dhfs"} {
		rapid.Check(t, func(rt *rapid.T) {
			mapTime := time.Duration(rapid.IntRange(1, 5).Draw(rt, "map")) * time.Second
			n := int32(rapid.IntRange(2, 10).Draw(rt, "slots"))
			var jobs []policytest.Job
			for i := range 2 {
				jobs = append(jobs, policytest.Job{Spec: slots.JobSpec{Name: fmt.Sprint(i), Maps: 20 * n, MapsSealed: true}, MapTime: policytest.Const(mapTime)})
			}
			each := func(_ time.Duration, l *slots.Ledger) error {
				var run [2]int32
				for i := range run {
					counts := l.JobCounts(slots.JobID(i), slots.Map)
					done, total := l.JobTasks(slots.JobID(i), slots.Map)
					if run[i] = int32(counts.Started) - done; int32(counts.Started) == total {
						return nil // this pool wants no more
					}
				}
				if max(run[0]-run[1], run[1]-run[0]) > 1 {
					return fmt.Errorf("%d and %d maps run", run[0], run[1])
				}
				return nil
			}
			c := slots.Config{Slots: policytest.Typed(1, int(n), 2)} // even in total when n is
			l, err := policytest.Drive(c, mustNew(t, name, whole()), jobs, policytest.Options{Each: each})
			if err != nil {
				rt.Fatal(err)
			}
			if jain := l.Stats().Jain; n%2 == 0 && jain < 0.999 {
				rt.Fatalf("Jain's index is %v", jain)
			}
		})
	}
}

func TestAnUnknownPolicyIsWrongUsageWithTheNearestName(t *testing.T) {
	for name, want := range map[string]string{
		"pi-dfs": "did you mean pi-dhfs?", "FAIR": "did you mean fair?", "fiffo": "did you mean fifo?",
		"": "there are fifo, fair, pi-dhfs, pd-dhfs, pi-fifo", "kubernetes": "there are fifo, fair, pi-dhfs, pd-dhfs, pi-fifo",
	} {
		_, err := policy.New(name, policy.Options{})
		if !usage.Is(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

func TestTheTableOfNamesAgreesWithThePolicies(t *testing.T) {
	for _, info := range policy.All() {
		p := mustNew(t, info.Name, whole())
		if p.Name() != info.Name || info.Line == "" || info.Paper == "" {
			t.Errorf("%+v makes a policy named %q", info, p.Name())
		}
	}
}
