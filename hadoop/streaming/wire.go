package streaming

import (
	"encoding/binary"
	"encoding/hex"
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
