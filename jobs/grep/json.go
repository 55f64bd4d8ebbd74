package grep

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"
)

// Options.JSON writes the JSON lines of ripgrep 13: begin, match, context, end and
// summary. A mapper knows everything of a line but its number in the file and
// whether it is written at all. So it makes the two parts of a message around the
// number, and the releaser joins them. Such a payload of a frameItem is
//
//	length of the first part, 8 bytes │ matches in the line, 4 bytes │ first part │ second part

// messageHead is the length of what stands before the two parts.
const messageHead = 12

// message returns the payload for the line low:end of a block, borrowed until the
// next call. hits says that the message lists the matches.
func (m *lineMapper) message(data []byte, low, end int, hits bool) []byte {
	next := min(end+1, len(data)) // the line is shown with its end
	// The head is filled in at the end, when both lengths are known.
	var head [messageHead]byte
	dst := append(append(m.shown[:0], head[:]...), `"lines":`...)
	dst = m.appendText(dst, data[low:next])
	first := len(dst) - messageHead
	dst = strconv.AppendInt(append(dst, `,"absolute_offset":`...), m.offset+int64(low), 10)
	dst = append(dst, `,"submatches":[`...)
	count := uint32(0)
	// Places of matches count from the start of the line, in bytes.
	if line := data[low:end]; hits {
		m.inner.begin(line)
		m.walker.reset(m.inner, line)
		m.walker.empties = true
		for start, stop := m.walker.next(); start != none; start, stop = m.walker.next() {
			if count++; count > 1 {
				dst = append(dst, ',')
			}
			dst = m.appendText(append(dst, `{"match":`...), line[start:stop])
			dst = strconv.AppendInt(append(dst, `,"start":`...), int64(start), 10)
			dst = strconv.AppendInt(append(dst, `,"end":`...), int64(stop), 10)
			dst = append(dst, '}')
		}
	}
	dst = append(dst, "]}}\n"...)
	binary.LittleEndian.PutUint64(dst, uint64(first))
	binary.LittleEndian.PutUint32(dst[8:], count)
	m.shown = dst
	return dst
}

// appendText appends text of the block as it was in the input.
func (m *lineMapper) appendText(dst, text []byte) []byte {
	// Blocks of lines that end in NUL have NUL and newline exchanged.
	if m.eol == 0 {
		m.undone = m.appendOriginal(m.undone[:0], text)
		text = m.undone
	}
	return appendJSON(dst, text)
}

// appendJSON appends the object that stands for arbitrary bytes: {"text":"…"}, or
// {"bytes":"…"} in base64 if they are not UTF-8.
func appendJSON(dst, text []byte) []byte {
	// JSON has no other way to hold arbitrary bytes.
	if !utf8.Valid(text) {
		dst = append(dst, `{"bytes":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, text)
		return append(dst, `"}`...)
	}
	dst = append(dst, `{"text":"`...)
	// text[:from] has been appended.
	from := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		}
	}
	return append(append(dst, text[from:]...), `"}`...)
}

// tally is the stats of an end or a summary message. It counts files with a match
// only, as ripgrep 13 does.
type tally struct {
	elapsed                          time.Duration
	searches                         int64
	searched, printed, lines, merged int64 // bytes searched, bytes printed, matched lines, matches
}

// messages is what the releaser knows of the messages of a run.
type messages struct {
	begun     bool // the begin message of the file was written
	file, all tally
	since     time.Time // when the file began
	start     time.Time // when the run began
	early     int64     // the number of a file that has had no frameFile yet, and
	earlier   int64     // how many bytes of it were searched
}

// beginFile writes the begin message, once.
func (r *releaser) beginFile() {
	if r.messages.begun {
		return
	}
	r.messages.begun = true
	r.write(append(r.appendShown([]byte(`{"type":"begin","data":{"path":`)), "}}\n"...))
}

// appendShown appends the path of the file as messages have it.
func (r *releaser) appendShown(dst []byte) []byte {
	// ripgrep names standard input so.
	if string(r.prefix) == stdinPath {
		return appendJSON(dst, []byte("<stdin>"))
	}
	return appendJSON(dst, r.prefix)
}

// stdinPath is the path of standard input in blocks.
const stdinPath = "(standard input)"

// write writes a part of a message.
func (r *releaser) write(p []byte) {
	r.messages.file.printed += int64(len(p))
	_, _ = r.out.Write(p) // the next Flush returns the error
}

// message writes the message of one line. Its payload of length bytes comes from
// the split, unless payload holds it already.
func (r *releaser) message(number int64, flags byte, payload []byte, length int64) error {
	r.beginFile()
	head := payload
	if payload == nil {
		var err error
		// The head is only looked at, because both parts behind it are copied without a buffer.
		if head, err = r.in.Peek(messageHead); err != nil {
			return fmt.Errorf("grep: the lines of a split end early: %w", err)
		}
	}
	first, count := int64(binary.LittleEndian.Uint64(head)), int64(binary.LittleEndian.Uint32(head[8:]))
	kind := `{"type":"context","data":{"path":`
	if flags&itemSelected != 0 {
		kind = `{"type":"match","data":{"path":`
		r.messages.file.lines++
		r.messages.file.merged += count
	}
	r.scratch = append(r.appendShown(append(r.scratch[:0], kind...)), ',')
	r.write(r.scratch)
	// scratch was written above, so it can be used again.
	line := strconv.AppendInt(append(r.scratch[:0], `,"line_number":`...), number, 10)
	r.scratch = line
	if payload != nil {
		r.write(payload[messageHead : messageHead+first])
		r.write(line)
		r.write(payload[messageHead+first:])
		return nil
	}
	_, _ = r.in.Discard(messageHead) // Peek has read it
	if err := r.copy(r.out, first); err != nil {
		return err
	}
	r.write(line)
	r.messages.file.printed += length - messageHead
	return r.copy(r.out, length-messageHead-first)
}

// searched adds bytes of a file that a mapper has searched.
func (r *releaser) searched(file int64, payload []byte) {
	s := &r.messages
	bytes := int64(binary.LittleEndian.Uint64(payload))
	switch {
	case file == r.file:
		s.file.searched += bytes
	case file == s.early:
		s.earlier += bytes
	default: // a line of a later split may match
		s.early, s.earlier = file, bytes
	}
}

// startFile begins the stats of the file that r.file numbers.
func (r *releaser) startFile() {
	s := &r.messages
	s.begun, s.file, s.since = false, tally{}, time.Now()
	// A mapper of a later split may report its bytes before the file begins here.
	if s.early == r.file {
		s.file.searched = s.earlier
	}
}

// endMessage writes the end message of a file of which something was written.
func (r *releaser) endMessage() {
	s := &r.messages
	if !s.begun {
		return
	}
	f := &s.file
	// The time is that of writing the file's lines: searches of several files overlap.
	f.elapsed, f.searches = time.Since(s.since), 1
	s.begun = false
	s.all.add(f)
	line := append(r.appendShown([]byte(`{"type":"end","data":{"path":`)), `,"binary_offset":null,"stats":{"elapsed":{`...)
	line = fmt.Appendf(line, `"secs":%d,"nanos":%d,"human":"%.6fs"},`, int64(f.elapsed/time.Second), int64(f.elapsed%time.Second), f.elapsed.Seconds())
	line = fmt.Appendf(line, `"searches":1,"searches_with_match":1,"bytes_searched":%d,"bytes_printed":%d,"matched_lines":%d,"matches":%d}}}`+"\n",
		f.searched, f.printed, f.lines, f.merged)
	_, _ = r.out.Write(line) // the next Flush returns the error
}

// add adds the stats of a file.
func (t *tally) add(f *tally) {
	t.elapsed += f.elapsed
	t.searches += f.searches
	t.searched += f.searched
	t.printed += f.printed
	t.lines += f.lines
	t.merged += f.merged
}

// writeSummary writes the summary message, in which names are in order.
func (t *tally) writeSummary(w io.Writer, total time.Duration) {
	elapsed := func(d time.Duration) string {
		return fmt.Sprintf(`{"human":"%.6fs","nanos":%d,"secs":%d}`, d.Seconds(), int64(d%time.Second), int64(d/time.Second))
	}
	// The writer keeps an error for the Flush that follows.
	_, _ = fmt.Fprintf(w, `{"data":{"elapsed_total":%s,"stats":{"bytes_printed":%d,"bytes_searched":%d,"elapsed":%s,`, elapsed(total), t.printed, t.searched, elapsed(t.elapsed))
	_, _ = fmt.Fprintf(w, `"matched_lines":%d,"matches":%d,"searches":%d,"searches_with_match":%d}},"type":"summary"}`+"\n", t.lines, t.merged, t.searches, t.searches)
}
