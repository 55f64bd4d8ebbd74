package input

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"mrlocal/input/codec"
	"mrlocal/internal/invariant"
	"mrlocal/internal/membudget"
)

// sequential reads the records of a file that can only be read from its start:
// a compressed file, a stream, a file of /proc.
//
// The tail of a chunk may be the beginning of a record. It is copied to carry
// before the block is passed on, because the borrower may take the chunk over
// and free it.
type sequential struct {
	plan    *Plan
	file    int32
	decoder *codec.Decoders
	h       *handle // nil for standard input that is no regular file
	planned bool    // h is a regular file, and must stay the planned one to its end
	r       io.Reader
	off     int64 // place of the next block in the decoded text
	from    int64 // records that start before this place are left out
	to      int64 // and those that start at this place or later
	// It lies on the Go heap, is reused, and is never longer than a chunk.
	carry   []byte
	state   sourceState
	skipped bool     // because it is binary
	eof     bool     // r has ended
	pipe    *os.File // its pauses end blocks; nil: blocks are full
	paused  bool     // the last read ended because the writer pauses
}

// newSequential reads h, or standard input if h is nil. It owns h, and closes
// it if it fails.
func (p *Plan) newSequential(file int32, h *handle, d *codec.Decoders) (*sequential, error) {
	s := &sequential{plan: p, file: file, h: h, decoder: d, planned: p.Files[file].kind.regular(), to: math.MaxInt64}
	from := p.o.Stdin
	switch {
	case h != nil:
		from = h.fromStart()
	case p.Files[file].spent:
		from = strings.NewReader("")
	}
	// A decoder reads ahead, so pauses of the writer are seen only without one.
	if p.o.Prompt && p.o.NoDecode && !s.planned {
		s.pipe, _ = from.(*os.File)
		if h != nil {
			s.pipe = h.file
		}
	}
	if p.o.Warn != nil {
		d.Garbage = func(c codec.Codec) {
			p.o.Warn(fmt.Sprintf("%s: trailing garbage behind the %s data is ignored", s.path(), c))
		}
	}
	var err error
	if s.r, err = d.Open(from, p.o.NoDecode); err != nil {
		return nil, errors.Join(s.explain(err, 0), s.Close())
	}
	return s, nil
}

// Stored bytes, not decoded ones: they are compared with the length of the split.
func (s *sequential) consumedBytes() int64 { return s.decoder.StoredBytes() }

func (s *sequential) Close() error {
	if s.h == nil {
		return nil
	}
	return s.h.Close()
}

// unchanged makes sure that a regular file is the planned one, and that it did
// not end earlier or later than planned.
func (s *sequential) unchanged() error {
	if !s.planned {
		return nil
	}
	f := &s.plan.Files[s.file]
	if err := f.unchanged(s.h); err != nil {
		return err
	}
	// Of a range of records the rest of the file is not read, so only an end is checked.
	if n := s.decoder.StoredBytes(); s.decoder.Ended() && n != f.Bytes && f.Bytes > 0 && !s.h.sizeIsMadeUp() {
		return f.endedAt(n)
	}
	return nil
}

// path is the name of the file in messages.
func (s *sequential) path() string { return shown(s.plan.Files[s.file].Path) }

// explain adds the name of the file to an error of reading or decoding, so many bytes behind
// off. If the file has changed, that is the error.
func (s *sequential) explain(err error, got int) error {
	if err := s.unchanged(); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", s.path(), s.decoder.Explain(err, s.off+int64(got)))
}

// read fills buf; at the end of the file, and where the writer of a pipe pauses, it
// reads less. got is how many bytes
// behind off the caller holds already, for messages.
func (s *sequential) read(buf []byte, got int) (n int, err error) {
	s.paused = false
	for n < len(buf) && !s.eof {
		// At least one byte is waited for: an empty block would be of no use.
		if n > 0 && s.pipe != nil && s.decoder.Buffered() == 0 && pauses(s.pipe) {
			s.paused = true
			break
		}
		m, err := s.r.Read(buf[n:])
		n += m
		if err == io.EOF {
			s.eof = true
		} else if err != nil {
			err = s.explain(err, got+n)
			if !s.plan.Missed(s.file, err) {
				return n, err
			}
			s.eof = true // what was read until then counts
		}
	}
	return n, nil
}

// next implements source. It fills a chunk and ends the block at the last delimiter there.
func (s *sequential) next(h *hold) (block, error) {
	if s.state == sourceRead {
		return block{}, io.EOF
	}
	buf, err := h.take(chunkBytes)
	if err != nil {
		return block{}, err
	}
	if s.state == sourceNew {
		invariant.Move(&s.state, sourceReading)
		if err := s.discard(buf); err != nil {
			return block{}, err
		}
		if s.state == sourceRead {
			return block{}, io.EOF
		}
	}
	buf = buf[:chunkBytes]
	// The block begins with the start of a record that the last chunk has cut off.
	n := copy(buf, s.carry)
	for more := true; more; {
		m, err := s.read(buf[n:], n)
		if err != nil {
			return block{}, err
		}
		// A pause inside of the first record is no end of a block.
		more = s.paused && s.plan.recordEnd(buf[n:n+m], s.off+int64(n), 0) < 0
		n += m
	}
	data := buf[:n]
	// What is judged here is decoded text, so compressed text is no binary file.
	if s.off == 0 && s.plan.o.SkipBinary && s.plan.judge(s.file, data, codec.None) {
		invariant.Move(&s.state, sourceRead)
		s.skipped = true
		return block{}, io.EOF
	}
	if s.eof {
		if err := s.plan.wholeRecords(s.file, s.off+int64(n)); err != nil {
			return block{}, err
		}
		return s.cut(block{data: data, last: true})
	}
	records := s.plan.lastRecordEnd(data)
	if records == 0 {
		return s.long(h)
	}
	// From here on the chunk may be the borrower's.
	s.carry = append(s.carry[:0], data[records:]...)
	return s.cut(block{data: data[:records:records]})
}

// cut finishes a block of whole records. It finds out whether the block is the
// last one of the file, and cuts off what lies outside of [from, to).
func (s *sequential) cut(b block) (block, error) {
	if !b.last && len(s.carry) == 0 && s.pipe == nil {
		// Whether the file ends here shows only when another byte is asked for. A pipe that is
		// watched for pauses is not asked, because it could block.
		var one [1]byte
		n, err := s.read(one[:], len(b.data))
		if err != nil {
			return block{}, err
		}
		s.carry = append(s.carry[:0], one[:n]...)
		b.last = n == 0
	}
	b.off = s.off
	s.off += int64(len(b.data))
	if s.off >= s.to {
		// The record that starts before to still belongs to the range, with all its bytes.
		from := max(s.to-1-b.off, 0)
		if end := s.plan.recordEnd(b.data, b.off, int(from)); end >= 0 && end < len(b.data) {
			b.data, b.last = b.data[:end], false
		}
	}
	if b.last || s.off >= s.to {
		invariant.Move(&s.state, sourceRead)
	}
	if b.last {
		if err := s.unchanged(); err != nil {
			return block{}, err
		}
	}
	if len(b.data) == 0 && b.off > 0 {
		return block{}, io.EOF // a range that begins at the end
	}
	return b, nil
}

// discard reads up to the first record that starts at from or later. buf is
// scratch memory.
// It stops one byte before from: a delimiter there means that a record starts at from.
func (s *sequential) discard(buf []byte) error {
	for s.from > 0 && s.off < s.from-1 && !s.eof {
		n, err := s.read(buf[:min(int64(len(buf)), s.from-1-s.off)], 0)
		if err != nil {
			return err
		}
		s.off += int64(n)
	}
	for s.from > 0 && !s.eof {
		n, err := s.read(buf, 0)
		if err != nil {
			return err
		}
		if end := s.plan.recordEnd(buf[:n], s.off, 0); end >= 0 {
			s.off += int64(end)
			s.carry = append(s.carry[:0], buf[end:n]...)
			break
		}
		s.off += int64(n)
	}
	if s.off >= s.to {
		invariant.Move(&s.state, sourceRead)
	}
	return nil
}

// long reads a record longer than a chunk. Its length is not known. So it is
// gathered in chunks, or in a temporary file, and then put together in memory
// of its size. The held chunk is its beginning.
func (s *sequential) long(h *hold) (block, error) {
	g := gather{s: s, h: h, chunks: []*membudget.Chunk{h.chunk}, lengthBytes: chunkBytes}
	// The chunk now belongs to g, which gives it back.
	h.chunk, s.carry = nil, s.carry[:0]
	defer g.close()
	if err := g.collect(); err != nil {
		return block{}, err
	}
	if g.lengthBytes > maxRecordBytes {
		return block{}, tooLong(s.plan.Files[s.file].Path, s.off)
	}
	data, err := g.join()
	if err != nil {
		return block{}, err
	}
	return s.cut(block{data: data, last: s.eof && len(s.carry) == 0})
}
