package workload_test

import (
	"fmt"
	"strings"
	"testing"

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
