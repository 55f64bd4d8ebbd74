package tools

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"mrlocal/input"
	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/machine"
	"mrlocal/output"
)

const (
	lineBuffer     = 64 << 10  // bytes; of a file that is read line by line
	resultBuffer   = 256 << 10 // bytes; of the result
	linesPerLookup = 4096      // a merge checks its context once in this many lines
)

// lineSource reads a file, or standard input, for a tool that does not leave this to the engine. It
// decodes compressed files as the engine does. open comes first and close last. One goroutine uses it.
type lineSource struct {
	name       string   // "-" is standard input
	file       *os.File // nil: standard input
	regular    *os.File // file or standard input, if this is a regular file; else nil
	at         int64    // the offset of regular when it was opened
	bytes      int64    // of regular from there to its end
	decode     codec.Decoders
	text       io.Reader     // the decoded text
	decoded    int64         // bytes of text that were read
	compressed bool          // the file, as open has found it; leave may read it after close
	r          *bufio.Reader // the records of CSV; only headedFiles sets it
}

// delimiter returns the byte that ends a line.
func (s *sorter) delimiter() byte {
	if s.order.ZeroEnded {
		return 0
	}
	return '\n'
}

// open opens the file, or takes the standard input of c. Its errors name the file. c.Options.NoDecode
// says whether to decode. If open fails, the file is closed.
func (l *lineSource) open(c *Call) error {
	// close leaves standard input open, because it belongs to the caller.
	var raw io.Reader = c.Stdin
	if l.name != "-" {
		f, err := disk.OpenInput(l.name)
		if err != nil {
			return errs.Inputf(errs.Quote(l.name), "open failed: %w", bare(err))
		}
		l.file, raw = f, f
	}
	if f, ok := raw.(*os.File); ok {
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() {
			l.at, _ = f.Seek(0, io.SeekCurrent) // a regular file has an offset, so this cannot fail
			l.regular, l.bytes = f, info.Size()-l.at
			// Other processes may share the offset of standard input, so only leave moves it. In
			// /proc the size is 0, and pread may not work.
			if l.file == nil && l.bytes > 0 {
				raw = io.NewSectionReader(f, l.at, math.MaxInt64-l.at)
			}
		}
	}
	// As in the engine, bytes after the end of the compressed data are only a warning.
	l.decode.Garbage = func(of codec.Codec) {
		c.complain(fmt.Errorf("%s: trailing garbage behind the %s data is ignored", errs.Quote(l.name), of))
	}
	// Outside of the engine no budget has the memory of a decoder.
	l.decode.Charge = func(bytes int64) (func(), error) {
		if bytes > cmp.Or(c.Options.MemoryBytes, machine.MemoryBytes()/4) {
			return nil, fmt.Errorf("a decoder's window of %d bytes does not fit in memory; raise --memory", bytes)
		}
		return func() {}, nil
	}
	var err error
	if l.text, err = l.decode.Open(raw, c.Options.NoDecode); err != nil {
		err = l.explain(err)
		l.close()
	}
	l.compressed = l.decode.Codec() != codec.None
	return err
}

// Read reads decoded text. Its errors name the file. A regular file that became shorter since open is
// an error at its end.
func (l *lineSource) Read(p []byte) (int, error) {
	n, err := l.text.Read(p)
	l.decoded += int64(n)
	switch {
	case err == io.EOF && l.regular != nil && l.decode.Ended():
		// io.EOF alone does not show whether the file became shorter.
		if short := input.Shorter(l.regular, l.decode.StoredBytes(), l.bytes); short != nil {
			err = errs.Inputf(errs.Quote(l.name), "%w", short)
		}
	case err != nil && err != io.EOF:
		err = l.explain(err)
	}
	return n, err
}

// leave sets the offset of standard input behind the given number of bytes of its text, where a process that
// shares it reads on (POSIX.1-2017, XCU 1.4). A negative number stands for all. Of a compressed file
// all counts as used. Another input stays as it is.
func (l *lineSource) leave(bytes int64) {
	if l.file != nil || l.regular == nil || l.bytes <= 0 {
		return
	}
	if bytes < 0 || bytes > l.bytes || l.compressed {
		bytes = l.bytes
	}
	_, _ = l.regular.Seek(l.at+bytes, io.SeekStart) // the result is complete, whatever the offset
}

// explain returns err with the name of the file and, for a compressed file, its format and the place
// of the error. It asks the decoders, so it must be called before close.
func (l *lineSource) explain(err error) error {
	return errs.Inputf(errs.Quote(l.name), "read failed: %w", l.decode.Explain(err, l.decoded))
}

// close closes the decoders and the file, but not standard input. It must not be called twice.
func (l *lineSource) close() {
	l.decode.Close()
	if l.file != nil {
		l.file.Close() // nothing was written, so no error can be lost
	}
}

// result is the output of a tool that writes its result itself and not through the engine. It is one part
// of a result of package output. Writes are buffered, and end completes it.
type result struct {
	*bufio.Writer
	pack   *output.Compressor // compresses what the buffer passes on; nil: the result is not compressed
	part   output.Part
	target *output.Target
}

// openResult opens the output that c.Options names. The caller must call end, also after an error of
// its own. It fails with an options error if the output cannot be opened.
func (c *Call) openResult() (*result, error) {
	o := &c.Options
	target, err := output.Open(output.Spec{File: o.OutputFile, Overwrite: true, Stdout: c.Stdout, PipeMayClose: true, Compress: output.None})
	if err == nil {
		err = target.Start()
	}
	if err != nil {
		return nil, err
	}
	target.Expect(output.Parts{Count: 1})
	part, err := target.Part(0, 0)
	if err != nil {
		return nil, errors.Join(err, target.Abort())
	}
	r := &result{part: part, target: target}
	var w io.Writer = part
	if o.CompressOutput != output.None {
		if r.pack, err = output.NewCompressor(o.CompressOutput, part); err != nil {
			return nil, errors.Join(err, target.Abort())
		}
		w = r.pack
	}
	r.Writer = bufio.NewWriterSize(w, resultBuffer)
	return r, nil
}

// end completes the result. If err, the error of the tool so far, is not nil, it removes the result
// instead. It returns err or its own error, but nil if the reader of a pipe has closed it.
func (r *result) end(err error) error {
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
	// In mrlocal sort -m a b | head, for example, head closes the pipe early. This is success.
	if errors.Is(err, output.ErrClosedPipe) {
		return nil
	}
	return err
}
