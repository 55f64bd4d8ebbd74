//go:build !linux

package membudget

// regionMemory has a Go slice for each chunk. The slice is made when the chunk is first used.
type regionMemory struct{ chunks [][]byte }

func (m *regionMemory) open(chunks int) error {
	m.chunks = make([][]byte, chunks)
	return nil
}

func (m *regionMemory) close() error {
	m.chunks = nil
	return nil
}

func (m *regionMemory) hugePages() bool { return false }

func (m *regionMemory) chunk(home int32) []byte {
	if m.chunks[home] == nil {
		m.chunks[home] = make([]byte, ChunkBytes)
	}
	return m.chunks[home]
}

func (m *regionMemory) discard(home int32) { m.chunks[home] = nil }

func (m *regionMemory) discardPages(int32, int, int) bool { return false }

func (m *regionMemory) pageSize(int, int, bool) {}

func mapMemory(bytes int64) ([]byte, error) { return make([]byte, bytes), nil }

func discardMemory([]byte) {}

func unmapMemory([]byte) {}
