package engine

import (
	"fmt"

	"mrlocal/engine/journal"
	"mrlocal/internal/errs"
	"mrlocal/slots"
)

// This file is about runs that go on after a kill (package engine/journal). The first job of a
// chain keeps its map outputs. A later run that finds map outputs restores their maps in the
// Ledger, and commits the outputs to the shuffle. Reduces and later jobs run again.

// openJournal finds or makes the journal of the run, if the options ask for one. It fails if the
// journal is that of another run.
func (r *run) openJournal() (err error) {
	o, ch := &r.o, r.chains[0]
	switch {
	case o.ResumeDir == "":
		return nil
	case !r.single():
		return errs.Fieldf("Options.ResumeDir", "a batch cannot go on after a kill")
	}
	settings := []string{fmt.Sprintf("Options.Reducers=%d", ch.reducers()), fmt.Sprintf("Options.Codec=%v", o.Codec)}
	if o.NoDecode {
		settings = append(settings, "Options.NoDecode=")
	}
	if o.UTF16 {
		settings = append(settings, "Options.UTF16=")
	}
	if o.OutputDir != "" { // a run without it may divide a key among several reduces
		settings = append(settings, "Options.OutputDir=")
	}
	r.journal, err = journal.Open(o.ResumeDir, ch.plan, journal.Run{
		Job: &ch.job.Chain[0], Settings: append(settings, o.ResumeSettings...), Side: ch.job.Side, Temp: r.temp, Output: o.OutputDir + o.OutputFile,
	})
	return err
}

// keepMaps makes the attempts of the job commit their outputs to the journal, if the run has
// one. It also finds the outputs that a killed run has kept.
func (j *job) keepMaps() error {
	keeper := j.chain.run.journal
	if keeper == nil {
		return nil
	}
	j.keeper = keeper
	if keeper.Division() == nil {
		return keeper.Begin(j.Division)
	}
	j.restored = keeper.Outputs(j.Parts, j.chain.note)
	return nil
}

// restoreMaps commits the map outputs of a killed run. Their maps run again only if
// an output is lost.
func (j *job) restoreMaps() {
	c := j.chain.run.coordinator
	for i := range j.maps {
		kept := j.restored[i]
		if kept == nil {
			continue
		}
		t := &j.maps[i]
		// The map ran on no tracker of this run, so no lost tracker takes its output away.
		t.output = kept.Output
		t.ranOn = -1
		t.counters = &kept.Counters
		j.counters.Add(t.counters)
		j.shuffle.Commit(i, t.output)
		c.ledger.Restore(c.run.now(), j.id, slots.TaskID(i))
		if j.failing(slots.Map, slots.TaskID(i)) > 0 {
			j.chain.note(fmt.Sprintf("faults: map task %d is restored, so it fails only if it has to run again", i))
		}
	}
	j.restored = nil
}
