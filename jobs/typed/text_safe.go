//go:build safe

package typed

// textOf returns a copy of the bytes of a block as a string.
func textOf(p []byte) string { return string(p) }
