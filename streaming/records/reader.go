package records

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
	Delimiter []byte                  // of records; nil: LF, CR or CR LF
	MaxBytes  int64                   // a line of as many bytes, with its end, is skipped; 0: none is
	Charge    func(bytes int64) error // asks for memory beyond BufferBytes; nil: granted
}

// BufferBytes is the buffer with which a Reader begins.
const BufferBytes = 256 << 10

// Reader reads the lines of a split. One goroutine uses it.
type Reader struct {
	o        ReaderOptions
	file     *os.File
	decoders codec.Decoders
	src      io.Reader
	path     string

	buf      []byte // buf[at:] was read and not returned
	at       int
	ended    bool  // src has no more
	pos, end int64 // of buf[at]; where the split ends. Of a compressed file: in the text, without an end
}

// Open begins to read. The caller closes the Reader. Bytes of a compressed file are those
// of its text, and the whole text belongs to the split that begins the file.
func Open(s Split, o ReaderOptions) (*Reader, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	r := &Reader{o: o, file: f, src: f, path: s.Path, pos: s.Start, end: s.Start + s.Length, buf: make([]byte, 0, BufferBytes)}
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
		// The line at hand belongs to the split before.
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

// decode returns the text of a compressed file. Its suffix says how it is
// compressed, and its first bytes must agree.
func (r *Reader) decode(s Split) (io.Reader, error) {
	var head [codec.HeadBytes]byte
	n, err := r.file.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if s.Codec == ".deflate" {
		return zlib.NewReader(r.file)
	}
	want := map[string]codec.Codec{".gz": codec.Gzip, ".bz2": codec.Bzip2, ".zst": codec.Zstd, ".lz4": codec.LZ4}[s.Codec]
	if n > 0 && (want == codec.None || codec.Of(s.Path, head[:n]) != want) {
		return nil, fmt.Errorf("%s: is not what its suffix %s says, or is not decoded", s.Path, s.Codec)
	}
	return r.decoders.Open(r.file, false)
}

// Close closes the file. It may be called again.
func (r *Reader) Close() {
	if r.file != nil {
		r.decoders.Close()
		_ = r.file.Close()
		r.file = nil
	}
}

// Done returns how many bytes of the split have been read, for progress.
func (r *Reader) Done() int64 { return r.pos }

// Next returns the next line of the split without its end, and its place in the
// file. ok is false behind the last line. A byte order mark at the start of a file
// is left out.
func (r *Reader) Next() (line []byte, offset int64, ok bool, err error) {
	n := 0
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

// Chunk returns whole lines of the split at once, each ending with LF alone, and
// their number. It returns none where the next line needs the care of Next: the
// first of a file, those near the end of the split, and those with CR.
func (r *Reader) Chunk() (text []byte, lines int64, err error) {
	if r.pos == 0 || r.o.Delimiter != nil || r.o.MaxBytes > 0 || r.pos > r.end {
		return nil, 0, nil
	}
	if bytes.IndexByte(r.buf[r.at:], '\n') < 0 && !r.ended {
		if err := r.fill(); err != nil {
			return nil, 0, err
		}
	}
	text = r.buf[r.at:]
	// A line that begins at r.end still belongs to the split, and none behind it.
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

// line returns the next line of the file and how many bytes it takes with its end;
// 0 at the end of the file.
func (r *Reader) line() (line []byte, n int, err error) {
	scanned := 0 // bytes behind at that have no end of line
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
		// An end of several bytes may lie across two reads, so its length less one is searched
		// again. For LF and CR it is one byte.
		scanned = max(0, len(rest)-max(1, len(r.o.Delimiter)-1))
		if err := r.fill(); err != nil {
			return nil, 0, err
		}
	}
}

// findEnd finds the first end of a line in p, at from or later. It is not found if
// p may end within it.
func (r *Reader) findEnd(p []byte, from int) (end, skip int, ok bool) {
	if d := r.o.Delimiter; d != nil {
		n := bytes.Index(p[from:], d)
		return from + n, len(d), n >= 0
	}
	lf := bytes.IndexByte(p[from:], '\n')
	limit := len(p)
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

// fill reads more. It moves what is left to the start of the buffer, which grows if
// it is full.
func (r *Reader) fill() error {
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
	// A reader may return nothing a few times (io.Reader), but not for ever.
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
