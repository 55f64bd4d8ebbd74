// Package wire is the protocol between a streaming job and its commands: how a
// record is written to a command's standard input, and how its standard output is
// cut into records. There are four formats: text, keyonlytext, rawbytes and
// typedbytes (Hadoop's IdentifierResolver).
//
// Keys and values have kinds, as Hadoop's classes of Writable. The engine stores
// them as bytes that compare as the kinds compare:
//
//	Text    the bytes                     Text
//	Long    8 bytes, highest first        LongWritable; the sign bit is flipped
//	Bytes   the bytes                     BytesWritable
//	Typed   type code and content         TypedBytesWritable
//	Null    nothing                       NullWritable
//
// The package is pure. What it is given is borrowed until the call returns; what
// it appends belongs to the caller. Neighbours: package child moves the bytes,
// package streaming builds jobs.
package wire

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"mrlocal/streaming/fields"
)

// Kind is the class of a key or value.
type Kind uint8

// The kinds.
const (
	Text Kind = iota
	Long
	Bytes
	Typed
	Null
)

// AppendLong appends n as it is stored.
func AppendLong(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n)^1<<63)
}

// toLong returns the number that AppendLong wrote.
func toLong(stored []byte) int64 { return int64(binary.BigEndian.Uint64(stored) ^ 1<<63) }

// Partition is HashPartitioner for keys of kind k.
func (k Kind) Partition(key []byte, parts int) int {
	if k == Long {
		return fields.ByLong(toLong(key), parts)
	}
	return fields.ByHash(key, parts)
}

// AppendString appends what toString gives of a stored key or value. Text output
// has keys and values so.
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

// Format is how records are written to a command, and by a command.
type Format uint8

// The formats. Text is the default.
const (
	TextLines Format = iota
	KeyLines
	RawBytes
	TypedBytes
)

// FormatNamed returns the format of an identifier such as "typedbytes". Case does
// not matter, and any unknown name means text, as in Hadoop.
func FormatNamed(name string) Format {
	switch strings.ToLower(name) {
	case "keyonlytext":
		return KeyLines
	case "rawbytes":
		return RawBytes
	case "typedbytes":
		return TypedBytes
	}
	return TextLines
}

// Kinds returns the kinds of the keys and values that a command tells.
func (f Format) Kinds() (key, value Kind) {
	switch f {
	case KeyLines:
		return Text, Null
	case RawBytes:
		return Bytes, Bytes
	case TypedBytes:
		return Typed, Typed
	}
	return Text, Text
}

// Writer writes records as a command reads them.
type Writer struct {
	Format    Format
	Separator []byte // between key and value of text
	NoKey     bool   // leave the key out: text of TextInputFormat, whose key is an offset
	Key       Kind
	Value     Kind
}

// Append appends a record, whose key and value are stored, to dst.
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

// appendPlain appends text: the bytes of Text and Bytes, the string of the others.
func appendPlain(dst []byte, k Kind, stored []byte) []byte {
	if k == Text || k == Bytes || k == Typed {
		return append(dst, stored...)
	}
	return k.AppendString(dst, stored)
}

// appendRaw appends the length, in 4 bytes, and the serialized key or value.
func appendRaw(dst []byte, k Kind, stored []byte) []byte {
	switch k {
	case Text: // whose own length comes first
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

// appendVInt appends a length as WritableUtils.writeVInt does.
func appendVInt(dst []byte, n int) []byte {
	if n <= 127 {
		return append(dst, byte(n))
	}
	bytes := 0
	for t := n; t != 0; t >>= 8 {
		bytes++
	}
	dst = append(dst, byte(-112-bytes))
	for ; bytes > 0; bytes-- {
		dst = append(dst, byte(n>>(8*(bytes-1))))
	}
	return dst
}

// appendAsTyped appends a key or value as typed bytes.
func appendAsTyped(dst []byte, k Kind, stored []byte) []byte {
	switch k {
	case Typed:
		return append(dst, stored...)
	case Long:
		return binary.BigEndian.AppendUint64(append(dst, codeLong), uint64(toLong(stored)))
	case Text:
		text := fields.ReplaceInvalid(stored)
		return append(binary.BigEndian.AppendUint32(append(dst, codeString), uint32(len(text))), text...)
	}
	return append(binary.BigEndian.AppendUint32(append(dst, codeBytes), uint32(len(stored))), stored...)
}
