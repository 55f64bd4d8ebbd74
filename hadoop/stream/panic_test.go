package stream_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"mrlocal/hadoop/stream"
	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// panicker panics in Map, Reduce or Close. It ends the goroutine of Map at "goexit".
type panicker struct{ at string }

func (p panicker) Begin(jobs.OwnAttempt) {}

func (p panicker) Map(_ jobs.Block, out jobs.Emitter) error {
	switch p.at {
	case "map":
		panic("boo")
	case "goexit":
		runtime.Goexit()
	}
	out.Emit([]byte("k"), nil)
	return nil
}

func (p panicker) Reduce([]byte, *jobs.Values, jobs.Emitter) error {
	if p.at == "reduce" {
		panic(errors.New("boo"))
	}
	return nil
}

func (p panicker) Close() error {
	if p.at == "close" {
		panic("boo")
	}
	return nil
}

func TestAPanicOfUserCodeIsAnError(t *testing.T) {
	for at, side := range map[string]stream.Side{"map": stream.Map, "reduce": stream.Reduce, "close": stream.Map} {
		chain := jobs.Chain{{
			Name: "p", NewMapper: func() jobs.Mapper { return panicker{at} }, NewReducer: func() jobs.Reducer { return panicker{at} },
		}}
		err := stream.Run(t.Context(), chain, side, stream.Options{}, strings.NewReader("k\tv\n"), io.Discard, io.Discard)
		if err == nil || !strings.HasSuffix(err.Error(), ": panic: boo") || errs.IsUsage(err) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// A child whose main goroutine ended would hang.
func TestTheEndOfTheGoroutineIsAnError(t *testing.T) {
	var stderr strings.Builder
	chain := jobs.Chain{{Name: "p", NewMapper: func() jobs.Mapper { return panicker{"goexit"} }}}
	code := stream.Main(chain, []string{"map"}, strings.NewReader("k\n"), io.Discard, &stderr, func(string) string { return "" })
	const want = "stream: user code: has ended its goroutine by runtime.Goexit\n"
	if code != 3 || stderr.String() != want {
		t.Errorf("exit code %d, stderr %q; want 3 and %q", code, stderr.String(), want)
	}
}
