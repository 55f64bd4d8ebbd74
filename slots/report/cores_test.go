package report

import (
	"testing"
	"time"

	"mrlocal/internal/machine"
)

func TestTimesOfCoresAreReportedAsShares(t *testing.T) {
	got := sharesOf(machine.CoreTimes{User: time.Second, System: 2 * time.Second, IOWait: 3 * time.Second, Idle: 4 * time.Second})
	if want := (CPUShares{User: 0.1, System: 0.2, IOWait: 0.3, Idle: 0.4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := sharesOf(machine.CoreTimes{Cores: 2}); got != (CPUShares{}) {
		t.Errorf("of a run without times: %+v", got)
	}
}
