//go:build safe

package record

// EntriesIn returns n entries on the Go heap. The memory budget counts data in their place.
func EntriesIn(_ []byte, n int) []Entry { return make([]Entry, n) }
