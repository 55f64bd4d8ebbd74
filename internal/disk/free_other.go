//go:build !linux

package disk

// FreeBytes does not know.
func FreeBytes(string) (bytes int64, ok bool) { return 0, false }
