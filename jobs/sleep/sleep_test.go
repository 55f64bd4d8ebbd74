package sleep_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/sleep"
)

// keys is an Emitter that counts its records.
type keys int

func (k *keys) Emit(key, _ []byte) { *k++ }

func TestAMapSleepsItsTimeAndShowsThatItLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chain, err := sleep.New(sleep.Options{Maps: 3, Reduces: 4, MapTime: func(task int) time.Duration { return time.Duration(task+1) * 1000 * time.Second }})
		if err != nil {
			t.Fatal(err)
		}
		for task, wantKeys := range []keys{4, 0, 0} { // the first map emits a key for each reduce
			signs := 0
			m := chain[0].NewMapper()
			m.(jobs.Attempter).Begin(jobs.OwnAttempt{Context: t.Context(), Task: task, Progress: func(int64, int64) { signs++ }})
			begun, out := time.Now(), keys(0)
			if err := m.Map(jobs.Block{}, &out); err != nil || out != wantKeys {
				t.Errorf("map %d: %d keys, %v", task, out, err)
			}
			if took, want := time.Since(begun), time.Duration(task+1)*1000*time.Second; took != want || signs < 99*(task+1) {
				t.Errorf("map %d took %v, want %v; %d signs of life", task, took, want, signs)
			}
		}
	})
}

func TestAKillWakesASleeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		chain, err := sleep.New(sleep.Options{Maps: 1, Reduces: 1, ReduceTime: func(int) time.Duration { return time.Hour }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		killed := errors.New("killed")
		time.AfterFunc(3*time.Second, func() { cancel(killed) })
		r := chain[0].NewReducer()
		r.(jobs.Attempter).Begin(jobs.OwnAttempt{Context: ctx, Progress: func(int64, int64) {}})
		begun := time.Now()
		if err := r.Reduce(nil, nil, nil); !errors.Is(err, killed) || time.Since(begun) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestKeysGoToTheirReduces(t *testing.T) {
	chain, err := sleep.New(sleep.Options{Maps: 1, Reduces: 3})
	if err != nil {
		t.Fatal(err)
	}
	for r := range 3 {
		if got := chain[0].Partition([]byte{0, 0, 0, byte(r)}, 3); got != r {
			t.Errorf("key %d goes to %d", r, got)
		}
	}
}

func TestAJobWithoutMapsIsWrongUsage(t *testing.T) {
	for _, o := range []sleep.Options{{}, {Maps: -1}, {Maps: 1, Reduces: -1}} {
		if _, err := sleep.New(o); !errs.IsUsage(err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
