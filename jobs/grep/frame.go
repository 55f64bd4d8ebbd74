package grep

import (
	"encoding/binary"

	"mrlocal/jobs"
)

// What a mapper leaves behind for the releaser is a sequence of frames: eight
// bytes with the kind in the lowest and a number above it, eight bytes with
// the length of the payload, the payload. Most output is raw frames of many
// lines that only need copying. All numbers are little-endian.
const (
	// frameRaw: text as it is to appear. The number counts the lines that were
	// selected for it; 0 continues the last one.
	frameRaw = iota + 1
	// frameLine: the text of one line, whose number counts from the piece of
	// the file that the split begins with.
	frameLine
	// frameLines: as frameLine, of so many lines: eight bytes with the length of
	// the text in the lowest lengthBits and the number above, the text.
	frameLines
	// frameMore: further text of the same line (-o).
	frameMore
	// frameFile: what follows belongs to the file of this number; the payload
	// goes before its lines.
	frameFile
	// frameCount: lines selected in the file.
	frameCount
	// frameFound: the file, or with -q something, matches.
	frameFound
	// frameOpen: the split ends inside of the file of this number; the payload
	// is the number of lines of its piece, 8 bytes, and a byte that is 1 when
	// the file began in this split.
	frameOpen
)

const (
	headerBytes = 16
	frameBytes  = 64 << 10 // buffered until written
	lengthBits  = 14
	directBytes = 1 << lengthBits // text that is not copied into the buffer any more
)

// frames writes frames.
type frames struct {
	out  jobs.RawWriter
	buf  []byte
	open int // where the header of the frame that grows lies in buf, -1 without one
	kind uint8
	// lines selected for the open frame
	lines int64
}

func newFrames() *frames { return &frames{open: -1} }

func appendHeader(dst []byte, kind uint8, number int64, length int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(kind)|uint64(number)<<8)
	return binary.LittleEndian.AppendUint64(dst, uint64(length))
}

// close ends the open frame, if there is one.
func (f *frames) close() {
	if f.open < 0 {
		return
	}
	header := f.buf[f.open:f.open]
	appendHeader(header, f.kind, f.lines, len(f.buf)-f.open-headerBytes)
	f.open, f.lines = -1, 0
}

// flush hands the buffer over.
func (f *frames) flush() {
	f.close()
	if len(f.buf) > 0 {
		f.out.WriteRaw(f.buf)
		f.buf = f.buf[:0]
	}
}

// room opens a frame of this kind, unless one is open, for so many bytes more.
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

// text adds to the open raw frame, on behalf of so many selected lines.
func (f *frames) text(lines int64, p []byte) {
	if len(p) >= directBytes {
		f.direct(frameRaw, lines, p)
		return
	}
	f.room(frameRaw, len(p))
	f.buf = append(f.buf, p...)
	f.lines += lines
}

// line adds a line, after a prefix, to the open raw frame.
func (f *frames) line(lines int64, prefix, text []byte) {
	if len(prefix)+len(text) >= directBytes {
		f.text(lines, prefix)
		f.text(0, text)
		f.newline()
		return
	}
	f.room(frameRaw, len(prefix)+len(text)+1)
	f.buf = append(append(append(f.buf, prefix...), text...), '\n')
	f.lines += lines
}

// numbered adds a line to the open frame of lines whose numbers the releaser
// settles.
func (f *frames) numbered(number int64, text []byte) {
	if len(text) >= directBytes {
		f.frame(frameLine, number, text)
		return
	}
	f.room(frameLines, 8+len(text))
	f.buf = append(binary.LittleEndian.AppendUint64(f.buf, uint64(number)<<lengthBits|uint64(len(text))), text...)
	f.lines++
}

// newline ends a line in the open raw frame.
func (f *frames) newline() {
	f.room(frameRaw, 1)
	f.buf = append(f.buf, '\n')
}

// frame writes a frame of its own.
func (f *frames) frame(kind uint8, number int64, payload []byte) {
	f.close()
	if len(payload) >= directBytes {
		f.direct(kind, number, payload)
		return
	}
	if len(f.buf)+len(payload) > frameBytes {
		f.flush()
	}
	f.buf = append(appendHeader(f.buf, kind, number, len(payload)), payload...)
}

func (f *frames) direct(kind uint8, number int64, payload []byte) {
	f.close()
	f.buf = appendHeader(f.buf, kind, number, len(payload))
	f.flush()
	f.out.WriteRaw(payload)
}
