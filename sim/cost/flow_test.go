package cost

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mrlocal/internal/testkit"
	"mrlocal/slots"
)

// TestAFlowIsTheSumOverItsOutputs compares the recurrence with Flow's formula
// taken literally, over outputs that come, are lost and come back.
func TestAFlowIsTheSumOverItsOutputs(t *testing.T) {
	testkit.Check(t, func(rt *rapid.T) {
		maps := int32(rapid.IntRange(1, 20).Draw(rt, "maps"))
		f := Flow{
			Maps: maps, Reduces: int64(rapid.IntRange(1, 4).Draw(rt, "reduces")),
			MapBytes: int64(rapid.IntRange(0, 100).Draw(rt, "bytes")), PerSecond: int64(rapid.IntRange(1, 50).Draw(rt, "bandwidth")),
		}
		copying := func(n int) time.Duration {
			return time.Duration(int64(n) * f.MapBytes / f.Reduces * int64(time.Second) / f.PerSecond)
		}
		var there []Available // in the order in which they became available
		now := time.Duration(0)
		for task := slots.TaskID(0); len(there) < int(maps); task++ {
			now += time.Duration(rapid.IntRange(0, 60).Draw(rt, "pause")) * time.Second
			if len(there) > 0 && rapid.IntRange(0, 4).Draw(rt, "loses") == 0 {
				gone := rapid.IntRange(0, len(there)-1).Draw(rt, "gone")
				task := there[gone].Task
				there = append(there[:gone:gone], there[gone+1:]...)
				f.Drop(int32(len(there)), func(a *Available) bool { return a.Task == task })
				continue
			}
			there = append(there, Available{now, task, 0})
			f.Add(now, task, 0)
		}
		start := time.Duration(rapid.IntRange(0, 2000).Draw(rt, "start")) * time.Second
		want := start + copying(int(maps))
		for e, a := range there {
			want = max(want, a.At+copying(int(maps))-copying(e))
		}
		if got := f.Copied(start); !f.Complete() || got != want {
			rt.Fatalf("copied at %v, want %v", got, want)
		}
	})
}

func TestALongCopySaturatesInsteadOfWrappingAround(t *testing.T) {
	f := Flow{Maps: 1 << 30, There: 1 << 30, MapBytes: 1 << 50, Reduces: 1, PerSecond: 1}
	if got := f.Copied(time.Hour); got != 1<<63-1 {
		t.Errorf("copied at %d", got)
	}
}
