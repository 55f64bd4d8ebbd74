package input

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/invariant"
	"mrlocal/internal/membudget"
)

// sequential is the source of a file that can only be read from its start:
// a compressed file, a stream, a file of /proc.
//
// A chunk may end within a record. The beginning of that record is copied to carry before
// the block is passed on. The borrower of the block may take the chunk over and free it.
type sequential struct {
	plan    *Plan
	file    int32
	decoder *codec.Decoders
	h       *handle // nil: standard input that is not a regular file
	planned bool    // h is a regular file, and must stay unchanged to its end
	r       io.Reader
	off     int64 // offset of the next block in the decoded text
	from    int64 // records that start before this offset are left out
	to      int64 // records that start at this offset or later are left out
	// carry begins the next block. It lies on the Go heap, is reused, and is at most a chunk long.
	carry   []byte
	state   sourceState
	skipped bool     // the file is binary, and gives nothing
	eof     bool     // r has ended
	pipe    *os.File // a pause of its writer ends a block; nil: blocks are full
	paused  bool     // the last read ended because the writer pauses
}

// newSequential makes the source of h, or of standard input if h is nil. It owns h, and closes
// h if it fails.
func (p *Plan) newSequential(file int32, h *handle, d *codec.Decoders) (_ *sequential, err error) {
	s := &sequential{plan: p, file: file, h: h, decoder: d, planned: p.Files[file].kind.regular(), to: math.MaxInt64}
	from := p.o.Stdin
	switch {
	case h != nil && h.shared:
		from = io.NewSectionReader(h, 0, math.MaxInt64)
	case h != nil:
		from = h
	case p.Files[file].spent:
		from = strings.NewReader("")
	}
	// A decoder reads ahead, so pauses of the writer cannot be noticed behind one.
	if p.o.Prompt && p.o.NoDecode && !s.planned {
		s.pipe, _ = from.(*os.File)
		if h != nil {
			s.pipe, _ = h.remote.(*os.File)
		}
	}
	if p.o.Warn != nil {
		d.Garbage = func(c codec.Codec) {
			p.o.Warn(fmt.Sprintf("%s: trailing garbage behind the %s data is ignored", s.path(), c))
		}
	}
	if s.r, err = d.Open(from, p.o.NoDecode); err != nil {
		return nil, errors.Join(s.explain(err, 0), s.Close())
	}
	return s, nil
}

// consumedBytes implements source. It returns stored bytes, not decoded ones: the length of a
// split is in stored bytes too.
func (s *sequential) consumedBytes() int64 { return s.decoder.StoredBytes() }

func (s *sequential) Close() error {
	if s.h == nil {
		return nil
	}
	return s.h.Close()
}

// unchanged fails if a regular file is not the planned one any more, or has ended earlier or later
// than planned.
func (s *sequential) unchanged() error {
	if !s.planned {
		return nil
	}
	f := &s.plan.Files[s.file]
	if err := f.unchanged(s.h); err != nil {
		return err
	}
	// The length is compared only at the end of the file. A range of records may end before.
	if n := s.decoder.StoredBytes(); s.decoder.Ended() && n != f.Bytes && f.Bytes > 0 && !s.h.sizeIsMadeUp() {
		return f.endedAt(n)
	}
	return nil
}

// path returns the name of the file for messages.
func (s *sequential) path() string { return shown(s.plan.Files[s.file].Path) }

// explain adds the path and the offset to an error of reading or decoding. got is the number of
// bytes behind off that were read before. If the file has changed, explain returns that error
// instead.
func (s *sequential) explain(err error, got int) error {
	if err := s.unchanged(); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", s.path(), s.decoder.Explain(err, s.off+int64(got)))
}

// read fills buf. It reads less at the end of the file, and when the writer of a pipe pauses. got
// is the number of bytes behind off that were read before, for messages.
func (s *sequential) read(buf []byte, got int) (n int, err error) {
	s.paused = false
	for n < len(buf) && !s.eof {
		// A pause counts only behind the first byte, because an empty block is of no use.
		if n > 0 && s.pipe != nil && !s.decoder.Buffered() && pauses(s.pipe) {
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
			s.eof = true // the text before the error counts
		}
	}
	return n, nil
}

// next implements source. It fills a chunk, and ends the block with the last whole record there.
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
	n := copy(buf, s.carry)
	for more := true; more; {
		m, err := s.read(buf[n:], n)
		if err != nil {
			return block{}, err
		}
		// A pause ends a block only behind a whole record.
		more = s.paused && s.plan.recordEnd(buf[n:n+m], s.off+int64(n), 0) < 0
		n += m
	}
	data := buf[:n]
	// The bytes judged here are decoded, so a compressed text is not binary.
	if s.off == 0 && s.plan.o.SkipBinary && s.plan.judge(s.file, data, codec.None) {
		invariant.Move(&s.state, sourceRead)
		s.skipped = true
		return block{}, io.EOF
	}
	if s.eof {
		if r, bytes := int64(s.plan.o.RecordBytes), s.off+int64(n); r > 0 && bytes%r != 0 {
			return block{}, errs.Inputf(s.path(), "it ends inside of a record of %s, after %s", errs.Counted(r, "byte"), errs.Counted(bytes, "byte"))
		}
		return s.cut(block{data: data, last: true})
	}
	records := s.plan.lastRecordEnd(data)
	if records == 0 {
		return s.long(h)
	}
	// The tail is copied before the block is passed on, because the borrower may take the chunk.
	s.carry = append(s.carry[:0], data[records:]...)
	return s.cut(block{data: data[:records:records]})
}

// cut finishes a block of whole records. It sets the offset of the block, and checks whether the
// block is the last one of the file. It cuts off records that start at to or later.
func (s *sequential) cut(b block) (block, error) {
	if !b.last && len(s.carry) == 0 && s.pipe == nil {
		// Only a read of another byte shows whether the file ends here. A pipe that is watched
		// for pauses is not read, because that could block.
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
		// The last record that starts before to belongs to the range as a whole.
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
		return block{}, io.EOF // the range begins at the end of the text
	}
	return b, nil
}

// discard reads up to the first record that starts at from or later. It first reads up to one byte
// before from, because a delimiter there means that a record starts at from. buf is scratch
// memory.
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
// of its size. The chunk of h has its beginning.
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

// Stream reads the blocks of one file that can only be read from its start. A stream asks its Memory for
// chunks only within Next.
type Stream struct {
	Reader
	decoded   *sequential
	doneBytes int64 // of decoded text, up to the end of the current block
}

// OpenStream returns a reader of a file from its start. It waits for the writer
// of a FIFO, and for the first bytes. The caller closes the stream.
func (p *Plan) OpenStream(file int32, mem Memory) (_ *Stream, err error) {
	s := &Stream{Reader: Reader{plan: p, file: file, hold: hold{mem: mem}, decoders: p.decoders(mem)}}
	f := &p.Files[file]
	var h *handle // stays nil for standard input that is not a regular file
	switch f.kind {
	case fifo:
		var file *os.File
		if file, err = disk.OpenInput(f.Path); err == nil {
			h = &handle{path: f.Path, remote: file}
		}
	case regular, regularStdin, inHDFS:
		// Only files are decoded ahead. The writer of a FIFO may be slow, and reading ahead would
		// block.
		if m, ok := mem.(Sparer); ok {
			s.decoders.Spare = m.Spare
		}
		h = &s.handle
		err = p.openPlanned(file, h)
	}
	if err == nil {
		s.decoded, err = p.newSequential(file, h, &s.decoders)
	}
	if err != nil {
		s.decoders.Close()
		return nil, err
	}
	s.src = s.decoded
	return s, nil
}

// ReopenStream opens a file again, and yields the records whose first byte lies in the range
// [offset, offset+length) of the decoded text. The text before the range is decoded and dropped.
// It fails if the file can be read only once.
func (p *Plan) ReopenStream(file int32, offset, length int64, mem Memory) (*Stream, error) {
	if !p.Files[file].Rereadable {
		return nil, fmt.Errorf("%s: cannot be read a second time", shown(p.Files[file].Path))
	}
	s, err := p.OpenStream(file, mem)
	if err != nil {
		return nil, err
	}
	s.decoded.from = offset
	// If the sum overflows, the range has no end.
	if s.decoded.to = offset + length; s.decoded.to < offset {
		s.decoded.to = math.MaxInt64
	}
	return s, nil
}

// Next moves to the next block and reports whether there is one. It ends the loan of the current
// block.
func (s *Stream) Next() bool {
	more := s.Reader.Next()
	s.doneBytes += int64(len(s.block.Data))
	return more
}

// Block returns the current block. Its ConsumedBytes count decoded text, because the pieces of a stream
// are ranges of it. Those of a Reader count stored bytes.
func (s *Stream) Block() LentBlock { return LentBlock{s.block, &s.hold.loan, s.doneBytes} }

// Err returns the error that ended the reading; nil: the end of the file.
func (s *Stream) Err() error { return s.err }

// Paused reports whether the current block is short because the writer of a pipe
// pauses (Options.Prompt).
func (s *Stream) Paused() bool { return s.decoded.paused }

// Skipped reports whether the stream gave nothing because it is binary.
func (s *Stream) Skipped() bool { return s.decoded.skipped }

// Shed ends decoding ahead, and gives back its memory. It may be called within a call of Get of
// the stream's Memory.
func (s *Stream) Shed() { s.decoders.Shed() }
