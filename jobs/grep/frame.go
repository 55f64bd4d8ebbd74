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
	directBytes = 16 << 10 // text that is not copied into the buffer any more
)

// frames writes frames.
type frames struct {
	out jobs.RawWriter
	buf []byte
	raw int // where the header of the open raw frame lies in buf, -1 without one
	// lines selected for the open raw frame
	lines int64
}

func newFrames() *frames { return &frames{raw: -1} }

func appendHeader(dst []byte, kind uint8, number int64, length int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(kind)|uint64(number)<<8)
	return binary.LittleEndian.AppendUint64(dst, uint64(length))
}

// closeRaw ends the open raw frame, if there is one.
func (f *frames) closeRaw() {
	if f.raw < 0 {
		return
	}
	header := f.buf[f.raw:f.raw]
	appendHeader(header, frameRaw, f.lines, len(f.buf)-f.raw-headerBytes)
	f.raw, f.lines = -1, 0
}

// flush hands the buffer over.
func (f *frames) flush() {
	f.closeRaw()
	if len(f.buf) > 0 {
		f.out.WriteRaw(f.buf)
		f.buf = f.buf[:0]
	}
}

// text adds to the open raw frame, on behalf of so many selected lines.
func (f *frames) text(lines int64, p []byte) {
	if len(p) >= directBytes {
		f.direct(frameRaw, lines, p)
		return
	}
	if len(f.buf)+len(p) > frameBytes {
		f.flush()
	}
	if f.raw < 0 {
		f.raw = len(f.buf)
		f.buf = append(f.buf, make([]byte, headerBytes)...)
	}
	f.buf = append(f.buf, p...)
	f.lines += lines
}

// newline ends a line in the open raw frame.
func (f *frames) newline() {
	if f.raw < 0 {
		f.text(0, nil)
	}
	f.buf = append(f.buf, '\n')
}

// frame writes a frame of its own.
func (f *frames) frame(kind uint8, number int64, payload []byte) {
	f.closeRaw()
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
	f.closeRaw()
	f.buf = appendHeader(f.buf, kind, number, len(payload))
	f.flush()
	f.out.WriteRaw(payload)
}
