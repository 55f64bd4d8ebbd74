//go:build !cgo

package machine

// linksC is false: the runtime starts the threads itself.
const linksC = false
