package dhfs_test

import (
	"testing"
	"time"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/dhfs"
	"mrlocal/slots/policy/policytest"
)

func newPI(o policy.Options) slots.Policy   { return dhfs.NewPI(o) }
func newPD(o policy.Options) slots.Policy   { return dhfs.NewPD(o) }
func newFIFO(o policy.Options) slots.Policy { return dhfs.NewFIFO(o) }

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/pi-dhfs/*.txt", newPI)
	policytest.Scripts(t, "testdata/pd-dhfs/*.txt", newPD)
	policytest.Scripts(t, "testdata/pi-fifo/*.txt", newFIFO)
}

func TestSuite(t *testing.T) {
	anyIdle := policytest.Claims{Idle: policytest.AnyIdle}
	waits := policy.DefaultOptions()
	waits.LocalityDelay = new(2500 * time.Millisecond)
	lends := func(share slots.PPM) policy.Options {
		return policy.Options{BorrowMap: share, BorrowReduce: slots.One - share}
	}
	for _, c := range []struct {
		name    string
		make    func(o policy.Options) slots.Policy
		options policy.Options
		claims  policytest.Claims
	}{
		{"pi-dhfs", newPI, policy.DefaultOptions(), anyIdle},
		{"pd-dhfs", newPD, policy.DefaultOptions(), anyIdle},
		{"pi-fifo", newFIFO, policy.DefaultOptions(), anyIdle},
		{"pi-dhfs with a locality delay", newPI, waits, policytest.Claims{}}, // a slot may idle during a wait
		{"pd-dhfs with a locality delay", newPD, waits, anyIdle},             // case 5 takes it
		{"pi-dhfs lends no map slot", newPI, lends(0), policytest.Claims{}},
		{"pd-dhfs lends no map slot", newPD, lends(0), policytest.Claims{}},
		{"pi-dhfs lends a quarter of the map slots", newPI, lends(slots.One / 4), policytest.Claims{}},
		{"pd-dhfs lends a quarter of the map slots", newPD, lends(slots.One / 4), policytest.Claims{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			policytest.Run(t, func() slots.Policy { return c.make(c.options) }, c.claims)
		})
	}
}

func TestDrawn(t *testing.T) {
	none := policytest.Claims{}
	policytest.Drawn(t, "testdata/pi-dhfs.golden", newPI, none, "", "borrow-map=0.5 borrow-reduce=0.25", "locality-delay=2s borrow-map=0")
	policytest.Drawn(t, "testdata/pd-dhfs.golden", newPD, none, "", "borrow-map=0.5 borrow-reduce=0.25", "locality-delay=2s borrow-reduce=0.5")
	policytest.Drawn(t, "testdata/pi-fifo.golden", newFIFO, none, "", "borrow-map=0.25 borrow-reduce=0.5")
}
