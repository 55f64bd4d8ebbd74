package dfa

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"mrlocal/internal/scan"
)

// lines is an automaton over bytes that decides about one line after the other. Its first rows
// are, in this order:
//
//   - the unknown state, which leads to itself
//   - hit: the line has matched; stays up to the newline
//   - miss: the line can no longer match; stays up to the newline
//   - counted: a line begins behind a line that matched
//   - idle: nothing has begun, behind no word character
//   - idleWord: nothing has begun, behind a word character
//   - begin: a line begins
//   - up to three rows of starts
//
// So one comparison finds all states that need attention. The name of counted is one higher
// than the offset of its row. All other names are even, so matches are counted by adding the
// lowest bit of the names, without a branch.
type lines struct {
	*threads
	cache
	newline  uint32 // class of the newline
	hit      uint32
	miss     uint32
	counted  uint32
	idle     uint32
	idleWord uint32
	begin    uint32
	starts   [word + 1]uint32 // rows in which only this place begins a match (firstStart), by the side before it
	credit   int              // operations that firstStart may still take
	last     uint32           // a walk of one stream stops at states up to this one
	constant ending           // the result for every line, if the pattern decides it alone
	// The state of each stream.
	live     [streams]uint32
	pending  []byte                      // scratch: the bytes of the rune that is being read
	shapes   map[shape][utf8.UTFMax]byte // for each shape, the first bytes that had it
	ahead    []uint32                    // scratch of look
	rest     [][]byte                    // if exploded: the lines that count has not counted
	skipping bool                        // count leaves each line as soon as it is decided (skip)
	untried  int                         // number of blocks until skip is tried again
}

// streams is the number of pieces of a block that are walked at the same time. Each step waits
// for a load from the table, and the steps of the other pieces use that time.
const streams = 4

// shape describes the bytes of an incomplete rune, if all runes that they may become are of one
// class.
type shape struct {
	have, width uint8 // how many bytes there are, and how many the rune has
	class       uint16
}

// newLines makes the automaton with its first rows. most is the memory of the cache in bytes.
func newLines(p *program, most int) *lines {
	d := &lines{
		threads: newThreads(p, false),
		cache:   newCache(len(p.some)+1, most), // one column more, because counted is shifted by one
		newline: uint32(p.class['\n']),
		shapes:  map[shape][utf8.UTFMax]byte{},
	}
	w := d.width
	// The name of a row is its offset in the table. The name of counted is one more, and so
	// odd.
	d.hit, d.miss, d.counted, d.idle, d.idleWord, d.begin = w, 2*w, 3*w+1, 5*w, 6*w, 7*w
	d.last = d.counted
	d.reserve(5)
	for _, before := range []side{noWord, word} {
		d.write(before, true, nil, nil)
		d.add(string(d.key))
	}
	if d.firsts.few {
		d.last = d.idleWord
	}
	// Both states lead to themselves, so the rest of a line needs no special case.
	for c := range w {
		d.table[d.hit+c], d.table[d.miss+c] = d.hit, d.miss
	}
	d.table[d.hit+d.newline], d.table[d.miss+d.newline] = d.counted, d.begin
	list := slices.Clone(d.closed([]uint32{d.entry}, edge, unknown))
	// A pattern that matches the empty text matches every line.
	if d.matched {
		d.constant = endMatch
	} else if len(list) == 0 && !d.restarts {
		d.constant = endNoMatch
	}
	d.write(edge, d.restarts, nil, list)
	d.add(string(d.key))
	d.findStarts()
	// Fields name these rows, so they are never removed.
	d.fixed, d.stays = len(d.states), 3
	for i := range d.live {
		d.live[i] = d.begin
	}
	return d
}

// findStarts adds the rows of starts.
func (d *lines) findStarts() {
	for before := range d.starts {
		list := slices.Clone(d.closed([]uint32{d.entry}, side(before), unknown))
		switch {
		case d.matched:
			d.starts[before] = d.hit
		case len(list) == 0:
			d.starts[before] = d.miss
		default:
			d.write(side(before), false, nil, list)
			d.starts[before] = d.add(string(d.key))
		}
	}
	d.credit = mostCredit
}

// step computes the transition of the stream's state by class, stores it, and takes it. The
// state counted has no key. It behaves like begin.
func (d *lines) step(stream int, class uint32) {
	if d.live[stream] == d.counted {
		d.live[stream] = d.begin
	}
	// list is valid until the next read.
	before, restart, pending, list := d.read(d.states[d.live[stream]/d.width].key)
	d.pending = append(d.pending[:0], pending...)
	next := uint32(0)
	if class == d.newline {
		if next = d.successor(before, restart, len(pending) > 0, list, true); next == d.hit {
			next = d.counted
		}
	} else {
		d.pending = append(d.pending, d.some[class])
		next = d.successor(before, restart, len(pending) > 0, list, false)
	}
	// successor may have cleared the cache, which updates d.live, so the row is looked up again.
	d.table[d.live[stream]+class] = next
	if d.live[stream] == d.begin {
		d.table[d.counted+class] = next
	}
	d.live[stream] = next
}

// successor returns the state behind the bytes in d.pending. They may be several runes, if bytes
// that looked like one rune turn out to be invalid. ending says that they are the last bytes of
// the line. looked says that the threads in list have looked ahead at the first of them.
func (d *lines) successor(before side, restart, looked bool, list []uint32, ending bool) uint32 {
	for len(d.pending) > 0 {
		if !looked {
			if list = d.look(before, restart, sideOf(d.pending[0]), list); d.matched {
				return d.hit
			}
		}
		if !ending && !utf8.FullRune(d.pending) {
			list = d.shaped(list)
			d.write(noWord, restart, d.pending, list)
			return d.row(d.live[:])
		}
		r, width := utf8.DecodeRune(d.pending)
		d.pending = append(d.pending[:0], d.pending[width:]...)
		if before = noWord; d.words && r < utf8.RuneSelf {
			before = sideOf(byte(r))
		}
		// For a line it is enough that any thread matches.
		if list = d.stepped(list, d.classes.of(r)); d.matched {
			return d.hit
		}
		looked = false
	}
	if ending {
		if d.look(before, restart, edge, list); d.matched {
			return d.hit
		}
		return d.begin
	}
	// Every restart adds these threads again. Without them there are fewer states.
	if restart {
		list = slices.DeleteFunc(list, func(pc uint32) bool { return d.implied[pc] })
	}
	switch {
	case len(list) == 0 && !restart:
		return d.miss
	case len(list) == 0 && before == word:
		return d.idleWord
	case len(list) == 0:
		return d.idle
	}
	d.write(before, restart, nil, list)
	return d.row(d.live[:])
}

// look returns the closed list of the running threads and, with restart, of those that begin
// here. It does not change list.
func (d *lines) look(before side, restart bool, after side, list []uint32) []uint32 {
	d.ahead = append(d.ahead[:0], list...)
	if restart {
		d.ahead = append(d.ahead, d.entry)
	}
	return d.closed(d.ahead, before, after)
}

// shaped returns list without the threads that d.pending cannot continue, as far as that is
// known. It also replaces d.pending by other bytes of the same shape. So beginnings of runes
// that can only become runes of one class share a state.
func (d *lines) shaped(list []uint32) []uint32 {
	low, high, width := span(d.pending)
	c := d.classes
	class := c.of(low)
	if c.interval(low) != c.interval(high) {
		return list
	}
	list = slices.DeleteFunc(list, func(pc uint32) bool {
		set := d.insts[pc].set
		return !c.has(class, set) && !c.has(c.broken, set)
	})
	lead := d.pending[0]
	if len(d.pending) == 1 && (lead == 0xe0 || lead == 0xed || lead == 0xf0 || lead == 0xf4) {
		return list // the bytes may become runes of several classes
	}
	key := shape{uint8(len(d.pending)), width, class}
	text, ok := d.shapes[key]
	if !ok {
		copy(text[:], d.pending)
		d.shapes[key] = text
	}
	d.pending = append(d.pending[:0], text[:len(d.pending)]...)
	return list
}

// span returns the first and the last rune whose UTF-8 begins with prefix, and their length in
// bytes. prefix has at least one byte and is the beginning of a valid rune.
func span(prefix []byte) (low, high rune, width uint8) {
	width = 2
	switch lead := prefix[0]; {
	case lead >= 0xf0:
		width = 4
	case lead >= 0xe0:
		width = 3
	}
	low = rune(prefix[0] & (0xff >> (width + 1)))
	high = low
	for i := 1; i < int(width); i++ {
		if i < len(prefix) {
			low, high = low<<6|rune(prefix[i]&0x3f), high<<6|rune(prefix[i]&0x3f)
		} else {
			low, high = low<<6, high<<6|0x3f
		}
	}
	if len(prefix) == 1 { // excludes overlong forms, surrogates and runes beyond Unicode
		switch prefix[0] {
		case 0xe0:
			low = 0x800
		case 0xed:
			high = 0xd7ff
		case 0xf0:
			low = 0x10000
		case 0xf4:
			high = 0x10ffff
		}
	}
	return low, high, width
}

// walk walks text from the state of the stream. It stops before a byte that leads to a state
// not greater than last. It returns the offset of that byte, and the number of lines that began
// behind a line that matched.
//
// hot: one iteration for each byte of a line that is searched.
func (d *lines) walk(stream int, text []byte, last uint32) (at int, began uint32) {
	state, table, class := d.live[stream], d.table, &d.class
	for at, b := range text {
		next := table[state+uint32(class[b])]
		if next <= last {
			d.live[stream] = state
			d.walked += at + 1
			return at, began
		}
		began += next & 1
		state = next
	}
	d.live[stream] = state
	d.walked += len(text)
	return len(text), began
}

// finish walks text to its end, and computes unknown transitions. It returns the number of
// lines that began behind a line that matched. It stops if the automaton has exploded, and returns the
// rest of text.
func (d *lines) finish(stream int, text []byte) (began int64, rest []byte) {
	for !d.exploded {
		at, n := d.walk(stream, text, 0)
		began += int64(n)
		if at == len(text) {
			return began, nil
		}
		// walk has stopped at an unknown transition.
		d.step(stream, uint32(d.class[text[at]]))
		began += int64(d.live[stream] & 1)
		text = text[at+1:]
	}
	return began, text
}

// match reports whether line, without its newline, matches. The result has no meaning if the automaton
// has exploded.
func (d *lines) match(line []byte) bool {
	if d.constant != endUnknown {
		return d.constant == endMatch
	}
	d.live[0] = d.begin
	for !d.exploded {
		at, _ := d.walk(0, line, d.counted)
		if at == len(line) {
			break
		}
		d.advance(line[at])
		// The line is decided before its end.
		if d.live[0] <= d.counted {
			return d.live[0] != d.miss
		}
		line = line[at+1:]
	}
	d.advance('\n')
	return d.live[0] == d.counted
}

// advance moves stream 0 by one byte, and computes the transition if it is unknown.
func (d *lines) advance(b byte) {
	class := uint32(d.class[b])
	if next := d.table[d.live[0]+class]; next != 0 {
		d.live[0] = next
	} else {
		d.step(0, class)
	}
}

// next finds the next line that matches. from must be the start of a line. start is None if
// there is none. If the automaton has exploded, start is None, and the search has to go on at the line
// that begins at end.
func (d *lines) next(data []byte, from int) (start, end int) {
	if from >= len(data) || d.constant == endNoMatch {
		return None, None
	}
	if d.constant == endMatch {
		return from, scan.LineEnd(data, from)
	}
	for at := d.start(data, from); at < len(data); at++ {
		if d.exploded {
			return None, from + bytes.LastIndexByte(data[from:at], '\n') + 1
		}
		n, _ := d.walk(0, data[at:], d.last)
		if at += n; at == len(data) {
			break
		}
		d.advance(data[at])
		switch {
		case d.live[0] == d.hit || d.live[0] == d.counted:
			return from + bytes.LastIndexByte(data[from:at], '\n') + 1, scan.LineEnd(data, at)
		// The rest of the line is skipped without the automaton.
		case d.live[0] == d.miss:
			if at = scan.LineEnd(data, at); at == len(data) {
				return None, None
			}
			d.live[0] = d.begin
		case d.live[0] <= d.last:
			at = d.start(data, at+1) - 1
		}
	}
	// The last line may lack its newline.
	if data[len(data)-1] != '\n' {
		if d.advance('\n'); d.live[0] == d.counted {
			return from + bytes.LastIndexByte(data[from:], '\n') + 1, len(data)
		}
	}
	return None, None
}

// start sets stream 0 to a state in which nothing has begun, at offset at or behind it. It
// returns that offset, at which a match may begin.
func (d *lines) start(data []byte, at int) int {
	if d.firsts.few {
		at = d.firsts.next(data, at)
	}
	switch {
	case at == 0 || data[at-1] == '\n':
		d.live[0] = d.begin
	case d.words && sideOf(data[at-1]) == word:
		d.live[0] = d.idleWord
	default:
		d.live[0] = d.idle
	}
	return at
}

// count returns the number of lines that match. If the automaton has exploded, rest has more lines.
func (d *lines) count(data []byte) (lines int64) {
	if len(data) == 0 || d.constant == endNoMatch {
		return 0
	}
	// Lines are counted at their newlines, so a last line without newline is matched
	// separately.
	whole := bytes.LastIndexByte(data, '\n') + 1
	if whole < len(data) {
		if matched := d.match(data[whole:]); d.exploded {
			d.leave(data, whole)
		} else if matched {
			lines++
		}
	}
	if d.constant == endMatch {
		return lines + int64(bytes.Count(data, []byte{'\n'}))
	}
	return lines + d.countWhole(data[:whole])
}

// countWhole counts the lines that match in data, which has whole lines. It counts in one of
// two ways: it walks all bytes in several streams, or it skips the rest of each line that is
// decided. Skipping is faster if lines are long and decided early. From time to time,
// countWhole tries which way is faster.
func (d *lines) countWhole(data []byte) (lines int64) {
	if d.untried--; d.untried < 0 && len(data) > 0 {
		end := min(scan.LineEnd(data, min(trialBytes, len(data)-1))+1, len(data))
		walked, ended := 0, 0
		lines, walked, ended = d.skip(data[:end])
		// Both sides are the cost in bytes that all streams walk: of skipping, and of walking
		// all bytes.
		d.skipping = walked*streams+ended*skipBytes < end
		d.untried = trialEvery
		data = data[end:]
	}
	if d.skipping {
		more, _, _ := d.skip(data)
		return lines + more
	}
	var pieces [streams][]byte
	// Each stream begins at the start of a line, so pieces end at newlines.
	cut(data, &pieces)
	whole := pieces
	lines += d.together(&pieces)
	for i := range pieces {
		began, rest := d.finish(i, pieces[i])
		d.leave(whole[i], len(whole[i])-len(rest))
		lines += began
	}
	return lines
}

// leave adds to rest the lines of text from the one at offset at on.
func (d *lines) leave(text []byte, at int) {
	if at < len(text) {
		d.rest = append(d.rest, text[bytes.LastIndexByte(text[:at], '\n')+1:])
	}
}

const (
	trialBytes = 16 << 10 // bytes of a trial of skip
	trialEvery = 32       // blocks between two trials
	skipBytes  = 60       // number of bytes that all streams walk in the time of finding one newline
)

// skip counts the lines that match in data, which has whole lines. It leaves each line as soon
// as it is decided. It returns the number of bytes that it has walked, and the number of lines
// that it has left early.
func (d *lines) skip(data []byte) (lines int64, walked, left int) {
	for at := d.start(data, 0); at < len(data); at++ {
		if d.exploded {
			d.leave(data, at)
			break
		}
		n, _ := d.walk(0, data[at:], d.last)
		walked += n
		if at += n; at == len(data) {
			break
		}
		d.advance(data[at])
		switch d.live[0] {
		case d.hit:
			lines++
		case d.counted:
			lines++
			d.live[0] = d.begin
			continue
		case d.miss:
		case d.idle, d.idleWord:
			if d.firsts.few {
				at = d.start(data, at+1) - 1
				left++
			}
			continue
		default:
			continue
		}
		left++
		at = scan.LineEnd(data, at)
		d.live[0] = d.begin
	}
	return lines, walked, left
}

// cut divides data into pieces of whole lines.
func cut(data []byte, pieces *[streams][]byte) {
	at := 0
	for i := range streams - 1 {
		// A long line may reach beyond the aim of the next piece. That piece is then empty.
		aim := max(at, len(data)*(i+1)/streams)
		end := aim
		if end > at && data[end-1] != '\n' {
			end = scan.LineEnd(data, end) + 1
		}
		pieces[i] = data[at:end]
		at = end
	}
	pieces[streams-1] = data[at:]
}

// together walks the pieces at the same time until one of them ends. It leaves the rest of each
// piece in pieces.
func (d *lines) together(pieces *[streams][]byte) (began int64) {
	// Each piece begins at the start of a line.
	for i := range d.live {
		d.live[i] = d.begin
	}
	for !d.exploded {
		// All streams walk the same number of bytes, so that the loop has one counter.
		n := len(pieces[0])
		for _, p := range pieces {
			n = min(n, len(p))
		}
		if n == 0 {
			break
		}
		at, some := d.walkAll(pieces, n)
		d.walked += at * streams
		began += int64(some)
		for i := range pieces {
			pieces[i] = pieces[i][at:]
		}
		// The shortest piece has ended. The caller finishes the others one by one.
		if at == n {
			break
		}
		for i := range pieces {
			some, rest := d.finish(i, pieces[i][:1])
			began += some
			pieces[i] = pieces[i][1-len(rest):]
		}
	}
	return began
}

// walkBytes is walk for all streams. It walks up to n bytes of each, and stops at an unknown
// transition.
//
// hot: one iteration for each byte, on processors without assembly.
func (d *lines) walkBytes(pieces *[streams][]byte, n int) (at, began int) {
	// Local variables stay in registers.
	s0, s1, s2, s3 := d.live[0], d.live[1], d.live[2], d.live[3]
	// With slices of length n, the compiler removes the bounds checks in the loop.
	p0, p1, p2, p3 := pieces[0][:n], pieces[1][:n], pieces[2][:n], pieces[3][:n]
	table, class := d.table, &d.class
	counted := uint32(0)
	for at < n {
		n0 := table[s0+uint32(class[p0[at]])]
		n1 := table[s1+uint32(class[p1[at]])]
		n2 := table[s2+uint32(class[p2[at]])]
		n3 := table[s3+uint32(class[p3[at]])]
		// One unknown transition stops all streams before this byte. The caller computes it.
		if n0 == 0 || n1 == 0 || n2 == 0 || n3 == 0 {
			break
		}
		// Only the name of counted is odd.
		counted += n0&1 + n1&1 + n2&1 + n3&1
		s0, s1, s2, s3 = n0, n1, n2, n3
		at++
	}
	d.live = [streams]uint32{s0, s1, s2, s3}
	return at, int(counted)
}

// This file decides about a line by a walk from each place at which a match may begin. The states of such a walk
// belong to one beginning. So thousands of expressions have few of them, also if the states of all beginnings
// together have no end.

// The operations of these walks are bounded. A line adds placeCredit for each byte, and lines that need less leave
// up to mostCredit to others.
const placeCredit, mostCredit = 200, 1 << 24

// firstStart returns the first place from from on at which a match begins in line, which has no newline; None: there is
// none. ok is false if the walks take too long, and at then has no meaning.
func (d *lines) firstStart(line []byte, from int) (at int, ok bool) {
	d.credit = min(d.credit+placeCredit*(len(line)-from+1), mostCredit)
	for at = from; d.credit >= 0; {
		if d.firsts.few {
			if at = d.firsts.next(line, at); at == len(line) {
				return None, true
			}
		}
		if d.beginsAt(line, at) {
			return at, true
		}
		if at >= len(line) || !d.restarts {
			return None, true
		}
		_, width := utf8.DecodeRune(line[at:])
		at += width
	}
	return None, false
}

// beginsAt reports whether a match begins at offset at of line.
//
// hot: one iteration for each byte that a walk from the offset takes.
func (d *lines) beginsAt(line []byte, at int) bool {
	state := d.starts[d.sideBefore(line, at)]
	for i := at; state > d.begin; i++ {
		table := d.table
		class := &d.class
		known := d.begin
		first := i
		for i < len(line) {
			next := table[state+uint32(class[line[i]])]
			if next <= known {
				break
			}
			state = next
			i++
		}
		d.credit -= i - first + 1
		b := byte('\n')
		if i < len(line) {
			b = line[i]
		}
		d.live[0] = state
		if table[state+uint32(class[b])] == 0 {
			d.credit -= stateCost
		}
		d.advance(b)
		state = d.live[0]
	}
	return state == d.hit || state == d.counted
}
