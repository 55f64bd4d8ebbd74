package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// errChanged is the cause when a file is not what it was when the run began.
var errChanged = errors.New("changed while it was being read")

// ErrChanged is what errors.Is finds when an input was replaced, truncated or
// written to during the run.
var ErrChanged = errChanged

// handle is an open file. Standard input, where it is a regular file, is
// shared by all who read it, so that only pread may be used.
type handle struct {
	*os.File
	shared bool
}

func (h *handle) Close() error {
	if h.shared {
		return nil
	}
	return h.File.Close()
}

// fromStart reads the file from its start.
func (h *handle) fromStart() io.Reader {
	if h.shared {
		return io.NewSectionReader(h.File, 0, math.MaxInt64)
	}
	return h.File
}

func (p *Plan) open(f *File) (*handle, error) {
	if f.kind == regularStdin {
		return &handle{p.o.Stdin.(*os.File), true}, nil
	}
	h, err := openRegular(f.Path)
	return &handle{h, false}, err
}

// openPlanned opens a regular file and makes sure that it is the planned one.
func (p *Plan) openPlanned(file int32) (*handle, error) {
	f := &p.Files[file]
	h, err := p.open(f)
	if err != nil {
		return nil, err
	}
	if err := f.unchanged(h); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// unchanged compares h with what was planned. A file that was empty may be
// one of /proc, whose number and time mean nothing.
func (f *File) unchanged(h *handle) error {
	fi, err := h.Stat()
	if err != nil {
		return err
	}
	id := identityOf(fi)
	switch {
	case fi.Size() != f.Bytes:
		return fmt.Errorf("%s: %w: it had %d bytes and has %d", shown(f.Path), errChanged, f.Bytes, fi.Size())
	case f.Bytes == 0:
		return nil
	case id != f.id:
		return fmt.Errorf("%s: %w", shown(f.Path), errChanged)
	}
	return nil
}

// Verdicts on a file, for SkipBinary.
const (
	verdictText uint32 = iota + 1
	verdictBinary
)

// binaryHeadBytes is how far a NUL byte makes a file binary.
const binaryHeadBytes = 64 << 10

// isBinary looks at the start of a file once for all its splits. buf is
// scratch.
func (p *Plan) isBinary(file int32, h io.ReaderAt, buf []byte) (bool, error) {
	if v := p.binary[file].Load(); v != 0 {
		return v == verdictBinary, nil
	}
	buf = buf[:min(len(buf), binaryHeadBytes)]
	n, err := h.ReadAt(buf, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	return p.judge(file, buf[:n]), nil
}

// judge decides by the first bytes of a file, and remembers.
func (p *Plan) judge(file int32, head []byte) bool {
	binary := bytes.IndexByte(head[:min(len(head), binaryHeadBytes)], 0) >= 0
	v := verdictText
	if binary {
		v = verdictBinary
	}
	p.binary[file].Store(v)
	return binary
}
