package input

import (
	"errors"
	"io"

	"mrlocal/input/codec"
	"mrlocal/jobs"
)

// Sample calls fn with blocks of records from evenly spaced places of the input, at most places of
// them. It reads no streams. A block has about bytesEach bytes, at most a chunk. It is borrowed
// until fn returns. The same plan gives the same blocks.
//
// A place in the middle of a record longer than a chunk gives no block. Sample reads only the
// start of a compressed file. Sample fails with the first error of reading or of fn.
func (p *Plan) Sample(places, bytesEach int, mem Memory, fn func(jobs.Block) error) error {
	var total int64
	for i := range p.Splits {
		total += p.Splits[i].Bytes
	}
	if total == 0 || places <= 0 || bytesEach <= 0 {
		return nil
	}
	// Places are evenly spaced over the bytes of all files, so long files get more of them.
	step := max(total/int64(places), 1)
	s := sampler{plan: p, bytesEach: int64(bytesEach), fn: fn, r: Reader{plan: p, hold: hold{mem: mem}, decoders: p.decoders(mem)}}
	defer s.r.Close()
	// Both count the stored bytes of all pieces in order: at is the next place, and before is the
	// start of the current piece.
	var before, at int64
	for i := range p.Splits {
		for _, pc := range p.Splits[i].Pieces {
			length := pc.End - pc.Start
			for ; at < before+length; at += step {
				whole, err := s.place(pc, pc.Start+at-before)
				if err != nil {
					return err
				}
				if whole {
					// The other places of this piece are skipped. The loop adds the last step.
					at += (before + length - at - 1) / step * step
				}
			}
			before += length
		}
	}
	return nil
}

// sampler reads one place after the other, with one Reader.
type sampler struct {
	plan      *Plan
	bytesEach int64
	fn        func(jobs.Block) error
	r         Reader
}

// place passes a block to fn. It begins with the first record that starts at offset at of the file
// or later. whole reports that other places of the file give nothing new, because the file is
// compressed or binary.
func (s *sampler) place(pc Piece, at int64) (whole bool, err error) {
	f := &s.plan.Files[pc.File]
	s.r.file = pc.File
	s.r.pieces = nil
	defer func() {
		if s.r.src != nil {
			s.r.src.Close()
			s.r.src = nil
		}
		s.r.hold.free()
	}()
	h := &s.r.handle
	if err := s.plan.openPlanned(pc.File, h); err != nil {
		return false, err
	}
	found := f.Codec
	// The plan does not recognise a small compressed file. Such a file is one piece.
	if found == codec.None && pc.Start == 0 && pc.End == f.Bytes {
		if found, err = s.plan.headCodec(f, h); err != nil {
			return false, errors.Join(err, h.Close())
		}
	}
	if found != codec.None && !found.Refused() {
		if err := s.r.sequential(h); err != nil {
			return true, err
		}
		return true, s.first()
	}
	s.r.cut = newCut(s.plan, Piece{pc.File, at, min(at+chunkBytes, f.Bytes)}, h)
	c := &s.r.cut
	// seek is called below, because the end of the range depends on the record that it finds.
	c.probe, c.brief = false, true
	s.r.src = c
	if s.plan.o.SkipBinary {
		buf, err := s.r.hold.take(int(min(f.Bytes, binaryHeadBytes)))
		if err != nil {
			return false, err
		}
		if binary, err := s.plan.isBinary(pc.File, h, buf); binary || err != nil {
			return binary, err
		}
	}
	if err := c.seek(&s.r.hold); err != nil {
		return false, err
	}
	// bytesEach counts from the first record.
	c.end = min(c.off+s.bytesEach, c.end)
	return false, s.first()
}

// first passes the first block of the source to fn, if there is one.
func (s *sampler) first() error {
	b, err := s.r.src.next(&s.r.hold)
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	return s.fn(jobs.Block{Path: s.plan.Files[s.r.file].Path, File: s.r.file, Input: s.plan.Files[s.r.file].input, Offset: b.off, Data: b.data, Last: b.last})
}
