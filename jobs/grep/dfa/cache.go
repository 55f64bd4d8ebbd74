package dfa

import "encoding/binary"

// cache holds the states of an automaton. The transitions of a state are a row of one table.
// The offset of the row in the table is the name of the state. A transition of 0 is not known
// yet.
//
// The key of a state defines it: a byte of flags, the bytes of an incomplete rune, and the
// threads. A full cache is cleared, except for the first states and those in use.
type cache struct {
	width uint32
	// Row 0 is the unknown state, so no known transition is 0.
	table  []uint32
	states []state // by row
	rows   map[string]uint32
	fixed  int // number of rows that are never dropped
	stays  int // number of fixed rows whose transitions lead only to one another

	// Memory in bytes, approximately. Fixed rows do not count, because they are never freed.
	used, most int // in use; most that may be in use

	// explodes decides, when the cache is cleared, whether the automaton shall give up. It is told the
	// number of states, and of the bytes walked since the last time. nil: never.
	explodes func(states, walked int) bool
	exploded bool
	walked   int

	key  []byte
	held []uint32 // threads of the state that read returned last
}

// state is the information about a state in addition to its row of transitions.
type state struct {
	key  string
	ends [sides]ending
}

// ending says whether there is a match if the text ends here.
type ending uint8

const (
	endUnknown ending = iota
	endNoMatch
	endMatch
)

// stateBytes is about the memory of a state in addition to its row and its key.
const stateBytes = 100

// fewestStates is the number of states that may always be in the cache. The automaton cannot
// run with fewer.
const fewestStates = 12

// newCache makes a cache for rows of the given number of columns. most is its memory in bytes.
func newCache(columns, most int) cache {
	// A power of two up to 16 keeps a narrow row in one cache line.
	width := uint32(16)
	switch {
	case columns <= 4:
		width = 4
	case columns <= 8:
		width = 8
	case columns > 16:
		width = uint32(columns+15) &^ 15
	}
	return cache{width: width, most: most, rows: map[string]uint32{}}
}

// reserve adds n rows without a state.
func (c *cache) reserve(n int) {
	c.table = append(c.table, make([]uint32, n*int(c.width))...)
	c.states = append(c.states, make([]state, n)...)
}

// add adds a state with a key that is not in the cache, and returns its row.
func (c *cache) add(key string) uint32 {
	// Growing the table may move it, so loops read c.table again after each step.
	row := uint32(len(c.table))
	c.reserve(1)
	c.states[row/c.width].key = key
	c.rows[key] = row
	c.used += int(c.width)*4 + len(key) + stateBytes
	return row
}

// row returns the row of the state with the key c.key, and adds it if it is new. If the cache
// has to be cleared, the states of live are kept, and their rows are updated.
func (c *cache) row(live []uint32) uint32 {
	// The compiler makes no copy of the key for this look-up.
	if row, ok := c.rows[string(c.key)]; ok {
		return row
	}
	key := string(c.key)
	if c.used+len(key) > c.most && len(c.states) >= c.fixed+fewestStates {
		c.clear(live)
		// clear may have kept this state, because it is in live.
		if row, ok := c.rows[key]; ok {
			return row
		}
	}
	return c.add(key)
}

// clear removes all states except the fixed ones and those of live, whose rows it updates.
func (c *cache) clear(live []uint32) {
	// The keys are saved first, because clearing removes them.
	kept := make([]string, len(live))
	for i, row := range live {
		kept[i] = c.states[row/c.width].key
	}
	// The first rows lead only to one another and stay valid. Transitions of other rows may
	// lead to removed states.
	if c.explodes != nil {
		c.exploded = c.exploded || c.explodes(len(c.states), c.walked)
	}
	c.walked = 0
	clear(c.table[c.stays*int(c.width):])
	clear(c.states[c.fixed:])
	clear(c.rows)
	c.table = c.table[:c.fixed*int(c.width)]
	c.states = c.states[:c.fixed]
	c.used = 0
	for i, key := range kept {
		// Fixed rows keep their places.
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

// A key begins with flags: two bits for the side before, and flagRestart if matches may begin
// from here on. The bits from pendingBit on are the number of pending bytes.
const (
	flagRestart = 1 << 2
	pendingBit  = 3
)

// write sets c.key to the key of a state. Equal states have equal keys.
func (c *cache) write(before side, restart bool, pending []byte, list []uint32) {
	flags := byte(before) | byte(len(pending))<<pendingBit
	if restart {
		flags |= flagRestart
	}
	c.key = append(append(c.key[:0], flags), pending...)
	// Varints keep keys short, because most programs have few instructions.
	for _, pc := range list {
		c.key = binary.AppendUvarint(c.key, uint64(pc))
	}
}

// read is the inverse of write. The list is valid until the next read.
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
