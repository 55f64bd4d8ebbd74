package engine_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"mrlocal/engine"
	"mrlocal/jobs/jobtest"
	"mrlocal/slots"
	"mrlocal/slots/report"
	"mrlocal/slots/setup"
	"mrlocal/spill"
)

// TestReducesThatCopyBytes copies map outputs from memory and from disk, with reduces that start
// with the maps, and with a map output that is lost. The result is the same as without copies, and
// the copy phase reads and writes what it copies.
func TestReducesThatCopyBytes(t *testing.T) {
	dir := writeFiles(t, []jobtest.File{{Path: "a", Data: text(77, 1_000_000)}})
	atOnce := slots.PPM(0)
	for name, change := range map[string]func(o *engine.Options){
		"from memory":    func(*engine.Options) {},
		"from the disk":  func(o *engine.Options) { o.SortBufferBytes, o.KVBuffer = 64<<10, spill.KVBuffer{NoGrowth: true} },
		"while maps run": func(o *engine.Options) { o.Slowstart, o.MergeFactor = &atOnce, 2 },
		"of which one is lost": func(o *engine.Options) { // its map has committed by then, and no reduce has all copies
			o.Faults = []setup.Fault{{Tracker: -1, Lost: true, At: 600 * time.Millisecond}}
			o.Copiers.BytesPerSecond = 256 << 10
		},
		"with little memory":      func(o *engine.Options) { o.MemoryBytes = 32 << 20 },
		"and a reduce that fails": func(o *engine.Options) { o.Faults = []setup.Fault{{Tracker: -1, Fail: 1, Reduce: true}} },
	} {
		t.Run(name, func(t *testing.T) {
			o := engine.Options{
				JobOptions: engine.JobOptions{Inputs: []string{dir}, BlockBytes: 64 << 10, Reducers: 3},
				Config:     setup.Config{MapSlots: 2, ReduceSlots: 2}, MemoryBytes: 64 << 20, TempDirs: []string{t.TempDir()},
			}
			change(&o)
			want, _ := must(t, chains(t)["sort -rn"](), o)
			o.CopyOutputs = true
			got, r := must(t, chains(t)["sort -rn"](), o)
			if !bytes.Equal(got, want) {
				t.Error("the result differs")
			}
			copied := report.Usage{}
			for _, u := range r.Jobs[0].Phases {
				if u.Phase == "copy" {
					copied.Add(&u)
				}
			}
			again := int(r.Jobs[0].Counters.LaunchedMaps) - r.Jobs[0].Maps
			if lost := len(o.Faults) > 0 && o.Faults[0].Lost; lost != (again > 0) {
				t.Errorf("%d maps have run again", again)
			}
			bytes := r.Jobs[0].Counters.ReduceShuffleBytes
			if fmt.Sprint(copied.ReadBytes > bytes/2) != fmt.Sprint(o.NoGrowth) || copied.WrittenBytes < bytes/2 || copied.PeakBytes == 0 {
				t.Errorf("%d bytes copied: %+v", bytes, copied)
			}
		})
	}
}
