// Package codec recognises compressed files and decodes them.
//
//	first bytes ──Of──► Codec ──Refused? an error with its name
//	                      └───► Decoders.Open ──► decoded bytes
//
// gzip, bzip2, zstd, s2 with snappy, xz and lz4 are decoded. Archives and older
// formats are only recognised, so that their bytes are not read as text.
//
// If the caller has memory to spare (Decoders.Spare), several goroutines decode the bzip2 blocks
// or gzip members of a large file. The text and the errors are the same.
//
// Memory: a decoder keeps its window on the Go heap. Decoders charge the window before they
// allocate it.
package codec

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"path/filepath"

	"mrlocal/internal/errs"
)

// Codec is the format of a compressed file.
type Codec uint8

const (
	// The names in String have the same order.
	None Codec = iota
	Gzip
	Bzip2
	Zstd
	S2 // and snappy's framing
	XZ
	LZ4    // in frames, also of the legacy format
	UTF16  // no compression: text with a mark. Of never returns it
	frames // a skippable frame, which zstd or lz4 data follows; Decoders know which

	codecs // number of codecs that are decoded, and None; the formats below it are refused

	zipArchive
	sevenZipArchive
	rarArchive
	lzopData
	lzipData
	lzmaData
	compressData
)

// String returns the name of the codec for messages. Refused formats come with an
// article.
func (c Codec) String() string {
	return [...]string{"none", "gzip", "bzip2", "zstd", "s2", "xz", "lz4", "UTF-16", "zstd or lz4", "",
		"a zip archive", "a 7z archive", "a rar archive",
		"lzop data", "lzip data", "lzma data", "data of compress (.Z)"}[c]
}

// Refused reports whether c is known, but not decoded.
func (c Codec) Refused() bool { return c > codecs }

// Refusal returns the error for a file of a refused codec. It wraps a *FileError.
func (c Codec) Refusal() error {
	return &refusedError{&FileError{errs.Errorf("is %s, which is not decoded: unpack it first, or set %s to read its bytes as they are", c, errs.Field("Options.NoDecode"))}}
}

// HeadBytes is the number of bytes that suffice to recognise a codec.
const HeadBytes = 64

// The first bytes of each format, from its specification.
const (
	gzipMagic   = "\x1f\x8b\x08"
	zstdMagic   = "\x28\xb5\x2f\xfd"
	s2Magic     = "\xff\x06\x00\x00S2sTwO"
	snappyMagic = "\xff\x06\x00\x00sNaPpY"
	bzip2Block  = "\x31\x41\x59\x26\x53\x59" // BCD of pi: a block follows "BZh" and a digit
	bzip2End    = "\x17\x72\x45\x38\x50\x90" // BCD of sqrt(pi): an empty stream
	lz4Magic    = "\x04\x22\x4d\x18"
	legacyMagic = "\x02\x21\x4c\x18" // of lz4
	// skipMagic follows the first byte of a skippable frame, which is 50 to 5f (RFC 8878, 3.1.2).
	skipMagic = "\x2a\x4d\x18"
)

// skipBytes is the length of the header of a skippable frame: its magic, and the bytes of its data.
const skipBytes = 8

// formats has the formats that begin with a magic. No file of a format is shorter than its header: the fields
// that every file has before its data, or before an empty part of it. A format that is refused is known by its magic
// alone: 0.
var formats = [...]struct {
	magic       string
	codec       Codec
	headerBytes int
}{
	{gzipMagic, Gzip, 10},
	{s2Magic, S2, 10}, {snappyMagic, S2, 10},
	{zstdMagic, Zstd, 6},
	{lz4Magic, LZ4, 7}, {legacyMagic, LZ4, 4},
	{xzMagic, XZ, 12},
	{"PK\x03\x04", zipArchive, 0}, {"PK\x05\x06", zipArchive, 0}, {"PK\x07\x08", zipArchive, 0}, // of entries, none, and several volumes
	{"7z\xbc\xaf\x27\x1c", sevenZipArchive, 0},
	{"\x89LZO\x00\r\n\x1a\n", lzopData, 0},
	{"LZIP\x01", lzipData, 0},
	{"Rar!\x1a\x07", rarArchive, 0},
}

// TextName reports whether the suffix of path is a usual one of text.
func TextName(path string) bool {
	switch filepath.Ext(path) {
	case ".txt", ".text", ".log", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xml", ".html", ".htm", ".css", ".md", ".rst", ".tex",
		".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".sql", ".sh", ".go", ".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".java", ".cs", ".js",
		".ts", ".py", ".rb", ".pl", ".php", ".S", ".s":
		return true
	}
	return false
}

// Of returns the codec of a file by its first bytes, head; HeadBytes of them suffice. It returns None
// for a file that is not compressed. The name of a file says nothing: brotli, which has no magic, is
// text to this package.
//
// A file counts as compressed if it has the magic and is at least as long as the header of its format. It is
// text otherwise, as no file of the format is so short. The other fields do not count: data that is damaged or cut
// short behind the magic is an error of the decoder, because reading it as text would give a wrong result.
func Of(head []byte) Codec {
	codec, headerBytes := byMagic(head)
	switch {
	case len(head) < headerBytes:
		return None
	case codec != None:
		return codec
	// Two bytes of magic of compress(1) are followed by a byte with the length of the longest code, 9 to
	// 16 bits, and a flag. All programs since 1985 set that flag.
	case len(head) >= 3 && string(head[:2]) == "\x1f\x9d" && head[2] >= 0x80|9 && head[2] <= 0x80|16:
		return compressData
	case isLZMA(head):
		return lzmaData
	}
	return None
}

// byMagic returns the codec whose magic begins head, and the bytes of the header of its format.
func byMagic(head []byte) (codec Codec, headerBytes int) {
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.codec, f.headerBytes
		}
	}
	if isSkippable(head) {
		return frames, skipBytes
	}
	if len(head) >= 10 && string(head[:3]) == "BZh" && head[3] >= '1' && head[3] <= '9' && (string(head[4:10]) == bzip2Block || string(head[4:10]) == bzip2End) {
		return Bzip2, 10
	}
	return None, 0
}

// isLZMA reports whether head begins an .lzma file, which has no magic. As xz
// does, it accepts the usual properties, a dictionary of 2^n or 2^n + 2^(n-1)
// bytes, and a length below 256 GiB or unknown.
func isLZMA(head []byte) bool {
	if len(head) < 14 || head[0] != 0x5d || head[13] != 0 {
		return false
	}
	dictionary, length := binary.LittleEndian.Uint32(head[1:]), binary.LittleEndian.Uint64(head[5:])
	low := dictionary & -dictionary
	return low >= 1<<12 && (dictionary == low || dictionary == 3*low) && (length == math.MaxUint64 || length < 1<<38)
}

// isSkippable reports whether head begins with a skippable frame. pzstd writes one before each frame.
// The frames that zstd and lz4 skip are the same. They may have any length, and any number of them may
// stand before, between and behind others.
func isSkippable(head []byte) bool {
	return len(head) >= 1+len(skipMagic) && head[0]&0xf0 == 0x50 && string(head[1:1+len(skipMagic)]) == skipMagic
}

// Compressed reports whether a file has a known format of compressed data.
func Compressed(file io.ReaderAt) bool {
	var head [HeadBytes]byte
	n, _ := file.ReadAt(head[:], 0) // a file that cannot be read is reported by its reader
	return Of(head[:n]) != None
}
