package streaming

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/bits"
	"strconv"
	"strings"
)

// This file has the protocol between a streaming job and its commands. It writes
// records for the standard input of a command, and cuts the standard output of a command
// into records. There are four formats: text, keyonlytext, rawbytes and typedbytes
// (Hadoop's IdentifierResolver).
//
// Keys and values have kinds, which stand for Hadoop's classes of Writable. The engine
// stores each kind as bytes. Stored keys compare, byte by byte, as Hadoop compares them:
//
//	Text    the bytes                     Text
//	Long    8 bytes, highest first        LongWritable; the sign bit is flipped
//	Bytes   the bytes                     BytesWritable
//	Typed   type code and content         TypedBytesWritable
//	Null    nothing                       NullWritable
//
// The package is pure. It borrows its arguments until the call returns. Bytes that it
// appends belong to the caller. Package streaming moves the bytes, and package streaming
// makes the jobs.

// Kind is the kind of a key or value.
type Kind uint8

// The kinds, and how each is stored, are in the package comment.
const (
	Text Kind = iota
	Long
	Bytes
	Typed
	Null
)

// AppendLong appends the stored form of n, a key of kind Long. The flipped sign bit puts
// negative numbers first.
func AppendLong(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n)^1<<63)
}

// toLong returns the number whose stored form is stored.
func toLong(stored []byte) int64 { return int64(binary.BigEndian.Uint64(stored) ^ 1<<63) }

// Partition returns the reduce of a stored key, from 0 to parts-1, as HashPartitioner does
// for keys of kind k.
func (k Kind) Partition(key []byte, parts int) int {
	// LongWritable has a hash of its own. The other classes hash their bytes.
	if k == Long {
		return reduceOf(hashLong(toLong(key)), parts)
	}
	return reduceOf(hashBytes(1, key), parts)
}

// AppendString appends a stored key or value as text, as toString of Hadoop's class gives
// it. Text output has keys and values in this form.
func (k Kind) AppendString(dst, stored []byte) []byte {
	switch k {
	case Long:
		return strconv.AppendInt(dst, toLong(stored), 10)
	case Bytes: // "61 0a"
		for i := range stored {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = hex.AppendEncode(dst, stored[i:i+1])
		}
		return dst
	case Typed:
		return appendTyped(dst, stored)
	case Null:
		return append(dst, "(null)"...)
	}
	return append(dst, stored...)
}

// Format is the form of records on their way to or from a command.
type Format uint8

const (
	TextLines  Format = iota // text: a line with key, separator and value
	KeyLines                 // keyonlytext: a line with the key alone
	RawBytes                 // rawbytes: key and value, each behind its length in 4 bytes
	TypedBytes               // typedbytes: key and value, each behind the code of its type
)

// FormatNamed returns the format of an identifier such as "typedbytes", in any case of
// letters. An unknown name means text, as in Hadoop.
func FormatNamed(name string) Format {
	return map[string]Format{"keyonlytext": KeyLines, "rawbytes": RawBytes, "typedbytes": TypedBytes}[strings.ToLower(name)]
}

// Kinds returns the kinds of the keys and values that a Reader of this format emits.
func (f Format) Kinds() [2]Kind {
	return [...][2]Kind{TextLines: {Text, Text}, KeyLines: {Text, Null}, RawBytes: {Bytes, Bytes}, TypedBytes: {Typed, Typed}}[f]
}

// Writer writes records in the form in which a command reads them.
type Writer struct {
	Format    Format
	Separator []byte // between key and value, with TextLines
	NoKey     bool   // leave out the key, with TextLines; for TextInputFormat, whose keys are offsets
	Key       Kind   // of the keys that Append gets
	Value     Kind   // of the values that Append gets
}

// Append appends a record to dst. key and value are in stored form.
func (w *Writer) Append(dst, key, value []byte) []byte {
	switch w.Format {
	case TextLines:
		if !w.NoKey {
			dst = append(appendPlain(dst, w.Key, key), w.Separator...)
		}
		return append(appendPlain(dst, w.Value, value), '\n')
	case KeyLines:
		return append(appendPlain(dst, w.Key, key), '\n')
	case RawBytes:
		return appendRaw(appendRaw(dst, w.Key, key), w.Value, value)
	}
	return appendAsTyped(appendAsTyped(dst, w.Key, key), w.Value, value)
}

// appendPlain appends a key or value to a line of text: the bytes of Text, Bytes and Typed,
// and the string of the others.
func appendPlain(dst []byte, k Kind, stored []byte) []byte {
	if k == Text || k == Bytes || k == Typed {
		return append(dst, stored...)
	}
	return k.AppendString(dst, stored)
}

// appendRaw appends a length in 4 bytes, and then the bytes of the key or value as its class
// writes itself (Writable.write).
func appendRaw(dst []byte, k Kind, stored []byte) []byte {
	switch k {
	case Text: // it writes a length of its own, then its bytes
		length := appendVInt(nil, len(stored))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(length)+len(stored)))
		return append(append(dst, length...), stored...)
	case Long:
		return binary.BigEndian.AppendUint64(append(dst, 0, 0, 0, 8), uint64(toLong(stored)))
	case Null:
		return append(dst, 0, 0, 0, 0)
	}
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(stored))), stored...)
}

// appendVInt appends a length as WritableUtils.writeVInt does. A length up to 127 takes one
// byte. Others take a byte that says how many bytes follow, and these bytes, the highest first.
func appendVInt(dst []byte, n int) []byte {
	if n <= 127 {
		return append(dst, byte(n))
	}
	size := (bits.Len(uint(n)) + 7) / 8
	bytes := binary.BigEndian.AppendUint64(nil, uint64(n))
	return append(append(dst, byte(-112-size)), bytes[8-size:]...)
}

// appendAsTyped appends a key or value as typed bytes. Invalid UTF-8 in Text is replaced, as
// Hadoop's decoder does.
func appendAsTyped(dst []byte, k Kind, stored []byte) []byte {
	switch k {
	case Typed:
		return append(dst, stored...)
	case Long:
		return binary.BigEndian.AppendUint64(append(dst, codeLong), uint64(toLong(stored)))
	case Text:
		text := ReplaceInvalid(stored)
		return append(binary.BigEndian.AppendUint32(append(dst, codeString), uint32(len(text))), text...)
	}
	return append(binary.BigEndian.AppendUint32(append(dst, codeBytes), uint32(len(stored))), stored...)
}

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
