package output

import (
	"bufio"
	"errors"
	"io"
)

// Single is a result that a program writes itself, and not a run. Writes are buffered.
type Single struct {
	*bufio.Writer
	pack   *Compressor // compresses what the buffer passes on; nil: the result is not compressed
	part   Part
	target *Target
}

// singleBuffer is the number of bytes of a Write of a Single.
const singleBuffer = 256 << 10

// OpenSingle opens the file or the stream of spec. The caller must call End, also after an error of its
// own.
func OpenSingle(spec Spec) (*Single, error) {
	format, err := spec.Compress.Of(spec.File)
	if err != nil {
		return nil, err
	}
	spec.Compress = None // a Target compresses in memory of a run
	target, err := Open(spec)
	if err == nil {
		err = target.Start()
	}
	if err != nil {
		return nil, err
	}
	target.Expect(Parts{Count: 1})
	part, err := target.Part(0, 0)
	if err != nil {
		return nil, errors.Join(err, target.Abort())
	}
	r := &Single{part: part, target: target}
	var w io.Writer = part
	if format != None {
		if r.pack, err = NewCompressor(format, part); err != nil {
			return nil, errors.Join(err, target.Abort())
		}
		w = r.pack
	}
	r.Writer = bufio.NewWriterSize(w, singleBuffer)
	return r, nil
}

// End completes the result. If err, the error of the program so far, is not nil, it removes the result
// instead. It returns err or its own error. It returns nil if the reader of a pipe has closed it
// (Spec.PipeMayClose), which is success.
func (r *Single) End(err error) error {
	if err == nil {
		err = r.Flush()
	}
	if err == nil && r.pack != nil {
		err = r.pack.Close()
	}
	if err == nil {
		err = r.part.Commit()
	}
	if err == nil {
		err = r.target.Commit()
	} else {
		err = errors.Join(err, r.target.Abort())
	}
	if errors.Is(err, ErrClosedPipe) {
		return nil
	}
	return err
}
