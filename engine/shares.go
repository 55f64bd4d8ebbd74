package engine

import (
	"cmp"
	"fmt"

	"golang.org/x/sync/semaphore"

	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/shuffle"
)

const (
	// reservedFDs is the number of file descriptors for the standard streams, the runtime,
	// the events file, outputs and their directories.
	reservedFDs = 16
	// fdsOfAttempt is the least number of file descriptors that an attempt needs. Two are for
	// its input or for two files of a merge. One each is for the file that it spills to and for
	// its part. One is spare.
	fdsOfAttempt = 5
)

// shares is how the memory and the descriptors of the process are divided among the slots of a run.
type shares struct {
	fits            bool  // the map outputs of all inputs are likely to fit in memory
	floorBytes      int64 // lease of each attempt before it starts
	sortBufferBytes int64 // first size of a kvbuffer, a part of floorBytes

	fdsPerTask int                 // file descriptors that an attempt may have open
	fdTurns    *semaphore.Weighted // one for each attempt that may have files open; nil: all may
}

// divideFDs divides the file descriptors that the process may open among slotCount slots. It
// sets fdsPerTask. If all slots at once would need too many, it sets fdTurns too, so that
// attempts wait for a turn.
func (s *shares) divideFDs(slotCount int) {
	free := machine.FDLimit() - reservedFDs
	// At least one attempt may run, even if the limit leaves it fewer descriptors than it needs.
	atOnce := max(1, min(slotCount, free/fdsOfAttempt))
	s.fdsPerTask = max(fdsOfAttempt, free/atOnce)
	if atOnce < slotCount {
		s.fdTurns = semaphore.NewWeighted(int64(atOnce))
	}
}

// setFloors divides bytes among slotCount slots. It sets sortBufferBytes and floorBytes,
// and reads fits. sortBufferBytes is the first size of a kvbuffer that the user wants. If it
// is 0, the first size is a share of its slot's memory, between 4 and 256 MiB.
//
// The floors of all slots fit at once, because none is larger than a slot's share.
func (s *shares) setFloors(bytes, slotCount, sortBufferBytes int64) {
	perSlot := bytes / slotCount
	// If map outputs fit in memory, three quarters are left for them. If they do not, a
	// larger kvbuffer leaves fewer sorted runs to merge.
	share := perSlot / 4
	if !s.fits {
		share = perSlot * 3 / 4
	}
	wanted := cmp.Or(sortBufferBytes, min(max(share, 4<<20), 256<<20))
	s.sortBufferBytes = min(wanted, perSlot-overheadBytes)
	// A small kvbuffer does not make the floor small: reduces have the same floor for their merges.
	s.floorBytes = min(perSlot, max(s.sortBufferBytes+overheadBytes, 6<<20))
}

// leaveFDs ends the attempt's turn, if it has one. It may be called again, and from any
// goroutine.
func (a *attempt) leaveFDs() {
	if a.hasFDs.CompareAndSwap(true, false) {
		a.run.fdTurns.Release(1)
	}
}

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
