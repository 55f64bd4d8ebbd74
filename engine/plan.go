package engine

import (
	"cmp"

	"mrlocal/input"
	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/guard"
	"mrlocal/jobs"
	"mrlocal/output"
	"mrlocal/shuffle"
	"mrlocal/shuffle/record"
	"mrlocal/slots"
)

// complete adds the shuffle and the sink, which depend on the numbers of tasks.
func (j *job) complete() {
	if !j.mapOnly() {
		j.shuffle = shuffle.NewShuffle(len(j.maps), j.Parts)
	}
	switch ch := j.chain; {
	// The output of an inner job stays in memory and temporary files until the next job has read
	// it. A job of several rounds is never the last one of its chain.
	case j.step < len(ch.job.Chain)-1:
		j.sink = output.NewSpools(j.Parts, ch.run.budget, ch.run.createTemp("part"))
	case ch.discards():
		j.sink = &output.Discard{}
	default:
		j.sink = j.newTargetSink()
	}
}

// reduces returns the number of reduce tasks: that of the job, or else that of the options. If both
// leave it open, there is one for each 8 MiB of input, up to four for each slot. streams reports
// whether the job reads streams, whose size is not known. sampled reports whether the ranges of a
// total order can be sampled: the input of the chain can, and no other.
func (ch *chain) reduces(job *jobs.Job, inputBytes int64, streams, sampled bool) int {
	switch {
	case job.Ordered && job.Partition == nil && !sampled:
		return 1
	case job.Reduces > 0:
		return job.Reduces
	case ch.reducers() > 0:
		return ch.reducers()
	}
	// With four reduces for each slot, the slots end at about the same time.
	most := int64(4 * ch.run.o.slotCount())
	if job.Ordered && ch.run.fits {
		most *= 2 // no part is read from disk, so small ones cost little and balance better
	}
	if streams {
		return int(most)
	}
	const bytesPerReduce = 8 << 20 // a part of fewer bytes is not worth a task
	return int(min(max(1, inputBytes/bytesPerReduce), most))
}

// reducers returns the number of reduce tasks that the options ask for; 0: any number. Options of
// the job come before those of the run.
func (ch *chain) reducers() int {
	o, j := &ch.run.o, &ch.job.JobOptions
	// A share of the reduce slots that is not 0 makes one reduce at least.
	of := func(p slots.PPM) int { return int(max(p.Of(int32(o.Trackers*o.ReduceSlots)), min(1, int32(p)))) }
	return cmp.Or(j.Reducers, of(j.ReducersPerSlot), o.Reducers, of(o.ReducersPerSlot))
}

// planMaps makes the map tasks of the first job of a chain, or the feeder that finds them. For
// an ordered job it samples the cut points. It fails if the input cannot be sampled, or if the map
// outputs cannot fit in memory and on disk.
func (j *job) planMaps(streams bool) error {
	r := j.chain.run
	before := r.journal.Division()
	if before != nil { // the map outputs of the killed run are divided so
		j.Division = *before
	}
	cuts := before == nil && !j.mapOnly() && j.spec.Ordered && j.spec.Partition == nil && j.Parts > 1
	var first *feed.Held
	switch {
	case j.spec.NoInput:
		for range j.spec.Maps {
			j.maps = append(j.maps, mapTask{source: feed.Empty{}})
		}
		return nil
	case streams:
		j.readSplits()
		if b := j.chain.job; b.Found != nil {
			j.feeder.Found = input.Found(guardSearch(b.Found), j.chain.planOptions())
		}
		if cuts && !r.single() && !j.plan.Files[j.plan.Streams[0]].Rereadable {
			// A sample would have to keep the first piece in memory until the job runs. That
			// could take memory from jobs that run before. So the job gets one part.
			j.Parts, cuts = 1, false
		}
		if cuts {
			var err error
			if first, err = j.feeder.DecodeFirst(); err != nil {
				return err
			}
		}
	default:
		j.readSplits()
	}
	of := sampled{job: j, first: first, retry: retry(r.ctx, &r.o, j.chain.note)}
	ratio := -1.0 // bytes of map output for each byte of input; negative: not known, and checkRoom samples by itself
	if cuts {
		var err error
		if ratio, err = j.sample(of); err != nil {
			return err
		}
	}
	return j.checkRoom(of, ratio)
}

// readSplits makes a map task of each split of the plan. If the input has streams, or is still to
// be found, it makes a feeder instead.
func (j *job) readSplits() {
	r := j.chain.run
	if j.plan == nil || len(j.plan.Streams) > 0 {
		j.feeder = feed.NewFeeder(r.ctx, &j.spec, j.plan, r.budget, r.pieces, j.skippedBinary)
		return
	}
	for i := range j.plan.Splits {
		j.maps = append(j.maps, mapTask{source: feed.File{Plan: j.plan, Split: &j.plan.Splits[i], Skipped: j.skippedBinary}})
	}
}

// sample sets the cut points of the job, and the number of its parts. It returns how many bytes
// maps emit for each byte of input.
func (j *job) sample(of sampled) (ratio float64, _ error) {
	r := j.chain.run
	asked := j.spec.Reduces > 0 || j.chain.reducers() > 0
	// A frequent key may have several parts if the result does not show where a part ends. Then
	// the result is one file or stream, and reduces do not read groups.
	if !asked && j.chain.job.OutputDir == "" && j.passesThrough() {
		j.Spread = len(j.maps)
	}
	// This may wait until attempts of other jobs give memory back.
	s, err := of.sample(r.ctx, r.budget)
	if err != nil {
		return 0, err
	}
	j.Cuts = record.CutPoints(s.keys, j.Parts, j.Spread > 0)
	if of.first != nil && !r.single() {
		j.feeder.ReleaseFirst()
	}
	if asked {
		j.Cuts = record.PadCuts(j.Cuts, j.Parts)
	}
	// Few distinct keys make few cut points, and so fewer parts than were planned.
	j.Parts = len(j.Cuts) + 1
	return s.ratio(), nil
}

// mayReread returns an error of kind errs.BadInput if the plan has an input that can be read
// only once.
func mayReread(plan *input.Plan) error {
	for _, i := range plan.Streams {
		if f := &plan.Files[i]; !f.Rereadable {
			return errs.Inputf(f.Path, "the job reads its input several times; name a file")
		}
	}
	return nil
}

// guardSearch returns the search with guarded functions. If one of them panics, it panics with a
// *guard.Error.
func guardSearch(s *input.Search) *input.Search {
	guard := func(what string, f func()) {
		if err := guard.Run(what, func() error { f(); return nil }); err != nil {
			panic(err)
		}
	}
	g := *s
	g.Paths = func(yield func(string) bool) { guard("paths of a search", func() { s.Paths(yield) }) }
	g.Missing = func(path string, cause error) { guard("missing file of a search", func() { s.Missing(path, cause) }) }
	return &g
}
