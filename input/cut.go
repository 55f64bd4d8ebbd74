package input

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"mrlocal/errs"
	"mrlocal/input/codec"
	"mrlocal/internal/invariant"
)

// cut reads the records of a piece of an uncompressed regular file.
//
//	start      off              end                 size
//	  │ …⏎ read │ chunk          │ slack │            │
//
// It reads no byte of the piece twice, except the tail of each chunk. Behind
// the piece it reads only what the last record needs.
type cut struct {
	plan    *Plan
	h       *handle
	file    *File
	index   int32
	start   int64
	off     int64 // the next record starts here; start until seek has found it
	end     int64
	size    int64 // of the file; in /sys, it may become less than planned
	slack   int64 // so far behind end the last record is searched for at first
	probe   bool  // the first bytes are still to be looked at
	checked bool  // after its last byte was read, the file was found to be the planned one
	atOnce  bool  // one call reads the whole file, and its length says whether it is the planned one
	brief   bool  // skip records longer than a chunk
	state   sourceState
}

// firstSlackBytes is enough for the last record of most files.
const firstSlackBytes = 4 << 10

// These say, by the first bytes, that a file is read otherwise or not at all.
var (
	errCompressed = errors.New("compressed")
	errBinary     = errors.New("binary")
)

// newCut begins a piece of a file. It reads a little beyond the piece, because the last record
// may end there.
func newCut(p *Plan, pc Piece, h *handle) cut {
	f := &p.Files[pc.File]
	return cut{
		plan: p, h: h, file: f, index: pc.File, start: pc.Start, off: pc.Start, end: pc.End, size: f.Bytes,
		slack: firstSlackBytes, probe: pc.Start == 0 && pc.End == f.Bytes,
	}
}

// The last record may reach behind the piece. Those bytes belong to the next piece, which
// counts them.
func (c *cut) consumedBytes() int64 { return min(c.off, c.end) - c.start }
func (c *cut) Close() error         { return c.h.Close() }

// next implements source. A call may read the same place twice, so it loops until a chunk
// holds a whole record, or the piece is done.
func (c *cut) next(h *hold) (block, error) {
	if c.state == sourceNew {
		// It runs at the first call and not in newCut, because it needs memory.
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
	// The piece counts as consumed, also where it holds no record.
	c.off = max(c.off, c.end)
	if err := c.unchanged(); err != nil {
		return block{}, err
	}
	return block{}, io.EOF
}

// unchanged makes sure that the file is still the planned one. It is called
// when the last byte has been read.
func (c *cut) unchanged() error {
	if c.checked {
		return nil
	}
	c.checked = true
	return c.file.unchanged(c.h)
}

// seek finds the first record that starts in the piece. It starts after the
// first delimiter at start-1 or later. If the whole piece lies inside one
// record, no record starts in it; seek then reads the piece once, and nothing
// behind it.
func (c *cut) seek(h *hold) error {
	invariant.Move(&c.state, sourceReading)
	// The file starts with a record.
	if c.start == 0 {
		return nil
	}
	for at, want := c.start-1, int64(firstSlackBytes); at < c.end-1; want = chunkBytes {
		// A delimiter at the last byte of the piece starts a record behind it, which belongs to
		// the next piece.
		want = min(want, c.end-1-at)
		buf, err := h.take(int(want))
		if err != nil {
			return err
		}
		n, err := c.readAt(buf[:want], at)
		if err != nil {
			return err
		}
		if end := c.plan.recordEnd(buf[:n], at, 0); end >= 0 {
			c.off = at + int64(end)
			return nil
		}
		if at += int64(n); at >= c.size {
			break
		}
	}
	invariant.Move(&c.state, sourceRead)
	return nil
}

// fill reads the next chunk and cuts it after its last whole record. If ok is
// false, the chunk holds no whole record, and fill is to be called again.
func (c *cut) fill(h *hold) (b block, ok bool, err error) {
	// Behind the piece, the slack is mostly enough for the rest of the last record.
	// Three bounds: the chunk, the file, and what the piece can need at all.
	want := min(chunkBytes, c.size-c.off, c.end-c.off+c.slack)
	more := int64(0)
	if c.atOnce {
		more = 1 // a byte that only a file that has grown has
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
	// The extra byte was asked for and did not come: the file has not grown.
	c.checked = c.checked || c.atOnce && int64(n) == want
	if n == 0 { // a file of /sys that ended before its size
		invariant.Move(&c.state, sourceRead)
		return block{data: buf[:0], last: true}, c.off == 0, nil
	}
	data := buf[:n]
	if int64(n) == c.file.Bytes {
		// This is the whole file: nobody gets a block of a file that is not the
		// planned one.
		if err := c.unchanged(); err != nil {
			return b, false, err
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
	// The last record of the piece is the one that starts before end. Its delimiter is at end-1 or
	// later.
	case c.off < c.end:
		from := max(c.end-1-c.off, 0)
		if end := c.plan.recordEnd(data, c.off, int(from)); end >= 0 {
			records, last = end, true
		} else if ends < c.size && want < chunkBytes {
			// The last record is longer than the slack: fill reads the same place again, up to a
			// chunk.
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
		// Sampling has no use for a record that does not fit into a chunk.
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
		invariant.Move(&c.state, sourceRead)
	}
	return b, true, nil
}

// look returns errCompressed or errBinary, or a refusal, if a file that begins
// with data is not read as it is.
func (c *cut) look(data []byte) error {
	found := c.plan.codecOf(c.file, data)
	switch {
	// The caller reads the file again, through its decoder.
	case found != codec.None && !found.Refused():
		return errCompressed
	case c.plan.o.SkipBinary && c.plan.judge(c.index, data, found):
		return errBinary
	case found.Refused() && !c.plan.o.SkipBinary:
		return errs.Inputf(shown(c.file.Path), "%w", found.Refusal())
	}
	return nil
}

// long reads a record longer than a chunk. It scans for the end of the record
// first, with the chunk at hand, so that it can ask for all memory at once. The
// scan begins at pos.
func (c *cut) long(h *hold, pos int64) (b block, ok bool, err error) {
	// Behind the last byte of the record; -1: not found yet.
	end := int64(-1)
	for end < 0 && pos < c.size {
		buf, err := h.take(chunkBytes)
		if err != nil {
			return b, false, err
		}
		n, err := c.readAt(buf[:min(chunkBytes, c.size-pos)], pos)
		if err != nil {
			return b, false, err
		}
		if i := bytes.IndexByte(buf[:n], c.plan.o.Delim); i >= 0 {
			end = pos + int64(i) + 1
		}
		pos += int64(n)
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
	if n, err := c.readAt(data, c.off); err != nil {
		return b, false, err
	} else if n < len(data) || end < c.size && data[n-1] != c.plan.o.Delim { // n is less only in /sys
		return b, false, fmt.Errorf("%s: %w", shown(c.file.Path), ErrChanged)
	}
	b = block{data, c.off, end == c.size}
	if c.off = end; end >= c.end {
		invariant.Move(&c.state, sourceRead)
	}
	return b, true, nil
}

// readAt fills buf.
// It returns fewer bytes than len(buf) only for a file of /sys, without an error.
func (c *cut) readAt(buf []byte, at int64) (int, error) { return c.readAtLeast(buf, at, len(buf)) }

// readAtLeast reads into buf until least bytes are there. A file that ends
// earlier than planned is an error, except in /sys, where sizes are made up:
// there the true size becomes known here.
func (c *cut) readAtLeast(buf []byte, at int64, least int) (int, error) {
	n, err := c.h.readAtLeast(buf, at, least)
	if n >= least {
		return n, nil
	}
	if err != io.EOF {
		return n, err
	}
	if !c.h.sizeIsMadeUp() {
		return n, c.file.endedAt(at + int64(n))
	}
	// The size is never below off, so that lengths do not get negative.
	c.size = max(at+int64(n), c.off)
	c.end = min(c.end, c.size)
	return n, nil
}

// Records end behind a delimiter, or at each multiple of
// Options.RecordBytes.

// recordEnd returns the first place in data behind from at which a record ends; -1: none
// does. data begins at off of the file.
func (p *Plan) recordEnd(data []byte, off int64, from int) int {
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

// lastRecordEnd returns the last place in data at which a record ends; 0: none does. data
// begins with a record.
func (p *Plan) lastRecordEnd(data []byte) int {
	if p.o.RecordBytes > 0 {
		return len(data) / p.o.RecordBytes * p.o.RecordBytes
	}
	return bytes.LastIndexByte(data, p.o.Delim) + 1
}

// wholeRecords refuses a file of so many bytes that ends inside of a binary record.
func (p *Plan) wholeRecords(file int32, bytes int64) error {
	if r := int64(p.o.RecordBytes); r > 0 && bytes%r != 0 {
		return errs.Inputf(shown(p.Files[file].Path), "it ends inside of a record of %d bytes, after %d bytes", r, bytes)
	}
	return nil
}
