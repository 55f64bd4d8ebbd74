package input

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/jobs"
)

// Stream reads the blocks of one file that can only be read from its start. It
// is used like a Reader, and belongs to one goroutine.
type Stream struct {
	plan      *Plan
	file      int32
	src       *sequential
	hold      hold
	decoders  codec.Decoders
	block     jobs.Block
	doneBytes int64 // of decoded text, up to the end of block
	err       error
	over      bool // the last block was read, or Close was called
}

// OpenStream returns a reader of a file from its start. It waits for the writer
// of a FIFO, and for the first bytes. The caller closes the stream.
func (p *Plan) OpenStream(file int32, mem Memory) (*Stream, error) {
	s := &Stream{plan: p, file: file, hold: hold{mem: mem}, decoders: p.decoders(mem)}
	f := &p.Files[file]
	var h *handle // stays nil for standard input that is no regular file
	var err error
	switch f.kind {
	case fifo:
		var file *os.File
		if file, err = disk.OpenInput(f.Path); err == nil {
			h = &handle{path: f.Path, file: file}
		}
	case regular, regularStdin, inHDFS:
		// Only files are decoded ahead. The writer of a FIFO may be slow, and reading ahead would
		// block.
		if m, ok := mem.(Sparer); ok {
			s.decoders.Spare = m.Spare
		}
		h = &handle{}
		err = p.openPlanned(file, h)
	}
	if err == nil {
		s.src, err = p.newSequential(file, h, &s.decoders)
	}
	if err != nil {
		s.decoders.Close()
		return nil, err
	}
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
	s.src.from = offset
	// If the sum overflows, the range has no end.
	if s.src.to = offset + length; s.src.to < offset {
		s.src.to = math.MaxInt64
	}
	return s, nil
}

// Next moves to the next block and reports whether there is one. It ends the loan of the current
// block. A stream asks its Memory for chunks only within Next.
func (s *Stream) Next() bool {
	s.hold.endLoan()
	if s.err == nil && !s.over {
		b, err := s.src.next(&s.hold)
		if err == nil {
			s.block = jobs.Block{Path: s.plan.Files[s.file].Path, File: s.plan.first + s.file, Input: s.plan.Files[s.file].input, Offset: b.off, Data: b.data, Last: b.last}
			// Bytes of decoded text count here, because the pieces of a stream are ranges of it. In
			// a Reader stored bytes count.
			s.doneBytes += int64(len(b.data))
			s.hold.lend()
			return true
		}
		if s.over = true; err != io.EOF {
			s.err = err
		}
	}
	s.block = jobs.Block{}
	s.hold.free()
	return false
}

// Block returns the current block. Its ConsumedBytes count decoded text.
func (s *Stream) Block() LentBlock { return LentBlock{s.block, &s.hold.loan, s.doneBytes} }

// Err returns the error that ended the reading; nil: the end of the file.
func (s *Stream) Err() error { return s.err }

// Paused reports whether the current block is short because the writer of a pipe
// pauses (Options.Prompt).
func (s *Stream) Paused() bool { return s.src.paused }

// Skipped reports whether the stream gave nothing because it is binary.
func (s *Stream) Skipped() bool { return s.src.skipped }

// Shed ends decoding ahead, and gives back its memory. It may be called within a call of Get of
// the stream's Memory.
func (s *Stream) Shed() { s.decoders.Shed() }

// Close gives back memory and file, and returns Err. It may be called at any time, and more than
// once.
func (s *Stream) Close() error {
	s.over = true
	// In a second call the file is closed already, which is no error.
	if err := s.src.Close(); s.err == nil && !errors.Is(err, os.ErrClosed) {
		s.err = err
	}
	s.hold.endLoan()
	s.hold.free()
	s.decoders.Close()
	return s.err
}
