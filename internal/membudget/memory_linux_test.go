package membudget

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The budget counts as many resident bytes as the system, wherever the system puts the mapping.
func TestTheSystemAgreesOnWhatIsResident(t *testing.T) {
	if os.Getpagesize() != pageBytes {
		t.Skip("the system's pages are of another size")
	}
	for _, pages := range []int{1, 64, 240, 511} {
		t.Run(fmt.Sprintf("next to %d pages", pages), func(t *testing.T) {
			beside, err := unix.Mmap(-1, 0, pages*pageBytes, unix.PROT_NONE, mapping)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Munmap(beside)
			b := newBudget(t, 20)
			workOn(t, b)
			data := b.mu.region.memory.data
			if got, account := residentBytes(t, data), b.mu.region.residentBytes(); got > account || got == 0 {
				t.Errorf("%d bytes of the region are resident, the accounts say %d", got, account)
			}
			if at := address(data); at%hugeBytes != 0 {
				t.Errorf("the region begins at %#x, inside of a huge page", at)
			}
		})
	}
}

// workOn takes, frees and cuts chunks of a budget of 20, takes a Big, and writes to the chunks that it
// still has.
func workOn(t *testing.T, b *Budget) {
	l := reserve(t, b, 20)
	var held []*Chunk
	for range 20 {
		c := mustHold(t, b)(l.Chunk())
		fill(c.Data)
		held = append(held, c)
	}
	for _, c := range held[4:] {
		l.Free(c)
	}
	for i := range 8 {
		mustHold(t, b)(l.Piece((i + 1) * 4 * pageBytes))
	}
	mustHold(t, b)(l.Big(12 * ChunkBytes))
	for _, c := range held[:4] {
		fill(c.Data)
	}
}

// fill makes all of data resident.
func fill(data []byte) {
	for i := 0; i < len(data); i += pageBytes {
		data[i] = 1
	}
}

// residentBytes counts the pages of a mapping that the system has in memory.
// smaps cannot be used: it also counts neighbouring mappings.
func residentBytes(t *testing.T, mapping []byte) (bytes int64) {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	const present = 1 << 63 // an entry of 8 bytes per page
	entries := make([]byte, len(mapping)/pageBytes*8)
	if _, err := f.ReadAt(entries, int64(address(mapping)/pageBytes*8)); err != nil {
		t.Fatal(err)
	}
	for ; len(entries) > 0; entries = entries[8:] {
		if binary.NativeEndian.Uint64(entries)&present != 0 {
			bytes += pageBytes
		}
	}
	return bytes
}
