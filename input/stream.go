package input

import (
	"fmt"
	"math"
	"os"

	"mrlocal/internal/disk"
)

// Stream reads the blocks of one file that can only be read from its start. A stream asks its Memory for
// chunks only within Next.
type Stream struct {
	Reader
	decoded   *sequential
	doneBytes int64 // of decoded text, up to the end of the current block
}

// OpenStream returns a reader of a file from its start. It waits for the writer
// of a FIFO, and for the first bytes. The caller closes the stream.
func (p *Plan) OpenStream(file int32, mem Memory) (*Stream, error) {
	s := &Stream{Reader: Reader{plan: p, file: file, hold: hold{mem: mem}, decoders: p.decoders(mem)}}
	f := &p.Files[file]
	var h *handle // stays nil for standard input that is not a regular file
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
