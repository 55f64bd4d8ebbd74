//go:build safe

package spill

import "mrlocal/internal/membudget"

// entriesOf is n entries; the chunk is only the charge for them.
func entriesOf(_ *membudget.Chunk, n int) []entry { return make([]entry, n) }

// entriesIn is n entries; data is only the charge for them.
func entriesIn(_ []byte, n int) []entry { return make([]entry, n) }
