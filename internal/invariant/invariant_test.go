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
