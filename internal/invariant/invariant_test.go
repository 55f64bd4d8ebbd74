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

func TestSometimesIsRare(t *testing.T) {
	n := 0
	for range 10_000 {
		if Sometimes(10) {
			n++
		}
	}
	if !Enabled && n != 0 || Enabled && (n < 500 || n > 2000) {
		t.Errorf("10 percent of 10,000: %d, checks on: %v", n, Enabled)
	}
}
