//go:build linux && !safe

package membudget

import "unsafe"

// alignment is how far data's start is from the next multiple of unit.
func alignment(data []byte, unit int) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(data))) & uintptr(unit-1))
}
