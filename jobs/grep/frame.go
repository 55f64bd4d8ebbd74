package grep

import (
	"encoding/binary"

	"mrlocal/jobs"
)

// A mapper writes a sequence of frames for the releaser. A frame begins with eight bytes: the kind in
// the lowest byte, and a number above it. Eight bytes with the length of the payload follow, and then
// the payload. Numbers are little-endian. Most output is in raw frames of many lines, which the
// releaser only copies.
const (
	// frameRaw is text in its final form. The number is the count of selected lines in it; 0
	// continues the last line.
	frameRaw = iota + 1
	// frameLine is the text of one line. Its number is that of the line, counted from the start
	// of the split, or of the file if the file begins in this split.
	frameLine
	// frameLines is several such lines. For each line: eight bytes with the length of the text
	// in the lowest lengthBits and the line number above, then the text. The number of the
	// frame is the count of lines.
	frameLines
	// frameMore is further text of the same line (-o).
	frameMore
	// frameFile says that the next frames belong to the file of this number. The payload is the
	// text before each of its lines, such as the path.
	frameFile
	// frameCount is the number of lines that were selected in the file.
	frameCount
	// frameFound says that the file has a selected line or, with -q, that the file of this number
	// has one.
	frameFound
	// frameOpen says that the file of this number continues in the next split. The payload is
	// the number of its lines in this split, 8 bytes, and one byte. The byte is 1 if the file
	// began in this split.
	frameOpen
	// frameBinary says that the file of this number is binary. The payload is its path.
	frameBinary
	// frameItem is a line that is selected, or that may be written around a selected one. Its
	// number is that of frameLine. The payload is a byte of flags (context.go), then the text.
	frameItem
	// frameSearched says how many bytes of the file of this number were searched.
	// The payload is 8 bytes.
	frameSearched
)

const (
	headerBytes = 16
	frameBytes  = 64 << 10 // size of the buffer of frames
	lengthBits  = 14
	directBytes = 1 << lengthBits // text of at least this length is not copied to the buffer
)

// frames writes frames to out, through a buffer of frameBytes.
type frames struct {
	out  jobs.RawWriter
	eol  byte // ends lines
	buf  []byte
	open int   // offset in buf of the header of the open frame; -1: no frame is open
	kind uint8 // of the open frame
	// lines is the number for the header of the open frame: its selected lines.
	lines int64
}

// newFrames returns frames whose lines end with newlines. The caller sets out.
func newFrames() *frames { return &frames{open: -1, eol: '\n'} }

// appendHeader appends the header of a frame. number has 56 bits; length is in bytes.
func appendHeader(dst []byte, kind uint8, number int64, length int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(kind)|uint64(number)<<8)
	return binary.LittleEndian.AppendUint64(dst, uint64(length))
}

// close ends the open frame, if there is one. The length is known by then, so close writes
// the header.
func (f *frames) close() {
	if f.open < 0 {
		return
	}
	// Appending to this slice overwrites the room that the frame has left for its header.
	header := f.buf[f.open:f.open]
	appendHeader(header, f.kind, f.lines, len(f.buf)-f.open-headerBytes)
	f.open, f.lines = -1, 0
}

// flush writes the buffer to out.
func (f *frames) flush() {
	f.close()
	if len(f.buf) > 0 {
		f.out.WriteRaw(f.buf)
		f.buf = f.buf[:0]
	}
}

// room makes room for more bytes in a frame of this kind. If no such frame is open, it opens
// one. A frame never grows beyond frameBytes.
func (f *frames) room(kind uint8, bytes int) {
	if len(f.buf)+headerBytes+bytes > frameBytes {
		f.flush()
	}
	if f.open >= 0 && f.kind != kind {
		f.close()
	}
	if f.open < 0 {
		f.open, f.kind = len(f.buf), kind
		f.buf = append(f.buf, make([]byte, headerBytes)...)
	}
}

// text adds p, the text of the given number of selected lines, to the open raw frame. p is
// copied or written before the call returns.
func (f *frames) text(lines int64, p []byte) {
	if len(p) >= directBytes {
		f.direct(frameRaw, lines, p)
		return
	}
	f.room(frameRaw, len(p))
	f.buf = append(f.buf, p...)
	f.lines += lines
}

// line adds prefix and text as a line to the open raw frame. Both are copied or written before
// the call returns.
func (f *frames) line(lines int64, prefix, text []byte) {
	if len(prefix)+len(text) >= directBytes {
		f.text(lines, prefix)
		f.text(0, text)
		f.newline()
		return
	}
	f.room(frameRaw, len(prefix)+len(text)+1)
	f.buf = append(append(append(f.buf, prefix...), text...), f.eol)
	f.lines += lines
}

// numbered adds a line to the open frame of lines whose numbers the releaser computes.
func (f *frames) numbered(number int64, text []byte) {
	if len(text) >= directBytes {
		f.frame(frameLine, number, text)
		return
	}
	f.room(frameLines, 8+len(text))
	f.buf = append(binary.LittleEndian.AppendUint64(f.buf, uint64(number)<<lengthBits|uint64(len(text))), text...)
	f.lines++
}

// newline adds the end of a line to the open raw frame.
func (f *frames) newline() {
	f.room(frameRaw, 1)
	f.buf = append(f.buf, f.eol)
}

// frame writes a whole frame. It ends the open frame first, so frames keep their order.
func (f *frames) frame(kind uint8, number int64, payload []byte) {
	f.close()
	// A long payload would make the buffer grow without bound.
	if len(payload) >= directBytes {
		f.direct(kind, number, payload)
		return
	}
	if len(f.buf)+len(payload) > frameBytes {
		f.flush()
	}
	f.buf = append(appendHeader(f.buf, kind, number, len(payload)), payload...)
}

// direct writes a frame without copying its payload.
func (f *frames) direct(kind uint8, number int64, payload []byte) {
	f.close()
	f.buf = appendHeader(f.buf, kind, number, len(payload))
	f.flush()
	f.out.WriteRaw(payload)
}
