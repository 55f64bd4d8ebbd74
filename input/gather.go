package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/membudget"
)

// gather collects one record of unknown length. Up to Options.GatherBytes it stays in
// memory. If it is longer, or if there is no more memory, the whole record goes to a
// temporary file. Without Options.CreateTemp it stays in memory, or fails.
type gather struct {
	s           *sequential
	h           *hold
	chunks      []*membudget.Chunk // all are full except the last one
	temp        *disk.TempFile     // if not nil, chunks holds one buffer
	lengthBytes int64              // of the record so far
}

// collect reads to the end of the record. It copies the bytes read behind the record to
// s.carry.
func (g *gather) collect() error {
	for ended := false; !ended; {
		buf, err := g.room()
		if err != nil {
			return err
		}
		n, err := g.s.read(buf, int(g.lengthBytes))
		if err != nil {
			return err
		}
		// The record ends with its delimiter, or with the file.
		i := bytes.IndexByte(buf[:n], g.s.plan.o.Delim)
		if ended = i >= 0 || g.s.eof; i >= 0 {
			g.s.carry = append(g.s.carry[:0], buf[i+1:n]...)
			n = i + 1
		}
		g.lengthBytes += int64(n)
		if g.temp != nil {
			if _, err := g.temp.Write(buf[:n]); err != nil {
				return g.explain(err)
			}
		}
	}
	return nil
}

// room returns the buffer for the next part of the record.
func (g *gather) room() (_ []byte, err error) {
	if g.temp != nil {
		return g.chunks[0].Data[:chunkBytes], nil
	}
	// A read may end before its buffer is full, because the writer of a pipe pauses.
	if used := g.lengthBytes % chunkBytes; used > 0 {
		return g.chunks[len(g.chunks)-1].Data[used:chunkBytes], nil
	}
	o := &g.s.plan.o
	// If there can be no temporary file, the record stays in memory beyond GatherBytes.
	if o.CreateTemp == nil || g.lengthBytes+chunkBytes <= o.GatherBytes {
		var c *membudget.Chunk
		if c, err = g.h.mem.Get(chunkBytes); err == nil {
			g.chunks = append(g.chunks, c)
			return c.Data[:chunkBytes], nil
		}
	}
	if o.CreateTemp == nil {
		return nil, roomError(g.s.plan.Files[g.s.file].Path, g.s.off, g.lengthBytes, err)
	}
	if err := g.spill(); err != nil {
		return nil, err
	}
	return g.chunks[0].Data[:chunkBytes], nil
}

// spill moves the record so far to a temporary file, and keeps one chunk as buffer.
func (g *gather) spill() (err error) {
	if g.temp, err = g.s.plan.o.CreateTemp(); err != nil {
		return g.explain(err)
	}
	// All chunks but the last are full. The last one has the rest of lengthBytes.
	left := g.lengthBytes
	for _, c := range g.chunks {
		n := min(left, chunkBytes)
		if _, err := g.temp.Write(c.Data[:n]); err != nil {
			return g.explain(err)
		}
		left -= n
	}
	for _, c := range g.chunks[1:] {
		g.h.mem.Put(c)
	}
	g.chunks = g.chunks[:1]
	return nil
}

// join puts the record together in the chunk of h, and returns it.
func (g *gather) join() ([]byte, error) {
	data, err := g.whole()
	if err != nil && g.temp == nil && g.s.plan.o.CreateTemp != nil {
		// The chunks take the memory that the record needs, so they go to a file first.
		if err := g.spill(); err != nil {
			return nil, err
		}
		data, err = g.whole()
	}
	if err != nil {
		return nil, roomError(g.s.plan.Files[g.s.file].Path, g.s.off, g.lengthBytes, err)
	}
	if g.temp != nil {
		return data, g.readBack(data)
	}
	at := 0
	for _, c := range g.chunks {
		at += copy(data[at:], c.Data[:chunkBytes])
	}
	return data, nil
}

// readBack reads the record from the temporary file into data.
func (g *gather) readBack(data []byte) error {
	f, err := g.temp.Open()
	if err != nil {
		return g.explain(err)
	}
	defer f.Close()
	_, err = io.ReadFull(f, data)
	return g.explain(err)
}

// whole returns a buffer of the length of the record, in the chunk of h. If the record is in a
// temporary file, it first gives the chunks back.
func (g *gather) whole() ([]byte, error) {
	if g.temp != nil {
		g.free()
	}
	buf, err := g.h.take(int(g.lengthBytes))
	if err != nil {
		return nil, err
	}
	return buf[:g.lengthBytes:g.lengthBytes], nil
}

// explain adds the place of the record to an error of the temporary file.
func (g *gather) explain(err error) error {
	return errs.About(fmt.Sprintf("%s: record at offset %d, collected in a temporary file", g.s.path(), g.s.off), err)
}

// free gives the chunks back to the caller's Memory.
func (g *gather) free() {
	for _, c := range g.chunks {
		g.h.mem.Put(c)
	}
	g.chunks = nil
}

// close frees the chunks and removes the temporary file, if there is one.
func (g *gather) close() error {
	g.free()
	if g.temp == nil {
		return nil
	}
	return g.temp.Remove()
}

// fileCostBytes is the number of bytes that could be read in the time in which a file is
// opened. Tiny files count as this many bytes, so that 100,000 of them do not become one split.
const fileCostBytes = 4 << 10

// split chooses the bytes of a split, checks each file, and divides the input. Small files that
// follow each other share a split. A stream ends a split, so that splits keep the order of the
// input.
func (p *Plan) split() error {
	if err := p.chooseBlock(); err != nil {
		return err
	}
	var packedBytes int64 // cost of the files in the open split; 0: no split is open
	packBytes := p.block  // the cost with which the open split is full
	// The cost of the files that are in no split yet. packed makes splits smaller as it shrinks.
	leftBytes := p.Bytes + int64(len(p.Files))*fileCostBytes
	add := func(pc Piece) {
		if packedBytes == 0 {
			p.Splits = append(p.Splits, Split{})
		}
		s := &p.Splits[len(p.Splits)-1]
		s.Pieces = append(s.Pieces, pc)
		s.Bytes += pc.End - pc.Start
	}
	for i := range p.Files {
		f := &p.Files[i]
		if err := p.check(f); err != nil {
			if p.Missed(int32(i), err) {
				continue
			}
			return err
		}
		cost := f.Bytes + min(fileCostBytes, p.block/16)
		switch {
		case f.Stream:
			packedBytes = 0
			p.Streams = append(p.Streams, int32(i))
		// A large file has splits of its own. Each is about one block long.
		case p.divides(f) && f.Codec == codec.None:
			packedBytes = 0
			for at := int64(0); at < f.Bytes; {
				end := at + p.splitBytes(f)
				if !cuts(f.Bytes-at, end-at) {
					end = f.Bytes
				}
				add(Piece{int32(i), at, end})
				at = end
			}
		// A small file, or a compressed one that one map decodes. Files in a row share a split.
		default:
			if packedBytes > 0 && packedBytes+cost > packBytes {
				packedBytes = 0
			}
			if packedBytes == 0 {
				packBytes = p.packed(leftBytes)
			}
			add(Piece{int32(i), 0, f.Bytes})
			packedBytes += cost
		}
		leftBytes -= f.Bytes + fileCostBytes
	}
	return nil
}

// packed returns the bytes of the next split of small files. leftBytes is the cost of the files
// that are in no split yet.
func (p *Plan) packed(leftBytes int64) int64 {
	// In a plan of Found, the end of this plan is not the end of the input.
	if !p.o.Taper || p.o.BlockBytes > 0 || p.missing != nil {
		return p.block
	}
	return min(p.block, max(leftBytes/int64(taperShare*p.o.MapSlots), leastTaperBytes))
}

// If Taper is set, a split has at most 1/taperShare of the bytes that are left for each slot. It
// has at least leastTaperBytes: a map of them takes one or two milliseconds, ten times the cost
// of an attempt.
const (
	taperShare      = 4
	leastTaperBytes = 4 << 20
)

// divides reports whether the size of a file is more than one split.
func (p *Plan) divides(f *File) bool {
	return cuts(f.Bytes, p.block) || cuts(f.Bytes, p.splitBytes(f))
}

// cuts reports whether the given number of bytes are more than one split. The last split may be a tenth
// longer than a block, as in Hadoop (slopTenths), so that no tiny split follows it.
func cuts(bytes, splitBytes int64) bool {
	return bytes > splitBytes && float64(bytes) > float64(splitBytes)*slopTenths/10
}

// splitBytes returns the length of the splits of a file. Those of HDFS follow its blocks,
// unless the user sets a length.
func (p *Plan) splitBytes(f *File) int64 {
	if f.blockBytes > 0 && p.o.BlockBytes <= 0 {
		return max(f.blockBytes, p.Bytes/maxSplits) // a server may claim tiny blocks
	}
	return p.block
}

// chooseBlock adds up the bytes of the input and chooses the bytes of a split. It fails if the sum
// is too large, as those of sparse files and of a server that lies.
func (p *Plan) chooseBlock() error {
	for i := range p.Files {
		if p.Bytes += p.Files[i].Bytes; p.Bytes < 0 || p.Bytes > math.MaxInt64/2 {
			return errs.Inputf(shown(p.Files[i].Path), "its size, %d bytes, is too large", p.Files[i].Bytes)
		}
	}
	workBytes := p.Bytes + int64(len(p.Files))*fileCostBytes
	p.block = p.o.BlockBytes
	if p.block <= 0 {
		per, least := workBytes/int64(p.o.SplitsPerSlot*p.o.MapSlots)+1, int64(minBlockBytes)
		switch {
		case p.missing != nil: // a plan of Found: batch.begin chooses
			least = p.leastBlock
		case p.o.Taper:
			least = max(least, min(leastTaperBytes, workBytes/int64(taperShare*p.o.MapSlots)))
		}
		p.block = (min(max(per, least), maxBlockBytes) + 64<<10 - 1) &^ (64<<10 - 1)
	}
	// Each split costs memory in the plan and in the Ledger, however small its block is.
	if least := max(p.Bytes/maxSplits, min(p.Bytes/maxTinySplits, 1<<10)); p.block < least {
		p.block = (least + 1<<10 - 1) &^ (1<<10 - 1)
		if p.o.BlockBytes > 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("block size raised to %d KiB: %d bytes would make %d splits", p.block>>10, p.o.BlockBytes, p.Bytes/p.o.BlockBytes))
		}
	}
	return nil
}

// check makes sure that a file can be read and decoded, and sets its Codec and whether it is a
// Stream.
//
// A large compressed file is a stream. But if it is a small share of the input, one map decodes
// it while others read the rest.
func (p *Plan) check(f *File) error {
	if !f.kind.regular() {
		return nil
	}
	if r := int64(p.o.RecordBytes); r > 0 && f.Bytes%r != 0 {
		return errs.Inputf(shown(f.Path), "its size, %s, is not a whole number of records of %s", errs.Counted(f.Bytes, "byte"), errs.Counted(r, "byte"))
	}
	if !p.readsHead(f) {
		if f.kind != regular || f.mayRead {
			return nil
		}
		if err := disk.MayRead(f.Path); err != nil {
			return errs.Inputf(shown(f.Path), "%w", errs.Cause(err))
		}
		return nil
	}
	var h handle
	found := codec.None
	err := p.open(f, &h)
	if err == nil {
		found, err = p.headCodec(f, &h)
		err = errors.Join(err, h.Close())
	}
	switch {
	case err != nil:
		return errs.Inputf(shown(f.Path), "%w", errs.Cause(err))
	case found.Refused() && p.o.SkipBinary && !f.named:
		return nil // it is skipped as binary when it is read
	case found.Refused() && !f.named:
		return errs.Inputf(shown(f.Path), "%w; to leave it out, name the other files", found.Refusal())
	case found.Refused():
		return errs.Inputf(shown(f.Path), "%w", found.Refusal())
	case p.divides(f):
		// Small files keep codec.None here; the reader recognises them by their first bytes.
		f.Codec = found
		f.Stream = found != codec.None && f.Bytes >= p.Bytes/int64(4*p.o.MapSlots)
	}
	return nil
}

// readsHead reports whether the plan reads the first bytes of a file. Then a file that cannot be
// decoded is refused before any work starts. Opening a small file costs half as much as counting
// its words. So a small file of a directory or glob whose name is one of text is recognised when
// a map reads it.
func (p *Plan) readsHead(f *File) bool {
	if p.divides(f) {
		return !p.o.NoDecode || p.o.UTF16
	}
	return !p.o.NoDecode && f.Bytes > 0 && (f.named || !p.o.SkipBinary && !codec.TextName(f.Path))
}
