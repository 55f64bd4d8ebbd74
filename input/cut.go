package input

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"mrlocal/input/codec"
	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
	"mrlocal/jobs"
)

// cut is the source of a piece of an uncompressed file that can be read at any offset.
//
//	start      off              end                 size
//	  │ …⏎ read │ chunk          │ slack │            │
//
// It reads no byte of the piece twice, except the tail of each chunk. Behind
// the piece it reads only as far as the last record needs.
type cut struct {
	plan   *Plan
	h      *handle
	file   *File
	index  int32 // of file
	start  int64 // of the piece
	off    int64 // where the next record starts; start until seek has found it
	end    int64 // of the piece
	size   int64 // of the file; in /sys it may get less than planned
	slack  int64 // how far behind end the end of the last record is searched for at first
	probe  bool  // look has still to check the first bytes
	atOnce bool  // one call reads the whole file; only its length is compared with the plan
	brief  bool  // skip records longer than a chunk, for a sample
	state  sourceState
}

// firstSlackBytes is enough for the last record of most pieces.
const firstSlackBytes = 4 << 10

// Errors of look. The first bytes of a file show that it is read by a decoder, or not at all.
var (
	errCompressed = errors.New("compressed")
	errBinary     = errors.New("binary")
)

// newCut begins to read a piece. The cut owns h.
func newCut(p *Plan, pc Piece, h *handle) cut {
	f := &p.Files[pc.File]
	return cut{
		plan: p, h: h, file: f, index: pc.File, start: pc.Start, off: pc.Start, end: pc.End, size: f.Bytes,
		slack: firstSlackBytes, probe: pc.Start == 0 && pc.End == f.Bytes,
	}
}

// consumedBytes implements source. The last record may reach behind the piece: the next piece
// counts those bytes.
func (c *cut) consumedBytes() int64 { return min(c.off, c.end) - c.start }
func (c *cut) Close() error         { return c.h.Close() }

// next implements source. It calls fill until a chunk has a whole record, or the piece is done.
func (c *cut) next(h *hold) (block, error) {
	if c.state == sourceNew {
		// newCut cannot call seek, because it has no memory.
		if err := c.seek(h); err != nil {
			return block{}, err
		}
	}
	for c.state < sourceRead {
		b, ok, err := c.fill(h)
		if ok || err != nil {
			return b, err
		}
	}
	// A piece without a record counts as consumed too.
	c.off = max(c.off, c.end)
	if c.state < sourceChecked {
		invariant.Move(&c.state, sourceChecked)
		if err := c.file.unchanged(c.h); err != nil {
			return block{}, err
		}
	}
	return block{}, io.EOF
}

// seek sets off to the start of the first record that starts in the piece: behind the first
// delimiter at start-1 or later. If the whole piece lies inside one record, no record starts in
// it. seek then reads the piece once, and nothing behind it.
func (c *cut) seek(h *hold) error {
	invariant.Move(&c.state, sourceReading)
	if c.start == 0 { // a file starts with a record
		return nil
	}
	for at, want := c.start-1, int64(firstSlackBytes); at < c.end-1; want = chunkBytes {
		// The last byte is left out. If it is a delimiter, the record behind it starts in the next
		// piece.
		want = min(want, c.end-1-at)
		data, err := c.read(h, want, at)
		if err != nil {
			return err
		}
		if end := c.plan.recordEnd(data, at, 0); end >= 0 {
			c.off = at + int64(end)
			return nil
		}
		if at += int64(len(data)); at >= c.size {
			break
		}
	}
	invariant.Move(&c.state, sourceRead)
	return nil
}

// fill reads the next chunk and cuts it after its last whole record. If ok is
// false, the chunk holds no whole record, and fill is to be called again.
func (c *cut) fill(h *hold) (b block, ok bool, err error) {
	// The bounds are a chunk, the rest of the file, and the rest of the piece with the slack.
	// The slack mostly includes the end of the last record.
	want := min(chunkBytes, c.size-c.off, c.end-c.off+c.slack)
	more := int64(0)
	if c.atOnce {
		more = 1 // this byte exists only if the file has grown
	}
	buf, err := h.take(int(want + more))
	if err != nil {
		return b, false, err
	}
	n, err := c.readAtLeast(buf[:want+more], c.off, int(want))
	if err != nil {
		return b, false, err
	}
	if int64(n) > want {
		// Its attributes may be the planned ones again: it was cut to its planned length since.
		return b, false, cmp.Or(c.file.unchanged(c.h), fmt.Errorf("%s: %w", shown(c.file.Path), ErrChanged))
	}
	if n == 0 { // a file of /sys that ended before its size
		invariant.Move(&c.state, sourceRead)
		return block{data: buf[:0], last: true}, c.off == 0, nil
	}
	data, read := buf[:n], sourceRead
	if int64(n) == c.file.Bytes {
		// The whole file is read. No block of it is passed on if the file has changed. With atOnce
		// it has not grown: the read ended at the planned length, though it asked for a byte more.
		if read = sourceChecked; !c.atOnce {
			if err := c.file.unchanged(c.h); err != nil {
				return b, false, err
			}
		}
	}
	if c.probe {
		c.probe = false
		if err := c.look(data); err != nil {
			return b, false, err
		}
	}
	ends := c.off + int64(n)
	records, last := 0, false
	switch {
	// The piece goes on behind this chunk, so all whole records of the chunk belong to it.
	case ends < c.end:
		records = c.plan.lastRecordEnd(data)
	// The last record of the piece is the last one that starts before end. Its delimiter is at
	// end-1 or later.
	case c.off < c.end:
		from := max(c.end-1-c.off, 0)
		if end := c.plan.recordEnd(data, c.off, int(from)); end >= 0 {
			records, last = end, true
		} else if ends < c.size && want < chunkBytes {
			// The last record is longer than the slack. The next call reads the same place again,
			// up to a chunk.
			c.slack = chunkBytes
			return b, false, nil
		} else {
			records = c.plan.lastRecordEnd(data)
		}
	}
	if ends == c.size && !last {
		records, last = n, true // a last record without delimiter
	}
	if records == 0 {
		if c.brief {
			invariant.Move(&c.state, sourceRead)
			return b, false, nil
		}
		return c.long(h, c.off+int64(n))
	}
	// The capacity ends with the block, so that an append of a borrower cannot write into the
	// tail of the chunk.
	b = block{data[:records:records], c.off, c.off+int64(records) == c.size}
	c.off += int64(records)
	if last || c.off >= c.end {
		invariant.Move(&c.state, read)
	}
	return b, true, nil
}

// look checks the first bytes of the file. It returns errCompressed or errBinary, or a refusal, if
// the file is not plain text. It returns nil if the cut may go on.
func (c *cut) look(data []byte) error {
	found := c.plan.codecOf(data)
	switch {
	case found != codec.None && !found.Refused():
		return errCompressed
	case c.plan.o.SkipBinary && c.plan.judge(c.index, data, found):
		return errBinary
	case found.Refused() && !c.plan.o.SkipBinary:
		return errs.Inputf(shown(c.file.Path), "%w", found.Refusal())
	}
	return nil
}

// long reads the record at off, which is longer than a chunk. It first scans for the end of the
// record, from pos on, with one chunk. So it asks once for all the memory of the record.
func (c *cut) long(h *hold, pos int64) (b block, ok bool, err error) {
	end := int64(-1) // of the record; -1: not found yet
	paired := c.plan.o.Paired
	if paired {
		data, err := c.read(h, min(jobs.MostPairHead, c.size-c.off), c.off)
		if err != nil {
			return b, false, err
		}
		head, key, value := jobs.PairBytes(data)
		end = c.off + int64(head+key+value)
	}
	for end < 0 && pos < c.size {
		data, err := c.read(h, min(chunkBytes, c.size-pos), pos)
		if err != nil {
			return b, false, err
		}
		if i := bytes.IndexByte(data, c.plan.o.Delim); i >= 0 {
			end = pos + int64(i) + 1
		}
		pos += int64(len(data))
	}
	if end < 0 {
		end = c.size
	}
	length := end - c.off
	if length > maxRecordBytes {
		return b, false, tooLong(c.file.Path, c.off)
	}
	buf, err := h.take(int(length))
	if err != nil {
		return b, false, roomError(c.file.Path, c.off, length, err)
	}
	data := buf[:length:length]
	if n, err := c.readAtLeast(data, c.off, len(data)); err != nil {
		return b, false, err
	} else if n < len(data) || !paired && end < c.size && data[n-1] != c.plan.o.Delim { // n is less only in /sys
		return b, false, fmt.Errorf("%s: %w", shown(c.file.Path), ErrChanged)
	}
	b = block{data, c.off, end == c.size}
	if c.off = end; end >= c.end {
		invariant.Move(&c.state, sourceRead)
	}
	return b, true, nil
}

// read reads want bytes at offset at into memory of h, or fewer if a file of /sys ends there.
func (c *cut) read(h *hold, want, at int64) ([]byte, error) {
	buf, err := h.take(int(want))
	if err != nil {
		return nil, err
	}
	n, err := c.readAtLeast(buf[:want], at, int(want))
	return buf[:n], err
}

// readAtLeast reads into buf until least bytes are there. It fails if the file ends earlier than
// planned. In /sys sizes mean nothing, so it takes over the true size there.
func (c *cut) readAtLeast(buf []byte, at int64, least int) (int, error) {
	n, err := c.h.readAtLeast(buf, at, least)
	if err != io.EOF { // at least least bytes, or an error
		return n, err
	}
	if !c.h.sizeIsMadeUp() {
		return n, c.file.endedAt(at + int64(n))
	}
	// A size below off would make lengths negative.
	c.size = max(at+int64(n), c.off)
	c.end = min(c.end, c.size)
	return n, nil
}

// Records end behind a delimiter, or at each multiple of Options.RecordBytes in the file, or are pairs.

// recordEnd returns the first index in data above from at which a record ends; -1: there is none.
// data begins at offset off of the file.
func (p *Plan) recordEnd(data []byte, off int64, from int) int {
	if p.o.Paired { // the last pair ends with the text
		return -1
	}
	if r := int64(p.o.RecordBytes); r > 0 {
		if end := (off+int64(from))/r*r + r - off; end <= int64(len(data)) {
			return int(end)
		}
		return -1
	}
	if i := bytes.IndexByte(data[from:], p.o.Delim); i >= 0 {
		return from + i + 1
	}
	return -1
}

// lastRecordEnd returns the index in data behind the last whole record; 0: there is no whole
// record. data begins with a record.
func (p *Plan) lastRecordEnd(data []byte) int {
	if p.o.RecordBytes > 0 {
		return len(data) / p.o.RecordBytes * p.o.RecordBytes
	}
	if p.o.Paired {
		end := 0
		for {
			head, key, value := jobs.PairBytes(data[end:])
			if head == 0 || head+key+value > len(data)-end {
				return end
			}
			end += head + key + value
		}
	}
	return bytes.LastIndexByte(data, p.o.Delim) + 1
}

// Cutter cuts the text of any reader into blocks of whole records, for programs that have no Plan. Only
// one goroutine may use it.
type Cutter struct {
	R io.Reader
	// LastEnd returns the index in data behind the last whole record; 0: there is no whole record.
	// data begins with a record.
	LastEnd func(data []byte) int
	Bytes   int // size of a block; a block with a longer record is longer
	// Next calls Grow before a block becomes longer, with the number of additional bytes. An error ends
	// the reading. nil: no bound.
	Grow func(bytes int) error

	rest []byte // read behind the block before
}

// LastEnd returns a Cutter's LastEnd for records that end with delim.
func LastEnd(delim byte) func(data []byte) int {
	return func(data []byte) int { return bytes.LastIndexByte(data, delim) + 1 }
}

// Next returns the next block. It reuses buf if buf is large enough. It returns the last block together
// with io.EOF; only its last record may lack an end. With any other error, the block ends before the
// record in which the error occurred.
func (c *Cutter) Next(buf []byte) ([]byte, error) {
	buf = append(slices.Grow(buf[:0], c.Bytes), c.rest...)
	c.rest = c.rest[:0]
	for {
		// io.ReadFull would turn io.EOF and a decoder's io.ErrUnexpectedEOF into the same error. The
		// first is the end, the second is a file that was cut short.
		var err error
		for n := 0; err == nil && len(buf) < cap(buf); buf = buf[:len(buf)+n] {
			n, err = c.R.Read(buf[len(buf):cap(buf)])
		}
		if err == io.EOF {
			return buf, err
		}
		whole := c.LastEnd(buf)
		switch {
		case err != nil:
			return buf[:whole], err
		case whole > 0 && whole == len(buf):
			// One more byte shows whether the text ends here.
			c.rest = append(c.rest, 0)
			n, err := io.ReadFull(c.R, c.rest)
			c.rest = c.rest[:n]
			return buf, err
		case whole > 0:
			c.rest = append(c.rest, buf[whole:]...)
			return buf[:whole], nil
		case c.Grow != nil:
			if err := c.Grow(cap(buf)); err != nil {
				return buf[:0], err
			}
		}
		buf = slices.Grow(buf, cap(buf)) // a record is longer than the block
	}
}
