package sim

import (
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/slots"
	"mrlocal/slots/policy/fifo"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// lender is a policy that may put any task on any slot.
type lender struct{ fifo.FIFO }

func (lender) Traits() slots.Traits { return slots.Traits{Name: "fifo", Lends: true} }

// TestAKindOfTaskWithoutASlotIsRefused where slots are typed; extra slots do not
// count, for they are closed.
func TestAKindOfTaskWithoutASlotIsRefused(t *testing.T) {
	f, err := workload.Parse("w.yaml", []byte("jobs: [{name: J, maps: 1, reduces: 1, map_time: 1s, reduce_time: 1s}]"))
	if err != nil {
		t.Fatal(err)
	}
	whole := setup.Config{MapSlots: 1, MaxSlots: 2}.WithDefaults(1, 0)
	typed := Options{Config: whole, Policy: fifo.New()}.withDefaults()
	if err := check(f, &typed); !errs.IsUsage(err) || !strings.Contains(err.Error(), "w.yaml:1:8: job J: has reduce tasks, and there is no reduce slot that could run them under fifo") {
		t.Errorf("typed: %v", err)
	}
	lent := Options{Config: whole, Policy: &lender{}}.withDefaults()
	if err := check(f, &lent); err != nil {
		t.Errorf("lent: %v", err)
	}
}
