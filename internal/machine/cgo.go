//go:build cgo

package machine

// linksC reports that the program may link the C library, which then starts its threads. The build tag
// does not tell more.
const linksC = true
