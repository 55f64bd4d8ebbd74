package membudget

import (
	"slices"

	"mrlocal/internal/invariant"
)

const (
	// keptMax mappings are kept at most: as many as a few tasks free and take in turn.
	keptMax = 8

	// keptLeast: shorter mappings are not kept.
	keptLeast = 16 * ChunkBytes
)

// keeping holds mappings that were freed, resident as they are, for the next Big: touching
// new memory takes longer than sorting what is put there. They count among bigBytes, are
// charged to no lease, and are unmapped as soon as there is no room for them. It is used
// under the lock of the budget.
type keeping struct {
	maps  []freed // shortest first
	bytes int64   // resident
}

// freed is a mapping of which the first bytes are resident.
type freed struct {
	data     []byte
	resident int64
}

// take returns a mapping of at least bytes and less than twice that; nil: there is none.
// Nothing of it beyond bytes is resident.
func (k *keeping) take(bytes int64) (data []byte, resident int64) {
	i := slices.IndexFunc(k.maps, func(m freed) bool { return int64(len(m.data)) >= bytes })
	if i < 0 || int64(len(k.maps[i].data)) >= 2*bytes {
		return nil, 0
	}
	m := k.maps[i]
	k.maps = slices.Delete(k.maps, i, i+1)
	k.bytes -= m.resident
	if m.resident > bytes {
		discardMemory(m.data[bytes:m.resident])
	}
	return m.data, m.resident
}

// keep takes data over and returns what has to be unmapped instead: data itself if it is
// short, or the shortest mapping if there are too many; its data is nil if nothing has to
// be.
func (k *keeping) keep(data []byte, resident int64) (rest freed) {
	m := freed{data, resident}
	if len(data) < keptLeast {
		return m
	}
	invariant.Mangle(data[:poisonBytes])
	i, _ := slices.BinarySearchFunc(k.maps, len(data), func(m freed, n int) int { return len(m.data) - n })
	k.maps = slices.Insert(k.maps, i, m)
	k.bytes += resident
	if len(k.maps) <= keptMax {
		return freed{}
	}
	return k.shortest()
}

// shortest takes out the shortest mapping.
func (k *keeping) shortest() freed {
	m := k.maps[0]
	k.maps = slices.Delete(k.maps, 0, 1)
	k.bytes -= m.resident
	return m
}

// dropKeptLocked unmaps kept memory until bytes more than now can be resident, or until
// nothing is kept.
func (b *Budget) dropKeptLocked(bytes int64) {
	for b.mu.kept.bytes > 0 && b.mu.bigBytes+b.mu.region.residentBytes()+bytes > b.limitBytes {
		m := b.mu.kept.shortest()
		b.mu.bigBytes -= m.resident
		unmapMemory(m.data)
	}
}
