//go:build !safe

package typed

import "unsafe"

// textOf returns the bytes of a block as a string, which lies in the memory of p.
func textOf(p []byte) string { return unsafe.String(unsafe.SliceData(p), len(p)) }
