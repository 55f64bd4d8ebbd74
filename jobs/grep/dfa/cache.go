package dfa

import "encoding/binary"

// cache holds an automaton's states. The states' rows of transitions lie in
// one table, and a state is named by where its row begins; 0 is a transition
// that is not known yet.
//
// A state's key is all there is to it: a byte of flags, the bytes of a rune
// that is not complete, and the threads. A full cache is cleared, except for
// the states that are in use, and the first ones.
type cache struct {
	width  uint32
	table  []uint32
	states []state // by row
	rows   map[string]uint32
	fixed  int // rows that are never dropped
	stays  int // of these, the rows that lead only to one another

	used, most int // bytes, about
	walked     int // bytes of text since the cache was last empty
	least      int // of them, for each state, to go on
	gaveUp     bool

	key  []byte
	held []uint32 // by the state that was read
}

type state struct {
	key  string
	ends [sides]ending
}

// ending is what happens where the text ends, once it is known.
type ending uint8

const (
	endUnknown ending = iota
	endNoMatch
	endMatch
)

// stateBytes are a state's, beside its row and its key.
const stateBytes = 100

// fewestStates always have room: the automaton could not run with less.
const fewestStates = 12

func newCache(columns, most, least int) cache {
	width := uint32(16)
	switch {
	case columns <= 4:
		width = 4
	case columns <= 8:
		width = 8
	case columns > 16:
		width = uint32(columns+15) &^ 15
	}
	return cache{width: width, most: most, least: least, rows: map[string]uint32{}}
}

// reserve adds n rows that no state has.
func (c *cache) reserve(n int) {
	c.table = append(c.table, make([]uint32, n*int(c.width))...)
	c.states = append(c.states, make([]state, n)...)
}

// add adds the state of a key that is not there.
func (c *cache) add(key string) uint32 {
	row := uint32(len(c.table))
	c.reserve(1)
	c.states[row/c.width].key = key
	c.rows[key] = row
	c.used += int(c.width)*4 + len(key) + stateBytes
	return row
}

// row is the state of key c.key; live are the states in use, which change
// their rows where the cache is cleared.
func (c *cache) row(live []uint32) uint32 {
	if row, ok := c.rows[string(c.key)]; ok {
		return row
	}
	key := string(c.key)
	if c.used+len(key) > c.most && len(c.states) >= c.fixed+fewestStates {
		c.clear(live)
		if row, ok := c.rows[key]; ok {
			return row
		}
	}
	return c.add(key)
}

func (c *cache) clear(live []uint32) {
	if c.walked < c.least*len(c.states) {
		c.gaveUp = true
	}
	c.walked = 0
	kept := make([]string, len(live))
	for i, row := range live {
		kept[i] = c.states[row/c.width].key
	}
	clear(c.table[c.stays*int(c.width):])
	clear(c.states[c.fixed:])
	clear(c.rows)
	c.table, c.states, c.used = c.table[:c.fixed*int(c.width)], c.states[:c.fixed], 0
	for i, key := range kept {
		if live[i]/c.width < uint32(c.fixed) {
			continue
		}
		row, ok := c.rows[key]
		if !ok {
			row = c.add(key)
		}
		live[i] = row
	}
}

// flags of a key: the side before, two bits; whether matches may begin from
// here on; the number of pending bytes.
const (
	flagRestart = 1 << 2
	pendingBit  = 3
)

func (c *cache) write(before side, restart bool, pending []byte, list []uint32) {
	flags := byte(before) | byte(len(pending))<<pendingBit
	if restart {
		flags |= flagRestart
	}
	c.key = append(append(c.key[:0], flags), pending...)
	for _, pc := range list {
		c.key = binary.AppendUvarint(c.key, uint64(pc))
	}
}

// read is the contrary of write.
func (c *cache) read(key string) (before side, restart bool, pending string, list []uint32) {
	flags := key[0]
	pending = key[1 : 1+flags>>pendingBit]
	key = key[1+len(pending):]
	c.held = c.held[:0]
	for at := 0; at < len(key); {
		pc, shift := uint32(0), 0
		for ; key[at] >= 0x80; at++ {
			pc |= uint32(key[at]&0x7f) << shift
			shift += 7
		}
		c.held = append(c.held, pc|uint32(key[at])<<shift)
		at++
	}
	return side(flags & 3), flags&flagRestart != 0, pending, c.held
}
