package dfa

import "unicode/utf8"

// runes is an automaton over runes that finds one end of a match. A forward search finds the
// end of the match, and a backward search the beginning.
type runes struct {
	*threads
	cache
	begins [2][sides]uint32 // transition into the first state, if matches may also begin later or not, by the side before it; 0: not known
	last   int              // index in classes.breaks of the rune that of looked up last
	live   [1]uint32        // the state in use, which the cache keeps when it is cleared
	ahead  []uint32         // scratch of around
	ascii  *[256]uint16     // class of each byte; bytes beyond ASCII have a column in which nothing is ever known
}

// A transition is the row of the next state and flags. As an int32 it is negative (special) if
// there is something to do. Then a match ends before or behind the rune, or no match can
// follow.
const (
	special = 1 << 31
	behind  = 1 << 30    // a match ends behind the rune
	before  = 1 << 29    // a match ends before the rune
	toRow   = before - 1 // mask of the row
	ownRows = 3          // fixed rows: unknown, dead and idle
)

// newRunes makes an automaton without states. most is as for newCache.
func newRunes(p *program, forward bool, most int) *runes {
	// One more column than there are classes, for bytes beyond ASCII.
	columns := len(p.classes.some)
	d := &runes{threads: newThreads(p, forward), cache: newCache(columns+1, most), ascii: new([256]uint16)}
	for b := range d.ascii {
		if d.ascii[b] = uint16(columns); b < utf8.RuneSelf {
			d.ascii[b] = p.classes.ascii[b]
		}
	}
	d.reserve(ownRows)
	d.fixed, d.stays = ownRows, ownRows
	return d
}

// dead returns the row of the state that no match can follow. idle returns the row of the state
// in which nothing has begun. If firsts are few, no transition of idle is used.
func (d *runes) dead() uint32 { return d.width }
func (d *runes) idle() uint32 { return 2 * d.width }

// begin returns the transition into the first state. before is the side before the text. here says that no
// match may begin later.
func (d *runes) begin(before side, here bool) uint32 {
	begins := &d.begins[0]
	if here {
		begins = &d.begins[1]
	}
	if begins[before] == 0 {
		list := d.closed([]uint32{d.entry}, before, unknown)
		// No state is in use yet, so the cache need keep only the fixed ones.
		d.live[0] = d.dead()
		begins[before] = d.into(list, before, d.ordered && d.restarts && !here, 0)
	}
	return begins[before]
}

// into returns the transition into the state of list, which was just closed, with flags.
//
// If threads are ordered and one looks ahead, the state keeps the roots of list instead, and
// closes them when the next rune is known. The reason is a thread that looks ahead in a loop.
// The instructions that it has passed before decide which way is preferred, but it does not
// pass them again.
func (d *runes) into(list []uint32, before side, restart bool, flags uint32) uint32 {
	if d.matched {
		// If threads are ordered, a match is preferred to everything that begins later.
		flags |= special | behind
		restart = restart && !d.ordered
	}
	if len(list) == 0 && !restart {
		return flags | special | d.dead()
	}
	// Programs without word assertions then share states.
	if !d.words && before == word {
		before = noWord
	}
	if d.ordered && d.waits {
		list = d.origin
	}
	d.write(before, restart, nil, list)
	// If row clears the cache, the first states lose their rows.
	was := len(d.states)
	row := d.row(d.live[:])
	if len(d.states) < was {
		d.begins = [2][sides]uint32{}
	}
	return flags | row
}

// step computes the transition from d.live by a rune of class, and stores it.
func (d *runes) step(class uint16) uint32 {
	// Threads that look ahead have waited for this rune. Both sides are known now.
	from, restart, list := d.around(d.live[0])
	after := d.side(class)
	list = d.closed(list, from, after)
	flags := uint32(0)
	if d.matched {
		flags = special | before
		restart = restart && !d.ordered
	}
	list = d.stepped(list, class)
	// If only the restart is left, the search jumps to the next byte at which a match can
	// begin.
	next := flags | special | d.idle()
	if len(list) > 0 || !restart || d.matched || !d.firsts.few {
		next = d.into(list, after, restart, flags)
	}
	// into updates d.live[0] if it clears the cache.
	d.table[d.live[0]+uint32(class)] = next
	return next
}

// around returns the side before a state, whether matches may begin, and the threads, including
// the entry if they may.
func (d *runes) around(row uint32) (from side, restart bool, list []uint32) {
	from, restart, _, list = d.read(d.states[row/d.width].key)
	if restart {
		d.ahead = append(append(d.ahead[:0], list...), d.entry)
		list = d.ahead
	}
	return from, restart, list
}

// ended reports whether a match ends in the state row if the text ends there. after is the side
// behind the text.
func (d *runes) ended(row uint32, after side) bool {
	// The result is kept for each side.
	state := &d.states[row/d.width]
	if state.ends[after] == endUnknown {
		from, _, list := d.around(row)
		d.closed(list, from, after)
		state.ends[after] = endNoMatch
		if d.matched {
			state.ends[after] = endMatch
		}
	}
	return state.ends[after] == endMatch
}

// of returns the class of a rune beyond ASCII.
func (d *runes) of(r rune) uint32 {
	c := d.classes
	if int(r) < len(c.low) {
		return uint32(c.low[r])
	}
	// Neighbouring runes of a text mostly lie in the same interval.
	if r < c.breaks[d.last] || d.last+1 < len(c.breaks) && r >= c.breaks[d.last+1] {
		d.last = c.interval(r)
	}
	return uint32(c.class[d.last])
}

// next returns the transition from state by a rune of class, and computes it if it is unknown.
func (d *runes) next(state, class uint32) uint32 {
	next := d.table[state+class]
	if next == 0 {
		d.live[0] = state
		next = d.step(uint16(class))
	}
	return next
}

// end returns the end of the leftmost-first match that begins at or behind from, or with here at from; None:
// there is none.
//
// hot: one iteration for each byte of a line whose matches are wanted.
func (d *runes) end(line []byte, from int, here bool) (end int) {
	next := d.begin(d.sideBefore(line, from), here)
	end = None
	if next&behind != 0 {
		end = from
	}
	at, state := from, next&toRow
	if d.firsts.few && !here {
		state = d.idle()
	}
	for state != d.dead() {
		// Nothing has begun, so the search jumps.
		if state == d.idle() {
			if at = d.firsts.next(line, at); at == len(line) {
				break
			}
			state = d.begin(d.sideBefore(line, at), false) & toRow
		}
		// This loop takes known transitions by ASCII bytes at which no match ends.
		table, ascii := d.table, d.ascii
		for at < len(line) {
			next := table[state+uint32(ascii[line[at]])]
			if int32(next) <= 0 {
				break
			}
			state = next
			at++
		}
		if at == len(line) {
			// A match may end at the end of the line, such as that of a$.
			if d.ended(state, edge) {
				end = at
			}
			break
		}
		for more := true; more; more = at < len(line) && line[at] >= utf8.RuneSelf && state > d.idle() {
			class, width := uint32(ascii[line[at]]), 1
			if line[at] >= utf8.RuneSelf {
				var r rune
				r, width = utf8.DecodeRune(line[at:])
				class = d.of(r)
			}
			next := d.next(state, class)
			if next&before != 0 {
				end = at
			}
			at += width
			state = next & toRow
			if next&behind != 0 {
				for table := d.table; at < len(line) && table[state+uint32(ascii[line[at]])] == behind|special|state; {
					at++ // the match grows by one byte
				}
				end = at
			}
		}
	}
	d.walked += at - from
	return end
}

// start returns the beginning of the longest match that ends at end and begins at or behind
// from. There must be one.
//
// hot: one iteration for each byte of a match whose bounds are wanted.
func (d *runes) start(line []byte, from, end int) (start int) {
	next := d.begin(d.sideBehind(line, end), false)
	start = end
	state := next & toRow
	at := end
	for state != d.dead() {
		table, ascii := d.table, d.ascii
		for at > from {
			next := table[state+uint32(ascii[line[at-1]])]
			if int32(next) <= 0 {
				break
			}
			state = next
			at--
		}
		if at == from {
			if d.ended(state, d.sideBefore(line, from)) {
				start = from
			}
			break
		}
		for more := true; more; more = at > from && line[at-1] >= utf8.RuneSelf && state != d.dead() {
			class, width := uint32(ascii[line[at-1]]), 1
			if line[at-1] >= utf8.RuneSelf {
				var r rune
				r, width = utf8.DecodeLastRune(line[from:at])
				class = d.of(r)
			}
			next := d.next(state, class)
			if next&before != 0 {
				start = at
			}
			at -= width
			state = next & toRow
			if next&behind != 0 {
				for table := d.table; at > from && table[state+uint32(ascii[line[at-1]])] == behind|special|state; {
					at--
				}
				start = at
			}
		}
	}
	d.walked += end - at
	return start
}

// sideBefore returns the side before offset at.
func (p *program) sideBefore(line []byte, at int) side {
	if at == 0 {
		return edge
	}
	return p.sideOf(line[at-1])
}

// sideBehind returns the side behind offset at, for a search backwards.
func (p *program) sideBehind(line []byte, at int) side {
	if at == len(line) {
		return edge
	}
	return p.sideOf(line[at])
}
