package input

import (
	"errors"
	"fmt"
	"math"

	"mrlocal/errs"
	"mrlocal/input/codec"
)

// fileCostBytes is what opening a file costs, in bytes that could be read
// meanwhile: 100,000 tiny files are more than one map's work.
const fileCostBytes = 4 << 10

// split settles the block size, checks every file, and cuts. Adjacent small
// files share a split; a stream ends it, so that splits keep the order of the
// input.
func (p *Plan) split() error {
	p.settleBlock()
	var starts []int32 // of each split in pieces
	pieces := make([]Piece, 0, len(p.Files))
	var packedBytes int64 // in the split that is open; 0: none is
	packBytes := p.block  // when it is full
	leftBytes := p.Bytes + int64(len(p.Files))*fileCostBytes
	closeSplit := func() { packedBytes = 0 }
	add := func(pc Piece, seq int32) {
		if packedBytes == 0 {
			starts = append(starts, int32(len(pieces)))
			p.Splits = append(p.Splits, Split{ID: int32(len(p.Splits)), Order: Order{pc.File, seq}})
		}
		pieces = append(pieces, pc)
		p.Splits[len(p.Splits)-1].Bytes += pc.End - pc.Start
	}
	for i := range p.Files {
		f := &p.Files[i]
		if err := p.check(f, i); err != nil {
			return err
		}
		cost := f.Bytes + min(fileCostBytes, p.block/16)
		switch {
		case f.Stream:
			closeSplit()
			p.Streams = append(p.Streams, int32(i))
		case p.cuts(f.Bytes) && f.Codec == codec.None:
			closeSplit()
			seq := int32(0)
			for at := int64(0); at < f.Bytes; seq++ {
				end := at + p.block
				if !p.cuts(f.Bytes - at) {
					end = f.Bytes
				}
				add(Piece{int32(i), at, end}, seq)
				at = end
			}
		default:
			if packedBytes > 0 && packedBytes+cost > packBytes {
				closeSplit()
			}
			if packedBytes == 0 {
				packBytes = p.packed(leftBytes)
			}
			add(Piece{int32(i), 0, f.Bytes}, 0)
			packedBytes += cost
		}
		leftBytes -= f.Bytes + fileCostBytes
	}
	for i := range p.Splits {
		end := len(pieces)
		if i+1 < len(starts) {
			end = int(starts[i+1])
		}
		p.Splits[i].Pieces = pieces[starts[i]:end:end]
	}
	return nil
}

// packed is how full a split of small files may be with so much work left.
func (p *Plan) packed(leftBytes int64) int64 {
	if !p.o.Taper || p.o.BlockBytes > 0 {
		return p.block
	}
	return min(p.block, max(leftBytes/int64(taperShare*p.o.MapSlots), leastTaperBytes))
}

// With Taper a split has at most one of taperShare parts of what is left for
// each slot. The last splits take a millisecond or two, ten times what an
// attempt costs.
const (
	taperShare      = 4
	leastTaperBytes = 4 << 20
)

// cuts reports whether bytes are more than one split: Hadoop lets the last
// one be a tenth longer than a block rather than have a tiny one after it.
func (p *Plan) cuts(bytes int64) bool {
	return bytes > p.block && float64(bytes) > float64(p.block)*slopTenths/10
}

// settleBlock chooses the block size.
func (p *Plan) settleBlock() {
	for i := range p.Files {
		p.Bytes += p.Files[i].Bytes
	}
	workBytes := p.Bytes + int64(len(p.Files))*fileCostBytes
	p.block = p.o.BlockBytes
	if p.block <= 0 {
		per := workBytes/int64(p.o.SplitsPerSlot*p.o.MapSlots) + 1
		p.block = (min(max(per, minBlockBytes), maxBlockBytes) + 64<<10 - 1) &^ (64<<10 - 1)
	}
	if least := p.Bytes / maxSplits; p.block < least {
		p.block = (least + 1<<10 - 1) &^ (1<<10 - 1)
		if p.o.BlockBytes > 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("block size raised to %d KiB: %d KiB would make more than %d splits",
				p.block>>10, p.o.BlockBytes>>10, maxSplits))
		}
	}
}

// check makes sure that a file can be read and decoded, and finds out whether
// it can be cut.
//
// A large compressed file is a stream, unless it is such a small share of
// the work that one map may decode it while others do the rest.
func (p *Plan) check(f *File, before int) error {
	if !f.kind.regular() {
		return nil
	}
	if f.Bytes > math.MaxInt64/2 {
		return errs.Inputf(shown(f.Path), "claims to have %d bytes", f.Bytes)
	}
	if !p.looksAt(f, before) {
		if f.kind == regularStdin || f.mayRead {
			return nil
		}
		if err := readable(f.Path); err != nil {
			return errs.Inputf(shown(f.Path), "%v", cause(err))
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
		return errs.Inputf(shown(f.Path), "%v", cause(err))
	case found.Refused() && p.o.SkipBinary && !f.named:
		return nil // skipped as binary when it is read
	case found.Refused():
		return errs.Inputf(shown(f.Path), "%w", found.Refusal())
	case p.cuts(f.Bytes):
		f.Codec = found
		f.Stream = found != codec.None && f.Bytes >= p.Bytes/int64(4*p.o.MapSlots)
	}
	return nil
}

// mostLooks is how many small files the plan looks into. Opening a file is a
// third of what it costs to read a small one, so in large trees the others are
// only recognised when they are read, unless their names tell.
const mostLooks = 1024

// looksAt reports whether the plan reads the first bytes of a file, so that
// what cannot be decoded is refused before any work starts. before is the
// number of files before it.
func (p *Plan) looksAt(f *File, before int) bool {
	switch {
	case p.o.NoDecode || f.Bytes == 0:
		return false
	case p.cuts(f.Bytes):
		return true
	case p.o.SkipBinary && !f.named:
		return false
	}
	return before < mostLooks || codec.Suspect(f.Path)
}
