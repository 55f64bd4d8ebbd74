package slots_test

import (
	"strings"
	"testing"

	"mrlocal/internal/invariant"
	"mrlocal/slots"
)

// borrower is a policy that sets Traits.Borrows, but not Traits.Lends.
type borrower struct{ anySlot }

func (*borrower) Traits() slots.Traits {
	return slots.Traits{Name: "borrower", Borrows: true, BorrowReduce: slots.One}
}

// TestAPolicyThatBorrowsAndDoesNotLendIsRefused: no visit would come for a free slot of the
// other kind, so the policy would do nothing, silently.
func TestAPolicyThatBorrowsAndDoesNotLendIsRefused(t *testing.T) {
	_, err := slots.New(two(), &borrower{})
	if err == nil || !strings.Contains(err.Error(), "policy borrower borrows slots (Traits.Borrows) but lends none: set Traits.Lends") {
		t.Error(err)
	}
}

// TestRefusedGrantsAreCounted: those that only a bug leads to. Checked builds panic.
func TestRefusedGrantsAreCounted(t *testing.T) {
	asked := 0
	p := &anySlot{typed: true, each: func(_ *slots.View, d *slots.Decision) {
		defer func() { _ = recover() }()
		if asked++; asked <= 3 {
			d.Grant(slots.Grant{Slot: 1, Kind: slots.Map, Task: slots.NoTask})
		}
	}}
	d := newDesk(t, two(), p)
	d.Submit(0, slots.JobSpec{Name: "j", Maps: 9, MapsSealed: true})
	d.Assign(0, 0)
	want := "the first because the slot was of the other kind, and the policy has no Traits.Lends"
	if n := d.Stats().Refused; n == 0 || !strings.Contains(d.Refused(), want) {
		t.Errorf("%d refused, %q; checks on: %v", n, d.Refused(), invariant.Enabled)
	}
}

// refusing is a policy whose grants the Ledger refuses, because the maps of the job are not done.
type refusing struct {
	anySlot
	refused int
}

func (*refusing) Traits() slots.Traits {
	return slots.Traits{Name: "refusing", Options: map[string]any{"an": "option"}}
}

func (p *refusing) Decide(_ *slots.View, d *slots.Decision) {
	if !d.Grant(slots.Grant{Slot: slots.NoSlot, Kind: slots.Reduce, Task: slots.NoTask}) {
		p.refused++
	}
}

// TestARefusedGrantAllocatesNothing: policies offer a slot to many jobs until one may use it, as under
// delay scheduling.
func TestARefusedGrantAllocatesNothing(t *testing.T) {
	p := &refusing{}
	c := two()
	c.Slowstart = slots.One
	l, err := slots.New(c, p)
	if err != nil {
		t.Fatal(err)
	}
	l.Submit(0, slots.JobSpec{Name: "j", Maps: 9, Reduces: 1, MapsSealed: true})
	n := testing.AllocsPerRun(100, func() { l.Assign(0, 0) })
	if p.refused < 100 {
		t.Errorf("%d grants are refused", p.refused)
	}
	if n != 0 && !invariant.Enabled { // checked builds allocate the arguments of checks
		t.Errorf("%v allocations a visit", n)
	}
}
