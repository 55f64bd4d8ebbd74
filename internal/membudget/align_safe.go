//go:build linux && safe

package membudget

// alignment of a mapping can not be seen without unsafe; a region that is not
// aligned has one huge page less.
func alignment([]byte, int) int { return 0 }
