package engine

import (
	"mrlocal/engine/journal"
	"mrlocal/errs"
	"mrlocal/slots"
)

// This file is about runs that go on after a kill (package engine/journal). The first job of a
// chain keeps its map outputs. A run that finds some tells the Ledger that their maps are
// done, and shares them as if they had just been committed. Reduces and later jobs run again.

// openJournal finds or makes the journal of the run, and refuses one of another run.
func (r *run) openJournal() (err error) {
	o, ch := &r.o, r.chains[0]
	switch {
	case o.ResumeDir == "":
		return nil
	case !r.single():
		return errs.Optionf("Options.ResumeDir", "a batch cannot go on after a kill")
	}
	r.journal, err = journal.Open(o.ResumeDir, ch.plan, journal.Run{
		Job: &ch.job.Chain[0], Settings: o.ResumeSettings, Reducers: ch.reducers(), Codec: o.Codec, NoDecode: o.NoDecode, Parts: o.OutputDir != "", Temp: r.temp, Output: o.OutputDir + o.OutputFile,
	})
	return err
}

// divideAsBefore takes the cut points of a killed run, if there are any.
func (j *runningJob) divideAsBefore() bool {
	journal := j.chain.run.journal
	if journal == nil || journal.Division() == nil {
		return false
	}
	d := journal.Division()
	j.Parts, j.Spread, j.Cuts = d.Parts, d.Spread, d.Cuts
	return true
}

// keepMaps has the attempts of the job commit their outputs to the journal, if there is one.
// It finds the outputs that are there.
func (j *runningJob) keepMaps() error {
	keeper := j.chain.run.journal
	if keeper == nil {
		return nil
	}
	j.Keeper = keeper
	if keeper.Division() == nil {
		return keeper.Begin(journal.Division{Parts: j.Parts, Spread: j.Spread, Cuts: j.Cuts})
	}
	j.restored = keeper.Outputs(j.Parts, j.chain.note)
	return nil
}

// restoreMaps shares the outputs of a killed run.
func (j *runningJob) restoreMaps() {
	c := j.chain.run.coordinator
	for i := range j.maps {
		kept := j.restored[i]
		if kept == nil {
			continue
		}
		t := &j.maps[i]
		// It ran on no tracker of this run, so the loss of a tracker does not take it away.
		t.output, t.ranOn, t.counters = kept.Output, -1, &kept.Counters
		j.counters.Add(t.counters)
		j.Shuffle.Commit(i, t.output)
		c.ledger.Restore(c.run.now(), j.id, slots.TaskID(i))
	}
	j.restored = nil
}
