//go:build !cgo

package machine

// linksC reports that the runtime starts the threads of the program without the C library.
const linksC = false
