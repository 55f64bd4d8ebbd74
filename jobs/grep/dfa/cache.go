package dfa

import "encoding/binary"

// cache holds the states of an automaton. The transitions of a state are a row
// of one table, and the place of its row is the name of the state. A transition
// of 0 is not known yet.
//
// The key of a state is all that defines it: a byte of flags, the bytes of an
// incomplete rune, and the threads. A full cache is cleared, except for the
// first states and those in use.
type cache struct {
	width uint32
	// Row 0 is the unknown state, so no known transition is 0.
	table  []uint32
	states []state // by row
	rows   map[string]uint32
	fixed  int // number of rows that are never dropped
	stays  int // number of those that lead only to one another

	// The fixed rows do not count: they are never freed.
	used, most int // bytes, approximately
	walked     int // bytes of text that were walked since the cache was empty
	least      int // so many of them for each state are needed to clear the cache and go on
	gaveUp     bool

	key  []byte
	held []uint32 // threads of the state that was read last
}

// state is what the cache knows of a state beside its row of transitions.
type state struct {
	key  string
	ends [sides]ending
}

// ending says what happens where the text ends, if it is known.
type ending uint8

const (
	endUnknown ending = iota
	endNoMatch
	endMatch
)

// stateBytes is what a state takes beside its row and its key.
const stateBytes = 100

// fewestStates is how many states always fit. The automaton could not run with
// fewer.
const fewestStates = 12

// newCache makes a cache for rows of columns transitions. most is its memory in bytes;
// least is how many bytes of text each state should serve.
func newCache(columns, most, least int) cache {
	// A width that divides the cache line keeps a narrow row in one line.
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

// reserve adds n rows that belong to no state.
func (c *cache) reserve(n int) {
	c.table = append(c.table, make([]uint32, n*int(c.width))...)
	c.states = append(c.states, make([]state, n)...)
}

// add adds the state of a key that is not in the cache.
func (c *cache) add(key string) uint32 {
	// Growing the table moves it. Loops that hold it read it again after each step.
	row := uint32(len(c.table))
	c.reserve(1)
	c.states[row/c.width].key = key
	c.rows[key] = row
	c.used += int(c.width)*4 + len(key) + stateBytes
	return row
}

// row returns the state of the key c.key. live are the states in use; they are
// renamed if the cache is cleared.
func (c *cache) row(live []uint32) uint32 {
	// The compiler makes no copy of the key for this look-up.
	if row, ok := c.rows[string(c.key)]; ok {
		return row
	}
	// The map and the state keep the key as a string.
	key := string(c.key)
	if c.used+len(key) > c.most && len(c.states) >= c.fixed+fewestStates {
		c.clear(live)
		// The state may be one of those in use, which clear has kept.
		if row, ok := c.rows[key]; ok {
			return row
		}
	}
	return c.add(key)
}

// clear removes all states except the fixed ones and those of live, which it renames.
// It gives up if the states were used too little to pay for their construction.
func (c *cache) clear(live []uint32) {
	if c.walked < c.least*len(c.states) {
		c.gaveUp = true
	}
	c.walked = 0
	// Keys are taken first, because clearing loses them.
	kept := make([]string, len(live))
	for i, row := range live {
		kept[i] = c.states[row/c.width].key
	}
	// Rows that lead only to one another stay valid. All others may name states that are gone.
	clear(c.table[c.stays*int(c.width):])
	clear(c.states[c.fixed:])
	clear(c.rows)
	c.table, c.states, c.used = c.table[:c.fixed*int(c.width)], c.states[:c.fixed], 0
	for i, key := range kept {
		// Fixed rows keep their places, so they keep their names.
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

// These are the flags of a key: two bits for the side before, one for whether
// matches may begin from here on, and the number of pending bytes.
const (
	flagRestart = 1 << 2
	pendingBit  = 3
)

// write makes c.key the key of a state. Equal states have equal keys, whatever way
// leads to them.
func (c *cache) write(before side, restart bool, pending []byte, list []uint32) {
	flags := byte(before) | byte(len(pending))<<pendingBit
	if restart {
		flags |= flagRestart
	}
	// Varints keep keys short: most programs have few instructions.
	c.key = append(append(c.key[:0], flags), pending...)
	for _, pc := range list {
		c.key = binary.AppendUvarint(c.key, uint64(pc))
	}
}

// read is the inverse of write.
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
