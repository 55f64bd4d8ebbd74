package engine_test

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mrlocal/engine"
	"mrlocal/jobs"
	"mrlocal/jobs/jobtest"
)

// framesMapper notes the functions that are on the stack when it maps.
type framesMapper struct{ frames *[]string }

func (m framesMapper) Map(b jobs.Block, out jobs.Emitter) error {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	*m.frames = nil
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		*m.frames = append(*m.frames, f.Function)
	}
	out.Emit(b.Data[:1], nil)
	return nil
}

// The life of an attempt is one function, so a panic in user code shows a short stack.
func TestAMapperIsFewFramesBelowItsThread(t *testing.T) {
	const most = 9
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: []byte("line\n")}})
	for _, reducer := range []func() jobs.Reducer{nil, func() jobs.Reducer { return jobs.Identity{} }} {
		var frames []string
		job := jobs.Job{Name: "frames", NewMapper: func() jobs.Mapper { return framesMapper{&frames} }, NewReducer: reducer}
		var out bytes.Buffer
		if _, err := engine.RunChain(t.Context(), jobs.Chain{job}, engine.Options{JobOptions: engine.JobOptions{Inputs: []string{dir}, Stdout: &out}}); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(frames, func(f string) bool { return strings.HasSuffix(f, ".loop") })
		if at < 0 || at >= most {
			t.Errorf("the thread's loop is frame %d, want 0 to %d:\n%s", at, most-1, strings.Join(frames, "\n"))
		}
	}
}
