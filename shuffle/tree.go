package shuffle

import (
	"bytes"

	"mrlocal/shuffle/record"
)

// loserTree is a tournament of losers over cursors (Knuth, TAOCP 3, section 5.4.1). Each inner
// node holds the loser of a match, and top holds the winner of the last one. To move the winner
// on, the tree makes one comparison a level, of two prefixes that lie in the nodes. It reads
// keys only if their prefixes are equal. Equal keys come in the order of the cursors, so the
// merge is stable.
type loserTree struct {
	cursors []cursor
	nodes   []node // losers, from index 1 to len(cursors)-1
	top     node
	live    int      // number of cursors that are not done
	shared  *readers // nil: all in memory
	err     error    // sticky
}

// node is a cursor with the prefix of its current key.
type node struct {
	prefix uint64
	cursor int32
}

// start plays all matches for the first time. Disk cursors must stand before their first
// record, and memory cursors on it.
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

// rebuild plays all matches again, with the cursors at their current records.
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

// leaf returns the i-th cursor as a node. A cursor that is done gets the largest prefix and
// loses every tie with one that is not.
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

// next moves the winner on and finds the next one. It returns false at the end and after an
// error. A run whose key stays the same stays the winner, because equal keys of later runs come
// after its own.
//
// hot: runs once for each record that is merged.
func (t *loserTree) next() bool {
	c := &t.cursors[t.top.cursor]
	if c.disk == nil && len(c.entries) > 1 {
		old := c.entries[0]
		c.entries = c.entries[1:]
		c.prefix = c.entries[0].Prefix
		return c.prefix == old.Prefix && c.arena.SameKey(old.Ref, c.entries[0].Ref) || t.replay()
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

// replay plays the matches on the path of the winner again, after its cursor has moved. It
// returns false after an error.
//
// hot: one comparison for each level, for each record that is merged.
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

// fail makes the error of a comparison that of the tree. It returns false.
func (t *loserTree) fail() bool {
	t.err, t.live = t.shared.err, 0
	return false
}

// tied reports whether the record of cursor a comes before that of cursor b. Their prefixes are
// equal.
func (t *loserTree) tied(a, b int32) bool {
	x, y := &t.cursors[a], &t.cursors[b]
	if x.done || y.done {
		// A key that begins with eight bytes 0xff has the same prefix as a cursor that is done.
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

// compareLarge compares two keys piece by piece. At least one of them is not whole in memory.
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

// pieces begins to read the current key of c. room is the index of the buffer that it may use.
func (t *loserTree) pieces(c *cursor, room int) keyPieces {
	if c.disk != nil {
		return c.disk.keyPieces(t.shared.pieces[room])
	}
	key := c.key()
	return keyPieces{d: diskCursor{key: key}, first: true, rest: len(key)}
}

// equalsKey reports whether the current key of c equals key. prefix is the prefix of key.
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

// record returns the whole current key and value. It loads a large record; an error of that is
// sticky.
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
