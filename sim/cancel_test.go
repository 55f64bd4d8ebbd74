package sim_test

import (
	"context"
	"errors"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/sim"
)

// TestARunThatIsCancelledIsInterrupted: by its kind, with the cause of the context.
func TestARunThatIsCancelledIsInterrupted(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := sim.Run(ctx, parse(t, two, oneJob), sim.Options{}); !errors.Is(err, errs.Interrupted) || !errors.Is(err, stop) || err.Error() != "stop" {
		t.Errorf("%v", err)
	}
}
