package streaming

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"os"

	"mrlocal/input/codec"
)

// ReaderOptions say how a split is read.
type ReaderOptions struct {
	Delimiter []byte // ends a record; nil: LF, CR or CR LF
	// MaxBytes is the length from which on a line is skipped, its end included; 0: no line is.
	MaxBytes int64
	Charge   func(bytes int64) error // asks for bytes of memory beyond BufferBytes; nil: all are granted
}

// BufferBytes is the length of a Reader's buffer at first.
const RecordBufferBytes = 256 << 10

// Reader reads the lines of a split. One goroutine uses it.
type RecordReader struct {
	o        ReaderOptions
	file     *os.File // nil: closed
	decoders codec.Decoders
	src      io.Reader // the text of file, decoded
	path     string

	buf   []byte // buf[at:] was read and not returned
	at    int
	ended bool  // src has no more
	pos   int64 // place of buf[at], in the file or in the text of a compressed file
	end   int64 // place at which the split ends; without limit in a compressed file
}

// Open opens a split. The caller closes the Reader. The first split of a compressed file
// has its whole text, and later splits have no lines. It fails if the file cannot be read,
// or if its first bytes do not fit its suffix.
func Open(s FileSplit, o ReaderOptions) (*RecordReader, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	r := &RecordReader{o: o, file: f, src: f, path: s.Path, pos: s.Start, end: s.Start + s.Length, buf: make([]byte, 0, RecordBufferBytes)}
	switch {
	case s.Codec != "" && s.Start > 0: // a later split of a bzip2 file
		r.ended, r.end = true, -1
	case s.Codec != "":
		r.end = 1<<63 - 1
		r.src, err = r.decode(s)
	case s.Start > 0:
		_, err = f.Seek(s.Start, io.SeekStart)
	}
	if err == nil && s.Start > 0 && s.Codec == "" {
		// The first line, or the rest of one, belongs to the split before.
		var n int
		if _, n, err = r.line(); err == nil {
			r.pos = s.Start + int64(n)
		}
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// decode returns a reader of the text of a compressed file. It fails if the first bytes of
// the file do not fit its suffix.
func (r *RecordReader) decode(s FileSplit) (io.Reader, error) {
	var head [codec.HeadBytes]byte
	n, err := r.file.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if s.Codec == ".deflate" {
		return zlib.NewReader(r.file)
	}
	want := map[string]codec.Codec{".gz": codec.Gzip, ".bz2": codec.Bzip2, ".zst": codec.Zstd, ".lz4": codec.LZ4}[s.Codec]
	if n > 0 && (want == codec.None || codec.Of(head[:n]) != want) {
		return nil, fmt.Errorf("%s: is not what its suffix %s says, or is not decoded", s.Path, s.Codec)
	}
	return r.decoders.Open(r.file, false)
}

// Close closes the file. A second call does nothing.
func (r *RecordReader) Close() {
	if r.file != nil {
		r.decoders.Close()
		_ = r.file.Close()
		r.file = nil
	}
}

// Done returns the place of the next byte, in the file or in the text of a compressed file.
func (r *RecordReader) Done() int64 { return r.pos }

// Next returns the next line of the split without its end, and the place of its first byte
// (see Done). The line is borrowed until the next call. ok is false behind the last line.
// Next leaves out a byte order mark at the start of a file.
func (r *RecordReader) Next() (line []byte, offset int64, ok bool, err error) {
	n := 0 // bytes of the line, with its end
	for again := true; again; again = r.o.MaxBytes > 0 && int64(n) >= r.o.MaxBytes {
		if r.pos > r.end {
			return nil, 0, false, nil
		}
		offset = r.pos
		line, n, err = r.line()
		if err != nil || n == 0 {
			return nil, offset, false, err
		}
		r.pos += int64(n)
	}
	if offset == 0 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		if n == 3 && len(line) == 0 { // nothing but the mark
			return nil, 0, false, nil
		}
	}
	return line, offset, true, nil
}

// Chunk returns several whole lines of the split, each ending with LF, and their number.
// They are borrowed until the next call. It returns no line if only Next can read the next
// one. Such lines are the first of a file, those at the end of the split, and those with a CR.
func (r *RecordReader) Chunk() (text []byte, lines int64, err error) {
	if r.pos == 0 || r.o.Delimiter != nil || r.o.MaxBytes > 0 || r.pos > r.end {
		return nil, 0, nil
	}
	if bytes.IndexByte(r.buf[r.at:], '\n') < 0 && !r.ended {
		if err := r.fill(); err != nil {
			return nil, 0, err
		}
	}
	text = r.buf[r.at:]
	// Lines that end behind r.end are left to Next, which knows whether they belong to the split.
	if left := r.end - r.pos; int64(len(text)) > left {
		text = text[:left]
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	if cr := bytes.IndexByte(text, '\r'); cr >= 0 {
		text = text[:bytes.LastIndexByte(text[:cr], '\n')+1]
	}
	r.at += len(text)
	r.pos += int64(len(text))
	return text, int64(bytes.Count(text, []byte{'\n'})), nil
}

// line returns the next line of the file, and its length n with its end. n is 0 at the end
// of the file. It ignores the limits of the split, and the caller moves r.pos.
func (r *RecordReader) line() (line []byte, n int, err error) {
	scanned := 0 // bytes of buf[at:] in which no line ends
	for {
		rest := r.buf[r.at:]
		if end, skip, ok := r.findEnd(rest, scanned); ok {
			r.at += end + skip
			return rest[:end], end + skip, nil
		}
		if r.ended {
			r.at = len(r.buf)
			return rest, len(rest), nil
		}
		// A delimiter of several bytes may lie across two reads, so its length less one is searched
		// again. For CR LF that is one byte.
		scanned = max(0, len(rest)-max(1, len(r.o.Delimiter)-1))
		if err := r.fill(); err != nil {
			return nil, 0, err
		}
	}
}

// findEnd finds the end of the first line in p, searching from index from on. The line is
// p[:end], and its end has skip bytes. ok is false if p has no end of a line, or if p may
// stop within one.
func (r *RecordReader) findEnd(p []byte, from int) (end, skip int, ok bool) {
	if d := r.o.Delimiter; d != nil {
		n := bytes.Index(p[from:], d)
		return from + n, len(d), n >= 0
	}
	lf := bytes.IndexByte(p[from:], '\n')
	limit := len(p) // a CR behind the first LF does not matter
	if lf >= 0 {
		lf += from
		limit = lf
	}
	cr := bytes.IndexByte(p[from:limit], '\r')
	switch {
	case cr < 0:
		return lf, 1, lf >= 0
	case from+cr == len(p)-1 && !r.ended: // LF may follow
		return 0, 0, false
	case from+cr == lf-1:
		return lf - 1, 2, true
	}
	return from + cr, 1, true
}

// fill reads more of the file into the buffer. It moves buf[at:] to the start of the
// buffer, and doubles a full buffer. At the end of the file it sets r.ended.
func (r *RecordReader) fill() error {
	r.buf = r.buf[:copy(r.buf, r.buf[r.at:])]
	r.at = 0
	if len(r.buf) == cap(r.buf) {
		if r.o.Charge != nil {
			if err := r.o.Charge(int64(cap(r.buf))); err != nil {
				return fmt.Errorf("%s: the record at byte %d is longer than %d bytes: %w", r.path, r.pos, cap(r.buf), err)
			}
		}
		r.buf = append(make([]byte, 0, 2*cap(r.buf)), r.buf...)
	}
	// A Read may return nothing without an error (io.Reader), but not for ever.
	for range 100 {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		switch {
		case err == io.EOF:
			r.ended = true
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", r.path, r.decoders.Explain(err, r.pos))
		case n > 0:
			return nil
		}
	}
	return errors.New(r.path + ": " + io.ErrNoProgress.Error())
}
