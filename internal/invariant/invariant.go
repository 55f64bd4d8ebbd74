// Package invariant has checks that find bugs of this project, never wrong input. They cost
// nothing in a normal build. Enabled is a constant that is true only under the build tags
// `invariants` and `race`. So the compiler removes the code that it guards.
//
//	if invariant.Enabled {
//		invariant.Check(sum == total, "slots: %d of %d", sum, total)
//	}
//
// A failed check panics. The package imports nothing of the module, and may be used by every
// layer. It keeps one thing, in a checked build only: the transitions of states, for tests (Moves).
package invariant

import (
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
)

// Check panics if ok is false and checks are on. Go evaluates the arguments in any case,
// so costly ones have to be guarded with Enabled.
func Check(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("invariant: " + fmt.Sprintf(format, args...))
	}
}

// State is an ordered enum of states. A value never goes back to an earlier state. Next returns the
// states that may follow.
type State[S any] interface {
	~uint8
	fmt.Stringer
	Next() []S
}

// Moves has each transition that Move has made in a checked build, as a key [2]S of the states
// before and after. Only tests read it. They compare it with Next (testkit.Transitions).
var Moves sync.Map

// Move changes a state. In a checked build it panics if Next does not list the new state.
// The caller holds the lock of the state, if it has one.
func Move[S State[S]](from *S, to S) {
	if Enabled {
		Check(slices.Contains((*from).Next(), to), "%T goes from %v to %v", to, *from, to)
		Moves.Store([2]S{*from, to}, true)
	}
	*from = to
}

// Reach is Move for a state that may have come as far already, or farther. It does nothing
// then.
func Reach[S State[S]](from *S, to S) {
	if *from < to {
		Move(from, to)
	}
}

// Seal remembers bytes that a borrower must not change. The zero value is a seal of no bytes.
type Seal struct {
	p   []byte
	sum uint32
}

// NewSeal seals p. It does nothing in a normal build.
func NewSeal(p []byte) (s Seal) {
	if Enabled {
		s = Seal{p, crc32.ChecksumIEEE(p)}
	}
	return s
}

// Broken reports whether the bytes have changed since. They must still be there.
func (s *Seal) Broken() bool { return Enabled && s.sum != crc32.ChecksumIEEE(s.p) }

// Mangle overwrites a buffer that its borrower must not read any more. A borrower that still reads
// it gets wrong results, which tests find. It does nothing in a normal build.
func Mangle(p []byte) {
	if !Enabled {
		return
	}
	for i := range p {
		p[i] = 0xcc
	}
}
