// Package shuffle brings the outputs of maps to reduces, and merges them. Within one machine it moves
// references, not bytes: only what does not fit in memory is written and read back.
//
// # How a reduce gets its data
//
// Package spill fills a MapOutput for a map attempt: runs, each in the order of partition and key.
// All but the last are segments of one file. The last stays in memory until the budget evicts it;
// there it may be divided by partition alone, and reduces sort it (output.go, segment.go, block.go). When the map
// commits, Shuffle.Commit takes the output over (shuffle.go). A reduce attempt opens a Fetch of its part. Its copy
// phase, Fetch.Copy, gets each output as it is committed, and ends when the output of every map is there (fetch.go).
// Copies take time only if Copiers or a Bandwidth bound them (fetch.go).
//
// # When a map's output is lost
//
// A lost tracker, or a block whose checksum is wrong (CorruptError), takes an output away. The
// engine calls Shuffle.Lost, and the map runs again. A reduce in its copy phase gives the output
// up and copies the new one. A reduce behind its copy phase holds all outputs until Fetch.Close,
// and reads on. Only the reduce that met the damage fails, and is tried again. Outputs are kept until all reduces have
// committed, because a reduce may be tried again.
//
// # Where merging begins
//
// NewMerge takes Fetch.Outputs, in the order of their maps, and opens one partition of each
// (merge.go). If all its runs are in memory, it may sort them together instead (ahead.go).
// If there are more segments than it can read at once, passes merge some of them first. Then a
// cursor reads each run (cursor.go), and a tree of losers finds the least record (tree.go). Equal
// keys come in the order of their maps, and within a map as it emitted them. The reducer reads
// records or groups (merger.go, groups.go).
//
// # Memory
//
// A MapOutput owns its run in memory, which has a lease of its own. When the run is evicted, its
// memory is freed as soon as the last Merge that reads it has changed over to the disk. A Merge keeps
// that memory until its Close if it sorts, or if it gets no buffer to read from disk. A Merge takes blocks from
// MergeOptions.Lease, of 64 KiB for each segment that it reads at once, copies of entries that it
// sorts, and large records. Small scratch is on the Go heap. Keys and values are borrowed: they are valid until the
// next step of the Merge or Merger that returned them.
//
// The format on disk is in docs/formats.md. Package record has entries and sorters, and package
// rule says when a buffer spills or merges.
package shuffle

import (
	"errors"
	"sync"

	"mrlocal/internal/invariant"
	"mrlocal/shuffle/record"
)

// errClosed ends a copy phase whose job has ended or whose Fetch is closed. It also ends a merge of
// a released output.
var errClosed = errors.New("shuffle: closed")

// Shuffle passes the map outputs of one job to its reduces, as the maps commit.
//
// A reduce attempt is in its copy phase (Fetch.Copy) until it has the output of every map.
// Slot policies take that phase into account. It gets each output once, in the order in which
// the maps committed.
//
// A Shuffle owns the outputs that were committed to it. It releases all outputs when every
// part has committed, because until then a reduce may be tried again. It also releases an
// output that was lost. While an open Fetch holds an output, the release waits. The methods
// may be called from any goroutine.
type Shuffle struct {
	mu struct {
		sync.Mutex
		outputs   []*committed // by map task; nil: not committed, or lost
		commits   []*committed // in the order of the commits, lost ones too
		live      int          // number of outputs that are not nil
		losses    int          // calls of Lost that took an output back
		state     shuffleState
		partsDone []bool        // parts that have committed
		doneCount int           // how many of partsDone are true
		changed   chan struct{} // closed, and made anew, at every change
	}
}

// committed is the output of one map attempt.
type committed struct {
	mapTask int
	out     *MapOutput
	holders int // number of open Fetches that hold it
	state   mapOutputState
}

// shuffleState is how far a Shuffle has come.
type shuffleState uint8

const (
	shuffleOpen   shuffleState = iota // further maps may become known
	shuffleSealed                     // the number of maps is final
	shuffleClosed                     // the job has ended: copy phases end
)

func (s shuffleState) String() string { return [...]string{"open", "sealed", "closed"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s shuffleState) Next() []shuffleState {
	return [...][]shuffleState{{shuffleSealed, shuffleClosed}, {shuffleClosed}, nil}[s]
}

// mapOutputState says who needs an output that was committed. An output that is not needed is
// released once holders is 0.
type mapOutputState uint8

const (
	outputNeeded mapOutputState = iota // parts have not committed yet
	outputUnused                       // every part has committed, or the shuffle is closed
	outputLost                         // Lost took it back: its map runs again
)

func (s mapOutputState) String() string { return [...]string{"needed", "unused", "lost"}[s] }

// Next lists the states that may follow s, for checked builds.
func (s mapOutputState) Next() []mapOutputState {
	return [...][]mapOutputState{{outputUnused, outputLost}, {outputLost}, nil}[s]
}

// NewShuffle makes the shuffle of a job of parts partitions. maps is the number of map tasks
// that are known so far. Grow raises it, and Seal makes it final.
func NewShuffle(maps, parts int) *Shuffle {
	s := &Shuffle{}
	s.mu.outputs = make([]*committed, maps)
	s.mu.partsDone = make([]bool, parts)
	s.mu.changed = make(chan struct{})
	return s
}

// notify wakes every Fetch that waits for a change. s.mu is held.
func (s *Shuffle) notify() {
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

// Commit takes the output of a map task over. It releases an output that the job does not
// need. That is the second output of a map task. It is also any output that comes when all
// parts have committed or the shuffle is closed.
func (s *Shuffle) Commit(mapTask int, out *MapOutput) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(mapTask + 1)
	if s.mu.state == shuffleClosed || s.mu.outputs[mapTask] != nil {
		out.Release()
		return
	}
	e := &committed{mapTask: mapTask, out: out}
	s.mu.outputs[mapTask] = e
	s.mu.commits = append(s.mu.commits, e)
	s.mu.live++
	if s.allDone() {
		e.drop(outputUnused)
	}
	s.notify()
}

// Lost takes back the output of a map task: no Fetch gets it any more. Reduces in their copy
// phase give it up, and wait until the map has run again. A reduce after its copy phase keeps
// it. The caller makes sure that the loss is that of the present output.
func (s *Shuffle) Lost(mapTask int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mapTask >= len(s.mu.outputs) || s.mu.outputs[mapTask] == nil {
		return
	}
	e := s.mu.outputs[mapTask]
	s.mu.outputs[mapTask] = nil
	s.mu.live--
	s.mu.losses++
	e.drop(outputLost)
	s.notify()
}

// drop notes that an output is unused or lost, and releases it if no Fetch holds it. s.mu is held.
func (e *committed) drop(to mapOutputState) {
	needed := e.state == outputNeeded
	invariant.Reach(&e.state, to)
	if needed && e.holders == 0 {
		e.out.Release()
	}
}

// Grow raises the number of map tasks to maps, if it is lower.
func (s *Shuffle) Grow(maps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grow(maps)
}

// grow is Grow with s.mu held.
func (s *Shuffle) grow(maps int) {
	for len(s.mu.outputs) < maps {
		s.mu.outputs = append(s.mu.outputs, nil)
	}
}

// Seal makes the number of map tasks final. No copy phase ends before Seal.
func (s *Shuffle) Seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	invariant.Reach(&s.mu.state, shuffleSealed)
	s.notify()
}

// allDone reports whether all parts have committed. s.mu is held.
func (s *Shuffle) allDone() bool { return s.mu.doneCount == len(s.mu.partsDone) }

// Part returns what all committed outputs hold of a part.
func (s *Shuffle) Part(part int) (stat record.PartStat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.mu.outputs {
		if e != nil {
			stat.Add(e.out.Part(part))
		}
	}
	return stat
}

// PartDone notes that the reduce of a part has committed, so that its input is not needed
// again. After the last part it releases all outputs.
func (s *Shuffle) PartDone(part int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.partsDone[part] {
		return
	}
	s.mu.partsDone[part] = true
	s.mu.doneCount++
	if s.allDone() {
		s.dropAll()
	}
}

// dropAll marks all outputs as unused. s.mu is held.
func (s *Shuffle) dropAll() {
	for _, e := range s.mu.outputs {
		if e != nil {
			e.drop(outputUnused)
		}
	}
}

// Close ends the shuffle of the job. Copy phases end with errClosed. Close releases
// every output that no open Fetch holds. The others are released when their last Fetch is
// closed. Close may be called again.
func (s *Shuffle) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.state == shuffleClosed {
		return
	}
	invariant.Move(&s.mu.state, shuffleClosed)
	s.dropAll()
	s.notify()
}

// release counts one holder off, and releases an output that is not needed with its last holder. It returns
// true, so that slices.DeleteFunc can call it. s.mu is held.
func (e *committed) release() bool {
	e.holders--
	if e.state > outputNeeded && e.holders == 0 {
		e.out.Release()
	}
	return true
}
