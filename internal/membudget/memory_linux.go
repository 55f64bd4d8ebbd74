package membudget

import (
	"fmt"

	"golang.org/x/sys/unix"

	"mrlocal/internal/invariant"
)

const (
	protection = unix.PROT_READ | unix.PROT_WRITE
	mapping    = unix.MAP_ANON | unix.MAP_PRIVATE | unix.MAP_NORESERVE
	hugeBytes  = 2 << 20
)

// regionMemory is one anonymous mapping, aligned to huge pages. Otherwise a huge page could lie in
// two groups, and make chunks resident that count as not resident.
type regionMemory struct {
	mapped []byte // as the system has mapped it
	data   []byte // the aligned part of it
	huge   bool   // the system has huge pages
}

// open maps address space for the given number of chunks. A page becomes resident when it is touched.
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

// address returns the address of a mapping. It gets it from package fmt, so that this package needs
// no unsafe.
func address(mapping []byte) (at uintptr) {
	if _, err := fmt.Sscan(fmt.Sprintf("%p", mapping), &at); err != nil {
		panic("membudget: the address of a mapping: " + err.Error())
	}
	return at
}

// close unmaps the region. It may be called again.
func (m *regionMemory) close() error {
	if m.mapped == nil {
		return nil
	}
	mapped := m.mapped
	m.mapped, m.data = nil, nil
	return retire(mapped)
}

// retire unmaps memory. A checked build only gives its pages back. User code that still reads a slice of
// the memory then gets zeros, and the process does not end.
func retire(mapped []byte) error {
	if !invariant.Enabled {
		return unix.Munmap(mapped)
	}
	_ = unix.Madvise(mapped, unix.MADV_DONTNEED)
	return unix.Mprotect(mapped, unix.PROT_READ)
}

func (m *regionMemory) hugePages() bool { return m.huge }

func (m *regionMemory) chunk(home int32) []byte {
	at := int(home) * ChunkBytes
	return m.data[at : at+ChunkBytes : at+ChunkBytes]
}

// discard gives the pages of a chunk back to the system. If that fails, they stay resident, which
// only takes memory.
func (m *regionMemory) discard(home int32) {
	_ = unix.Madvise(m.chunk(home), unix.MADV_DONTNEED)
}

// discardPages gives a part of a chunk back to the system. It returns false if the system refuses,
// because its pages are larger than ours.
func (m *regionMemory) discardPages(home int32, at, bytes int) bool {
	return unix.Madvise(m.chunk(home)[at:at+bytes:at+bytes], unix.MADV_DONTNEED) == nil
}

// pageSize asks the system for huge or small pages for the chunks from to last-1. If that fails, the
// size stays as it was, which only takes memory.
func (m *regionMemory) pageSize(from, last int, huge bool) {
	advice := unix.MADV_NOHUGEPAGE
	if huge {
		advice = unix.MADV_HUGEPAGE
	}
	_ = unix.Madvise(m.data[from*ChunkBytes:last*ChunkBytes], advice)
}

// mapMemory returns a new mapping. A long one has huge pages if the system has them.
func mapMemory(bytes int64) ([]byte, error) {
	data, err := unix.Mmap(-1, 0, int(bytes), protection, mapping)
	if err == nil && bytes >= 2*hugeBytes {
		_ = unix.Madvise(data, unix.MADV_HUGEPAGE) // a hint
	}
	return data, err
}

// discardMemory gives a part of a mapping back to the system. If that fails, it stays resident,
// which only takes memory.
func discardMemory(data []byte) { _ = unix.Madvise(data, unix.MADV_DONTNEED) }

func unmapMemory(data []byte) {
	if err := retire(data); err != nil {
		panic("membudget: munmap of a chunk: " + err.Error())
	}
}
