package count

import (
	"bytes"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// perStep is the most keys that are emitted together.
const perStep = 512

// lineMapper emits the lines of a block as parts of the block.
type lineMapper struct {
	one   []byte // the count 1 in the format of jobs.Sum
	fold  bool
	delim byte
	lines [perStep]jobs.Span
}

// newLineMapper makes a mapper for one attempt.
func newLineMapper(delim byte, fold bool) *lineMapper {
	return &lineMapper{one: jobs.AppendUint64(nil, 1), fold: fold, delim: delim}
}

// Map implements jobs.Mapper.
//
// hot: one iteration for each line.
func (m *lineMapper) Map(b jobs.Block, out jobs.Emitter) error {
	data := b.Data
	if m.fold {
		lines.Lower(data)
	}
	n := 0
	for off := 0; off < len(data); {
		length := bytes.IndexByte(data[off:], m.delim)
		if length < 0 { // the last line of a file
			length = len(data) - off
		}
		m.lines[n] = jobs.Span{Off: uint32(off), Len: uint32(length)}
		off += length + 1
		if n++; n == perStep || off >= len(data) {
			jobs.EmitSpans(out, data, m.lines[:n], m.one)
			n = 0
		}
	}
	return nil
}

// wholeMapper passes whole blocks to the kvbuffer, with the spans of their lines.
type wholeMapper struct {
	fold  bool
	delim byte
	lines []jobs.Span // of the current block; reused
}

// Map implements jobs.Mapper. It fails if the Emitter is not a jobs.Taker.
func (m *wholeMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if m.fold {
		lines.Lower(b.Data)
	}
	m.lines = lines.AppendSpans(m.lines[:0], b.Data, m.delim)
	return lines.Take("count", b, m.lines, out)
}

// keyMapper builds the keys of records in memory of its own, and emits them in steps.
type keyMapper struct {
	one       []byte // the count 1 in the format of jobs.Sum
	fold      bool
	delim     byte
	appendKey func(dst, record []byte) ([]byte, bool) // appends the key of record; false: it has none
	room      []byte                                  // the keys of the current step, one after the other
	keys      []jobs.Span                             // where each key lies in room

	charge       func(bytes int64) bool // OwnAttempt.Charge; nil: no bound
	chargedBytes int64                  // capacity of room that is charged or free
}

// roomBytes: a step ends when its keys take this many bytes. One key may be longer.
const roomBytes = 64 << 10

// newKeyMapper makes a mapper for one attempt. appendKey appends the key of a record, or
// returns false if the record has none.
func newKeyMapper(delim byte, fold bool, appendKey func(dst, record []byte) ([]byte, bool)) *keyMapper {
	return &keyMapper{
		one: jobs.AppendUint64(nil, 1), fold: fold, delim: delim, appendKey: appendKey,
		chargedBytes: 2 * roomBytes,
		room:         make([]byte, 0, 2*roomBytes), keys: make([]jobs.Span, 0, perStep),
	}
}

// Begin implements jobs.Attempter.
func (m *keyMapper) Begin(a jobs.OwnAttempt) { m.charge = a.Charge }

// account charges the growth of room to the memory bound of the run. The first 2*roomBytes are
// free, because every attempt has them.
func (m *keyMapper) account() error {
	more := int64(cap(m.room)) - m.chargedBytes
	if more <= 0 || m.charge == nil {
		return nil
	}
	if !m.charge(more) {
		return errs.Errorf("a key of %d bytes does not fit in memory; raise %s", m.keys[len(m.keys)-1].Len, errs.Field("Options.MemoryBytes"))
	}
	m.chargedBytes += more
	return nil
}

// Map implements jobs.Mapper.
//
// hot: one iteration for each record.
func (m *keyMapper) Map(b jobs.Block, out jobs.Emitter) error {
	for rest := b.Data; len(rest) > 0; {
		record := rest
		if n := bytes.IndexByte(rest, m.delim); n >= 0 {
			record, rest = rest[:n], rest[n+1:]
		} else {
			rest = nil
		}
		begin := len(m.room)
		room, ok := m.appendKey(m.room, record)
		m.room = room
		if !ok {
			m.room = room[:begin]
			continue
		}
		m.keys = append(m.keys, jobs.Span{Off: uint32(begin), Len: uint32(len(room) - begin)})
		if len(room) >= roomBytes {
			if err := m.account(); err != nil {
				return err
			}
		}
		if len(m.keys) == perStep || len(room) >= roomBytes {
			m.step(out)
		}
	}
	m.step(out)
	return nil
}

// step emits the keys in room and empties it.
func (m *keyMapper) step(out jobs.Emitter) {
	// The block must not change, because the delimiter may be a letter.
	if m.fold {
		lines.Lower(m.room)
	}
	jobs.EmitSpans(out, m.room, m.keys, m.one)
	m.room, m.keys = m.room[:0], m.keys[:0]
}
