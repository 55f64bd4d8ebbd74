//go:build safe

package record

import "mrlocal/internal/membudget"

// EntriesOf is n entries; the chunk is only the charge for them.
func EntriesOf(_ *membudget.Chunk, n int) []Entry { return make([]Entry, n) }

// EntriesIn is n entries; data is only the charge for them.
func EntriesIn(_ []byte, n int) []Entry { return make([]Entry, n) }
