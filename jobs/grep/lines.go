package grep

import (
	"bytes"
	"cmp"
	"errors"
	"math"

	"mrlocal/internal/scan"
	"mrlocal/jobs"
	"mrlocal/jobs/internal/lines"
)

// binaryHeadBytes: a file is binary if its first binaryHeadBytes have a NUL byte. Package input
// has the same limit.
const binaryHeadBytes = 64 << 10

// form says how selected lines are written: Options, and what follows from them. lower makes it as soon
// as the number of files is known. It clears Context, JSON and BinaryMatch if no lines are wanted, and what
// JSON replaces.
type form struct {
	Options
	names   bool    // the path of the file is written before lines and counts
	limit   int64   // most selected lines of each file; math.MaxInt64: no limit
	want    want    // of each file
	colors  *Scheme // nil: no colours
	several bool    // matches may span lines
	eol     byte    // ends each line of the output
}

// want says which result is wanted for each file.
type want uint8

const (
	wantLines  want = iota // the selected lines
	wantCounts             // -c: the number of selected lines
	wantFiles              // -l: the path, if a line is selected
	wantOthers             // -L: the path, if no line is selected
	wantAny                // -q: only whether a line of any file is selected
)

// limited reports whether there is a limit. The releaser then has to count lines.
func (f *form) limited() bool { return f.limit != math.MaxInt64 }

// lower makes the form of the options for the given number of files.
func lower(o Options, files int) *form {
	f := &form{Options: o, names: o.Names == NamesAlways || o.Names == NamesAuto && files > 1, limit: math.MaxInt64, eol: '\n'}
	f.NoBinary = o.NoBinary && !o.Text && !o.NULEnded
	if o.Color {
		f.colors = NewColors(o.Colors)
	}
	if o.NULEnded {
		f.eol = 0
	}
	switch {
	// If several of these options are set, the first one of this list counts, as in GNU grep.
	case o.Quiet:
		f.want = wantAny
	case o.ListFiles:
		f.want = wantFiles
	case o.ListOthers:
		f.want = wantOthers
	case o.Count:
		f.want = wantCounts
	}
	if f.want != wantLines {
		f.JSON, f.Context = false, nil
	}
	if f.want != wantLines || o.Text || o.NULEnded {
		f.BinaryMatch = nil
	}
	if f.JSON { // messages have a form of their own for path, number and matches
		f.names, f.Offsets = false, false
		f.LineNumbers, f.OnlyMatched = false, false
		f.colors, f.Context = nil, cmp.Or(o.Context, &Context{})
	}
	if o.MaxCount != nil && *o.MaxCount >= 0 {
		f.limit = *o.MaxCount
	}
	return f
}

// lineMapper selects lines and writes frames. Line numbers count from the start of the file if
// the file begins in this split, and otherwise from the start of the split.
type lineMapper struct {
	*form
	search *search // finds lines in blocks
	inner  *search // finds matches in a line
	walker walker
	frames *frames
	prefix []byte // path and separator; the memory behind it holds a line number
	number decimal
	most   int64  // number of selected lines after which the rest of the file in this split is not needed
	text   []byte // the block with NUL and newline exchanged, if eol is NUL
	shown  []byte // scratch for the text of a line or match in its output form
	led    []byte // scratch for the offset, the tab and the text of a line or match
	undone []byte // scratch for text in its original form, for messages

	file     int32
	path     string
	open     bool  // a file has begun
	relative bool  // the file began before this split, so line numbers count from the split
	more     bool  // the file has text behind the last block
	named    bool  // the frameFile of the file was written
	selected int64 // number of selected lines of the file in this split
	lines    int64 // lines of the file before the current text, if numbers are wanted
	found    bool  // -q: a line was selected
	err      error // the strings to search for do not fit in memory
	binary   bool  // the file is binary, and its path is wanted if it has a match
	offset   int64 // of the block in the file, in bytes
	searched int64 // bytes of the file in this split so far

	charge   func(bytes int64) bool
	held     []byte // if matches may span lines: the text of the file
	charged  int64  // bytes for messages about chunks
	spanned  walker // the matches of the current chunk
	chunkEnd int    // the end of the chunk in held
	next     hit    // a match that the next line may have; its start is none if there is none
}

// newLineMapper returns a mapper for one attempt. All attempts share p and f, and only read
// them.
func newLineMapper(p *program, f *form) *lineMapper {
	m := &lineMapper{form: f, search: newSearch(p), inner: newSearch(p), frames: newFrames(), most: f.limit}
	m.frames.eol, m.frames.buf = f.eol, m.search.spare[:0]
	if f.Context != nil && f.limited() { // selected lines beyond the limit may be context
		// The subtraction prevents an overflow if there is no limit.
		m.most += min(f.Context.After, math.MaxInt64-m.most)
	}
	return m
}

// Begin charges the memory of the search to the attempt.
func (m *lineMapper) Begin(a jobs.OwnAttempt) {
	m.err = m.search.charge(a)
	m.charge = a.Charge
	m.search.account(a)
	m.inner.account(a)
}

// Map implements jobs.Mapper. out must be a jobs.RawWriter, because frames are not records.
func (m *lineMapper) Map(b jobs.Block, out jobs.Emitter) error {
	// The engine gives a job without reducers such an Emitter; a test may not.
	raw, ok := out.(jobs.RawWriter)
	if !ok {
		return errors.New("grep: the Emitter cannot write raw lines (jobs.RawWriter)")
	}
	if m.err != nil {
		return m.err
	}
	m.frames.out = raw
	if m.enter(b); m.err != nil {
		return m.err
	}
	if m.several && !m.done() {
		return m.hold(b)
	}
	// Even if the rest of a file is not needed, another file may begin in this split.
	if len(b.Data) > 0 && !m.done() {
		data := b.Data
		if m.eol == 0 {
			m.text = append(m.text[:0], data...)
			lines.Exchange(m.text)
			data = m.text
		}
		m.search.begin(data)
		// The search adapts to the first block.
		m.search.tune()
		m.block(data)
	}
	return nil
}

// enter begins another file if the block is the first one of a file or of the split.
func (m *lineMapper) enter(b jobs.Block) {
	if !m.open || b.Offset == 0 {
		m.leave()
		m.open = true
		m.file = b.File
		m.path = b.Path
		m.relative = b.Offset != 0
		m.path = cmp.Or(m.Labels[b.Path], b.Path)
		m.named = false
		m.selected = 0
		m.lines, m.searched = 0, 0
		m.prefix = m.prefix[:0]
		if m.names {
			m.prefix = m.appendPath(m.prefix, m.path, ':')
		}
		if m.want == wantOthers {
			m.name()
		}
		m.found = m.found && !m.NoBinary // the file before may be one whose lines do not count
		if m.binary = false; b.Offset == 0 {
			m.judge(b.Data)
		}
	}
	m.more = !b.Last
	m.offset = b.Offset
	m.searched += int64(len(b.Data))
}

// judge decides by the beginning of a file whether the file is binary. It is called before any line of the file is
// written, so that the releaser shows none of them.
func (m *lineMapper) judge(begin []byte) {
	if (m.BinaryMatch != nil || m.NoBinary) && !m.binary && bytes.IndexByte(begin[:min(len(begin), binaryHeadBytes)], 0) >= 0 {
		m.binary = true
		m.frames.frame(frameBinary, int64(m.file), []byte(m.path))
	}
}

// leave writes the counts of the file, at the end of the file or of the split.
func (m *lineMapper) leave() {
	if !m.open {
		return
	}
	if len(m.held) > 0 {
		m.judge(m.held) // the first block may be short
		m.wholeText(m.held)
		m.held = m.held[:0]
	}
	if m.want == wantCounts && m.limit > 0 {
		m.name()
		// The releaser adds up the counts of splits. A count of 0 is needed too, because -c
		// prints it.
		m.frames.frame(frameCount, m.selected, nil)
	}
	// If the file has no match in this split, it may have one in another split.
	if m.JSON && (m.named || m.relative || m.more) {
		m.frames.frame(frameSearched, int64(m.file), jobs.AppendUint64(nil, uint64(m.searched)))
	}
}

// Flush ends the split.
func (m *lineMapper) Flush(out jobs.Emitter) error {
	defer func() {
		m.search.spare = m.frames.buf
		m.search.end()
		m.inner.end()
	}()
	if !m.open {
		return nil
	}
	m.leave()
	// For the next split, the releaser needs the number of lines before it, or that the file is
	// done.
	if m.more && (m.LineNumbers || m.limited() || m.Context != nil || m.want == wantFiles || m.want == wantOthers) {
		payload := jobs.AppendUint64(nil, uint64(m.lines))
		began := byte(1)
		if m.relative {
			began = 0
		}
		m.frames.frame(frameOpen, int64(m.file), append(payload, began))
	}
	m.frames.flush()
	return m.err
}

// done reports whether the rest of the file is not needed.
func (m *lineMapper) done() bool {
	switch {
	case m.binary && m.NoBinary:
		return true
	case m.want == wantAny:
		return m.found || m.limit == 0
	case m.want == wantFiles || m.want == wantOthers || m.binary:
		return m.selected > 0 || m.limit == 0
	}
	return m.selected >= m.most
}

// name writes the frameFile of the file, once.
func (m *lineMapper) name() {
	if m.named {
		return
	}
	m.named = true
	prefix := m.prefix
	switch {
	case m.want == wantFiles || m.want == wantOthers:
		// With -l and -L the path is the output itself.
		prefix = m.appendPath(nil, m.path, '\n')
	case m.Context != nil: // the releaser adds the separator, which differs from line to line
		prefix = []byte(m.path)
	}
	m.frames.frame(frameFile, int64(m.file), prefix)
}

// block searches one block, which has whole lines.
func (m *lineMapper) block(data []byte) {
	switch {
	case m.want > wantCounts || m.binary:
		if m.any(data) {
			m.report()
		}
	case m.want == wantCounts:
		m.count(data)
	case m.Context != nil:
		m.groups(data)
	default:
		m.each(data)
	}
}

// report writes that a line is selected, where nothing else of the file is wanted.
func (m *lineMapper) report() {
	if m.want == wantAny {
		m.found = true
		m.frames.frame(frameFound, int64(m.file), nil)
		return
	}
	m.selected = 1
	m.name()
	m.frames.frame(frameFound, 0, nil)
}

// any reports whether the block has a selected line.
func (m *lineMapper) any(data []byte) bool {
	if !m.Invert {
		start, _ := m.search.line()
		return start != none
	}
	// With -v, a line before the next match is selected.
	for from := 0; from < len(data); {
		start, end := m.search.line()
		if start != from {
			return true
		}
		from = end + 1
	}
	return false
}

// count adds up the selected lines of a block without writing them.
func (m *lineMapper) count(data []byte) {
	n := m.search.count()
	if m.Invert {
		// With -v, the lines without a match are selected.
		n = countLines(data) - n
	}
	// The block may have more selected lines than the limit allows.
	m.selected = min(m.selected+n, m.limit)
}

// countLines returns the number of lines, including a last line without newline.
func countLines(data []byte) int64 {
	n := int64(bytes.Count(data, []byte{'\n'}))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// each writes the selected lines of a block. Neighbouring lines are written
// together.
func (m *lineMapper) each(data []byte) {
	counted := 0 // m.lines counts the lines before data[counted]
	for from := 0; from < len(data); {
		start, end := m.search.line()
		from = m.selection(data, from, start, end, &counted)
	}
	// The lines behind the last selected one count for the next split.
	if m.LineNumbers && m.more {
		m.lines += countLines(data[min(counted, len(data)):])
	}
}

// selection writes the lines that the match in line start:end selects: the line itself or, with
// -v, the lines between from and it. counted is as in each. selection returns the start of the
// next line.
func (m *lineMapper) selection(data []byte, from, start, end int, counted *int) int {
	next := len(data)
	if start != none {
		next = min(end+1, next)
	}
	// data[low:high] has the lines to write.
	low, high := start, next
	if m.Invert {
		low, high = from, min(start, len(data))
	}
	if low >= high {
		return next
	}
	// Newlines before the selected lines are counted in one call.
	if m.LineNumbers {
		m.lines += int64(bytes.Count(data[*counted:low], []byte{'\n'}))
		*counted = low
	}
	if m.BinaryMatch != nil || m.NoBinary {
		m.name() // the releaser may know that this file is binary
	}
	// Lines are written one by one if each needs a prefix, a change, or a check against the
	// limit.
	switch apart := m.LineNumbers || m.names || m.Offsets || m.OnlyMatched || m.colors != nil || m.eol == 0; {
	case m.OnlyMatched && m.Invert:
		m.silent(data[low:high])
	case apart && m.Invert:
		for ; low < high; low = *counted {
			end := scan.LineEnd(data[:high], low)
			m.one(data, low, end)
			*counted = min(end+1, high)
		}
	case apart:
		m.one(data, start, end)
		*counted = next
	default:
		m.run(data[low:high])
	}
	return next
}

// run writes neighbouring selected lines as they are.
func (m *lineMapper) run(text []byte) {
	lines := int64(1)
	if m.Invert {
		lines = countLines(text)
	}
	m.selected += lines
	m.frames.text(lines, text)
	// Only the last line of a file can lack its newline. GNU grep adds it, too.
	if text[len(text)-1] != '\n' {
		m.frames.newline()
	}
}

// silent selects lines of which nothing is written (-o with -v).
func (m *lineMapper) silent(text []byte) {
	lines := countLines(text)
	m.selected += lines
	m.frames.frame(frameRaw, lines, nil)
}

// one writes one selected line, data[low:end].
func (m *lineMapper) one(data []byte, low, end int) {
	line, at := data[low:end], m.offset+int64(low)
	m.lines++
	m.selected++
	switch {
	case m.OnlyMatched:
		m.parts(line, at)
	case m.colors != nil:
		m.put(at, m.painted(data, low, end, true), true)
	default:
		m.put(at, m.original(line), true)
	}
}

// parts writes the matches in a line at an offset of the file (-o).
func (m *lineMapper) parts(line []byte, at int64) {
	m.inner.begin(line)
	m.walker.reset(m.inner, line)
	first := true
	for start, end := m.walker.next(); start != none; start, end = m.walker.next() {
		m.put(at+int64(start), m.part(line[start:end]), first)
		first = false
	}
	if first { // the line is selected, but all its matches are empty
		m.frames.text(1, nil)
	}
}

// put writes one line of output, whose text is at an offset of the file. first is false for the second
// and later matches of a line.
func (m *lineMapper) put(at int64, text []byte, first bool) {
	if m.Offsets || m.Tab {
		m.led = append(m.appendLead(m.led[:0], at, ':', len(text) > 0), text...)
		text = m.led
	}
	lines := int64(0)
	if first {
		lines = 1
	}
	switch {
	// The number of the line in the file is not known here. The releaser computes it.
	case m.LineNumbers && m.relative:
		m.name()
		switch {
		case first && !m.OnlyMatched:
			m.frames.numbered(m.lines, text)
		case first:
			m.frames.frame(frameLine, m.lines, text)
		default:
			m.frames.frame(frameMore, 0, text)
		}
	case m.LineNumbers:
		// The number is appended behind the prefix; the next line overwrites it.
		prefix := m.appendNumber(m.prefix, m.number.set(m.lines), ':')
		m.frames.line(lines, prefix, text)
		m.prefix = prefix[:len(m.prefix)]
	default:
		m.frames.line(lines, m.prefix, text)
	}
}
