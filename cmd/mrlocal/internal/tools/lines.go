package tools

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/errs"
	"mrlocal/input"
	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/output/compress"
)

const (
	lineBuffer     = 64 << 10 // bytes, of a file that is read line by line
	resultBuffer   = 256 << 10
	linesPerLookup = 4096 // between two looks at the context
)

// lineSource is a file that a tool reads itself.
type lineSource struct {
	name    string
	file    *os.File // nil: standard input
	regular *os.File // the file or standard input, if it is a regular file
	bytes   int64    // of regular from its offset on, when it was opened
	decode  codec.Decoders
	text    io.Reader     // what the file holds, decoded
	decoded int64         // bytes of text that were read
	r       *bufio.Reader // of the records of CSV
}

// delimiter is the byte that ends a line.
func (s *sorter) delimiter() byte {
	if s.order.ZeroEnded {
		return 0
	}
	return '\n'
}

// open opens the file of that name for a call.
func (l *lineSource) open(c *Call) error {
	// Standard input belongs to the caller and stays open.
	var raw io.Reader = c.Stdin
	if l.name != "-" {
		f, err := os.Open(l.name)
		if err != nil {
			return errs.Inputf(argv.Quote(l.name), "open failed: %w", bare(err))
		}
		l.file, raw = f, f
	}
	if f, ok := raw.(*os.File); ok {
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() {
			offset, _ := f.Seek(0, io.SeekCurrent) // a regular file has one
			l.regular, l.bytes = f, info.Size()-offset
		}
	}
	// Compressed files are decoded as the engine decodes them, so that -c and -m see the same
	// lines as a sort.
	l.decode.Garbage = func(of codec.Codec) {
		c.complain(fmt.Errorf("%s: trailing garbage behind the %s data is ignored", argv.Quote(l.name), of))
	}
	var err error
	if l.text, err = l.decode.Open(raw, c.Options.NoDecode); err != nil {
		err = l.explain(err)
		l.close()
	}
	return err
}

// Read implements io.Reader. Its errors name the file.
func (l *lineSource) Read(p []byte) (int, error) {
	n, err := l.text.Read(p)
	l.decoded += int64(n)
	switch {
	case err == io.EOF && l.regular != nil && l.decode.Ended():
		// A file that shrinks ends as a whole one does.
		if short := input.Shorter(l.regular, l.decode.StoredBytes(), l.bytes); short != nil {
			err = errs.Inputf(argv.Quote(l.name), "%w", short)
		}
	case err != nil && err != io.EOF:
		err = l.explain(err)
	}
	return n, err
}

// explain says what is wrong with the file. It needs the decoder, so it comes before close.
func (l *lineSource) explain(err error) error {
	return errs.Inputf(argv.Quote(l.name), "read failed: %w", l.decode.Explain(err, l.decoded))
}

// close closes the decoder and the file. It is not called twice.
func (l *lineSource) close() {
	l.decode.Close()
	if l.file != nil {
		l.file.Close() // nothing was written
	}
}

// result is where a tool writes what the engine does not write itself: standard output,
// or a file that gets its name at the end.
type result struct {
	*bufio.Writer
	pack *compress.Writer // below the buffer; nil: the lines are written as they are
	file *os.File         // nil: standard output
	path string           // of the file at the end; "": file is a device or pipe
}

// openResult opens the output. The caller calls end.
func (c *Call) openResult() (*result, error) {
	path := c.Options.OutputFile
	if path == "" {
		r := &result{}
		return r, r.writeTo(c.Stdout, c.Options.CompressOutput)
	}
	// The file keeps the permissions of the one that it replaces. A new one gets those of the
	// umask.
	mode := os.FileMode(0o666)
	// The output follows a link: the file behind it is replaced, not the link.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	r := &result{path: real}
	info, err := os.Stat(real)
	switch {
	case err == nil && info.IsDir():
		return nil, errs.Optionf("-o", "%s: is a directory", argv.Quote(path))
	// A device or pipe cannot be replaced. It is written in place, and nothing is removed after
	// an error.
	case err == nil && !info.Mode().IsRegular():
		r.path = ""
		r.file, err = os.OpenFile(real, os.O_WRONLY, 0)
	default:
		if err == nil {
			mode = info.Mode().Perm()
		}
		// The new file lies beside the old one, so that the rename stays in one file system. The
		// name begins with a dot and has the number of the process; an existing file of that
		// name is an error.
		name := filepath.Join(filepath.Dir(real), fmt.Sprintf(".%s-%d", filepath.Base(real), os.Getpid()))
		r.file, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	}
	if err != nil {
		return nil, errs.Optionf("-o", "open failed: %s: %w", argv.Quote(path), bare(err))
	}
	if err := r.writeTo(r.file, c.Options.CompressOutput); err != nil {
		return nil, r.end(err)
	}
	return r, nil
}

// writeTo makes the lines go to w, compressed as format says.
func (r *result) writeTo(w io.Writer, format compress.Format) (err error) {
	disk.GrowPipe(w)
	if format != compress.None {
		if r.pack, err = compress.NewWriter(format, w); err != nil {
			return err
		}
		w = r.pack
	}
	r.Writer = bufio.NewWriterSize(w, resultBuffer)
	return nil
}

// writeLine writes a line and its delimiter. It buffers both; end reports what fails later.
func (r *result) writeLine(line []byte, delim byte) error {
	if _, err := r.Write(line); err != nil {
		return err
	}
	return r.WriteByte(delim)
}

// end completes the result, or removes it if err is not nil. It returns err, or what
// went wrong in the end. A reader that has gone is no error.
func (r *result) end(err error) error {
	if err == nil {
		err = r.Flush()
	}
	if err == nil && r.pack != nil {
		err = r.pack.Close()
	}
	if r.file != nil {
		if err == nil && r.path != "" {
			// The file is durable before it gets its name. A crash leaves the old file or the
			// new one, never a part.
			err = r.file.Sync()
		}
		err = errors.Join(err, r.file.Close())
		if r.path != "" && err == nil {
			err = os.Rename(r.file.Name(), r.path)
		}
		if r.path != "" && err != nil {
			_ = os.Remove(r.file.Name())
		}
	}
	// As in: mrlocal sort -m a b | head.
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
