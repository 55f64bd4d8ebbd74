package streaming

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"os"

	"mrlocal/input"
	"mrlocal/input/codec"
	"mrlocal/internal/errs"
	"mrlocal/internal/scan"
)

// ReaderOptions say how a split is read.
type ReaderOptions struct {
	Delimiter []byte // ends a record; nil: LF, CR or CR LF
	// MaxBytes is the length from which on a line is skipped, its end included; 0: no line is.
	MaxBytes int64
	Charge   func(bytes int64) error // asks for bytes of memory beyond 2*RecordBufferBytes; nil: all are granted
}

// RecordBufferBytes is the length of a RecordReader's blocks at first.
const RecordBufferBytes = 256 << 10

// RecordReader reads the lines of a split. Only one goroutine may use it.
type RecordReader struct {
	o        ReaderOptions
	file     *os.File // nil: closed
	decoders codec.Decoders
	path     string

	cut     input.Cutter // of the text of file, decoded
	block   []byte       // whole lines; block[at:] was not returned
	at      int
	garbage error // behind the compressed data; nil: there is none
	err     error // why no block follows; nil: one may; io.EOF: the text has ended
	full    error // err, if a record does not fit in memory, or as garbage
	pos     int64 // place of block[at], in the file or in the text of a compressed file
	end     int64 // place at which the split ends; without limit in a compressed file
}

// Open opens a split. The caller closes the Reader. The first split of a compressed file
// has its whole text, and later splits have no lines. It fails if the file cannot be read,
// or if its first bytes do not fit its suffix.
func Open(s FileSplit, o ReaderOptions) (*RecordReader, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	r := &RecordReader{o: o, file: f, path: s.Path, pos: s.Start, end: s.Start + s.Length}
	r.cut = input.Cutter{R: f, LastEnd: r.lastEnd, Bytes: RecordBufferBytes, Grow: r.grow}
	switch {
	case s.Codec != "" && s.Start > 0: // a later split of a bzip2 file
		r.err, r.end = io.EOF, -1
	case s.Codec != "":
		r.end = 1<<63 - 1
		r.cut.R, err = r.decode(s)
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
		return newZlibStreams(r.file)
	}
	want := map[string]codec.Codec{".gz": codec.Gzip, ".bz2": codec.Bzip2, ".zst": codec.Zstd, ".lz4": codec.LZ4}[s.Codec]
	if (n > 0 || want == codec.Gzip) && (want == codec.None || codec.Of(head[:n]) != want) {
		return nil, fmt.Errorf("%s: is not what its suffix %s says, or is not decoded", s.Path, s.Codec)
	}
	r.decoders.Garbage = func(c codec.Codec) {
		if c == codec.Gzip { // Hadoop ignores what follows the data of bzip2
			r.garbage = fmt.Errorf("%s: other bytes follow the gzip data", r.path)
		}
	}
	return r.decoders.Open(r.file, false)
}

// zlibStreams reads the text of several streams of zlib, one after the other.
type zlibStreams struct {
	from *bufio.Reader // which the decoder does not read beyond its stream
	io.ReadCloser
}

func newZlibStreams(file io.Reader) (*zlibStreams, error) {
	from := bufio.NewReader(file)
	first, err := zlib.NewReader(from)
	return &zlibStreams{from, first}, err
}

// Read implements io.Reader.
func (z *zlibStreams) Read(p []byte) (n int, err error) {
	if n, err = z.ReadCloser.Read(p); err != io.EOF {
		return n, err
	}
	if _, err = z.from.Peek(1); err == nil {
		err = z.ReadCloser.(zlib.Resetter).Reset(z.from, nil)
	}
	return n, err
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
		line = bytes.TrimPrefix(line, []byte(scan.ByteOrderMark))
		if n == len(scan.ByteOrderMark) && len(line) == 0 { // nothing but the mark
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
	if err := r.fill(); err != nil {
		return nil, 0, err
	}
	text = r.block[r.at:]
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
	if err := r.fill(); err != nil {
		return nil, 0, err
	}
	rest := r.block[r.at:]
	end, skip := r.findEnd(rest)
	r.at += end + skip
	return rest[:end], end + skip, nil
}

// fill reads the next block if all lines of this one were returned, unless the text has ended.
func (r *RecordReader) fill() error {
	if r.at == len(r.block) && r.err == nil {
		r.block, r.err = r.cut.Next(r.block)
		if r.at = 0; r.err == io.EOF && r.garbage != nil {
			r.err, r.full = r.garbage, r.garbage
		}
	}
	switch {
	case r.at < len(r.block) || r.err == io.EOF:
		return nil
	case r.full != nil:
		return r.full
	}
	return fmt.Errorf("%s: %w", r.path, errs.Cause(r.decoders.Explain(r.err, r.pos)))
}

// findEnd finds the end of the first line in p. The line is p[:end], and its end has skip bytes. Only
// the last line of the text has no end.
func (r *RecordReader) findEnd(p []byte) (end, skip int) {
	if r.o.Delimiter == nil {
		return lineEnd(p)
	}
	if n := bytes.Index(p, r.o.Delimiter); n >= 0 {
		return n, len(r.o.Delimiter)
	}
	return len(p), 0
}

// lineEnd finds the end of the first line in p: LF, CR or CR LF. The line is p[:end], and its end has
// skip bytes; 0: it has no end.
func lineEnd(p []byte) (end, skip int) {
	line := p
	if lf := bytes.IndexByte(p, '\n'); lf >= 0 { // a CR behind the first LF does not matter
		line, skip = p[:lf], 1
	}
	cr := bytes.IndexByte(line, '\r')
	switch {
	case cr < 0:
		return len(line), skip
	case cr == len(line)-1:
		return cr, 1 + skip
	}
	return cr, 1
}

// lastEnd returns the index in p behind the last whole line; 0: there is none.
func (r *RecordReader) lastEnd(p []byte) int {
	if d := r.o.Delimiter; d != nil {
		// A search from the end could find a delimiter that overlaps with the one before it.
		for at := 0; ; {
			n := bytes.Index(p[at:], d)
			if n < 0 {
				return at
			}
			at += n + len(d)
		}
	}
	// LF may follow a CR at the end.
	p = bytes.TrimSuffix(p, []byte{'\r'})
	lf := bytes.LastIndexByte(p, '\n') + 1
	return lf + bytes.LastIndexByte(p[lf:], '\r') + 1
}

// grow charges the memory of a longer block, and of the text that is read behind it.
func (r *RecordReader) grow(bytes int) error {
	if r.o.Charge == nil {
		return nil
	}
	if err := r.o.Charge(2 * int64(bytes)); err != nil {
		r.full = fmt.Errorf("%s: the record at byte %d is longer than %d bytes: %w", r.path, r.pos, bytes, err)
	}
	return r.full
}

// XML reads records between two marks (StreamXmlRecordReader). A record includes both
// marks. It belongs to the split in which it begins. One goroutine uses it.
type XML struct {
	begin, end string // the marks
	file       *os.File
	in         *bufio.Reader
	pos        int64                   // place in the file of the next byte
	limit      int64                   // place at which the split ends
	record     []byte                  // reused by Next
	charge     func(bytes int64) error // see ReaderOptions
}

// OpenXML opens a split for reading, from its start on. begin and end are the marks around
// a record, and must not be empty. The caller closes the XML. Only o.Charge is used.
func OpenXML(s FileSplit, begin, end string, o ReaderOptions) (*XML, error) {
	if begin == "" || end == "" {
		return nil, errors.New("StreamXmlRecordReader needs begin and end")
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	x := &XML{begin: begin, end: end, file: f, pos: s.Start, limit: s.Start + s.Length, in: bufio.NewReaderSize(f, RecordBufferBytes), charge: o.Charge}
	if _, err := f.Seek(s.Start, io.SeekStart); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Close closes the file.
func (x *XML) Close() { _ = x.file.Close() }

// Done returns the place in the file of the next byte.
func (x *XML) Done() int64 { return x.pos }

// Next returns the next record, borrowed until the next call. ok is false behind the last
// one. Next leaves out a record without its end mark, as Hadoop does.
func (x *XML) Next() (record []byte, ok bool, err error) {
	x.record = x.record[:0]
	// Text before the mark is skipped. x.pos is then behind the mark.
	if found, err := x.until(x.begin, false); err != nil || !found || x.pos-int64(len(x.begin)) >= x.limit {
		return nil, false, err
	}
	x.record = append(x.record, x.begin...)
	found, err := x.until(x.end, true)
	if err != nil || !found {
		return nil, false, err
	}
	return x.record, true, nil
}

// until reads up to the end of the next mark. It returns false at the end of the file. keep
// says that what it reads is appended to the record. After a byte that does not match, the
// search goes on behind that byte, as in Hadoop: it finds no "<a>" in "<<a>".
func (x *XML) until(mark string, keep bool) (bool, error) {
	m := 0 // bytes of mark that match so far
	for {
		c, err := x.in.ReadByte()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		x.pos++
		if keep {
			if len(x.record) == cap(x.record) && cap(x.record) >= RecordBufferBytes && x.charge != nil {
				if err := x.charge(int64(cap(x.record))); err != nil {
					return false, err
				}
			}
			x.record = append(x.record, c)
		}
		if c != mark[m] {
			m = 0
			continue
		}
		if m++; m == len(mark) {
			return true, nil
		}
	}
}
