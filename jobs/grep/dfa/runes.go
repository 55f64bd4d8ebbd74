package dfa

import "unicode/utf8"

// runes is an automaton over runes that finds an end of a match: forward, from
// wherever it begins, or backwards, from the other end.
type runes struct {
	*threads
	cache
	begins [sides]uint32 // transitions into the first state, by what is before
	last   int           // of classes.breaks, where the last rune was found
	live   [1]uint32
	ahead  []uint32
	ascii  *[256]uint16 // the class of a byte; beyond ASCII a column that stays unknown
}

// Transitions are below zero, as int32, where there is something to do: a match
// ends before the rune that was taken, or behind it, or no match can follow.
const (
	special = 1 << 31
	behind  = 1 << 30
	before  = 1 << 29
	toRow   = before - 1
	ownRows = 3 // the unknown, the dead and the idle
)

func newRunes(p *program, forward bool, most, least int) *runes {
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

// The rows of the state that no match can follow, and, where firsts are few, of
// that in which nothing has begun, which is never walked from.
func (d *runes) dead() uint32 { return d.width }
func (d *runes) idle() uint32 { return 2 * d.width }

// begin is the transition into the first state.
func (d *runes) begin(before side) uint32 {
	if d.begins[before] == 0 {
		list := d.closed([]uint32{d.entry}, before, unknown)
		d.live[0] = d.dead()
		d.begins[before] = d.into(list, before, d.ordered && d.restarts, 0)
	}
	return d.begins[before]
}

// into is the transition into a state that was just closed. Where order counts
// and a thread looks ahead, the state has the roots, to be closed once the next
// rune is known: the thread may go around a loop, and what it then does not
// pass again, because it came from there, decides what is preferred.
func (d *runes) into(list []uint32, before side, restart bool, flags uint32) uint32 {
	if d.matched {
		flags |= special | behind
		restart = restart && !d.ordered
	}
	if len(list) == 0 && !restart {
		return flags | special | d.dead()
	}
	if !d.words && before == word {
		before = noWord
	}
	if d.ordered && d.waits {
		list = d.origin
	}
	d.write(before, restart, nil, list)
	was := len(d.states)
	row := d.row(d.live[:])
	if len(d.states) < was {
		d.begins = [sides]uint32{}
	}
	return flags | row
}

// step is the transition from d.live by a rune of class, which becomes known.
func (d *runes) step(class uint16) uint32 {
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
	next := flags | special | d.idle()
	if len(list) > 0 || !restart || d.matched || !d.firsts.few {
		next = d.into(list, after, restart, flags)
	}
	d.table[d.live[0]+uint32(class)] = next
	return next
}

// around is what is known of a state.
func (d *runes) around(row uint32) (from side, restart bool, list []uint32) {
	from, restart, _, list = d.read(d.states[row/d.width].key)
	if restart {
		d.ahead = append(append(d.ahead[:0], list...), d.entry)
		list = d.ahead
	}
	return from, restart, list
}

// ended reports whether a match ends where the text does, in front of after.
func (d *runes) ended(row uint32, after side) bool {
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

// of is the class of a rune beyond ASCII.
func (d *runes) of(r rune) uint32 {
	c := d.classes
	if int(r) < len(c.low) {
		return uint32(c.low[r])
	}
	if r < c.breaks[d.last] || d.last+1 < len(c.breaks) && r >= c.breaks[d.last+1] {
		d.last = c.interval(r)
	}
	return uint32(c.class[d.last])
}

// next is the transition from state by a rune of class, known or not.
func (d *runes) next(state, class uint32) uint32 {
	next := d.table[state+class]
	if next == 0 {
		d.live[0] = state
		next = d.step(uint16(class))
	}
	return next
}

// end finds where the leftmost-first match ends that begins at or after from.
//
// hot: every byte of a line whose matches are wanted passes here.
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
			if at = d.firsts.next(line, at); at == len(line) {
				break
			}
			state = d.begin(sideBefore(line, at)) & toRow
			if d.gaveUp {
				return None, false
			}
		}
		// What is known, is ASCII and ends nothing.
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
					at++ // matches that grow
				}
				end = at
			}
		}
	}
	return end, true
}

// start finds where the longest match begins that ends at end and begins at or
// behind from; there is one.
//
// hot: every byte of a match whose bounds are wanted passes here.
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
