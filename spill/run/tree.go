package run

import "bytes"

// Cursor walks one sorted run: entries in memory, or a segment on disk.
type Cursor struct {
	prefix  uint64
	Entries []Entry // in memory; the first is the current record
	Arena   *Arena
	Disk    *DiskCursor // nil: in memory
	Done    bool
	touched byte // only keeps looks ahead from being optimised away
}

// key is the current key: of a large record on disk, what is at hand of it.
func (c *Cursor) key() []byte {
	if c.Disk != nil {
		return c.Disk.key
	}
	return c.Arena.Key(c.Entries[0].Ref)
}

func (c *Cursor) whole() bool {
	return c.Disk == nil || len(c.Disk.key) == c.Disk.keyBytes
}

// Advance moves to the next record and reports whether there is one.
func (c *Cursor) Advance() (bool, error) {
	if c.Disk != nil {
		ok, err := c.Disk.next()
		if ok && !c.Disk.same {
			c.prefix = PrefixOf(c.Disk.key)
		}
		c.Done = !ok
		return ok, err
	}
	c.Entries = c.Entries[1:]
	if len(c.Entries) == 0 {
		c.Done = true
		return false, nil
	}
	c.prefix = c.Entries[0].Prefix
	return true, nil
}

// Tree is a tournament of losers over cursors (Knuth, TAOCP 3, 5.4.1): a step
// costs one comparison a level, of two words that lie in the nodes; only equal
// prefixes look at keys. Equal keys come in the order of the cursors, so the
// merge is stable.
type Tree struct {
	Cursors []Cursor
	nodes   []node // 1 to len(cursors)-1: losers
	top     node
	Live    int
	Shared  *Readers // nil: all in memory
	Err     error    // sticky
}

type node struct {
	prefix uint64
	cursor int32
}

// start plays the first round. Disk cursors must stand before their first
// record, memory cursors on it.
func (t *Tree) start() {
	k := len(t.Cursors)
	t.Live, t.Err = 0, nil
	for i := range t.Cursors {
		c := &t.Cursors[i]
		switch {
		case c.Disk != nil:
			if _, err := c.Advance(); err != nil {
				t.Err, c.Done = err, true
			}
		case len(c.Entries) == 0:
			c.Done = true
		default:
			c.Done, c.prefix = false, c.Entries[0].Prefix
		}
		if !c.Done {
			t.Live++
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

// Rebuild plays all rounds again, with the cursors where they stand.
func (t *Tree) Rebuild() {
	t.Live = 0
	for i := range t.Cursors {
		if !t.Cursors[i].Done {
			t.Live++
		}
	}
	t.top = t.play(1)
}

// play returns the winner below node i and leaves the losers there.
func (t *Tree) play(i int) node {
	k := len(t.Cursors)
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

func (t *Tree) leaf(i int32) node {
	if t.Cursors[i].Done {
		return node{^uint64(0), i}
	}
	return node{t.Cursors[i].prefix, i}
}

func (t *Tree) before(a, b node) bool {
	return a.prefix < b.prefix || a.prefix == b.prefix && t.tied(a.cursor, b.cursor)
}

func (t *Tree) inMemory() bool {
	for i := range t.Cursors {
		if t.Cursors[i].Disk != nil {
			return false
		}
	}
	return true
}

// current is the cursor with the least record.
func (t *Tree) current() *Cursor { return &t.Cursors[t.top.cursor] }

// next moves the winner on and finds the next one; false at the end. A run
// whose key stays the same stays the winner: equal keys of later runs come
// after all of its own.
//
// hot: once a record merged.
func (t *Tree) next() bool {
	c := &t.Cursors[t.top.cursor]
	if c.Disk == nil && len(c.Entries) > 1 {
		old := c.Entries[0]
		c.Entries = c.Entries[1:]
		c.prefix = c.Entries[0].Prefix
		if c.prefix == old.Prefix && c.Arena.equal(old.Ref, c.Entries[0].Ref) {
			return true
		}
		return t.replay()
	}
	ok, err := c.Advance()
	switch {
	case ok && c.Disk.same:
		return true
	case ok:
		return t.replay()
	case err != nil:
		t.Err, t.Live = err, 0
		return false
	}
	t.Live--
	return t.Live > 0 && t.replay()
}

// replay plays the winner's path again after its cursor moved.
//
// hot: a comparison a level for each record merged.
func (t *Tree) replay() bool {
	win := t.leaf(t.top.cursor)
	for i := (int(win.cursor) + len(t.Cursors)) / 2; i > 0; i /= 2 {
		n := &t.nodes[i]
		if n.prefix < win.prefix || n.prefix == win.prefix && t.tied(n.cursor, win.cursor) {
			*n, win = win, *n
		}
	}
	t.top = win
	return t.Shared == nil || t.Shared.Err == nil || t.fail()
}

func (t *Tree) fail() bool {
	t.Err, t.Live = t.Shared.Err, 0
	return false
}

// tied reports whether a goes before b where their prefixes are equal.
func (t *Tree) tied(a, b int32) bool {
	x, y := &t.Cursors[a], &t.Cursors[b]
	if x.Done || y.Done {
		return !x.Done || y.Done && a < b
	}
	var c int
	if x.Disk == nil && y.Disk == nil && equalShort(x.Entries[0].Ref, y.Entries[0].Ref) {
		return a < b
	}
	if x.whole() && y.whole() {
		c = bytes.Compare(x.key(), y.key())
	} else {
		c = t.compareLarge(x, y)
	}
	return c < 0 || c == 0 && a < b
}

// compareLarge compares keys of which at least one is not whole in memory,
// piece by piece.
func (t *Tree) compareLarge(x, y *Cursor) int {
	p, q := t.pieces(x, 0), t.pieces(y, 1)
	var a, b []byte
	for {
		var err error
		if len(a) == 0 {
			if a, err = p.next(); err != nil {
				t.Shared.Err = err
				return 0
			}
		}
		if len(b) == 0 {
			if b, err = q.next(); err != nil {
				t.Shared.Err = err
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

func (t *Tree) pieces(c *Cursor, room int) keyPieces {
	if c.Disk != nil {
		return c.Disk.keyPieces(t.Shared.pieces[room])
	}
	key := c.key()
	return keyPieces{d: DiskCursor{key: key}, first: true, rest: len(key)}
}

// equalsKey reports whether the current key is key.
func (t *Tree) equalsKey(c *Cursor, prefix uint64, key []byte) bool {
	if c.prefix != prefix {
		return false
	}
	if c.whole() {
		return bytes.Equal(c.key(), key)
	}
	if c.Disk.keyBytes != len(key) {
		return false
	}
	p := c.Disk.keyPieces(t.Shared.pieces[0])
	for len(key) > 0 {
		piece, err := p.next()
		if err != nil {
			t.Shared.Err = err
			return false
		}
		if !bytes.HasPrefix(key, piece) {
			return false
		}
		key = key[len(piece):]
	}
	return true
}

// record is the current key and value, whole.
func (t *Tree) record() (key, value []byte) {
	c := t.current()
	if c.Disk == nil {
		return c.Arena.Record(c.Entries[0].Ref)
	}
	if c.Disk.large {
		if err := c.Disk.load(true); err != nil {
			t.Err = err
		}
	}
	return c.Disk.key, c.Disk.value
}
