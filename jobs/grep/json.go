package grep

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// Options.JSON writes the JSON lines of ripgrep 13: begin, match, context, end and summary. A
// mapper does not know the number of a line in its file, or whether the line is written at all.
// So it makes the two parts of a message around the number, and the releaser joins them. The
// payload of such a frameItem is
//
//	length of the first part, 8 bytes │ number of matches, 4 bytes │ number of lines, 4 bytes │
//	first part │ second part

// messageHead is the length of the head before the two parts.
const messageHead = 16

// message returns the payload for the line data[low:end] of a block, borrowed until the next
// call. hits says that the message lists the matches in the line.
func (m *lineMapper) message(data []byte, low, end int, hits bool) []byte {
	next := min(end+1, len(data)) // the message includes the end of the line
	// The head is written last, when both lengths are known.
	var head [messageHead]byte
	dst := append(append(m.shown[:0], head[:]...), `"lines":`...)
	dst = m.appendText(dst, data[low:next])
	first := len(dst) - messageHead
	dst = strconv.AppendInt(append(dst, `,"absolute_offset":`...), m.offset+int64(low), 10)
	dst = append(dst, `,"submatches":[`...)
	count := uint32(0)
	// Offsets of matches count from the start of the line, in bytes.
	until := end // a match may have the newline at its end
	if m.several {
		until = next
	}
	if hits {
		for h := range m.hits(data, low, until) {
			if count++; count > 1 {
				dst = append(dst, ',')
			}
			dst = m.appendText(append(dst, `{"match":`...), data[low+h.start:low+h.end])
			dst = strconv.AppendInt(append(dst, `,"start":`...), int64(h.start), 10)
			dst = strconv.AppendInt(append(dst, `,"end":`...), int64(h.end), 10)
			dst = append(dst, '}')
		}
	}
	dst = append(dst, "]}}\n"...)
	binary.LittleEndian.PutUint64(dst, uint64(first))
	binary.LittleEndian.PutUint32(dst[8:], count)
	binary.LittleEndian.PutUint32(dst[12:], uint32(countLines(data[low:next])))
	m.shown = dst
	return dst
}

// appendText appends text of the block in its original form.
func (m *lineMapper) appendText(dst, text []byte) []byte {
	// In blocks of lines that end with NUL, NUL and newline are exchanged.
	if m.eol == 0 {
		m.undone = m.appendOriginal(m.undone[:0], text)
		text = m.undone
	}
	return appendJSON(dst, text)
}

// appendJSON appends the JSON object for arbitrary bytes: {"text":"…"}, or {"bytes":"…"} in
// base64 if they are not UTF-8.
func appendJSON(dst, text []byte) []byte {
	if !utf8.Valid(text) {
		dst = append(dst, `{"bytes":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, text)
		return append(dst, `"}`...)
	}
	dst = append(dst, `{"text":"`...)
	// text[:from] is appended already.
	from := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		if k := strings.IndexByte("\"\\\b\f\n\r\t", c); k >= 0 {
			dst = append(dst, '\\', `"\bfnrt`[k])
		} else {
			dst = fmt.Appendf(dst, `\u%04x`, c)
		}
	}
	return append(append(dst, text[from:]...), `"}`...)
}

// tally holds the stats of an end or a summary message. As in ripgrep 13, it counts only files
// with a match.
type tally struct {
	elapsed                          time.Duration
	searches                         int64 // files with a match
	searched, printed, lines, merged int64 // bytes searched, bytes printed, matched lines, matches
}

// messages is the releaser's state of the messages of a run.
type messages struct {
	begun     bool      // the begin message of the file was written
	file, all tally     // of the current file; of all files that have ended
	since     time.Time // when the file began
	start     time.Time // when the run began
	early     int64     // number of a file whose bytes were reported before its frameFile; -1: none
	earlier   int64     // those bytes
}

// beginFile writes the begin message of the file, once.
func (r *releaser) beginFile() {
	if r.messages.begun {
		return
	}
	r.messages.begun = true
	r.write(append(r.appendShown([]byte(`{"type":"begin","data":{"path":`)), "}}\n"...))
}

// appendShown appends the path of the file in the form of messages.
func (r *releaser) appendShown(dst []byte) []byte {
	// ripgrep has this name for standard input.
	if string(r.prefix) == StdinPath {
		return appendJSON(dst, []byte("<stdin>"))
	}
	return appendJSON(dst, r.prefix)
}

// StdinPath is the path of standard input in a Block.
const StdinPath = "(standard input)"

// write writes a part of a message and counts its bytes.
func (r *releaser) write(p []byte) {
	r.messages.file.printed += int64(len(p))
	_, _ = r.out.Write(p) // the next Flush returns the error
}

// message writes the message of one line. payload is the payload of its frameItem. If payload
// is nil, message reads length bytes of it from the split.
func (r *releaser) message(number int64, flags byte, payload []byte, length int64) (err error) {
	r.beginFile()
	head := payload
	if payload == nil {
		// Only the head is needed here; copy passes the two parts on from the buffer of the
		// reader.
		if head, err = r.in.Peek(messageHead); err != nil {
			return fmt.Errorf("grep: the lines of a split end early: %w", err)
		}
	}
	first, count := int64(binary.LittleEndian.Uint64(head)), int64(binary.LittleEndian.Uint32(head[8:]))
	kind := `{"type":"context","data":{"path":`
	if flags&itemSelected != 0 {
		kind = `{"type":"match","data":{"path":`
		r.messages.file.lines += int64(binary.LittleEndian.Uint32(head[12:]))
		r.messages.file.merged += count
	}
	r.scratch = append(r.appendShown(append(r.scratch[:0], kind...)), ',')
	r.write(r.scratch)
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

// searched adds the bytes that a mapper has searched of a file. payload is that of a
// frameSearched.
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

// startFile begins the stats of file r.file.
func (r *releaser) startFile() {
	s := &r.messages
	s.begun = false
	s.file = tally{}
	s.since = time.Now()
	// A mapper reports bytes of a file before its frameFile if the first match is in a later
	// split.
	if s.early == r.file {
		s.file.searched = s.earlier
	}
}

// endMessage writes the end message of a file, if its begin message was written.
func (r *releaser) endMessage() {
	s := &r.messages
	if !s.begun {
		return
	}
	f := &s.file
	// elapsed is the time in which the releaser wrote the lines of the file. The time of the
	// search is not known: several files are searched at the same time.
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

// writeSummary writes the summary message. Its names are in alphabetical order, as in ripgrep.
func (t *tally) writeSummary(w io.Writer, total time.Duration) {
	elapsed := func(d time.Duration) string {
		return fmt.Sprintf(`{"human":"%.6fs","nanos":%d,"secs":%d}`, d.Seconds(), int64(d%time.Second), int64(d/time.Second))
	}
	// w keeps an error for the Flush that follows.
	_, _ = fmt.Fprintf(w, `{"data":{"elapsed_total":%s,"stats":{"bytes_printed":%d,"bytes_searched":%d,"elapsed":%s,`, elapsed(total), t.printed, t.searched, elapsed(t.elapsed))
	_, _ = fmt.Fprintf(w, `"matched_lines":%d,"matches":%d,"searches":%d,"searches_with_match":%d}},"type":"summary"}`+"\n", t.lines, t.merged, t.searches, t.searches)
}

// countJobs returns the two jobs of Hadoop's grep example. The first one counts each match, and
// the second one sorts the counts. Unlike Hadoop's example, they do not count empty matches.
func countJobs(p *program, skipBinary bool) jobs.Chain {
	return jobs.Chain{{
		Name:       "grep-search",
		NewMapper:  func() jobs.Mapper { return newMatchMapper(p) },
		NewFolder:  func() jobs.Folder { return jobs.Sum{} },
		NewReducer: func() jobs.Reducer { return jobs.NewSum() },
		SkipBinary: skipBinary,
		BuiltIn:    true,
	}, lines.TopJob("grep-sort", jobs.Newline, lines.Kept{}, func() lines.CountFormat { return ranking{} })}
}

// matchMapper emits each match with the count 1.
type matchMapper struct {
	search *search
	walker walker
	// The value that emit passes to Emit; a field saves an allocation for each match.
	count [8]byte
	err   error  // the strings to search for do not fit in memory
	only  []byte // the text of all matches, if they are all the same; otherwise nil
}

func newMatchMapper(p *program) *matchMapper {
	m := &matchMapper{search: newSearch(p)}
	if p.exact && len(p.literals) == 1 && !p.literals[0].Fold {
		m.only = []byte(p.literals[0].Text)
	}
	return m
}

// Begin charges the memory of the search to the attempt.
func (m *matchMapper) Begin(a jobs.OwnAttempt) {
	m.err = m.search.charge(a)
	m.search.account(a)
}

// Map implements jobs.Mapper. The keys that it emits lie in the block.
func (m *matchMapper) Map(b jobs.Block, out jobs.Emitter) error {
	if len(b.Data) == 0 || m.err != nil {
		return m.err
	}
	m.search.begin(b.Data)
	m.search.tune()
	// If literals only mark candidates, the lineMatcher decides line by line.
	if !m.search.sure {
		m.byLine(b.Data, out)
		return nil
	}
	m.walker.reset(m.search, b.Data)
	if m.only != nil {
		m.same(out)
	} else {
		m.emit(b.Data, out)
	}
	return nil
}

// Flush ends the search and returns its lineMatcher to the pool.
func (m *matchMapper) Flush(jobs.Emitter) error {
	m.search.end()
	return nil
}

// byLine emits the matches of lines that contain a literal.
func (m *matchMapper) byLine(data []byte, out jobs.Emitter) {
	for start, end, _ := m.search.candidate(); start != none; start, end, _ = m.search.candidate() {
		m.walker.reset(m.search, data[start:end])
		m.emit(data[start:end], out)
	}
}

// emit emits the matches that the walker finds in text.
func (m *matchMapper) emit(text []byte, out jobs.Emitter) {
	// Emit borrows the value only until it returns, so all matches share it.
	value := jobs.AppendUint64(m.count[:0], 1)
	for start, end := m.walker.next(); start != none; start, end = m.walker.next() {
		out.Emit(text[start:end], value)
	}
}

// same counts matches that all have the same text, and emits the text once with their number.
func (m *matchMapper) same(out jobs.Emitter) {
	n := uint64(0)
	for start, _ := m.walker.next(); start != none; start, _ = m.walker.next() {
		n++
	}
	if n > 0 {
		out.Emit(m.only, jobs.AppendUint64(m.count[:0], n))
	}
}

// ranking reads the result of the first job, "match TAB count", and writes "count TAB match". A match may
// contain tabs; the count stands behind the last one.
type ranking struct{ lines.KeyCount }

// Append implements lines.CountFormat.
func (ranking) Append(dst, match []byte, count uint64) []byte {
	return append(append(strconv.AppendUint(dst, count, 10), '\t'), match...)
}
