package grep

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"mrlocal/errs"
)

// Lines around selected ones cross the borders of blocks and splits. So a mapper
// writes more lines than needed: of each run of lines of a block that are not
// selected, the first After and the last Before. The releaser, which sees all
// splits in order, decides which of them are written.

// These are the flags of a frameItem.
const (
	itemSelected = 1 << iota
	itemMore     // -o: a further match of the line before
	itemEmpty    // -o: nothing of the line is written
	itemRelative // the number counts from the start of the split
)

// groups writes the lines of a block that are selected, and candidates around
// them.
func (m *lineMapper) groups(data []byte) {
	counted := 0 // m.lines counts the lines before this place
	for from := 0; from < len(data) && !m.done(); {
		start, end := m.search.line()
		next := len(data)
		if start == none {
			start = len(data)
		} else {
			next = min(end+1, next)
		}
		// With -v, the lines between two matches are the selected ones.
		m.stretch(data, from, start, m.invert)
		m.stretch(data, start, next, !m.invert)
		from, counted = next, next
	}
	m.lines += countLines(data[counted:])
}

// stretch writes the lines of low:high, all of which are selected or none.
func (m *lineMapper) stretch(data []byte, low, high int, selected bool) {
	if low >= high {
		return
	}
	// The frame of the file comes before the first line of it.
	m.name()
	// The first After lines may follow a selected line of the block before.
	after := m.context.After
	for low < high && (selected || after > 0) {
		end := lineEnd(data[:high], low)
		m.item(data, low, end, selected)
		low = min(end+1, high)
		after--
	}
	if low >= high {
		return
	}
	// The last Before lines may come before a selected line of the next block. Those between are
	// only counted.
	tail := high
	for n := int64(0); n < m.context.Before && tail > low; n++ {
		tail = low + bytes.LastIndexByte(data[low:tail-1], '\n') + 1
	}
	m.lines += countLines(data[low:tail])
	for tail < high {
		end := lineEnd(data[:high], tail)
		m.item(data, tail, end, false)
		tail = min(end+1, high)
	}
}

// item writes the line low:end of a block.
func (m *lineMapper) item(data []byte, low, end int, selected bool) {
	line := data[low:end]
	m.lines++
	flags := byte(0)
	if selected {
		// Lines around others do not count against the limit.
		m.selected++
		flags = itemSelected
	}
	switch {
	case m.json: // of lines around others, those that match are the ones with -v
		m.candidate(flags, m.message(data, low, end, selected != m.invert))
	case m.matched && !selected:
		m.candidate(itemEmpty, nil)
	case m.matched:
		m.partItems(line)
	case m.color && selected != m.invert: // with -v, the lines around selected ones have the matches
		m.candidate(flags, m.painted(line))
	default:
		m.candidate(flags, m.original(line))
	}
}

// partItems writes the matches in a selected line.
func (m *lineMapper) partItems(line []byte) {
	// Each match is an item. All but the first have itemMore, so that the limit counts lines.
	flags := byte(itemSelected)
	if !m.invert {
		m.inner.begin(line)
		m.walker.reset(m.inner, line)
		for start, end := m.walker.next(); start != none; start, end = m.walker.next() {
			m.candidate(flags, m.part(line[start:end]))
			flags |= itemMore
		}
	}
	if flags&itemMore == 0 {
		m.candidate(itemSelected|itemEmpty, nil)
	}
}

// candidate writes the frame of the line at hand.
func (m *lineMapper) candidate(flags byte, text []byte) {
	if m.relative {
		flags |= itemRelative
	}
	m.frames.item(m.lines, flags, text)
}

// item writes a frameItem.
func (f *frames) item(number int64, flags byte, text []byte) {
	// An item is a frame by itself, so a frame of lines that is open ends here.
	f.close()
	// One byte is for the flags. The buffer is then empty, so a long text may follow it at once.
	if len(f.buf)+headerBytes+1+len(text) > frameBytes {
		f.flush()
	}
	f.buf = append(appendHeader(f.buf, frameItem, number, 1+len(text)), flags)
	// A short text is copied to the buffer. A long one goes to the output directly, behind what
	// the buffer has.
	if len(text) < directBytes {
		f.buf = append(f.buf, text...)
		return
	}
	f.flush()
	f.out.WriteRaw(text)
}

// groups is what the releaser knows of the lines around selected ones.
type groups struct {
	before []byte // lines that wait for a selected one: of each a head of itemHead bytes, then the text
	oldest int    // place in before of the first of them
	lines  int64  // number of lines in before
	newest int64  // number of the last of them
	last   int64  // number of the last line written; 0 if there is none in this file
	after  int64  // so many lines are still to be written
	cut    bool   // the last line was not written, and further matches in it are not
	begun  bool   // a line was written, in whatever file
}

// mostBeforeBytes bounds the lines that wait for a selected one.
const mostBeforeBytes = 8 << 20

// itemHead is the length of the head of a waiting line: the length of its text,
// and its flags.
const itemHead = 9

// reset begins another file.
func (g *groups) reset() { g.drop(); g.last, g.after, g.cut = 0, 0, false }

// drop forgets the lines that wait.
func (g *groups) drop() { g.before, g.oldest, g.lines = g.before[:0], 0, 0 }

// item handles a frameItem, whose payload is still to be read.
func (r *releaser) item(number, length int64) error {
	flags, err := r.in.ReadByte()
	if err != nil {
		return fmt.Errorf("grep: the lines of a split end early: %w", err)
	}
	g := &r.groups
	// The flags are a part of the payload.
	length--
	if flags&itemRelative != 0 {
		number += r.base
	}
	// Beyond the limit a selected line counts as a line around others.
	reached := r.limited() && r.selected >= r.limit
	switch {
	case flags&itemMore != 0:
		if g.cut {
			return r.copy(io.Discard, length)
		}
		return r.itemLine(number, flags, length)
	case flags&itemSelected != 0 && !reached:
		r.selected++
		r.records++
		if err := r.waiting(number); err != nil {
			return err
		}
		g.after, g.cut = r.context.After, false
		return r.itemLine(number, flags, length)
	case g.after > 0:
		g.after--
		if r.matched { // -o writes no lines around selected ones
			g.last, g.cut = number, true
			return r.copy(io.Discard, length)
		}
		if r.json { // ripgrep calls a line that matches beyond -m a match
			return r.message(number, flags, nil, length)
		}
		return r.itemLine(number, flags&^itemSelected, length)
	case reached || r.context.Before == 0:
		g.cut = true
		return r.copy(io.Discard, length)
	}
	return r.wait(number, flags, length)
}

// wait keeps a line that is written if a line soon behind it is selected.
func (r *releaser) wait(number int64, flags byte, length int64) error {
	g := &r.groups
	// The lines before a gap are not next to a later line, so they are of no use.
	if number != g.newest+1 {
		g.drop()
	}
	if g.lines == r.context.Before {
		// Before lines wait already, so the oldest one makes room.
		g.oldest += itemHead + int(binary.LittleEndian.Uint64(g.before[g.oldest:]))
		g.lines--
		if 2*g.oldest >= len(g.before) { // each byte is moved at most once
			g.before = slices.Delete(g.before, 0, g.oldest)
			g.oldest = 0
		}
	}
	// A line is bounded by the input alone, so the number of lines is no bound of memory.
	if int64(len(g.before)-g.oldest)+length > mostBeforeBytes {
		return errs.Optionf("Options.Context", "the lines before a selected line hold more than %d MiB", mostBeforeBytes>>20)
	}
	// From here on the line counts, although its text is still to be read.
	g.newest = number
	g.lines++
	g.before = append(binary.LittleEndian.AppendUint64(g.before, uint64(length)), flags)
	// The text is read into its place, without a copy.
	from := len(g.before)
	g.before = slices.Grow(g.before, int(length))[:from+int(length)]
	if _, err := io.ReadFull(r.in, g.before[from:]); err != nil {
		return fmt.Errorf("grep: the lines of a split end early: %w", err)
	}
	return nil
}

// waiting writes the lines that wait for the selected line of this number, and
// the separator before them.
func (r *releaser) waiting(number int64) error {
	g := &r.groups
	if g.newest != number-1 {
		g.drop()
	}
	// The waiting lines are those directly before the selected one.
	first := number - g.lines
	// GNU grep separates groups that do not touch, those of different files too.
	if !r.json && g.begun && (g.last == 0 || first != g.last+1) {
		line := []byte("--")
		if r.color {
			line = paint(nil, colorSeparator, line)
		}
		_, _ = r.out.Write(append(line, '\n'))
	}
	for text := g.before[g.oldest:]; len(text) > 0; first++ {
		end := itemHead + int(binary.LittleEndian.Uint64(text))
		switch {
		case r.json:
			if err := r.message(first, 0, text[itemHead:end], 0); err != nil {
				return err
			}
		case !r.matched:
			r.itemHead(first, '-')
			_, _ = r.out.Write(text[itemHead:end])
			_ = r.out.WriteByte(r.eol)
		}
		text = text[end:]
	}
	g.drop()
	return nil
}

// itemLine writes one line, whose text is still to be read.
func (r *releaser) itemLine(number int64, flags byte, length int64) error {
	r.groups.last, r.groups.begun = number, true
	if r.json {
		return r.message(number, flags, nil, length)
	}
	if flags&itemEmpty != 0 {
		return nil
	}
	separator := byte('-')
	if flags&itemSelected != 0 {
		separator = ':'
	}
	r.itemHead(number, separator)
	if err := r.copy(r.out, length); err != nil {
		return err
	}
	return r.out.WriteByte(r.eol)
}

// itemHead writes what stands before a line.
func (r *releaser) itemHead(number int64, separator byte) {
	r.scratch = r.scratch[:0]
	if r.names {
		r.scratch = r.appendPath(r.scratch, string(r.prefix), separator)
	}
	if r.numbers {
		r.scratch = r.appendNumber(r.scratch, r.number.set(number), separator)
	}
	_, _ = r.out.Write(r.scratch) // the next Flush returns the error
}
