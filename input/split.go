package input

import (
	"errors"
	"fmt"
	"math"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

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
	var starts []int32 // index of the first piece of each split
	pieces := make([]Piece, 0, len(p.Files))
	var packedBytes int64 // cost of the files in the open split; 0: no split is open
	packBytes := p.block  // the cost with which the open split is full
	// The cost of the files that are in no split yet. packed makes splits smaller as it shrinks.
	leftBytes := p.Bytes + int64(len(p.Files))*fileCostBytes
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
			seq := int32(0)
			for at := int64(0); at < f.Bytes; seq++ {
				end := at + p.splitBytes(f)
				if !cuts(f.Bytes-at, end-at) {
					end = f.Bytes
				}
				add(Piece{int32(i), at, end}, seq)
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
		// All pieces lie in one slice. The splits refer to it only now, because append may have
		// moved it before.
		p.Splits[i].Pieces = pieces[starts[i]:end:end]
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
		return errs.Inputf(shown(f.Path), "its %d bytes are not a whole number of records of %d bytes", f.Bytes, r)
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
