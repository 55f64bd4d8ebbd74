// Package arch holds the rules of the house as tests: which package may import
// which, how long a function may be, where goroutines start, what only the
// command may do. Each failure says why the rule is there.
//
// It has no code of its own that others could use; go/parser reads the module's
// sources in well under a second.
package arch
