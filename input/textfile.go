package input

import (
	"fmt"
	"io"
	"math"
	"os"

	"mrlocal/input/codec"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

// TextFile reads the decoded text of one file, or of standard input, for programs that have no Plan. Only
// one goroutine may use it.
type TextFile struct {
	path       string   // "-" is standard input
	file       *os.File // nil: standard input
	regular    *os.File // file or standard input, if this is a regular file; else nil
	at         int64    // the offset of regular when it was opened
	bytes      int64    // of regular from there to its end
	decode     codec.Decoders
	text       io.Reader // the decoded text
	decoded    int64     // bytes of text that were read
	compressed bool      // Leave may be called after Close
}

// TextOptions are the options of OpenTextFile.
type TextOptions struct {
	Stdin       io.Reader
	NoDecode    bool        // take the bytes of compressed files as they are
	WindowBytes int64       // the most memory that a decoder may take
	Warn        func(error) // is called if bytes follow the compressed data
}

// OpenTextFile opens the file at path, or takes the standard input of o for "-". Its errors name the file.
func OpenTextFile(path string, o TextOptions) (*TextFile, error) {
	l := &TextFile{path: path}
	// Close leaves standard input open, because it belongs to the caller.
	var raw io.Reader = o.Stdin
	if path != "-" {
		f, err := disk.OpenInput(path)
		if err != nil {
			return nil, errs.Inputf(errs.Quote(path), "open failed: %w", errs.Cause(err))
		}
		l.file, raw = f, f
	}
	if f, ok := raw.(*os.File); ok {
		info, err := f.Stat()
		if err == nil && info.Mode().IsRegular() {
			l.at, _ = f.Seek(0, io.SeekCurrent) // a regular file has an offset, so this cannot fail
			l.regular, l.bytes = f, info.Size()-l.at
			// Other processes may share the offset of standard input, so only Leave moves it. In
			// /proc the size is 0, and pread may not work.
			if l.file == nil && l.bytes > 0 {
				raw = io.NewSectionReader(f, l.at, math.MaxInt64-l.at)
			}
		}
	}
	// As in a run, bytes after the end of the compressed data are only a warning.
	l.decode.Garbage = func(of codec.Codec) {
		o.Warn(fmt.Errorf("%s: trailing garbage behind the %s data is ignored", errs.Quote(path), of))
	}
	l.decode.Charge = func(bytes int64) (func(), error) {
		if bytes > o.WindowBytes {
			return nil, errs.Errorf("a decoder's window of %d bytes does not fit in memory; raise %s", bytes, errs.Field("Options.MemoryBytes"))
		}
		return func() {}, nil
	}
	var err error
	if l.text, err = l.decode.Open(raw, o.NoDecode); err != nil {
		err = l.explain(err)
		l.Close()
		return nil, err
	}
	l.compressed = l.decode.Codec() != codec.None
	return l, nil
}

// Regular reports whether the text is that of a regular file, and not of standard input.
func (l *TextFile) Regular() bool { return l.file != nil && l.regular != nil }

// Read reads decoded text. Its errors name the file. A regular file that became shorter since it was opened
// is an error at its end.
func (l *TextFile) Read(p []byte) (int, error) {
	n, err := l.text.Read(p)
	l.decoded += int64(n)
	switch {
	case err == io.EOF && l.regular != nil && l.decode.Ended():
		// io.EOF alone does not show whether the file became shorter.
		if short := Shorter(l.regular, l.decode.StoredBytes(), l.bytes); short != nil {
			err = errs.Inputf(errs.Quote(l.path), "%w", short)
		}
	case err != nil && err != io.EOF:
		err = l.explain(err)
	}
	return n, err
}

// Leave sets the offset of standard input behind this number of bytes of its text, where a process that
// shares it reads on (POSIX.1-2017, XCU 1.4). A negative number stands for all. Of a compressed file
// all counts as used. Another input stays as it is.
func (l *TextFile) Leave(bytes int64) {
	if l.file != nil || l.regular == nil || l.bytes <= 0 {
		return
	}
	if bytes < 0 || bytes > l.bytes || l.compressed {
		bytes = l.bytes
	}
	_, _ = l.regular.Seek(l.at+bytes, io.SeekStart) // the result is complete, whatever the offset
}

// explain returns err with the name of the file and, for a compressed file, its format and the place
// of the error. It asks the decoders, so it must be called before Close.
func (l *TextFile) explain(err error) error {
	return errs.Inputf(errs.Quote(l.path), "read failed: %w", l.decode.Explain(err, l.decoded))
}

// Close closes the decoders and the file, but not standard input. It must not be called twice.
func (l *TextFile) Close() {
	l.decode.Close()
	if l.file != nil {
		l.file.Close() // nothing was written, so no error can be lost
	}
}
