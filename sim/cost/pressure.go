package cost

import (
	"math/bits"

	"mrlocal/slots"
	"mrlocal/workload"
)

// pressure returns the speeds of CPU and disk when tasks want more than the tracker has.
//
// Memory that is wanted beyond what there is reduces the overlap of computing and I/O.
// If the tracker has a share o of the memory that is wanted, CPU and disk each run at
// (1+o)/2 of their speed while both are needed. At o = 1 they overlap fully; near o = 0
// they take turns.
//
// If the cluster has overcommit, each resource that is wanted too much also loses some
// of its speed (efficiency): the CPU to switches of context, the disk to seeks between
// streams, and both to paging if it is memory. A task wants what it would use if it were
// alone, and memory at all times.
func (n *node) pressure(o *workload.Overcommit) (cpu, disk rate) {
	cpu = efficiency(n.cpu.wanted, n.cpu.capacity, o.CPU)
	disk = efficiency(n.disk.wanted, n.disk.capacity, o.IO)
	if n.memory <= n.room {
		return cpu, disk
	}
	both := efficiency(n.memory, n.room, o.Memory)
	if n.cpu.sharers > 0 && n.disk.sharers > 0 {
		both = both.of(whole/2 + fraction(n.room, n.memory)/2)
	}
	return cpu.of(both), disk.of(both)
}

// efficiency returns the speed of a resource of which W = wanted/there is wanted:
// 1/(1+k(W−1)) with a loss of k, and full speed if W is at most 1.
func efficiency(wanted, there uint64, loss slots.PPM) rate {
	if loss == 0 || there == 0 || wanted <= there {
		return whole
	}
	finer := max(0, bits.LeadingZeros64(wanted)-32)
	there, beyond := there<<finer, (wanted-there)<<finer
	return fraction(there, there+uint64(Scaled(int64(beyond), int64(loss), int64(slots.One))))
}
