//go:build cgo

package machine

// linksC reports that the C library starts the threads of the program.
const linksC = true
