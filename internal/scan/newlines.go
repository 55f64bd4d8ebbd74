package scan

// Newlines sets marks[w] to the newlines among the 64 bytes of data from 64w
// on. data may end before the last of these places.
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
