package jobs

import (
	"encoding/binary"
	"strconv"
)

// AppendUint64 appends n as Sum reads it: 8 bytes, little-endian.
func AppendUint64(dst []byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, n)
}

// Uint64 is the number that AppendUint64 wrote; p must hold 8 bytes.
func Uint64(p []byte) uint64 { return binary.LittleEndian.Uint64(p) }

// AppendDescending appends 8 bytes that sort the larger n first, to begin a
// key with.
func AppendDescending(dst []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(dst, ^n)
}

// Descending is the number that AppendDescending wrote.
func Descending(p []byte) uint64 { return ^binary.BigEndian.Uint64(p) }

// Sum adds up values made by AppendUint64. As a Folder it is known to the
// kvbuffer, which then adds in its table without a call per value; as a
// Reducer it emits the key and the total in decimal. The zero value works; one
// made by NewSum keeps its scratch, so that Reduce does not allocate.
type Sum struct{ text *[20]byte }

// NewSum makes a Sum for one task attempt.
func NewSum() Sum { return Sum{text: new([20]byte)} }

func (Sum) Fold(acc, value []byte) []byte {
	if acc == nil {
		return append(acc, value...)
	}
	binary.LittleEndian.PutUint64(acc, Uint64(acc)+Uint64(value))
	return acc
}

func (s Sum) Reduce(key []byte, vs *Values, out Emitter) error {
	text := s.text
	if text == nil {
		text = new([20]byte)
	}
	var total uint64
	for vs.Next() {
		total += Uint64(vs.Value())
	}
	out.Emit(key, strconv.AppendUint(text[:0], total, 10))
	return nil
}
