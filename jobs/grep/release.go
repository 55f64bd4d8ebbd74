package grep

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"mrlocal/jobs"
)

// releaser makes the output from the frames of the splits, in their order. It holds only a
// window of a split.
type releaser struct {
	*form
	program *program // for Used
	in      *bufio.Reader
	out     *bufio.Writer

	file int64 // number of the file in the last frameFile; -1: none yet
	// The payload of the last frameFile: the text before each line of the file.
	prefix   []byte
	selected int64  // selected lines of this file so far, if there is a limit or files are counted
	binary   int64  // number of the file in the last frameBinary; -1: none yet
	named    bool   // that file was reported already
	path     []byte // path of that file
	groups   groups
	messages messages
	number   decimal
	base     int64 // lines of the file before the current split
	records  int64 // selected lines or listed files
	header   [headerBytes]byte
	scratch  []byte
}

// newReleaser makes a releaser. It reuses its buffers for all splits.
func newReleaser(p *program, f *form) *releaser {
	return &releaser{
		form:    f,
		program: p,
		in:      bufio.NewReaderSize(nil, frameBytes),
		out:     bufio.NewWriterSize(nil, frameBytes),
		file:    -1,

		binary:   -1,
		groups:   groups{begun: f.Context != nil && f.Context.Continued},
		messages: messages{start: time.Now(), early: -1},
	}
}

// Records returns the number of selected lines or, with -l and -L, of files with a selected
// line.
func (r *releaser) Records() int64 { return r.records }

// Release implements jobs.Releaser. It reads the frames of one split. It stops early if the
// rest of the file or of the job is not needed.
func (r *releaser) Release(split io.Reader, w io.Writer) (verdict jobs.Verdict, err error) {
	// -m 0 selects nothing, as in GNU grep.
	if r.limit == 0 {
		return jobs.EndJob, nil
	}
	// If Release stopped early, the buffers still have data of the split before.
	r.in.Reset(split)
	r.out.Reset(w)
	// A header is one word with kind and number, and one with the length of the payload
	// (frames).
	for verdict == jobs.Continue {
		if _, err := io.ReadFull(r.in, r.header[:]); err == io.EOF {
			break
		} else if err != nil {
			return verdict, fmt.Errorf("grep: reading the lines of a split: %w", err)
		}
		head := binary.LittleEndian.Uint64(r.header[:8])
		if verdict, err = r.frame(uint8(head), int64(head>>8), int64(binary.LittleEndian.Uint64(r.header[8:]))); err != nil {
			return verdict, err
		}
	}
	return verdict, r.out.Flush()
}

// Finish implements jobs.Releaser. No frame follows the last file, so Finish ends it.
func (r *releaser) Finish(w io.Writer) error {
	r.out.Reset(w)
	r.endFile()
	if r.JSON && r.limit > 0 {
		r.messages.all.writeSummary(r.out, time.Since(r.messages.start))
	}
	return r.out.Flush()
}

// frame handles one frame, whose payload of length bytes is still to be read.
func (r *releaser) frame(kind uint8, number, length int64) (jobs.Verdict, error) {
	switch kind {
	case frameLines, frameRaw, frameLine, frameMore, frameItem:
		return jobs.Continue, r.text(kind, number, length)
	}
	payload, err := r.payload(length)
	if err != nil {
		return jobs.Continue, err
	}
	switch kind {
	case frameBinary:
		r.binary = number
		r.named = false
		r.path = append(r.path[:0], payload...)
	case frameFile:
		// A file that continues in this split keeps its count and line numbers.
		if number != r.file {
			r.endFile()
			r.file, r.selected = number, 0
			r.groups.reset()
			if r.JSON {
				r.startFile()
			}
		}
		r.prefix = append(r.prefix[:0], payload...)
	case frameCount:
		if !r.NoBinary || r.file != r.binary {
			r.selected += number
		}
	case frameSearched:
		r.searched(number, payload)
	case frameFound:
		return r.found(number), nil
	case frameOpen:
		return r.stayOpen(number, payload), nil
	default:
		return jobs.Continue, fmt.Errorf("grep: frame of unknown kind %d", kind)
	}
	return jobs.Continue, nil
}

// text handles a frame of text. It does not write text of a binary file.
func (r *releaser) text(kind uint8, number, length int64) error {
	switch {
	case r.binary >= 0 && r.file == r.binary:
		if r.NoBinary {
			return r.copy(io.Discard, length)
		}
		if kind != frameItem {
			r.foundBinary()
		} else if flags, err := r.in.Peek(1); err == nil && flags[0]&itemSelected != 0 {
			r.foundBinary()
		}
		return r.copy(io.Discard, length)
	case kind == frameItem:
		return r.item(number, length)
	case kind == frameLines:
		return r.numbered(number, length)
	}
	return r.lines(kind, number, length)
}

// foundBinary calls binaryMatch for a binary file that matches, once.
func (r *releaser) foundBinary() {
	if r.named {
		return
	}
	r.named = true
	r.records++
	r.BinaryMatch(string(r.path))
}

// lines copies a frame of text, or the text of a numbered line.
func (r *releaser) lines(kind uint8, number, length int64) error {
	switch kind {
	case frameRaw:
		r.records += number
		return r.copy(r.out, length)
	case frameLine:
		r.records++
		r.scratch = r.appendNumber(append(r.scratch[:0], r.prefix...), r.number.set(r.base+number), ':')
	}
	_, _ = r.out.Write(r.scratch) // the next Flush returns the error
	if err := r.copy(r.out, length); err != nil {
		return err
	}
	return r.out.WriteByte(r.eol)
}

// numbered writes a frame of lines with their numbers.
func (r *releaser) numbered(lines, length int64) error {
	r.records += lines
	// The numbers count from the start of the split; r.base is the number of lines before it.
	payload, err := r.in.Peek(int(length)) // a frame of lines fits in the buffer of r.in
	if err != nil {
		return fmt.Errorf("grep: the lines of a split end early: %w", err)
	}
	for len(payload) > 0 {
		head := binary.LittleEndian.Uint64(payload)
		end := 8 + int(head&(1<<lengthBits-1))
		digits := r.number.set(r.base + int64(head>>lengthBits))
		// The line is built in the buffer of r.out, so that it is copied once.
		if r.out.Available() < len(r.prefix)+len(digits)+end+mostMarkBytes {
			_ = r.out.Flush() // errors are sticky: the last Flush returns them
		}
		line := r.appendNumber(append(r.out.AvailableBuffer(), r.prefix...), digits, ':')
		line = append(append(line, payload[8:end]...), r.eol)
		_, _ = r.out.Write(line)
		payload = payload[end:]
	}
	_, _ = r.in.Discard(int(length)) // Peek has read it
	return nil
}

// copy copies length bytes of the payload to w, from the buffer of r.in.
func (r *releaser) copy(w io.Writer, length int64) error {
	for length > 0 {
		window, err := r.in.Peek(int(min(length, int64(max(r.in.Buffered(), 1)))))
		if err != nil {
			return fmt.Errorf("grep: the lines of a split end early: %w", err)
		}
		if _, err := w.Write(window); err != nil {
			return err
		}
		_, _ = r.in.Discard(len(window)) // Peek has read it
		length -= int64(len(window))
	}
	return nil
}

// payload reads a short payload. It returns it in r.scratch, borrowed until the next use of
// that.
func (r *releaser) payload(length int64) ([]byte, error) {
	r.scratch = slices.Grow(r.scratch[:0], int(length))[:length]
	_, err := io.ReadFull(r.in, r.scratch)
	return r.scratch, err
}

// found handles a frameFound. With -q, where number is that of the file, it ends the job. With -l
// it lists the file, once.
func (r *releaser) found(number int64) jobs.Verdict {
	if r.want != wantAny {
		number = r.file
	}
	if r.NoBinary && number == r.binary {
		return jobs.Continue
	}
	if r.want == wantAny {
		r.records, r.file = 1, number
		return jobs.EndJob
	}
	if r.want == wantLines {
		r.foundBinary()
		return jobs.Continue
	}
	if r.selected == 0 {
		r.selected = 1
		r.records++
		if r.want == wantFiles {
			_, _ = r.out.Write(r.prefix)
		}
	}
	return jobs.Continue
}

// stayOpen handles a frameOpen: the file continues in the next split. It ends the file or the
// job if the rest of the file is not needed.
func (r *releaser) stayOpen(file int64, payload []byte) jobs.Verdict {
	lines := int64(jobs.Uint64(payload))
	// The file began in that split, so it has no lines before.
	if payload[8] == 1 {
		r.base = 0
	}
	// A file may span several splits.
	r.base += lines
	if file != r.file {
		return jobs.Continue
	}
	if (r.want == wantFiles || r.want == wantOthers) && r.selected > 0 || r.limited() && r.selected >= r.limit && r.groups.after == 0 {
		if r.Single {
			return jobs.EndJob
		}
		return jobs.EndFile
	}
	return jobs.Continue
}

// endFile writes the end of a file: its count (-c), its path (-L), or the end message (--json).
func (r *releaser) endFile() {
	if r.JSON {
		r.endMessage()
		return
	}
	if r.want == wantOthers && r.file >= 0 && r.selected == 0 {
		_, _ = r.out.Write(r.prefix)
	}
	if r.want != wantCounts || r.file < 0 {
		return
	}
	// Each mapper counts up to the limit by itself, so the sum may be above it.
	n := min(r.selected, r.limit)
	r.records += n
	_, _ = r.out.Write(r.prefix)
	_, _ = r.out.Write(append(strconv.AppendInt(r.out.AvailableBuffer(), n, 10), '\n'))
}

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
