package cost

import (
	"time"

	"mrlocal/slots"
	"mrlocal/slots/report"
)

// usage is the use of a tracker's cores and disk, counted until at.
type usage struct {
	at                     time.Duration
	user, waited           float64 // in nanoseconds of one core
	diskBytes              float64
	computing, io          int     // number of tasks from at on
	diskBytesPerNanosecond float64 // from at on
}

// runTo counts until now. A task that computes uses one core, as long as there is a free
// one. A core that is idle while a task reads or writes waits for I/O.
func (u *usage) runTo(now time.Duration, cores int) {
	if took := float64(now - u.at); took > 0 {
		user := min(cores, u.computing)
		u.user += float64(took * float64(user))
		u.waited += float64(took * float64(min(cores-user, u.io)))
		u.diskBytes += float64(took * u.diskBytesPerNanosecond)
	}
	u.at = now
}

// use counts the usage of a tracker until now, and sets the rates from now on.
func (m *Shared) use(now time.Duration, n *node) {
	cores := m.File.Cluster.Cores
	if cores == 0 {
		return
	}
	n.used.runTo(now, cores)
	n.used.computing, n.used.io = n.cpu.sharers, n.disk.sharers
	if m.File.Cluster.KernelBytes > 0 {
		n.used.diskBytesPerNanosecond = n.disk.perSecond() / float64(time.Second)
	}
}

// MapEnded is Flows.MapEnded. At the end of a job's last map, it also notes how the cores have
// spent the time until now. This time is the map phase of the run. A later note replaces the
// result.
func (m *Shared) MapEnded(now time.Duration, t *Task, task slots.TaskID, done, total int32) (complete bool) {
	if done == total {
		if m.File.Cluster.KernelBytes > 0 {
			m.runLinks(now)
		}
		m.mapPhase, _ = m.shares(now)
	}
	return m.Flows.MapEnded(now, t, task, done, total)
}

// Describe adds to r the kvbuffer of the cluster, the spills of the jobs, and how the cores have
// spent the time until now. maps returns, for a job of the report, its index in the file and the
// number of its maps that have written their output.
func (m *Shared) Describe(now time.Duration, r *report.Report, maps func(id slots.JobID) (job int32, maps int64)) {
	if b := &m.File.Cluster.Buffer; b.StartBytes > 0 {
		r.Config.KVBuffer = &report.KVBuffer{StartBytes: b.StartBytes, MemoryBytes: b.MemoryBytes, Growth: b.Growth}
	}
	if run, ok := m.shares(now); ok {
		r.CPU = &report.CPU{Source: "model", Cores: m.File.Cluster.Cores * len(m.nodes), Run: run, MapPhase: m.mapPhase}
	}
	for id := range r.Jobs {
		job, written := maps(slots.JobID(id))
		// The last load is a spill, too (nextPeriod).
		if f := &m.needs[job].filling; f.EmitsBytes > 0 {
			c := &r.Jobs[id].Counters
			c.Spills += written * int64(f.Spills+1)
			c.SpilledBytes += written * (m.File.Jobs[job].MapOutputBytes + f.MergeBytes/2)
			c.KVBufferExpansions += written * int64(f.Expansions)
		}
	}
}

// shares returns how the cores of the cluster have spent the time until now; false if the
// file does not say how many there are.
//
// The file may say how many bytes a core moves in a second of kernel time. Then the bytes
// of disks and networks take that time from the cores that do not compute: kernel time
// does not make computing slower.
func (m *Shared) shares(now time.Duration) (s report.CPUShares, ok bool) {
	c := &m.File.Cluster
	all := float64(c.Cores*len(m.nodes)) * float64(now)
	if all == 0 {
		return s, false
	}
	// Sums over all trackers: nanoseconds of cores, bytes of disks, nanoseconds of copying.
	var user, waited, bytes, copied float64
	for i := range m.nodes {
		n := &m.nodes[i]
		n.used.runTo(now, c.Cores)
		user += n.used.user
		waited += n.used.waited
		bytes += n.used.diskBytes
		copied += n.net.moved.Nanoseconds()
	}
	// From here on copied is in bytes.
	copied = float64(copied * float64(c.CopyRate()) / float64(time.Second))
	s = report.CPUShares{User: user / all, IOWait: waited / all, NetBytesPerSecond: copied / now.Seconds()}
	free := max(0, 1-s.User)
	if c.KernelBytes > 0 {
		s.System = min(free, (bytes+copied)/float64(c.KernelBytes)*float64(time.Second)/all)
	}
	if free > 0 {
		s.IOWait *= 1 - s.System/free
	}
	s.Idle = max(0, free-s.System-s.IOWait)
	return s, true
}

// runLinks lets all networks copy until now, so that shares counts copied bytes until now.
func (m *Shared) runLinks(now time.Duration) {
	for i := range m.nodes {
		m.nodes[i].net.runTo(now)
		m.endCopying(now, slots.TrackerID(i))
	}
}
