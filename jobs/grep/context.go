package grep

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"mrlocal/internal/errs"
	"mrlocal/internal/scan"
)

// A group of lines may cross the border of a block or a split. So a mapper writes candidates, more
// lines than needed: of each run of lines that are not selected, the first After and the last
// Before. The releaser sees all splits in order and decides which candidates it writes.

// The flags of a frameItem.
const (
	itemSelected = 1 << iota
	itemMore     // -o: a further match of the same line
	itemEmpty    // -o: nothing of the line is written
	itemRelative // the number counts from the start of the split
	itemNext     // a further line of a match that spans lines
	itemBeyond   // the line has an item as a selected one, and then one for the case that it is beyond the limit
)

// groups writes the selected lines of a block, and candidates around them.
func (m *lineMapper) groups(data []byte) {
	counted := 0 // m.lines counts the lines before data[counted]
	for from := 0; from < len(data) && !m.done(); {
		start, end := m.search.line()
		next := len(data)
		if start == none {
			start = len(data)
		} else {
			next = min(end+1, next)
		}
		// With -v, the lines between two matches are the selected ones.
		m.stretch(data, from, start, m.Invert)
		m.stretch(data, start, next, !m.Invert)
		from, counted = next, next
	}
	m.lines += countLines(data[counted:])
}

// stretch writes the lines of data[low:high]. Either all of them are selected or none.
func (m *lineMapper) stretch(data []byte, low, high int, selected bool) {
	if low >= high {
		return
	}
	// The frameFile comes before the first line of the file.
	m.name()
	// The first After lines may follow a selected line of the block before.
	after := m.Context.After
	for low < high && (selected || after > 0) {
		end := scan.LineEnd(data[:high], low)
		m.item(data, low, end, selected)
		low = min(end+1, high)
		after--
	}
	if low >= high {
		return
	}
	// The last Before lines may come before a selected line of the next block. The lines
	// between are only counted.
	tail := high
	for n := int64(0); n < m.Context.Before && tail > low; n++ {
		tail = low + bytes.LastIndexByte(data[low:tail-1], '\n') + 1
	}
	m.lines += countLines(data[low:tail])
	for tail < high {
		end := scan.LineEnd(data[:high], tail)
		m.item(data, tail, end, false)
		tail = min(end+1, high)
	}
}

// item writes the line data[low:end] as a frameItem.
func (m *lineMapper) item(data []byte, low, end int, selected bool) {
	m.lines++
	flags := byte(0)
	if selected {
		// Only selected lines count against the limit.
		m.selected++
		flags = itemSelected
	}
	m.selectedItem(data, low, end, flags)
}

// selectedItem writes the line data[low:end] as a frameItem with flags.
func (m *lineMapper) selectedItem(data []byte, low, end int, flags byte) {
	selected, at := flags&itemSelected != 0, m.offset+int64(low)
	switch {
	case m.JSON: // with -v, the lines around selected ones have the matches
		m.candidate(flags, 0, m.message(data, low, end, selected != m.Invert))
	case m.OnlyMatched && !selected:
		m.candidate(itemEmpty, 0, nil)
	case m.OnlyMatched:
		m.partItems(data, low, end, flags)
	case m.colors != nil:
		twice := selected && m.limited() && m.Context.After > 0
		if twice {
			flags |= itemBeyond
		}
		m.candidate(flags, at, m.painted(data, low, end, selected))
		if twice {
			m.candidate(itemBeyond, at, m.painted(data, low, end, false))
		}
	default:
		m.candidate(flags, at, m.original(data[low:end]))
	}
}

// partItems writes the matches in the selected line data[low:end] (-o), each as an item. flags are those
// of the first one.
func (m *lineMapper) partItems(data []byte, low, end int, flags byte) {
	line := data[low:end]
	at := m.offset + int64(low)
	none := flags | itemEmpty
	if !m.Invert {
		for h := range m.hits(data, low, end) {
			if h.start < h.end {
				m.candidate(flags, at+int64(h.begun), m.part(line[h.start:h.end]))
				// All items but the first get itemMore, so that the limit counts lines.
				flags |= itemMore
			}
		}
	}
	if flags&itemMore == 0 {
		m.candidate(none, 0, nil)
	}
}

// candidate writes a frameItem for the current line, whose text is at an offset of the file. text is
// copied or written.
func (m *lineMapper) candidate(flags byte, at int64, text []byte) {
	if m.relative {
		flags |= itemRelative
	}
	m.frames.item(m.lines, flags, at, text)
}

// item writes a frameItem. text is copied or written before the call returns.
func (f *frames) item(number int64, flags byte, at int64, text []byte) {
	// An item is a frame by itself, so it ends a frame of lines that is open.
	f.close()
	if len(f.buf)+headerBytes+itemLead+len(text) > frameBytes {
		f.flush()
	}
	f.buf = append(appendHeader(f.buf, frameItem, number, itemLead+len(text)), flags)
	f.buf = binary.LittleEndian.AppendUint64(f.buf, uint64(at))
	// A short text is copied to the buffer. A long one is written directly, after the buffer.
	if len(text) < directBytes {
		f.buf = append(f.buf, text...)
		return
	}
	f.flush()
	f.out.WriteRaw(text)
}

// groups is the releaser's state of groups of lines.
type groups struct {
	before []byte // lines that wait for a selected line: for each a head of itemHead bytes, then the text
	oldest int    // offset in before of the first waiting line
	lines  int64  // number of waiting lines
	newest int64  // line number of the last waiting line
	last   int64  // line number of the last line written; 0: none in this file
	after  int64  // number of lines that are still to be written after the last selected one
	chosen bool   // the first line of the last match was written as a selected one
	cut    bool   // the last line was not written, so further matches in it are not written either
	begun  bool   // a line was written, in any file or before the output
}

// mostBeforeBytes bounds the text of the lines that wait for a selected one.
const mostBeforeBytes = 8 << 20

// itemLead is the length of the flags and the offset before the text of a frameItem.
const itemLead = 1 + 8

// itemHead is the length of the head of a waiting line: 8 bytes with the length of its text, and 8
// with its offset in the file.
const itemHead = 16

// reset begins another file.
func (g *groups) reset() { g.drop(); g.last, g.after, g.cut = 0, 0, false }

// drop removes the waiting lines.
func (g *groups) drop() { g.before, g.oldest, g.lines = g.before[:0], 0, 0 }

// item handles a frameItem of length bytes, which are still to be read.
func (r *releaser) item(number, length int64) error {
	lead, err := r.in.Peek(itemLead)
	if err != nil {
		return fmt.Errorf("grep: the lines of a split end early: %w", err)
	}
	flags, at := lead[0], int64(binary.LittleEndian.Uint64(lead[1:]))
	_, _ = r.in.Discard(itemLead) // Peek has read it
	g := &r.groups
	length -= itemLead
	if flags&itemRelative != 0 {
		number += r.base
	}
	// Beyond the limit, a selected line counts as a line around others.
	reached := r.limited() && r.selected >= r.limit
	if flags&itemSelected != 0 && flags&(itemNext|itemMore) == 0 {
		g.chosen = !reached
	}
	if flags&itemBeyond != 0 && g.chosen != (flags&itemSelected != 0) {
		return r.copy(io.Discard, length)
	}
	if flags&itemNext != 0 && !g.chosen { // the lines of a match are selected together
		flags &^= itemSelected
	}
	switch {
	case flags&itemMore != 0:
		if g.cut {
			return r.copy(io.Discard, length)
		}
		return r.itemLine(number, at, flags, length)
	case flags&itemSelected != 0 && flags&itemNext != 0:
		g.after, g.cut = r.Context.After, false
		return r.itemLine(number, at, flags, length)
	case flags&itemSelected != 0 && !reached:
		r.selected++
		r.records++
		if err := r.waiting(number); err != nil {
			return err
		}
		g.after, g.cut = r.Context.After, false
		return r.itemLine(number, at, flags, length)
	case g.after > 0:
		g.after--
		if r.OnlyMatched { // -o writes no lines around selected ones
			g.last, g.cut = number, true
			return r.copy(io.Discard, length)
		}
		if r.JSON { // ripgrep calls a line beyond -m a match if it matches
			return r.message(number, flags, nil, length)
		}
		return r.itemLine(number, at, flags&^itemSelected, length)
	case reached || r.Context.Before == 0:
		g.cut = true
		return r.copy(io.Discard, length)
	}
	return r.wait(number, at, length)
}

// wait keeps a line, which is written if one of the next Before lines is selected.
func (r *releaser) wait(number, at, length int64) error {
	g := &r.groups
	// Lines before a gap are not next to any later line.
	if number != g.newest+1 {
		g.drop()
	}
	if g.lines == r.Context.Before {
		// Before lines wait already, so the oldest one is removed.
		g.oldest += itemHead + int(binary.LittleEndian.Uint64(g.before[g.oldest:]))
		g.lines--
		if 2*g.oldest >= len(g.before) { // so each byte is moved at most once
			g.before = slices.Delete(g.before, 0, g.oldest)
			g.oldest = 0
		}
	}
	// Lines may be as long as the input, so the number of lines does not bound the memory.
	if int64(len(g.before)-g.oldest)+length > mostBeforeBytes {
		return errs.Fieldf("Options.Context", "the lines before a selected line have more than %d MiB", mostBeforeBytes>>20)
	}
	g.newest = number
	g.lines++
	g.before = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(g.before, uint64(length)), uint64(at))
	// The text is read directly to its place in before.
	from := len(g.before)
	g.before = slices.Grow(g.before, int(length))[:from+int(length)]
	_, err := io.ReadFull(r.in, g.before[from:])
	return errs.About("grep: the lines of a split end early", err)
}

// waiting writes the lines that wait for the selected line of the given number, and the
// separator before the group.
func (r *releaser) waiting(number int64) error {
	g := &r.groups
	if g.newest != number-1 {
		g.drop()
	}
	// The waiting lines are directly before the selected one.
	first := number - g.lines
	// GNU grep also separates groups of different files.
	if !r.JSON && !r.Context.NoSeparator && g.begun && (g.last == 0 || first != g.last+1) {
		separator := "--"
		if r.Context.Separator != nil {
			separator = *r.Context.Separator
		}
		_, _ = r.out.Write(append(r.colors.Paint(nil, Separator, []byte(separator)), '\n'))
	}
	for text := g.before[g.oldest:]; len(text) > 0; first++ {
		end := itemHead + int(binary.LittleEndian.Uint64(text))
		switch {
		case r.JSON:
			if err := r.message(first, 0, text[itemHead:end], 0); err != nil {
				return err
			}
		case !r.OnlyMatched:
			r.itemHead(first, int64(binary.LittleEndian.Uint64(text[8:])), '-', end > itemHead)
			_, _ = r.out.Write(text[itemHead:end])
			_ = r.out.WriteByte(r.eol)
		}
		text = text[end:]
	}
	g.drop()
	return nil
}

// itemLine writes one line of length bytes, which are still to be read.
func (r *releaser) itemLine(number, at int64, flags byte, length int64) error {
	r.groups.last, r.groups.begun = number, true
	if r.JSON {
		return r.message(number, flags, nil, length)
	}
	if flags&itemEmpty != 0 {
		return nil
	}
	separator := byte('-')
	if flags&itemSelected != 0 {
		separator = ':'
	}
	r.itemHead(number, at, separator, length > 0)
	if err := r.copy(r.out, length); err != nil {
		return err
	}
	return r.out.WriteByte(r.eol)
}

// itemHead writes what stands before a line: the path, the number, the offset, and a tab if the line has
// text.
func (r *releaser) itemHead(number, at int64, separator byte, text bool) {
	r.scratch = r.scratch[:0]
	if r.names {
		r.scratch = r.appendPath(r.scratch, string(r.prefix), separator)
	}
	if r.LineNumbers {
		r.scratch = r.appendNumber(r.scratch, r.number.set(number), separator)
	}
	r.scratch = r.appendLead(r.scratch, at, separator, text)
	_, _ = r.out.Write(r.scratch) // the next Flush returns the error
}
