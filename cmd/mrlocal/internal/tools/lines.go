package tools

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/process"
	"mrlocal/errs"
	"mrlocal/input"
	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/machine"
	"mrlocal/output/compress"
)

const (
	lineBuffer     = 64 << 10  // bytes; of a file that is read line by line
	resultBuffer   = 256 << 10 // bytes; of the result
	linesPerLookup = 4096      // a merge checks its context once in so many lines
)

// lineSource reads a file, or standard input, for a tool that does not leave this to the engine. It
// decodes compressed files as the engine does. open comes first and close last. One goroutine uses it.
type lineSource struct {
	name    string   // "-" is standard input
	file    *os.File // nil: standard input
	regular *os.File // file or standard input, if this is a regular file; else nil
	at      int64    // the offset of regular when it was opened
	bytes   int64    // of regular from there to its end
	decode  codec.Decoders
	text    io.Reader     // the decoded text
	decoded int64         // bytes of text that were read
	r       *bufio.Reader // the records of CSV; only headedFiles sets it
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
		f, err := os.Open(l.name)
		if err != nil {
			return errs.Inputf(argv.Quote(l.name), "open failed: %w", bare(err))
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
		c.complain(fmt.Errorf("%s: trailing garbage behind the %s data is ignored", argv.Quote(l.name), of))
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
			err = errs.Inputf(argv.Quote(l.name), "%w", short)
		}
	case err != nil && err != io.EOF:
		err = l.explain(err)
	}
	return n, err
}

// leave sets the offset of standard input behind so many bytes of its text, where a process that
// shares it reads on (POSIX.1-2017, XCU 1.4). A negative number stands for all. Of a compressed file
// all counts as used. Another input stays as it is.
func (l *lineSource) leave(bytes int64) {
	if l.file != nil || l.regular == nil || l.bytes <= 0 {
		return
	}
	if bytes < 0 || bytes > l.bytes || l.decode.Codec() != codec.None {
		bytes = l.bytes
	}
	_, _ = l.regular.Seek(l.at+bytes, io.SeekStart) // the result is complete, whatever the offset
}

// explain returns err with the name of the file and, for a compressed file, its format and the place
// of the error. It asks the decoders, so it must be called before close.
func (l *lineSource) explain(err error) error {
	return errs.Inputf(argv.Quote(l.name), "read failed: %w", l.decode.Explain(err, l.decoded))
}

// close closes the decoders and the file, but not standard input. It must not be called twice.
func (l *lineSource) close() {
	l.decode.Close()
	if l.file != nil {
		l.file.Close() // nothing was written, so no error can be lost
	}
}

// result is the output of a tool that writes its result itself and not through the engine. It is
// standard output, or a file that gets its name at the end. Writes are buffered, and end completes it.
type result struct {
	*bufio.Writer
	pack *compress.Writer // compresses what the buffer passes on; nil: the result is not compressed
	file *os.File         // nil: standard output
	path string           // the name that file gets at the end; "": file is a device or pipe
}

// openResult opens the output that c.Options names. The caller must call end, also after an error of
// its own. It fails with an options error if the output cannot be opened.
func (c *Call) openResult() (*result, error) {
	path := c.Options.OutputFile
	if path == "" {
		r := &result{}
		return r, r.writeTo(c.Stdout, c.Options.CompressOutput)
	}
	// A new file has the permissions of the umask. A file that replaces another one has those of the
	// other one.
	mode := os.FileMode(0o666)
	// If path is a link, the file to which it points is replaced, and the link stays.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	r := &result{path: real}
	info, err := os.Stat(real)
	switch {
	case err == nil && info.IsDir():
		return nil, errs.Optionf("-o", "%s: is a directory", argv.Quote(path))
	// A device or pipe cannot be replaced. It is written directly.
	case err == nil && !info.Mode().IsRegular():
		r.path = ""
		r.file, err = os.OpenFile(real, os.O_WRONLY, 0)
	default:
		if err == nil {
			mode = info.Mode().Perm()
		}
		// The temporary file lies in the directory of the result, so that the rename stays in one file
		// system. Its name has a dot and the number of the process. O_EXCL fails if the name exists.
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

// writeTo sets up the buffer before w, with compression in between if format asks for it.
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

// end completes the result: it flushes the buffers, syncs the file, and gives it its name. If err, the
// error of the tool so far, is not nil, it removes the file instead. It returns err or its own error,
// but nil if the reader of the pipe of standard output has closed it.
func (r *result) end(err error) error {
	stdout := r.file != nil && process.IsStdout(r.file)
	if err == nil {
		err = r.Flush()
	}
	if err == nil && r.pack != nil {
		err = r.pack.Close()
	}
	if r.file != nil {
		if err == nil && r.path != "" {
			// Sync comes before the rename. After a crash the name belongs to the old file or to the
			// whole new one.
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
	// In mrlocal sort -m a b | head, for example, head closes the pipe early. This is success.
	if (r.file == nil || stdout) && errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
