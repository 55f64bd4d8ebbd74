package cost

import (
	"time"

	"mrlocal/report"
	"mrlocal/slots"
)

// usage is what the tasks of a tracker have used so far. Times are in nanoseconds of one
// core. It is settled until at, and goes on at the rates that are set.
type usage struct {
	at                     time.Duration
	user, waited           float64
	diskBytes              float64
	computing, io          int     // tasks now
	diskBytesPerNanosecond float64 // now
}

// settle counts until now. A task that computes uses one core, as long as there is a free
// one. A core that is idle while a task reads or writes waits for I/O.
func (u *usage) settle(now time.Duration, cores int) {
	if took := float64(now - u.at); took > 0 {
		user := min(cores, u.computing)
		u.user += float64(took * float64(user))
		u.waited += float64(took * float64(min(cores-user, u.io)))
		u.diskBytes += float64(took * u.diskBytesPerNanosecond)
	}
	u.at = now
}

// use settles the usage of a tracker, and sets the rates from now on.
func (m *Shared) use(now time.Duration, n *node) {
	cores := m.file.Cluster.Cores
	if cores == 0 {
		return
	}
	n.used.settle(now, cores)
	n.used.computing, n.used.io = n.cpu.sharers, n.disk.sharers
	if m.file.Cluster.KernelBytes > 0 {
		n.used.diskBytesPerNanosecond = n.disk.perSecond() / float64(time.Second)
	}
}

// Usage returns how the cores of the cluster have spent the time until now; false if the
// file does not say how many there are.
//
// If it says how many bytes a core moves in a second of kernel time, moving the bytes of
// disks and networks takes that time, of the cores that do not compute: kernel time does
// not make computing slower.
func (m *Shared) Usage(now time.Duration) (s report.CPUShares, ok bool) {
	c := &m.file.Cluster
	all := float64(c.Cores*len(m.nodes)) * float64(now)
	if all == 0 {
		return s, false
	}
	var user, waited, bytes, copied float64
	for i := range m.nodes {
		n := &m.nodes[i]
		n.used.settle(now, c.Cores)
		user, waited, bytes = user+n.used.user, waited+n.used.waited, bytes+n.used.diskBytes
		copied += n.net.movedNanoseconds()
	}
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

// SettleCopies settles all networks, so that Usage counts what reduces have copied by now.
func (m *Shared) SettleCopies(now time.Duration) {
	for i := range m.nodes {
		m.nodes[i].net.settle(now)
		m.copiesEnd(now, slots.TrackerID(i))
	}
}
