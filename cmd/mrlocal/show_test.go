package main

import (
	"testing"

	"mrlocal/view"
)

// The name of a policy comes from the file, and becomes a part of names of files.
func TestNamesOfRecordedRuns(t *testing.T) {
	var names []string
	for policy, want := range map[string]string{"pi-dhfs": "pi-dhfs", "../../etc/x": "------etc-x", "a\x00b/..": "a-b---", "": "", "fair": "fair"} {
		if got := nameOf(&view.Model{Policy: policy}, nil); got != want {
			t.Errorf("%q: %q, want %q", policy, got, want)
		}
	}
	for _, want := range []string{"fair", "fair-2", "fair-3"} {
		if got := nameOf(&view.Model{Policy: "fair"}, names); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		names = append(names, want)
	}
}
