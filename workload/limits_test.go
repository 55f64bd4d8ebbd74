package workload_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/invariant"
	"mrlocal/internal/machine"
	"mrlocal/internal/testkit"
	"mrlocal/workload"
)

// TestALimitOfZeroIsRefused: only a limit that is missing means no limit.
func TestALimitOfZeroIsRefused(t *testing.T) {
	for section, keys := range map[string][]string{"pools": {"max_maps", "max_reduces", "max_running_jobs"}, "users": {"max_running_jobs"}} {
		for _, key := range keys {
			for _, value := range []int{0, 1} {
				text := fmt.Sprintf("%s: [{name: a, %s: %d}]\njobs: [{name: J, maps: 1, map_time: 1s}]\n", section, key, value)
				_, err := workload.Parse("w.yaml", []byte(text))
				if refused := err != nil && strings.Contains(err.Error(), "w.yaml:1:") && strings.Contains(err.Error(), key+": 0: too small; at least 1"); refused != (value == 0) {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}

// TestManyItemsTakeLinearTime: with a comparison of all pairs, each of these files takes more than 4 s of CPU.
func TestManyItemsTakeLinearTime(t *testing.T) {
	if invariant.Enabled {
		t.Skip("a checked program is slower")
	}
	list := func(n int, form string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	n := 25_000 * testkit.Rounds(4) // of the time of 100,000 items at most their share is allowed
	for what, text := range map[string]string{
		"capacities": "jobs: [{name: J, maps: 1}]\ncapacities:\n" + list(2*n, "- {tracker: %d}\n"),
		"args":       "jobs:\n- name: J\n  job: sort\n  args:\n" + list(n, "    a%d: x\n"),
		"after":      "jobs:\n" + list(n, "- {name: J%d, maps: 1}\n") + "- name: J\n  maps: 1\n  after:\n" + list(n, "  - J%d\n"),
	} {
		begun := machine.ProcessCPU()
		if _, err := workload.Parse("w.yaml", []byte(text)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if took := machine.ProcessCPU() - begun; took > 4*time.Second*time.Duration(n)/100_000 {
			t.Errorf("%s: %v of CPU time", what, took)
		}
	}
}
