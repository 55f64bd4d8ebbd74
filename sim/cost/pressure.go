package cost

import (
	"math/bits"

	"mrlocal/slots"
	"mrlocal/workload"
)

// pressure is what becomes of a tracker when its tasks want more than there is.
//
// Memory that is wanted beyond what there is takes away from the overlap of
// computing and I/O: of the CPU and the disk each is kept from working while
// the other does, for as much of the time as is wanted too much. With a share o
// of what is wanted there, both run at (1+o)/2 of their speed while both are
// needed: at full speed when all is there, taking turns when nearly nothing is.
//
// Where the cluster says that overcommitment costs, each resource that is wanted
// too much also loses some of its speed (efficiency): the CPU to switches of
// context, the disk to seeks between streams, both to paging where it is memory.
// A task wants what it would use if it were alone there, and memory always.
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

// efficiency is the speed of a resource of which so much is wanted: with W times
// what there is and a loss of k, 1/(1+k(W−1)) of it. Enough of it has no loss.
func efficiency(wanted, there uint64, loss slots.PPM) rate {
	if loss == 0 || there == 0 || wanted <= there {
		return whole
	}
	finer := max(0, bits.LeadingZeros64(wanted)-32)
	there, beyond := there<<finer, (wanted-there)<<finer
	return fraction(there, there+uint64(Scaled(int64(beyond), int64(loss), int64(slots.One))))
}
