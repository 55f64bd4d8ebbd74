package output

import (
	"errors"
	"os"

	"mrlocal/internal/membudget"
	"mrlocal/output/compress"
)

// packedPart compresses a part file on the thread of its attempt.
type packedPart struct {
	partWriter
	out   *compress.Writer
	lease *membudget.Lease // of the encoder; nil: the encoder counts as part of the attempt's floor
}

// newPackedPart makes a packedPart whose bytes go to w.
func newPackedPart(w partWriter, c compress.Format, memory *membudget.Budget) (*packedPart, error) {
	out, err := compress.NewWriter(c, partBytes{w})
	if err != nil {
		return nil, err
	}
	p := &packedPart{partWriter: w, out: out}
	if memory != nil {
		p.lease, _ = memory.TryReserve(compress.EncoderBytes)
	}
	return p, nil
}

func (p *packedPart) write(text []byte) error {
	_, err := p.out.Write(text)
	return err
}

// commit ends the last member before the part file is closed.
func (p *packedPart) commit(textBytes int64) error {
	defer p.leave()
	if err := p.out.Close(); err != nil {
		return err
	}
	return p.partWriter.commit(textBytes)
}

func (p *packedPart) abort() {
	p.leave()
	p.partWriter.abort()
}

// leave gives the memory back. It may be called by several goroutines.
func (p *packedPart) leave() {
	if p.lease != nil {
		p.lease.Close()
	}
}

// partBytes is a partWriter as an io.Writer.
type partBytes struct{ partWriter }

func (w partBytes) Write(p []byte) (int, error) {
	if err := w.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// packed returns a sink whose text is compressed and then written to s.
func (s *sink) packed(c compress.Format, p Parts) *sink {
	o := compress.Options{Format: c, Workers: p.Compressors, Memory: p.Memory, CreateTemp: p.CreateTemp}
	return &sink{file: s.file, pack: compress.NewQueue(o, packedSink{s})}
}

// packedSink is the sink of compressed bytes.
type packedSink struct{ *sink }

func (s packedSink) Offset() int64 { return s.offset }

func (s packedSink) Rewind(offset int64) error {
	_, err := s.rewind(offset) // only a file is rewound
	return err
}

// packError makes the error of what an abort has closed an ErrAborted.
func packError(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return ErrAborted
	}
	return err
}
