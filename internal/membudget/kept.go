package membudget

import (
	"slices"

	"mrlocal/internal/invariant"
)

const (
	// keptMax mappings are kept: as many as a few tasks free and take in turn.
	keptMax = 8

	// keptLeast: shorter ones are not worth a place.
	keptLeast = 16 * ChunkBytes
)

// keeping holds mappings that were freed, resident as they are, for the next
// Big: to touch memory anew costs more than sorting what is put there. They
// count among bigBytes, are charged to nobody, and go as soon as there is no
// room for them. It has no lock.
type keeping struct {
	maps  []freed // shortest first
	bytes int64   // resident
}

// freed is a mapping, of which the first bytes are resident.
type freed struct {
	data     []byte
	resident int64
}

// take returns a mapping of at least bytes, but not of twice that, or nil.
// Beyond bytes nothing of it is resident.
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

// keep returns what has to be unmapped instead: data itself, if it is short,
// or the shortest mapping, if there are too many.
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

func (k *keeping) shortest() freed {
	m := k.maps[0]
	k.maps = slices.Delete(k.maps, 0, 1)
	k.bytes -= m.resident
	return m
}

// dropKeptLocked unmaps kept memory until bytes more than now can be resident,
// or nothing is kept.
func (b *Budget) dropKeptLocked(bytes int64) {
	for b.mu.kept.bytes > 0 && b.mu.bigBytes+b.mu.region.residentBytes()+bytes > b.limitBytes {
		m := b.mu.kept.shortest()
		b.mu.bigBytes -= m.resident
		unmapMemory(m.data)
	}
}
