package scan

// Newlines sets each of marks to the newlines in its 64 places of data, which
// may end before the last place.
func Newlines(marks []uint64, data []byte) {
	full := min(len(data)/64, len(marks))
	if full > 0 {
		kernelNewlines(marks[:full], data)
	}
	if full == len(marks) {
		return
	}
	clear(marks[full:])
	for i, c := range data[64*full:] {
		if c == '\n' {
			marks[full] |= 1 << i
		}
	}
}
