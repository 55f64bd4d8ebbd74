package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"mrlocal/input"
	"mrlocal/input/feed"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/internal/invariant"
	"mrlocal/shuffle"
	"mrlocal/slots"
)

// Trackers are the trackers of a run. Each stands for some hosts of HDFS, so that maps on one
// machine have the locality that they have on a cluster.
type Trackers struct {
	Count int
	hosts map[string]int // in the order in which Place saw them; host i is tracker i % Count
}

// Hosts returns, for each split of a plan, the hosts that have most of its bytes. It returns nil if
// there is one tracker only, if no input is on HDFS, or if some inputs are streams. It sends one
// request for each file. If a request fails, it calls note and returns nil.
func (t *Trackers) Hosts(p *input.Plan, fs *hdfs.FS, note func(string)) [][]string {
	if t.Count < 2 || len(p.Streams) > 0 || !slices.ContainsFunc(p.Files, func(f input.File) bool { return hdfs.Is(f.Path) }) {
		return nil
	}
	hosts := make([][]string, len(p.Splits))
	of, blocks := int32(-1), []hdfs.Block(nil)
	for i := range p.Splits {
		bytes := map[string]int64{} // of the split, by host
		for _, piece := range p.Splits[i].Pieces {
			path := p.Files[piece.File].Path
			if !hdfs.Is(path) {
				continue
			}
			if piece.File != of { // the splits of a file follow each other
				var err error
				if blocks, err = fs.Blocks(path); err != nil {
					note(fmt.Sprintf("%s: the hosts of its blocks are not known, so no map is local: %s", path, errs.OneLine(err.Error())))
					return nil
				}
				of = piece.File
			}
			for b := range blocks {
				n := min(blocks[b].Offset+blocks[b].Length, piece.End) - max(blocks[b].Offset, piece.Start)
				for _, host := range blocks[b].Hosts {
					bytes[host] += max(n, 0)
				}
			}
		}
		// The 1 keeps out hosts without a byte, and Max of an empty slice from a panic.
		most := slices.Max(append(slices.Collect(maps.Values(bytes)), 1))
		for _, host := range slices.Sorted(maps.Keys(bytes)) {
			if bytes[host] == most {
				hosts[i] = append(hosts[i], host)
			}
		}
	}
	return hosts
}

// mostNamed bounds the hosts that a note of Place names.
const mostNamed = 8

// Place reports to the Ledger which trackers have the input of the maps of a job. hosts has the
// hosts of each map (Hosts). New hosts are assigned to trackers in the order of their names, and
// note gets a text with these trackers.
func (t *Trackers) Place(l *slots.Ledger, now time.Duration, id slots.JobID, hosts [][]string, note func(string)) {
	known, text := len(t.hosts), ""
	for _, host := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(hosts...)))) {
		n := len(t.hosts)
		if _, is := t.hosts[host]; is {
			continue
		}
		if n-known < mostNamed {
			text += fmt.Sprintf(", %s (tracker %d)", host, n%t.Count)
		}
		if t.hosts == nil {
			t.hosts = map[string]int{}
		}
		t.hosts[host] = n
	}
	if more := len(t.hosts) - known - mostNamed; more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	if text != "" {
		note("blocks of the input are on " + text[2:])
	}
	for i, of := range hosts {
		for _, host := range of {
			l.Place(now, id, slots.TaskID(i), slots.TrackerID(t.hosts[host]%t.Count))
		}
	}
}

// outputLost checks whether err is a *shuffle.CorruptError: a reduce has found a map output of j to
// be damaged. If it is, outputLost takes the output back and returns true. The map runs again, or
// the job fails if the input of the map cannot be read again.
func (c *coordinator) outputLost(j *job, err error) bool {
	corrupt, ok := errors.AsType[*shuffle.CorruptError](err)
	if !ok {
		return false
	}
	// Several reduces may find the same damage. The first one takes the output back, so that the
	// others do not find it in j.maps.
	i := slices.IndexFunc(j.maps, func(t mapTask) bool { return t.output != nil && t.output == corrupt.Output })
	if i < 0 {
		return false
	}
	j.chain.note(fmt.Sprintf("map output %d of %s is lost (%v): the map runs again", i, j.spec.Name, corrupt))
	c.loseOutput(j, i, err)
	return true
}

// loseOutput takes back the output of map i. The Ledger counts that as a failure of the map, so
// the job may fail because of it.
func (c *coordinator) loseOutput(j *job, i int, cause error) {
	c.mayBeDone(j)
	if !c.loseMap(j, i, cause) {
		return
	}
	c.ledger.LostOutput(c.run.now(), j.id, slots.TaskID(i))
	c.failJob(j, fmt.Errorf("%s m-%06d: %w", j.spec.Name, i, cause), false)
}

// loseMap takes back the output of map i and renews its source, so that the map can run again. If
// the source cannot be read again, loseMap fails the chain and returns false.
func (c *coordinator) loseMap(j *job, i int, cause error) bool {
	t := &j.maps[i]
	again, err := t.source.NextAttempt()
	if err != nil {
		c.fail(j.chain, errors.Join(cause, err))
		return false
	}
	t.source, t.output = again, nil
	// The next attempt adds its counters. t.counters stays for jobDone, in case there is none.
	j.counters.Sub(t.counters)
	j.shuffle.Lost(i)
	return true
}

// loseTracker takes a tracker away. It kills the attempts there. Maps of running jobs whose
// outputs are there run again.
func (c *coordinator) loseTracker(tracker int) {
	if c.lost[tracker] {
		return
	}
	c.lost[tracker] = true
	for _, a := range c.order {
		if int(a.tracker) == tracker {
			a.kill()
		}
	}
	c.ledger.LostTracker(c.run.now(), slots.TrackerID(tracker))
	for _, ch := range c.run.chains {
		if ch.state != chainRunning {
			continue
		}
		j := ch.current
		c.mayBeDone(j)
		for i, t := range j.maps {
			if t.output != nil && int(t.ranOn) == tracker && !c.loseMap(j, i, errors.New("its tracker is lost")) {
				break
			}
		}
	}
	if !slices.Contains(c.lost, false) {
		c.failAll(errors.New("every tracker is lost"))
	}
}

// onLostTracker reports whether the attempt's tracker is lost. The Ledger does not know such an
// attempt any more, even if its thread still runs.
func (c *coordinator) onLostTracker(a *attempt) bool { return c.lost[a.tracker] }

// sourceInUse reports whether an attempt on a lost tracker still reads the piece of a stream that
// attempt a has to read. A kvbuffer may take over the blocks of such a piece, so only one attempt
// at a time may read it.
func (c *coordinator) sourceInUse(a *attempt) bool {
	if a.id.Kind != slots.Map || a.job.state >= jobEnded {
		return false
	}
	if _, held := a.job.maps[a.id.Task].source.(*feed.Held); !held {
		return false
	}
	return slices.ContainsFunc(c.order, func(b *attempt) bool {
		return b.state == attemptRunning && c.onLostTracker(b) && a.sameTask(b)
	})
}

// handOverSource sends the source of a, which has ended on a lost tracker, to the attempt that
// waits for it (sourceInUse).
func (c *coordinator) handOverSource(a *attempt) {
	if a.id.Kind != slots.Map || !c.onLostTracker(a) {
		return
	}
	b := a.job.maps[a.id.Task].waiting
	if b != nil && b.state == attemptWaiting && !c.onLostTracker(&b.attempt) && b.job.state < jobEnded && !c.sourceInUse(&b.attempt) {
		invariant.Move(&b.state, attemptRunning)
		b.handOver <- b.job.maps[b.id.Task].source
	}
}

// failing returns how many first attempts of a task fail at their ends, by faults of Options.Faults.
func (j *job) failing(k slots.Kind, t slots.TaskID) (attempts int) {
	for _, f := range j.chain.run.o.Faults {
		// A fault concerns the first job of a chain only, because the simulator has no later ones.
		if f.Tracker < 0 && f.Job == j.chain.index && j.step == 0 && f.Reduce == (k == slots.Reduce) && f.Task == int(t) {
			attempts = max(attempts, f.Fail)
		}
	}
	return attempts
}

// injectFaults injects the faults of Options.Faults whose time has come.
func (c *coordinator) injectFaults() {
	for now := c.run.now(); len(c.faults) > 0 && c.faults[0].At <= now; c.faults = c.faults[1:] {
		f := c.faults[0]
		if f.Tracker >= 0 {
			c.loseTracker(f.Tracker)
			continue
		}
		// The output of a map that has not committed by now is not lost.
		j := c.run.chains[f.Job].current
		if j != nil && j.chain.state == chainRunning && j.step == 0 && f.Task < len(j.maps) && j.maps[f.Task].output != nil {
			c.loseOutput(j, f.Task, errors.New("its output is lost by an injected fault"))
		}
	}
}
