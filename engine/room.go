package engine

import (
	"context"
	"fmt"

	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/membudget"
)

// Room estimates, before the maps of a job start, whether its temporary files will fit on the disk.
type Room struct {
	Sampled
	Budget   *membudget.Budget
	Temp     *disk.TempRoot // nil: the free space is not known
	MaxBytes int64          // Options.MaxTempBytes
	Fits     bool           // the job is likely to fit in memory
	Plain    bool           // spills are not compressed
	Note     func(string)
}

// mostShrink is the factor by which compression makes temporary files smaller at best. It is
// large, so that a job is refused only if its files can hardly fit.
const mostShrink = 4

// Check returns an options error for a job whose map outputs cannot fit in memory and in the
// temporary directories. If they may fit or not, it calls Note. ratio is the bytes of map output
// for each byte of input, as Sample returns it. If it is 0, it is not known, and Check samples if
// it has to.
func (r *Room) Check(ctx context.Context, ratio float64) error {
	// A sample does not show how much a combiner leaves.
	if r.Temp == nil || r.Fits || r.Job.NewReducer == nil || r.Plan == nil || r.Job.NewFolder != nil || r.Job.NewCombiner != nil {
		return nil
	}
	room, known := r.Temp.RoomBytes()
	if !known || r.MaxBytes == 0 && r.Plan.Bytes < room { // the usual case takes no sample
		return nil
	}
	if ratio == 0 {
		s, err := r.sample(ctx, r.Budget)
		if err != nil {
			return err
		}
		ratio = s.ratio()
	}
	// Compressed inputs count as stored, so most is too low for them. At worst all outputs go to
	// disk. At best all of the memory holds outputs too.
	most := int64(ratio * float64(r.Plan.Bytes))
	least := most - r.Budget.Limit()
	if !r.Plain {
		least /= mostShrink
	}
	const mib = 1 << 20
	// A sixteenth more allows for an error of the estimate.
	does := fmt.Sprintf("%dMiB would do, or more of Options.MemoryBytes", (most+most/16)/mib+1)
	switch {
	case most <= room:
		return nil
	case least <= room:
		r.Note(fmt.Sprintf("temporary files may take %dMiB, but only %dMiB are allowed or free; %s", most/mib+1, room/mib, does))
		return nil
	case r.MaxBytes > 0 && room == r.MaxBytes:
		return errs.Optionf("Options.MaxTempBytes", "%d: too little for map outputs of about %dMiB; %s", room, most/mib+1, does)
	}
	if err := r.Temp.Check(); err != nil { // it has waited until now (Options.TempAtNeed)
		return err
	}
	return errs.Optionf("Options.TempDirs", "%dMiB are free, too little for map outputs of about %dMiB; directories with %s", room/mib, most/mib+1, does)
}
