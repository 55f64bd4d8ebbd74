package invariant

import "testing"

func TestAFailedCheckPanicsInACheckedBuildOnly(t *testing.T) {
	defer func() {
		if r := recover(); (r != nil) != Enabled {
			t.Errorf("recovered %v, checks on: %v", r, Enabled)
		}
	}()
	Check(true, "never")
	Check(false, "slot %d", 3)
}

func TestMangleWritesInACheckedBuildOnly(t *testing.T) {
	p := []byte("abc")
	Mangle(p)
	if (string(p) != "abc") != Enabled {
		t.Errorf("got %q, checks on: %v", p, Enabled)
	}
}

func TestASealBreaksInACheckedBuildOnly(t *testing.T) {
	p := []byte("abc")
	var none Seal
	s := NewSeal(p)
	if none.Broken() || s.Broken() {
		t.Error("a seal is broken at once")
	}
	if p[1] = 'x'; s.Broken() != Enabled {
		t.Errorf("broken: %v, checks on: %v", s.Broken(), Enabled)
	}
}

// phase is a State for the test: each phase leads to the next one only.
type phase uint8

func (p phase) String() string { return string('a' + rune(p)) }

func (p phase) Next() []phase { return []phase{p + 1} }

func TestACheckedBuildKnowsTheTransitions(t *testing.T) {
	var p phase
	Move(&p, 1)
	Move(&p, 2)
	if p != 2 {
		t.Errorf("moved to %v", p)
	}
	defer func() {
		if r := recover(); (r != nil) != Enabled {
			t.Errorf("recovered %v, checks on: %v", r, Enabled)
		}
	}()
	Move(&p, 0)
}

func TestReachNeverGoesBack(t *testing.T) {
	p := phase(0)
	for _, to := range []phase{0, 1, 0, 1, 2, 1} {
		before := p
		if Reach(&p, to); p != max(before, to) {
			t.Errorf("from %v to %v: %v", before, to, p)
		}
	}
}
