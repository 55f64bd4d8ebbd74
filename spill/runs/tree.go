package runs

import (
	"bytes"

	"mrlocal/spill/record"
)

// cursor walks one sorted run: entries in memory, or a partition of a segment on disk.
type cursor struct {
	prefix  uint64
	entries []record.Entry // in memory; the first is the current record
	arena   *record.Arena
	ahead   *ahead      // sorts the entries that follow; nil: none do
	disk    *diskCursor // nil: in memory
	done    bool
	touched byte // only keeps looks ahead from being optimised away
}

// key returns the current key; of a large record on disk, as much of it as the cursor holds.
func (c *cursor) key() []byte {
	if c.disk != nil {
		return c.disk.key
	}
	return c.arena.Key(c.entries[0].Ref)
}

// whole reports whether key returns the whole key.
func (c *cursor) whole() bool {
	return c.disk == nil || len(c.disk.key) == c.disk.keyBytes
}

// advance moves to the next record. It reports false at the end, and then sets done.
func (c *cursor) advance() (bool, error) {
	if c.disk != nil {
		ok, err := c.disk.next()
		if ok && !c.disk.same {
			c.prefix = record.PrefixOf(c.disk.key)
		}
		c.done = !ok
		return ok, err
	}
	if c.entries = c.entries[1:]; len(c.entries) == 0 && !c.more() {
		c.done = true
		return false, nil
	}
	c.prefix = c.entries[0].Prefix
	return true, nil
}

// more goes on with the entries of the next range. It reports false behind the last one.
func (c *cursor) more() bool {
	if c.ahead != nil {
		c.entries = c.ahead.next()
	}
	return len(c.entries) > 0
}

// loserTree is a tournament of losers over cursors (Knuth, TAOCP 3, section 5.4.1): each
// inner node holds the loser of a match, and top the winner of the last one. Moving the
// winner on costs one comparison for each level, of two prefixes that lie in the nodes. Keys
// are read only when prefixes are equal. Equal keys come in the order of the cursors, so the
// merge is stable.
type loserTree struct {
	cursors []cursor
	nodes   []node // 1 to len(cursors)-1: losers
	top     node
	live    int
	shared  *readers // nil: all in memory
	err     error    // sticky
}

// node is a cursor with the prefix of its current key.
type node struct {
	prefix uint64
	cursor int32
}

// start plays all matches for the first time. Disk cursors must stand before their first
// record, memory cursors on it.
func (t *loserTree) start() {
	k := len(t.cursors)
	t.live, t.err = 0, nil
	for i := range t.cursors {
		c := &t.cursors[i]
		switch {
		case c.disk != nil:
			if _, err := c.advance(); err != nil {
				t.err, c.done = err, true
			}
		case len(c.entries) == 0:
			c.done = true
		default:
			c.done, c.prefix = false, c.entries[0].Prefix
		}
		if !c.done {
			t.live++
		}
	}
	if cap(t.nodes) < k {
		t.nodes = make([]node, k)
	}
	t.nodes = t.nodes[:k]
	if k > 0 {
		t.top = t.play(1)
	}
}

// rebuild plays all matches again, with the cursors where they are.
func (t *loserTree) rebuild() {
	t.live = 0
	for i := range t.cursors {
		if !t.cursors[i].done {
			t.live++
		}
	}
	t.top = t.play(1)
}

// play returns the winner of the matches below node i and leaves their losers in the nodes.
func (t *loserTree) play(i int) node {
	k := len(t.cursors)
	if i >= k {
		return t.leaf(int32(i - k))
	}
	a, b := t.play(2*i), t.play(2*i+1)
	if t.before(b, a) {
		a, b = b, a
	}
	t.nodes[i] = b
	return a
}

// leaf returns the i-th cursor as a node. One that has ended has the largest prefix and
// loses every tie.
func (t *loserTree) leaf(i int32) node {
	if t.cursors[i].done {
		return node{^uint64(0), i}
	}
	return node{t.cursors[i].prefix, i}
}

// before reports whether the record of a comes before that of b.
func (t *loserTree) before(a, b node) bool {
	return a.prefix < b.prefix || a.prefix == b.prefix && t.tied(a.cursor, b.cursor)
}

// inMemory reports whether no cursor reads from disk.
func (t *loserTree) inMemory() bool {
	for i := range t.cursors {
		if t.cursors[i].disk != nil {
			return false
		}
	}
	return true
}

// current returns the cursor with the least record.
func (t *loserTree) current() *cursor { return &t.cursors[t.top.cursor] }

// next moves the winner on and finds the next one. It reports false at the end. A run whose
// key stays the same stays the winner, because equal keys of later runs come after all of
// its own.
//
// hot: once a record merged.
func (t *loserTree) next() bool {
	c := &t.cursors[t.top.cursor]
	if c.disk == nil && len(c.entries) > 1 {
		old := c.entries[0]
		c.entries = c.entries[1:]
		c.prefix = c.entries[0].Prefix
		// No match has to be played for a key that stays the same.
		if c.prefix == old.Prefix && c.arena.SameKey(old.Ref, c.entries[0].Ref) {
			return true
		}
		return t.replay()
	}
	ok, err := c.advance()
	switch {
	case ok && c.disk != nil && c.disk.same:
		return true
	case ok:
		return t.replay()
	case err != nil:
		t.err, t.live = err, 0
		return false
	}
	t.live--
	return t.live > 0 && t.replay()
}

// replay plays the matches on the path of the winner again, after its cursor was moved. It
// reports false after an error.
//
// hot: a comparison a level for each record merged.
func (t *loserTree) replay() bool {
	win := t.leaf(t.top.cursor)
	for i := (int(win.cursor) + len(t.cursors)) / 2; i > 0; i /= 2 {
		n := &t.nodes[i]
		if n.prefix < win.prefix || n.prefix == win.prefix && t.tied(n.cursor, win.cursor) {
			*n, win = win, *n
		}
	}
	t.top = win
	return t.shared == nil || t.shared.err == nil || t.fail()
}

// fail takes over the error of a comparison.
func (t *loserTree) fail() bool {
	t.err, t.live = t.shared.err, 0
	return false
}

// tied reports whether the record of cursor a comes before that of cursor b, where their
// prefixes are equal.
func (t *loserTree) tied(a, b int32) bool {
	x, y := &t.cursors[a], &t.cursors[b]
	if x.done || y.done {
		// A key of eight bytes 0xff has the prefix of a cursor that has ended.
		return !x.done || y.done && a < b
	}
	var c int
	if x.disk == nil && y.disk == nil && record.SameShortKey(x.entries[0].Ref, y.entries[0].Ref) {
		return a < b
	}
	if x.whole() && y.whole() {
		c = bytes.Compare(x.key(), y.key())
	} else {
		c = t.compareLarge(x, y)
	}
	return c < 0 || c == 0 && a < b
}

// compareLarge compares two keys, of which at least one is not whole in memory, piece by
// piece.
func (t *loserTree) compareLarge(x, y *cursor) int {
	p, q := t.pieces(x, 0), t.pieces(y, 1)
	var a, b []byte
	for {
		var err error
		if len(a) == 0 {
			if a, err = p.next(); err != nil {
				t.shared.err = err
				return 0
			}
		}
		if len(b) == 0 {
			if b, err = q.next(); err != nil {
				t.shared.err = err
				return 0
			}
		}
		n := min(len(a), len(b))
		if n == 0 {
			return len(a) - len(b)
		}
		if c := bytes.Compare(a[:n], b[:n]); c != 0 {
			return c
		}
		a, b = a[n:], b[n:]
	}
}

// pieces begins to read the current key of c, with one of two rooms.
func (t *loserTree) pieces(c *cursor, room int) keyPieces {
	if c.disk != nil {
		return c.disk.keyPieces(t.shared.pieces[room])
	}
	key := c.key()
	return keyPieces{d: diskCursor{key: key}, first: true, rest: len(key)}
}

// equalsKey reports whether the current key of c is key, whose prefix is prefix.
func (t *loserTree) equalsKey(c *cursor, prefix uint64, key []byte) bool {
	if c.prefix != prefix {
		return false
	}
	if c.whole() {
		return bytes.Equal(c.key(), key)
	}
	if c.disk.keyBytes != len(key) {
		return false
	}
	p := c.disk.keyPieces(t.shared.pieces[0])
	for len(key) > 0 {
		piece, err := p.next()
		if err != nil {
			t.shared.err = err
			return false
		}
		if !bytes.HasPrefix(key, piece) {
			return false
		}
		key = key[len(piece):]
	}
	return true
}

// record returns the current key and value, whole.
func (t *loserTree) record() (key, value []byte) {
	c := t.current()
	if c.disk == nil {
		return c.arena.Record(c.entries[0].Ref)
	}
	if c.disk.large {
		if err := c.disk.load(true); err != nil {
			t.err = err
		}
	}
	return c.disk.key, c.disk.value
}
