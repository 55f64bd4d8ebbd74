package setup

import (
	"cmp"
	"fmt"
)

// Room is what a machine has for the slots of a real run.
type Room struct {
	Cores       int   // on which the process may run
	WorkCores   int   // cores that it can keep busy: fewer with a CPU quota
	MemoryBytes int64 // of the run
	SlotBytes   int64 // memory that a slot needs
	MostSlots   int   // for which the process may have threads
	NoReduces   bool  // the run needs no reduce slots
}

// Fit returns c with its defaults for a real run. A tracker has as many home slots as cores, a sixth
// of them for reduces, or fewer where r or MaxSlots say so. But it has at least one of each kind. note
// says why there are fewer; "": there are not. What is set in c stays.
func (c Config) Fit(r Room) (fit Config, note string) {
	trackers := max(1, c.Trackers)
	most, why := max(1, r.Cores/trackers), ""
	lower := func(slots int64, reason string) {
		if slots < int64(most) {
			most, why = int(max(slots, 1)), reason
		}
	}
	lower(int64(max(1, r.WorkCores/trackers)), fmt.Sprintf("the CPU quota is %d of %d cores", r.WorkCores, r.Cores))
	lower(r.MemoryBytes/r.SlotBytes/int64(trackers), fmt.Sprintf("a slot takes %dMiB of %dMiB of memory", r.SlotBytes>>20, r.MemoryBytes>>20))
	lower(int64(r.MostSlots/trackers), "the process may have few threads (ulimit -u or -v, or pids.max of the control group)")
	if c.MaxSlots > 0 {
		lower(int64(c.MaxSlots), "")
	}
	maps, reduces := c.homeSlots(most, r.NoReduces)
	if c.MapSlots > 0 {
		reduces = max(min(reduces, most-maps), min(reduces, 1))
	}
	usualMaps, usualReduces := c.homeSlots(max(1, r.Cores/trackers), r.NoReduces)
	if why != "" && (maps < usualMaps || reduces < usualReduces) {
		note = fmt.Sprintf("slots: by default a tracker has %d for maps and %d for reduces here, not %d and %d: %s", maps, reduces, usualMaps, usualReduces, why)
	}
	return c.WithDefaults(maps, reduces), note
}

// homeSlots returns the home slots of a tracker for the given number of cores. Those that are set stay.
func (c *Config) homeSlots(cores int, noReduces bool) (maps, reduces int) {
	reduces = cmp.Or(c.ReduceSlots, max(1, cores/6))
	if noReduces {
		reduces = 0
	}
	return cmp.Or(c.MapSlots, max(1, cores-reduces)), reduces
}
