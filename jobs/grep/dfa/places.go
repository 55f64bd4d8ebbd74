package dfa

import "unicode/utf8"

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
