package record

import (
	"testing"

	"mrlocal/internal/membudget"
)

// EntriesIn keeps the entries that are written to it, with unsafe and without. CI runs this
// test also with the tag safe.
func FuzzEntries(f *testing.F) {
	f.Add(uint16(1), uint64(1))
	f.Add(uint16(chunkEntriesOf(membudget.ChunkBytes)), ^uint64(0))
	f.Fuzz(func(t *testing.T, n uint16, seed uint64) {
		count := int(n) % (ChunkEntries + 1)
		b, err := membudget.New(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		l, _ := b.TryReserve(1 << 20)
		defer l.Close()
		c, ok := l.Chunk()
		if !ok {
			t.Fatal("no chunk")
		}
		entries := EntriesIn(c.Data, count)
		if len(entries) != count {
			t.Fatalf("%d entries, want %d", len(entries), count)
		}
		x := seed
		for i := range entries {
			entries[i] = Entry{Prefix: x, Ref: ^x}
			x = x*0x9e37_79b9_7f4a_7c15 + 1
		}
		x = seed
		for i := range entries {
			if entries[i] != (Entry{Prefix: x, Ref: ^x}) {
				t.Fatalf("entry %d is %x", i, entries[i])
			}
			x = x*0x9e37_79b9_7f4a_7c15 + 1
		}
	})
}

func chunkEntriesOf(bytes int) int { return bytes / EntryBytes }
