package streaming

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// WireReader cuts the output of a command into records. It keeps nothing between calls of Read.
type WireReader struct {
	Format    Format
	Separator []byte // between the fields of a line, with TextLines
	KeyFields int    // number of fields that make the key, with TextLines; below 1 counts as 1
}

// Read calls emit with each whole record at the start of p. It returns the number of bytes
// that these records take. The caller passes the rest again, with more behind it. ended says
// that nothing follows p: the rest is then the last line, or with binary formats the error
// io.ErrUnexpectedEOF. Keys and values are parts of p.
func (r *WireReader) Read(p []byte, ended bool, emit func(key, value []byte)) (n int, err error) {
	switch r.Format {
	case TextLines, KeyLines:
		return r.lines(p, ended, emit), nil
	case RawBytes:
		n, err = records(p, rawLength, func(b []byte) []byte { return b[4:] }, emit)
	default:
		n, err = records(p, typedLength, func(b []byte) []byte { return b }, emit)
	}
	if err == nil && ended && n < len(p) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// lines is Read for TextLines and KeyLines. Lines end with LF, CR or CR LF.
func (r *WireReader) lines(p []byte, ended bool, emit func(key, value []byte)) int {
	at := 0
	// The usual output takes the fast path. The loop below reads its last line.
	if len(r.Separator) == 1 && r.KeyFields <= 1 && r.Format == TextLines && bytes.IndexByte(p, '\r') < 0 {
		at = plainLines(p, r.Separator[0], emit)
	}
	for at < len(p) {
		rest := p[at:]
		end, skip := lineEnd(rest)
		// A CR at the end of p may be the first half of CR LF, so it waits for more bytes.
		if !ended && (skip == 0 || end+1 == len(rest) && rest[end] == '\r') {
			return at
		}
		r.line(rest[:end], emit)
		at += end + skip
	}
	return at
}

// plainLines emits the lines of p that end with LF, and returns how many bytes they take.
//
// hot: once per line that a command writes.
func plainLines(p []byte, separator byte, emit func(key, value []byte)) (n int) {
	for rest := p; ; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return len(p) - len(rest)
		}
		key, value := rest[:end], rest[end:end]
		if cut := bytes.IndexByte(key, separator); cut >= 0 {
			key, value = key[:cut], key[cut+1:]
		}
		emit(key, value)
		rest = rest[end+1:]
	}
}

// line emits the record of a line, which lacks its end.
func (r *WireReader) line(line []byte, emit func(key, value []byte)) {
	if r.Format == KeyLines {
		emit(line, nil)
		return
	}
	key, value := cutFields(line, r.Separator, r.KeyFields)
	emit(key, value)
}

// cutFields divides a line at its n-th separator (TextOutputReader.splitKeyVal). n below 1 counts
// as 1. If the line has fewer separators, all of it is the key, and the value is empty.
func cutFields(line, separator []byte, n int) (key, value []byte) {
	at := bytes.Index(line, separator) // of the k-th separator
	for k := 1; k < n && at >= 0; k++ {
		next := bytes.Index(line[at+len(separator):], separator)
		if next < 0 {
			at = -1
			break
		}
		at += len(separator) + next
	}
	if at < 0 {
		return line, line[len(line):]
	}
	return line[:at], line[at+len(separator):]
}

// errShort says that a key or value goes on behind the bytes that are there.
var errShort = errors.New("a record is cut short")

// records is Read for the binary formats. length returns the length of the key or value at
// the start of its argument, with its head, or errShort. content returns the part of it that
// is stored.
func records(p []byte, length func([]byte) (int, error), content func([]byte) []byte, emit func(key, value []byte)) (int, error) {
	at := 0
	for at < len(p) {
		k, err := length(p[at:])
		if err == nil {
			var v int
			if v, err = length(p[at+k:]); err == nil {
				emit(content(p[at:at+k]), content(p[at+k:at+k+v]))
				at += k + v
				continue
			}
		}
		if errors.Is(err, errShort) {
			return at, nil
		}
		return at, err
	}
	return at, nil
}

// rawLength is the length function of RawBytes: 4 bytes for the length, and then that many bytes.
func rawLength(p []byte) (int, error) {
	if len(p) < 4 {
		return 0, errShort
	}
	n := int64(int32(binary.BigEndian.Uint32(p)))
	if n < 0 {
		return 0, errors.New("a negative length in raw bytes")
	}
	if int64(len(p)) < 4+n {
		return 0, errShort
	}
	return int(4 + n), nil
}
