package testkit

import (
	"testing"

	"mrlocal/internal/invariant"
)

// CheckStates fails the test if an enum of states breaks a rule. Every state has a name of its own.
// Next returns only later states. Every state but the first is in the Next of another one. All
// states but last and those of final have a successor. The enum goes from 0 to last.
func CheckStates[S invariant.State[S]](t testing.TB, last S, final ...S) {
	t.Helper()
	reached, names, ends := map[S]bool{0: true}, map[string]bool{}, map[S]bool{last: true}
	for _, s := range final {
		ends[s] = true
	}
	for s := S(0); s <= last; s++ {
		if !reached[s] {
			t.Errorf("%T: no state leads to %v", s, s)
		}
		if name := s.String(); name == "" || names[name] {
			t.Errorf("%T: the name %q of %d", s, name, s)
		}
		names[s.String()] = true
		for _, n := range s.Next() {
			if n <= s {
				t.Errorf("%T goes back from %v to %v", s, s, n)
			}
			reached[n] = true
		}
		if (len(s.Next()) == 0) != ends[s] {
			t.Errorf("%T: %v leads to %v", s, s, s.Next())
		}
	}
}
