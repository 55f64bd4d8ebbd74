package membudget

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	protection = unix.PROT_READ | unix.PROT_WRITE
	mapping    = unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE
	hugeBytes  = 2 << 20
)

// regionMemory is one anonymous mapping, aligned to huge pages. A huge page in two groups of
// chunks would make resident what only one of them accounts for.
type regionMemory struct {
	mapped []byte
	data   []byte
	huge   bool
}

// open maps room for so many chunks, aligned to huge pages. No page is resident before it is
// touched, so the mapping costs address space alone.
func (m *regionMemory) open(chunks int) error {
	bytes := chunks * ChunkBytes
	mapped, err := unix.Mmap(-1, 0, bytes+hugeBytes, protection, mapping)
	if err != nil {
		return err
	}
	skip := int(-address(mapped) & (hugeBytes - 1))
	m.mapped, m.data = mapped, mapped[skip:skip+bytes:skip+bytes]
	m.huge = unix.Madvise(m.data, unix.MADV_HUGEPAGE) == nil
	return nil
}

// address returns where a mapping begins. It asks fmt, so that it needs no unsafe.
func address(mapping []byte) (at uintptr) {
	if _, err := fmt.Sscan(fmt.Sprintf("%p", mapping), &at); err != nil {
		panic("membudget: the address of a mapping: " + err.Error())
	}
	return at
}

// close unmaps the region. Chunks that are still in use must not be touched any more. It may
// be called again.
func (m *regionMemory) close() error {
	if m.mapped == nil {
		return nil
	}
	mapped := m.mapped
	m.mapped, m.data = nil, nil
	return unix.Munmap(mapped)
}

func (m *regionMemory) hugePages() bool { return m.huge }

func (m *regionMemory) chunk(home int32) []byte {
	at := int(home) * ChunkBytes
	return m.data[at : at+ChunkBytes : at+ChunkBytes]
}

// discard makes the pages of a chunk not resident. An error leaves them resident, which
// costs memory and nothing else.
func (m *regionMemory) discard(home int32) {
	_ = unix.Madvise(m.chunk(home), unix.MADV_DONTNEED)
}

// discardPages makes a part of a chunk not resident. It reports whether the system did so:
// its pages may be larger than ours.
func (m *regionMemory) discardPages(home int32, at, bytes int) bool {
	return unix.Madvise(m.chunk(home)[at:at+bytes:at+bytes], unix.MADV_DONTNEED) == nil
}

// pageSize asks for huge or small pages for chunks from to last-1. An error leaves the size,
// which costs memory and nothing else.
func (m *regionMemory) pageSize(from, last int, huge bool) {
	advice := unix.MADV_NOHUGEPAGE
	if huge {
		advice = unix.MADV_HUGEPAGE
	}
	_ = unix.Madvise(m.data[from*ChunkBytes:last*ChunkBytes], advice)
}

// mapMemory returns a new mapping; long ones have huge pages if the system has them.
func mapMemory(bytes int64) ([]byte, error) {
	data, err := unix.Mmap(-1, 0, int(bytes), protection, mapping)
	if err == nil && bytes >= 2*hugeBytes {
		_ = unix.Madvise(data, unix.MADV_HUGEPAGE) // a hint
	}
	return data, err
}

// discardMemory makes a part of a mapping not resident. An error leaves it resident, which
// costs memory and nothing else.
func discardMemory(data []byte) { _ = unix.Madvise(data, unix.MADV_DONTNEED) }

func unmapMemory(data []byte) {
	if err := unix.Munmap(data); err != nil {
		panic("membudget: munmap of a chunk: " + err.Error())
	}
}
