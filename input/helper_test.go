package input_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"mrlocal/input"
	"mrlocal/internal/membudget"
)

// memory is a Memory that counts the chunks it has given out, and may refuse.
type memory struct {
	mu struct {
		sync.Mutex
		out   map[*membudget.Chunk]bool
		bytes int
		peak  int
		free  [][]byte
	}
	limitBytes int // 0: none
	charged    int64
}

var poison = bytes.Repeat([]byte{0xee}, membudget.ChunkBytes)

var errRoom = errors.New("no room")

func (m *memory) Get(bytes int) (*membudget.Chunk, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := max(bytes, membudget.ChunkBytes)
	if m.limitBytes > 0 && m.mu.bytes+n > m.limitBytes {
		return nil, errRoom
	}
	if m.mu.out == nil {
		m.mu.out = map[*membudget.Chunk]bool{}
	}
	c := &membudget.Chunk{}
	if n == membudget.ChunkBytes && len(m.mu.free) > 0 {
		c.Data = m.mu.free[len(m.mu.free)-1]
		m.mu.free = m.mu.free[:len(m.mu.free)-1]
	} else {
		c.Data = make([]byte, n)
	}
	m.mu.out[c] = true
	m.mu.bytes += n
	m.mu.peak = max(m.mu.peak, m.mu.bytes)
	return c, nil
}

// Put spoils the chunk, so that a test fails if somebody still reads it.
func (m *memory) Put(c *membudget.Chunk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.mu.out[c] {
		panic("chunk put back twice")
	}
	delete(m.mu.out, c)
	m.mu.bytes -= len(c.Data)
	for rest := c.Data; len(rest) > 0; {
		rest = rest[copy(rest, poison):]
	}
	if len(c.Data) == membudget.ChunkBytes {
		m.mu.free = append(m.mu.free, c.Data)
	}
	c.Data = nil
}

func (m *memory) none(t testing.TB) {
	t.Helper()
	if m.mu.bytes != 0 {
		t.Errorf("%d bytes were not put back", m.mu.bytes)
	}
}

// write makes a file in a fresh directory and returns its path.
func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func plan(t testing.TB, o input.Options, paths ...string) *input.Plan {
	t.Helper()
	p, err := input.NewPlan(paths, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// content holds the text that was read of each file, in order.
type content struct {
	data   map[int32][]byte
	blocks int
	last   map[int32]int
}

// readAll reads every split and stream of a plan. It checks each block: that it
// lies at the place it claims, that it has whole records, and that all chunks
// were given back.
func readAll(t testing.TB, p *input.Plan, delim byte) content {
	t.Helper()
	c, err := tryRead(t, p, delim, &memory{}, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Files {
		if c.last[int32(i)] != 1 {
			t.Errorf("file %d has %d last blocks", i, c.last[int32(i)])
		}
	}
	return c
}

// blocks is the common part of Reader and Stream.
type blocks interface {
	Next() bool
	Block() input.LentBlock
	Close() error
}

func tryRead(t testing.TB, p *input.Plan, delim byte, m *memory, keep bool) (content, error) {
	t.Helper()
	c := content{data: map[int32][]byte{}, last: map[int32]int{}}
	for _, s := range p.Splits {
		r := p.Open(s, m)
		for r.Next() {
			b := r.Block()
			c.add(t, b.File, b.Offset, b.Data, b.Last, delim)
			keepSome(r, m, keep, c.blocks)
			if got := r.Block().ConsumedBytes; got < 0 || got > s.Bytes {
				t.Errorf("%d of %d bytes consumed", got, s.Bytes)
			}
		}
		err := r.Close()
		if got := r.Block().ConsumedBytes; err == nil && got != s.Bytes {
			t.Errorf("%d of %d bytes consumed at the end of split of %v", got, s.Bytes, s.Pieces)
		}
		m.none(t)
		if err != nil {
			return c, err
		}
	}
	for _, f := range p.Streams {
		st, err := p.OpenStream(f, m)
		if err != nil {
			return c, err
		}
		for st.Next() {
			b := st.Block()
			c.add(t, b.File, b.Offset, b.Data, b.Last, delim)
			keepSome(st, m, keep, c.blocks)
		}
		err = st.Err()
		st.Close()
		m.none(t)
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// keepSome takes over every second chunk, overwrites it, and puts it back at once: a
// reader must not read it again.
func keepSome(b blocks, m *memory, keep bool, n int) {
	if keep && n%2 == 0 {
		loan := b.Block().Loan
		loan.Take(nil)
		m.Put(loan.Chunk)
	}
}

func (c *content) add(t testing.TB, file int32, off int64, data []byte, last bool, delim byte) {
	t.Helper()
	if off != int64(len(c.data[file])) {
		t.Fatalf("file %d: block claims offset %d, %d bytes were read before it", file, off, len(c.data[file]))
	}
	if c.last[file] > 0 {
		t.Fatalf("file %d: a block after the last", file)
	}
	if !last && !bytes.HasSuffix(data, []byte{delim}) {
		t.Fatalf("file %d: block at %d does not end with a record", file, off)
	}
	c.data[file] = append(c.data[file], data...)
	c.blocks++
	if last {
		c.last[file]++
	}
}

func writeTo(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}
