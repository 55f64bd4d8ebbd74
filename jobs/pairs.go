package jobs

import (
	"encoding/binary"
	"iter"
)

// AppendPair appends a record to dst, as a job of a chain gets it from the job before: the lengths of key and value
// as varints, the key, and the value. Engines call it.
func AppendPair(dst, key, value []byte) []byte {
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(len(key))), uint64(len(value)))
	return append(append(dst, key...), value...)
}

// MostPairHead is the largest number of bytes in front of the key of a pair.
const MostPairHead = 2 * binary.MaxVarintLen64

// PairBytes returns the lengths of the first pair of data: of the part in front of its key, and of key and value.
// Of data that ends before the key begins, head is 0.
func PairBytes(data []byte) (head, key, value int) {
	if len(data) >= 2 && data[0] < 0x80 && data[1] < 0x80 {
		return 2, int(data[0]), int(data[1])
	}
	k, n := binary.Uvarint(data)
	v, m := binary.Uvarint(data[max(n, 0):])
	if n <= 0 || m <= 0 {
		return 0, 0, 0
	}
	return n + m, int(k), int(v)
}

// Pairs yields the keys and values of a block with Paired, as the job before has emitted them. They lie in b.Data
// and are borrowed until Map returns. Their capacity is their length. It panics with a Mistake if the block has text.
func (b Block) Pairs() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if !b.Paired && len(b.Data) > 0 {
			panic(Mistakef("Block.Pairs: the block has text; only a later job of a chain, without Job.Text, reads pairs"))
		}
		for rest := b.Data; len(rest) > 0; {
			b.stands(rest)
			head, key, value := PairBytes(rest)
			end := head + key + value
			if !yield(rest[head:head+key:head+key], rest[head+key:end:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

// mustBeText panics with a Mistake if the block has pairs.
func (b Block) mustBeText() {
	if b.Paired {
		panic(Mistakef("the block has the pairs of the job before: read Block.Pairs, or set Job.Text"))
	}
}
