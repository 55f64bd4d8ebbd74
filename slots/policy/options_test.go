package policy_test

import (
	"testing"

	"mrlocal/internal/setting"
	"mrlocal/slots/policy"
)

// TestNoReduceIsNoLimit: a limit of no reduces would be a job that never ends.
func TestNoReduceIsNoLimit(t *testing.T) {
	for _, name := range []string{"reduce-total", "reduce-shuffle", "reduce-compute"} {
		var o policy.Options
		if err := setting.Set(o.Fields(), name, "0"); err == nil {
			t.Errorf("%s 0 is taken", name)
		}
		if err := setting.Set(o.Fields(), name, "1"); err != nil {
			t.Error(err)
		}
	}
}
