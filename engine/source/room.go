package source

import (
	"context"
	"fmt"

	"mrlocal/errs"
	"mrlocal/input"
	"mrlocal/internal/membudget"
	"mrlocal/internal/tempdir"
	"mrlocal/jobs"
)

// Room judges before the maps of a job start whether its temporary files will find room.
type Room struct {
	Job      *jobs.Job
	Plan     *input.Plan // nil: the job reads no file
	First    *Held       // the beginning of a stream; nil: there is none
	Budget   *membudget.Budget
	Temp     *tempdir.Root // nil: nothing is known
	MaxBytes int64         // Options.MaxTempBytes
	Fits     bool          // the job is likely to fit in memory
	Plain    bool          // spills are not compressed
	Note     func(string)
}

// mostShrink is by how much compression makes temporary files smaller at best, as far as the
// estimate goes. Only then is a job refused that may do after all.
const mostShrink = 4

// Check returns an options error for a job whose map outputs cannot fit in memory and in the
// temporary directories, and notes one whose outputs may not. ratio is what Sample has
// returned; 0: there was no sample yet.
func (r *Room) Check(ctx context.Context, ratio float64) error {
	// How much a combiner leaves depends on all of the input.
	if r.Temp == nil || r.Fits || r.Job.NewReducer == nil || r.Plan == nil || r.Job.NewFolder != nil || r.Job.NewCombiner != nil {
		return nil
	}
	room, known := r.Temp.RoomBytes()
	if !known || r.MaxBytes == 0 && r.Plan.Bytes < room { // the usual case takes no sample
		return nil
	}
	if ratio == 0 {
		lease, err := r.Budget.Reserve(ctx, SampleLeaseBytes)
		if err != nil {
			return err
		}
		defer lease.Close()
		s, err := sample(r.Job, r.Plan, r.First, lease)
		if err != nil {
			return err
		}
		ratio = s.ratio()
	}
	// Compressed inputs count as stored, so they need more than that. At worst nothing stays in
	// memory; at best all of it is used.
	most := int64(ratio * float64(r.Plan.Bytes))
	least := most - r.Budget.Limit()
	if !r.Plain {
		least /= mostShrink
	}
	const mib = 1 << 20
	does := fmt.Sprintf("%dMiB would do, or more of Options.MemoryBytes", (most+most/16)/mib+1)
	switch {
	case most <= room:
		return nil
	case least <= room:
		r.Note(fmt.Sprintf("temporary files may take %dMiB, but only %dMiB are allowed or free; %s", most/mib+1, room/mib, does))
		return nil
	case r.MaxBytes > 0 && room == r.MaxBytes:
		return errs.Optionf(fmt.Sprintf("Options.MaxTempBytes %d", room), "too little for map outputs of about %dMiB; %s", most/mib+1, does)
	}
	return errs.Optionf("Options.TempDirs", "%dMiB are free, too little for map outputs of about %dMiB; directories with %s", room/mib, most/mib+1, does)
}
