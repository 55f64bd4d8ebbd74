package engine

import (
	"fmt"

	"mrlocal/internal/errs"
	"mrlocal/shuffle"
)

// mostShrink is the factor by which compression makes temporary files smaller at best. It is
// large, so that a job is refused only if its files can hardly fit.
const mostShrink = 4

// checkRoom estimates, before the maps of the job start, whether its temporary files will fit on the
// disk. It returns an options error if the map outputs cannot fit in memory and in the temporary
// directories. If they may fit or not, it makes a note. ratio is the bytes of map output for each byte
// of input. If it is negative, it is not known, and checkRoom takes a sample of `of` if it has to.
func (j *job) checkRoom(of sampled, ratio float64) error {
	r := j.chain.run
	temp := r.journal.Temp(r.temp)
	// A sample does not show how much a combiner leaves.
	if temp == nil || r.fits || j.mapOnly() || j.plan == nil || j.spec.NewFolder != nil || j.spec.NewCombiner != nil {
		return nil
	}
	room, known := temp.RoomBytes()
	if !known || r.o.MaxTempBytes == 0 && j.plan.Bytes < room { // the usual case takes no sample
		return nil
	}
	if ratio < 0 {
		s, err := of.sample(r.ctx, r.budget)
		if err != nil {
			return err
		}
		ratio = s.ratio()
	}
	// Compressed inputs count as stored, so most is too low for them. At worst all outputs go to
	// disk. At best all of the memory holds outputs too.
	most := int64(ratio * float64(j.plan.Bytes))
	least := most - r.budget.Limit()
	if r.o.Codec != shuffle.None { // else spills are not compressed
		least /= mostShrink
	}
	const mib = 1 << 20
	// A sixteenth more allows for an error of the estimate.
	remedy := fmt.Sprintf("%dMiB would do, or more", (most+most/16)/mib+1)
	switch {
	case most <= room:
		return nil
	case least <= room:
		j.chain.note(fmt.Sprintf("temporary files may take %dMiB, but only %dMiB are allowed or free; %s memory for the run", most/mib+1, room/mib, remedy))
		return nil
	case r.o.MaxTempBytes > 0 && room == r.o.MaxTempBytes:
		return errs.Fieldf("Options.MaxTempBytes", "%d: too little for map outputs of about %dMiB; %s of %s", room, most/mib+1, remedy, errs.Field("Options.MemoryBytes"))
	}
	if err := temp.Check(); err != nil { // it has waited until now (Options.TempAtNeed)
		return err
	}
	return errs.Fieldf("Options.TempDirs", "%dMiB are free, too little for map outputs of about %dMiB; directories with %s of %s", room/mib, most/mib+1, remedy, errs.Field("Options.MemoryBytes"))
}
