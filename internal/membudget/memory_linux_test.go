package membudget

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// What the accounts say is what the system says.
func TestTheSystemAgreesOnWhatIsResident(t *testing.T) {
	if os.Getpagesize() != pageBytes {
		t.Skip("the system's pages are of another size")
	}
	b := newBudget(t, 20)
	l := reserve(t, b, 20)
	var held []*Chunk
	for range 20 {
		c := mustHold(t, b)(l.Chunk())
		held = append(held, c)
	}
	for _, c := range held[4:] {
		l.Free(c)
	}
	for i := range 8 {
		c := mustHold(t, b)(l.Piece((i + 1) * 4 * pageBytes))
		held = append(held, c)
	}
	mustHold(t, b)(l.Big(12 * ChunkBytes))
	for _, c := range held[:4] {
		for i := 0; i < len(c.Data); i += pageBytes {
			c.Data[i] = 1
		}
	}
	if got, account := residentOf(t, b), b.mu.region.residentBytes(); got > account {
		t.Errorf("%d bytes of the region are resident, the accounts say %d", got, account)
	}
}

// residentOf is the sum of Rss in /proc/self/smaps over the region's mapping,
// which the system may show in parts.
func residentOf(t *testing.T, b *Budget) (bytes int64) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	data := b.mu.region.memory.data
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	end := start + uint64(len(data))
	within := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var from, to uint64
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &from, &to); n == 2 {
			within = from < end && to > start
		} else if _, err := fmt.Sscanf(lines.Text(), "Rss: %d kB", &kib); err == nil && within && strings.HasPrefix(lines.Text(), "Rss:") {
			bytes += kib << 10
		}
	}
	return bytes
}
