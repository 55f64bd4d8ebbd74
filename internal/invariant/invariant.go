// Package invariant holds checks on our own code. They cost nothing in a
// normal build: Enabled is a constant, true only under the build tags
// `invariants` and `race`, so the compiler drops what it guards.
//
//	if invariant.Enabled {
//		invariant.Check(sum == total, "slots: %d of %d", sum, total)
//	}
//
// A failed check is a bug of ours, never of the user's data, and panics. It is
// a leaf that every layer may use.
package invariant

import (
	"fmt"
	"hash/maphash"
)

// Check panics when ok is false and checks are on. Arguments are evaluated
// even when they are off: guard costly ones with Enabled.
func Check(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("invariant: " + fmt.Sprintf(format, args...))
	}
}

// Mangle overwrites a buffer whose borrower must not look at it any more, so
// that one who does is found by wrong results. It does nothing in a normal
// build.
func Mangle(p []byte) {
	if !Enabled {
		return
	}
	for i := range p {
		p[i] = 0xcc
	}
}

// Sometimes is true in percent of its calls in a checked build and never in a
// normal one: it takes rare paths often.
func Sometimes(percent int) bool {
	if !Enabled {
		return false
	}
	var h maphash.Hash // each has a seed of its own
	return int(h.Sum64()%100) < percent
}
