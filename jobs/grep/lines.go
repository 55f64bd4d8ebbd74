package grep

import (
	"bytes"
	"cmp"
	"errors"
	"math"

	"mrlocal/jobs"
)

// binaryHeadBytes is the length of the head in which a NUL byte makes a file
// binary, the same as in package input.
const binaryHeadBytes = 64 << 10

// form says how selected lines are written. It is made of Options when the
// number of files is known.
type form struct {
	names   bool // the path of the file precedes lines and counts
	numbers bool
	matched bool // -o
	invert  bool
	limit   int64 // of selected lines in each file; math.MaxInt64 for none
	want    want

	nulNames    bool
	color       bool
	single      bool              // there is no other file
	json        bool              // messages instead of lines; context is set
	eol         byte              // ends lines of output
	context     *Context          // nil unless lines are wanted
	binaryMatch func(path string) // nil unless lines are wanted
}

// want says what is to be found out about each file.
type want uint8

const (
	wantLines want = iota
	wantCounts
	wantFiles
	wantOthers // -L
	wantAny    // -q
)

// limited reports whether there is a limit. The releaser must then be able to
// count lines.
func (f *form) limited() bool { return f.limit != math.MaxInt64 }

// lower makes the form of the options. With files it decides whether lines need the name
// of their file.
func lower(o Options, files int) *form {
	f := &form{
		names:   o.Names == NamesAlways || o.Names == NamesAuto && files > 1,
		numbers: o.LineNumbers,
		matched: o.OnlyMatched,
		invert:  o.Invert,
		limit:   math.MaxInt64,

		nulNames: o.NULNames,
		color:    o.Color,
		single:   o.Single,
		eol:      '\n',
	}
	if o.NULEnded {
		f.eol = 0
	}
	switch {
	// Of several such options the first one of this list counts, as in GNU grep.
	case o.Quiet:
		f.want = wantAny
	case o.ListFiles:
		f.want = wantFiles
	case o.ListOthers:
		f.want = wantOthers
	case o.Count:
		f.want = wantCounts
	default:
		f.context = o.Context
		if !o.Text && !o.NULEnded {
			f.binaryMatch = o.BinaryMatch
		}
		if o.JSON { // messages have their own form of path, number and matches
			f.json, f.names, f.numbers, f.matched, f.color = true, false, false, false, false
			f.context = cmp.Or(f.context, &Context{})
		}
	}
	if o.MaxCount != nil && *o.MaxCount >= 0 {
		f.limit = *o.MaxCount
	}
	return f
}

// lineMapper selects lines. Line numbers count from the start of the file if
// the file began in this split, else from the start of the split.
type lineMapper struct {
	*form
	search *search // in blocks
	inner  *search // in a line, for its matches
	walker walker
	frames *frames
	prefix []byte // path and colon, with room behind it for a line number
	number decimal
	most   int64  // selected lines of a file after which the rest of the split is of no use
	text   []byte // the block with NUL and newline exchanged, if eol is NUL
	shown  []byte // text that is made for the output
	undone []byte // text of the input with NUL and newline exchanged back, for messages

	file     int32
	path     string
	open     bool  // a file has begun
	relative bool  // the file began before this split
	more     bool  // the file goes on behind the blocks seen so far
	named    bool  // a frameFile was written for it
	selected int64 // number of selected lines of the file in this split
	lines    int64 // number of lines before the current text, if numbers are wanted
	found    bool  // -q: a line was selected
	binary   bool  // the file is to be named if it matches
	offset   int64 // of the block in the file
	searched int64 // bytes of the file in this split
}

// newLineMapper returns a mapper for one attempt. p and f are shared by all attempts and only
// read.
func newLineMapper(p *program, f *form) *lineMapper {
	m := &lineMapper{form: f, search: newSearch(p), inner: newSearch(p), frames: newFrames(), most: f.limit}
	m.frames.eol, m.frames.buf = f.eol, m.search.spare[:0]
	if f.context != nil && f.limited() { // selected lines beyond the limit are context
		// The difference keeps the sum from overflowing where there is no limit.
		m.most += min(f.context.After, math.MaxInt64-m.most)
	}
	return m
}

// Begin charges the memory of the search to the attempt.
func (m *lineMapper) Begin(a jobs.OwnAttempt) {
	m.search.account(a)
	m.inner.account(a)
}

// Map implements jobs.Mapper. out must be a jobs.RawWriter, because frames are no records.
func (m *lineMapper) Map(b jobs.Block, out jobs.Emitter) error {
	// The engine gives map-only jobs such an Emitter; a test may give another.
	raw, ok := out.(jobs.RawWriter)
	if !ok {
		return errors.New("grep: the Emitter cannot write raw lines (jobs.RawWriter)")
	}
	m.frames.out = raw
	m.enter(b)
	// The attempt may not skip the rest of the split: another file may begin there.
	if len(b.Data) > 0 && !m.done() {
		data := b.Data
		if m.eol == 0 {
			m.text = append(m.text[:0], data...)
			exchange(m.text)
			data = m.text
		}
		m.search.begin(data)
		// The search adapts to the first block.
		m.search.tune()
		m.block(data)
	}
	return nil
}

// enter finds out whether a block begins another file.
func (m *lineMapper) enter(b jobs.Block) {
	// A block at offset 0 begins a file. The first block of a split may begin within one.
	if !m.open || b.Offset == 0 {
		m.leave()
		m.open, m.file, m.path, m.relative = true, b.File, b.Path, b.Offset != 0
		m.named, m.selected, m.lines, m.searched = false, 0, 0, 0
		m.prefix = m.prefix[:0]
		if m.names {
			m.prefix = m.appendPath(m.prefix, b.Path, ':')
		}
		if m.want == wantOthers {
			m.name()
		}
		m.binary = m.binaryMatch != nil && b.Offset == 0 && bytes.IndexByte(b.Data[:min(len(b.Data), binaryHeadBytes)], 0) >= 0
		if m.binary {
			// The frame comes before any line of the file. The releaser then shows none of them.
			m.frames.frame(frameBinary, int64(m.file), []byte(m.path))
		}
	}
	m.more = !b.Last
	m.offset = b.Offset
	m.searched += int64(len(b.Data))
}

// leave writes what is known of the file at the end of the file or of the
// split.
func (m *lineMapper) leave() {
	if !m.open {
		return
	}
	if m.want == wantCounts && m.limit > 0 {
		m.name()
		// Counts of splits are added up; 0 too, because -c prints it.
		m.frames.frame(frameCount, m.selected, nil)
	}
	// Of a file without match in this split, another split may have one.
	if m.json && (m.named || m.relative || m.more) {
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
	// The next split needs to know how many lines came before it, or that the file is done.
	if m.more && (m.numbers || m.limited() || m.context != nil || m.want == wantFiles || m.want == wantOthers) {
		payload := jobs.AppendUint64(nil, uint64(m.lines))
		// The releaser needs to know whether these lines are the first of the file.
		began := byte(1)
		if m.relative {
			began = 0
		}
		m.frames.frame(frameOpen, int64(m.file), append(payload, began))
	}
	m.frames.flush()
	return nil
}

// done reports whether the rest of this file is of no use.
func (m *lineMapper) done() bool {
	switch {
	case m.want == wantAny:
		// One line in any file answers -q.
		return m.found || m.limit == 0
	case m.want == wantFiles || m.want == wantOthers || m.binary:
		return m.selected > 0 || m.limit == 0
	}
	return m.selected >= m.most
}

// name writes, once, which file the next frames are about.
func (m *lineMapper) name() {
	if m.named {
		return
	}
	m.named = true
	prefix := m.prefix
	switch {
	case m.want == wantFiles || m.want == wantOthers:
		// With -l and -L the name is the output itself.
		prefix = m.appendName(nil, m.path)
	case m.context != nil: // the releaser needs it with both separators
		prefix = []byte(m.path)
	}
	m.frames.frame(frameFile, int64(m.file), prefix)
}

// block searches one block of whole lines.
func (m *lineMapper) block(data []byte) {
	switch {
	case m.want == wantAny:
		if m.any(data) {
			m.found = true
			m.frames.frame(frameFound, 0, nil)
		}
	case m.want == wantFiles || m.want == wantOthers || m.binary:
		if m.any(data) {
			m.selected = 1
			m.name()
			m.frames.frame(frameFound, 0, nil)
		}
	case m.want == wantCounts:
		m.count(data)
	case m.context != nil:
		m.groups(data)
	default:
		m.each(data)
	}
}

// any reports whether a line is selected.
func (m *lineMapper) any(data []byte) bool {
	if !m.invert {
		start, _ := m.search.line()
		return start != none
	}
	// With -v any line that is not the next matching one is selected.
	for from := 0; from < len(data); {
		start, end := m.search.line()
		// Lines lie between from and the match; none of them matches.
		if start != from {
			return true
		}
		from = end + 1
	}
	return false
}

// count adds the selected lines of a block without writing them.
func (m *lineMapper) count(data []byte) {
	n := m.search.count()
	if m.invert {
		// Each line either matches or is selected by -v.
		n = countLines(data) - n
	}
	// The sum may go over the limit in the middle of a block.
	m.selected = min(m.selected+n, m.limit)
}

// countLines returns the number of lines, including a last line without
// newline.
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
	counted := 0 // m.lines counts the lines before this place
	for from := 0; from < len(data) && !m.done(); {
		start, end := m.search.line()
		from = m.selection(data, from, start, end, &counted)
	}
	// Lines behind the last selected one count for the split that follows.
	if m.numbers && m.more {
		m.lines += countLines(data[min(counted, len(data)):])
	}
}

// selection writes the result of the matching line start:end: the line or, with
// -v, the lines between the last match and this one. It returns the start of
// the next line.
func (m *lineMapper) selection(data []byte, from, start, end int, counted *int) int {
	next := len(data)
	if start != none {
		next = min(end+1, next)
	}
	// low:high are the lines to write.
	low, high := start, next
	if m.invert {
		low, high = from, min(start, len(data))
	}
	if low >= high {
		return next
	}
	// Newlines are only counted up to lines that are written, all at once.
	if m.numbers {
		m.lines += int64(bytes.Count(data[*counted:low], []byte{'\n'}))
		*counted = low
	}
	if m.binaryMatch != nil {
		m.name() // the releaser may know that this file is binary
	}
	// Lines that need a head or may be cut off by the limit are written one by one.
	switch apart := m.numbers || m.names || m.matched || m.color || m.eol == 0 || m.limited(); {
	case m.matched && m.invert:
		m.silent(data[low:high])
	case apart && m.invert:
		*counted = m.apart(data, low, high)
	case apart:
		m.one(data[start:end])
		*counted = next
	default:
		m.run(data[low:high])
	}
	return next
}

// run writes neighbouring lines as they are.
func (m *lineMapper) run(text []byte) {
	lines := int64(1)
	if m.invert {
		lines = countLines(text)
	}
	m.selected += lines
	m.frames.text(lines, text)
	// Only the last line of a file can lack its newline. GNU grep adds one.
	if text[len(text)-1] != '\n' {
		m.frames.newline()
	}
}

// silent selects lines of which nothing is written: -o with -v.
func (m *lineMapper) silent(text []byte) {
	// The limit counts lines, whether anything of them is written or not.
	lines := min(countLines(text), m.limit-m.selected)
	m.selected += lines
	// The releaser counts lines against the limit frame by frame.
	if m.limited() {
		m.name()
		for range lines {
			m.frames.frame(frameRaw, 1, nil)
		}
		return
	}
	m.frames.frame(frameRaw, lines, nil)
}

// apart writes lines one by one, and returns the place up to which it did.
func (m *lineMapper) apart(data []byte, low, high int) int {
	for low < high && !m.done() {
		end := lineEnd(data[:high], low)
		m.one(data[low:end])
		low = min(end+1, high)
	}
	return low
}

// one writes one selected line.
func (m *lineMapper) one(line []byte) {
	m.lines++
	m.selected++
	// A frame of its own for each line, so that the releaser can stop behind any of them.
	if m.limited() {
		m.name()
		m.frames.close()
	}
	switch {
	case m.matched:
		m.parts(line)
	case m.color && !m.invert:
		m.put(m.painted(line), true)
	default:
		m.put(m.original(line), true)
	}
}

// parts writes the matches in a line.
func (m *lineMapper) parts(line []byte) {
	m.inner.begin(line)
	m.walker.reset(m.inner, line)
	first := true
	for start, end := m.walker.next(); start != none; start, end = m.walker.next() {
		m.put(m.part(line[start:end]), first)
		first = false
	}
	if first { // the line is selected, but all its matches are empty
		m.frames.text(1, nil)
	}
}

// put writes one line of output. first is false for further parts of a line.
func (m *lineMapper) put(text []byte, first bool) {
	lines := int64(0)
	if first {
		lines = 1
	}
	switch {
	// The number in the file is not known here. The releaser adds what came before.
	case m.numbers && m.relative:
		m.name()
		switch {
		case first && !m.matched && !m.limited():
			m.frames.numbered(m.lines, text)
		case first:
			m.frames.frame(frameLine, m.lines, text)
		default:
			m.frames.frame(frameMore, 0, text)
		}
	case m.numbers:
		// The number goes into the room behind the prefix; the next line writes over it.
		prefix := m.appendNumber(m.prefix, m.number.set(m.lines), ':')
		m.frames.line(lines, prefix, text)
		m.prefix = prefix[:len(m.prefix)]
	default:
		m.frames.line(lines, m.prefix, text)
	}
}
