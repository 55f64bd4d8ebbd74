package cost

import (
	"time"

	"mrlocal/slots"
)

// Flows are the shuffles of all jobs of a file, in its order.
type Flows []Flow

// NewFlows returns the flows of a run before it starts.
func NewFlows(c *Config) Flows {
	all := make(Flows, len(c.File.Jobs))
	for i := range all {
		j := &c.File.Jobs[i]
		all[i] = Flow{Maps: int32(j.Maps), Reduces: int64(j.Reduces)}
		if c.BytesPerSecond > 0 {
			all[i].MapBytes, all[i].PerSecond = j.MapOutputBytes, c.BytesPerSecond
		}
	}
	return all
}

// Flow returns the flow of a job, by its index in the file. It belongs to f.
func (f Flows) Flow(job int32) *Flow { return &f[job] }

// MapEnded adds the output of a map attempt that has ended. done is the number of outputs that the
// Ledger has: one more than are available if it has committed this one. MapEnded returns true if
// the last output of the job has become available.
func (f Flows) MapEnded(now time.Duration, t *Task, task slots.TaskID, done, _ int32) (complete bool) {
	flow := &f[t.Job]
	if flow.Reduces == 0 || done <= flow.There {
		return false
	}
	flow.Add(now, task, t.Tracker)
	return flow.Complete()
}

// Flow is the shuffle of one job as if each reduce had the network for itself. It answers
// when a reduce has copied all map outputs. Outputs become available one after the other.
// A reduce that started at s copies them in that order at B bytes per second. It
// waits if the next one is not available yet. It is done at
//
//	max(s + D/B, max over outputs e of t_e + (D - D_before_e)/B)
//
// where t_e is the time at which e became available. D is the number of bytes that one reduce
// copies in all, and D_before_e the number of bytes that became available before e. The
// second term does not depend on the reduce, and
//
//	t_e + (D - D_before_e)/B = (t_e - D_before_e/B) + D/B
//
// So one number, the latest of t_e - D_before_e/B, answers for any reduce in O(1), and
// an output is added in O(1).
//
// A lost output leaves its place in the order, and the outputs behind it move up. Only a
// loss costs O(outputs). If the map runs again, its output is the newest one. Outputs of no
// bytes (L0) need no places.
type Flow struct {
	Maps      int32 // the number of map outputs that each reduce copies per part of
	There     int32 // the number of outputs that are available now, 0 to Maps
	MapBytes  int64 // the size of one output: the parts of all reduces together
	Reduces   int64 // the number of reduces of the job
	PerSecond int64 // B: the bandwidth of the tracker where a reduce runs, in bytes per second

	latest time.Duration // of t_e - D_before_e/B; of the first output it is t_e, so 0 means none

	Outputs []Available // the available outputs in order; empty if MapBytes is 0
}

// Available is a map output that reduces can copy.
type Available struct {
	At      time.Duration   // when the output became available, from the start of the run
	Task    slots.TaskID    // the map that made it
	Tracker slots.TrackerID // the tracker that holds it
}

// Copying returns how long a reduce copies its part of n outputs without waits.
func (f *Flow) Copying(n int32) time.Duration {
	if f.MapBytes == 0 || n == 0 {
		return 0
	}
	return Scaled(f.Bytes(n), int64(time.Second), f.PerSecond)
}

// Bytes returns the bytes of n outputs that are for one reduce, if they are divided evenly.
func (f *Flow) Bytes(n int32) int64 {
	if f.Reduces == 0 {
		return 0
	}
	return int64(Scaled(int64(n), f.MapBytes, f.Reduces))
}

// Add adds an output that became available.
func (f *Flow) Add(at time.Duration, task slots.TaskID, t slots.TrackerID) {
	f.latest = max(f.latest, at-f.Copying(f.There))
	f.There++
	if f.MapBytes > 0 {
		f.Outputs = append(f.Outputs, Available{at, task, t})
	}
}

// Drop removes the outputs for which lost returns true. left is the number of outputs that
// remain, which counts if outputs have no bytes and so no places.
func (f *Flow) Drop(left int32, lost func(a *Available) bool) {
	if f.MapBytes == 0 {
		f.There = left
		return
	}
	kept := f.Outputs
	f.Outputs = f.Outputs[:0]
	f.There, f.latest = 0, 0
	for i := range kept {
		if a := kept[i]; !lost(&a) {
			f.Add(a.At, a.Task, a.Tracker)
		}
	}
}

// Release frees the memory of a job that has ended.
func (f *Flow) Release() { f.Outputs = nil }

// Complete reports whether every output is available.
func (f *Flow) Complete() bool { return f.There == f.Maps }

// Copied returns the time at which a reduce that started at s has copied everything. The flow
// must be complete.
func (f *Flow) Copied(s time.Duration) time.Duration {
	all := f.Copying(f.Maps)
	if f.Maps == 0 {
		return s
	}
	return max(Later(s, all), Later(f.latest, all))
}

// Reached returns how much of the available outputs a reduce that started at s has copied by
// now. The result is the time that copying this part takes without waits, between 0 and
// Copying(There).
func (f *Flow) Reached(s, now time.Duration) time.Duration {
	all := f.Copying(f.There)
	return max(0, all-max(0, Later(max(s, f.latest), all)-now))
}
