package dfa

import "unicode/utf8"

// runes is an automaton over runes that finds one end of a match: the last
// place forward, or the first place backwards.
type runes struct {
	*threads
	cache
	begins [sides]uint32 // transitions into the first state, by what lies before it
	last   int           // index in classes.breaks at which the last rune was found
	live   [1]uint32
	ahead  []uint32
	ascii  *[256]uint16 // class of each byte; bytes beyond ASCII have a column that stays unknown
}

// A transition is negative, as an int32, if there is something to do: a match
// ends before or behind the rune, or no match can follow.
const (
	special = 1 << 31
	behind  = 1 << 30
	before  = 1 << 29
	toRow   = before - 1
	ownRows = 3 // for unknown, dead and idle
)

// newRunes makes an automaton that knows no state yet. most and least bound the rows of its
// cache.
func newRunes(p *program, forward bool, most, least int) *runes {
	// One column more than there are classes: that of bytes beyond ASCII, in which nothing is ever
	// known.
	columns := len(p.classes.some)
	d := &runes{threads: newThreads(p, forward), cache: newCache(columns+1, most, least), ascii: new([256]uint16)}
	for b := range d.ascii {
		if d.ascii[b] = uint16(columns); b < utf8.RuneSelf {
			d.ascii[b] = p.classes.ascii[b]
		}
	}
	d.reserve(ownRows)
	d.fixed, d.stays = ownRows, ownRows
	return d
}

// dead is the row of the state that no match can follow. idle is the row of the
// state in which nothing has begun; if firsts are few, it is never walked from.
func (d *runes) dead() uint32 { return d.width }
func (d *runes) idle() uint32 { return 2 * d.width }

// begin returns the transition into the first state.
func (d *runes) begin(before side) uint32 {
	if d.begins[before] == 0 {
		// The side before is known, the rune behind it is not.
		list := d.closed([]uint32{d.entry}, before, unknown)
		// No state is in use yet, so that clear keeps none but the fixed ones.
		d.live[0] = d.dead()
		d.begins[before] = d.into(list, before, d.ordered && d.restarts, 0)
	}
	return d.begins[before]
}

// into returns the transition into a state that was just closed. If threads are
// ordered and one looks ahead, the state keeps the roots, and closes them when
// the next rune is known. The reason: the thread may go around a loop, and the
// places where it came from, which it does not pass again, decide what is
// preferred.
func (d *runes) into(list []uint32, before side, restart bool, flags uint32) uint32 {
	if d.matched {
		// With ordered threads nothing that begins later is preferred to a match.
		flags |= special | behind
		restart = restart && !d.ordered
	}
	if len(list) == 0 && !restart {
		return flags | special | d.dead()
	}
	// Programs that do not ask for words then share states.
	if !d.words && before == word {
		before = noWord
	}
	if d.ordered && d.waits {
		list = d.origin
	}
	d.write(before, restart, nil, list)
	// If the cache was cleared, the first states have lost their rows.
	was := len(d.states)
	row := d.row(d.live[:])
	if len(d.states) < was {
		d.begins = [sides]uint32{}
	}
	return flags | row
}

// step computes the transition from d.live by a rune of class.
func (d *runes) step(class uint16) uint32 {
	// The threads that look ahead waited for this rune: now both sides are known.
	from, restart, list := d.around(d.live[0])
	after := noWord
	if d.words && d.classes.word(class) {
		after = word
	}
	list = d.closed(list, from, after)
	flags := uint32(0)
	if d.matched {
		flags = special | before
		restart = restart && !d.ordered
	}
	list = d.stepped(list, class)
	// If only the restart is left, the search jumps to the next byte at which a match can begin.
	next := flags | special | d.idle()
	if len(list) > 0 || !restart || d.matched || !d.firsts.few {
		next = d.into(list, after, restart, flags)
	}
	// live was renamed if the cache was cleared, so the row is that of the same state.
	d.table[d.live[0]+uint32(class)] = next
	return next
}

// around returns what defines a state.
func (d *runes) around(row uint32) (from side, restart bool, list []uint32) {
	from, restart, _, list = d.read(d.states[row/d.width].key)
	if restart {
		d.ahead = append(append(d.ahead[:0], list...), d.entry)
		list = d.ahead
	}
	return from, restart, list
}

// ended reports whether a match ends where the text ends, before after.
func (d *runes) ended(row uint32, after side) bool {
	// What happens at the end of the text is kept for each side, and found out once.
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
	// Neighbouring runes of a text mostly lie in the same interval, which the last search has
	// found.
	if r < c.breaks[d.last] || d.last+1 < len(c.breaks) && r >= c.breaks[d.last+1] {
		d.last = c.interval(r)
	}
	return uint32(c.class[d.last])
}

// next returns the transition from state by a rune of class, whether it is
// known or not.
func (d *runes) next(state, class uint32) uint32 {
	// Transitions of bytes beyond ASCII stand in the columns of their classes.
	next := d.table[state+class]
	if next == 0 {
		d.live[0] = state
		next = d.step(uint16(class))
	}
	return next
}

// end finds the end of the leftmost-first match that begins at or behind from.
//
// hot: it sees each byte of a line whose matches are wanted.
func (d *runes) end(line []byte, from int) (end int, ok bool) {
	next := d.begin(sideBefore(line, from))
	if d.gaveUp {
		return None, false
	}
	end = None
	if next&behind != 0 {
		end = from
	}
	d.walked += len(line) - from
	at, state := from, next&toRow
	if d.firsts.few {
		state = d.idle()
	}
	for state != d.dead() {
		if state == d.idle() {
			// Nothing has begun, and nothing can begin any more.
			if at = d.firsts.next(line, at); at == len(line) {
				break
			}
			state = d.begin(sideBefore(line, at)) & toRow
			if d.gaveUp {
				return None, false
			}
		}
		// This loop takes known transitions by ASCII in which nothing ends.
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
			// A match may end where the line ends, such as that of a$.
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
			if d.gaveUp {
				return None, false
			}
			if next&before != 0 {
				end = at
			}
			at += width
			state = next & toRow
			if next&behind != 0 {
				for table := d.table; at < len(line) && table[state+uint32(ascii[line[at]])] == behind|special|state; {
					at++ // the match grows by one byte at a time
				}
				end = at
			}
		}
	}
	return end, true
}

// start finds the beginning of the longest match that ends at end and begins at
// or behind from. There must be one.
//
// hot: it sees each byte of a match whose bounds are wanted.
func (d *runes) start(line []byte, from, end int) (start int, ok bool) {
	next := d.begin(sideBehind(line, end))
	if d.gaveUp {
		return None, false
	}
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
			if d.ended(state, sideBefore(line, from)) {
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
			if d.gaveUp {
				return None, false
			}
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
	return start, true
}

func sideBefore(line []byte, at int) side {
	if at == 0 {
		return edge
	}
	return sideOf(line[at-1])
}

func sideBehind(line []byte, at int) side {
	if at == len(line) {
		return edge
	}
	return sideOf(line[at])
}
