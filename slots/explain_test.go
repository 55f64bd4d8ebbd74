package slots_test

import (
	"fmt"
	"strings"
	"testing"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
	"mrlocal/slots/policy/policytest"
)

func TestANumberIsPrintedAsItIsRead(t *testing.T) {
	for want, n := range map[string]slots.Number{
		"allowance = 4":               {Name: "allowance", Num: 4},
		"load factor = 3.56 (320/90)": {Name: "load factor", Num: 320, Den: 90},
		"share = 3.33 (10/3)":         {Name: "share", Num: int64(10 * slots.One), Den: int64(3 * slots.One)},
		"share = 3":                   {Name: "share", Num: int64(6 * slots.One), Den: int64(2 * slots.One)},
		"share = 0":                   {Name: "share", Num: 0, Den: int64(2 * slots.One)},
		"weight = 2":                  {Name: "weight", Num: int64(2 * slots.One), Den: int64(slots.One)},
		"borrow percentage = 0.25":    {Name: "borrow percentage", Num: int64(slots.One / 4), Den: int64(slots.One)},
		"running per weight = 0":      {Name: "running per weight", Num: 0, Den: 1},
	} {
		if got := n.String(); got != want {
			t.Errorf("%#v: %q, want %q", n, got, want)
		}
	}
}

// reasoned gives reasons: it starts one map per visit, with a number and a candidate that
// it passed over, and then declines.
type reasoned struct{ kill bool }

func (*reasoned) Traits() slots.Traits { return slots.Traits{Name: "reasoned"} }

func (*reasoned) Reset() {}

func (p *reasoned) Decide(v *slots.View, d *slots.Decision) {
	if p.kill {
		p.kill = false
		d.Because(slots.Why{Numbers: []slots.Number{{Name: "over its share by", Num: 1}}})
		d.Reclaim(0)
	}
	if v.Pending(slots.Map) == 0 || v.FreeHome(v.Tracker(), slots.Map) == 0 {
		d.Decline(slots.Map, "nothing is pending", slots.Number{Name: "pending", Num: int64(v.Pending(slots.Map))})
		return
	}
	if d.Explaining() {
		var beaten []slots.Beaten
		for i := range 12 {
			beaten = append(beaten, slots.Beaten{Job: slots.JobID(i), Why: "later"})
		}
		d.Because(slots.Why{Numbers: []slots.Number{{Name: "pending", Num: int64(v.Pending(slots.Map))}}, Beaten: beaten})
	}
	d.Grant(slots.Grant{Slot: slots.NoSlot, Kind: slots.Map, Task: slots.NoTask})
	d.Grant(slots.Grant{Slot: slots.NoSlot, Kind: slots.Reduce, Task: slots.NoTask}) // the gate is closed
	d.Decline(slots.Reduce, "the gate is closed")
}

// said returns an explanation as one line.
func said(e *slots.Explanation) string {
	var words []string
	switch {
	case e.EndOfVisit():
		words = append(words, fmt.Sprintf("visit of tracker %d", e.Tracker))
	case e.Reclaimed != slots.NoSlot:
		words = append(words, fmt.Sprintf("reclaim %d", e.Reclaimed))
	default:
		words = append(words, fmt.Sprintf("grant %s to job %d: %s", e.Grant.Kind, e.Grant.Job, e.Refused))
		if e.Refused == slots.Granted {
			words = append(words, fmt.Sprintf("slot %d task %d", e.Start.Slot, e.Start.Attempt.Task))
		}
	}
	for _, n := range e.Why.Numbers {
		words = append(words, n.String())
	}
	if n := len(e.Why.Beaten); n > 0 {
		words = append(words, fmt.Sprintf("%d beaten", n))
	}
	for _, d := range e.Declined {
		words = append(words, fmt.Sprintf("declined %s: %s %v", d.Kind, d.Reason, d.Numbers))
	}
	return strings.Join(words, ", ")
}

func TestALedgerThatIsAskedTellsWhy(t *testing.T) {
	p := &reasoned{}
	l, err := slots.New(slots.Config{Slots: policytest.Typed(1, 2, 1), Slowstart: slots.One}, p)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	l.Explain(func(e *slots.Explanation) { got = append(got, said(e)) }, nil)
	l.Submit(0, slots.JobSpec{Name: "j", Maps: 1, MapsSealed: true, Reduces: 1})
	l.AssignAll(0)
	want := []string{
		"grant map to job 0: granted, slot 0 task 0, pending = 1, 8 beaten",
		"grant reduce to job 0: gate",
		"visit of tracker 0, declined reduce: the gate is closed []",
	}
	p.kill = true
	l.Assign(1, 0)
	want = append(want,
		"reclaim 0, over its share by = 1",
		"visit of tracker 0, declined map: nothing is pending [pending = 0]",
	)
	l.Explain(nil, nil)
	l.Assign(2, 0)
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
}

// TestDecliningCostsNothingWhenNobodyAsks: a policy that declines all the time allocates
// nothing while explanations are off.
func TestDecliningCostsNothingWhenNobodyAsks(t *testing.T) {
	if invariant.Enabled {
		t.Skip("checked builds allocate on purpose")
	}
	l, err := slots.New(slots.Config{Slots: policytest.Typed(1, 1, 1)}, &reasoned{})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { l.Assign(0, 0) }); n != 0 {
		t.Errorf("%v allocations a visit", n)
	}
}
