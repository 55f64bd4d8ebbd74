package main

import "testing"

func TestTheProgramIsNamedAsTheUserCallsIt(t *testing.T) {
	for arg0, want := range map[string]string{
		"":                                    "mrlocal",
		"mrlocal":                             "mrlocal",
		"./mrlocal":                           "./mrlocal",
		"/tmp/go-build12/b001/exe/mrlocal":    "go run ./cmd/mrlocal",
		"/home/ann/.cache/go-build/d/mrlocal": "go run ./cmd/mrlocal",
	} {
		if got := Program(arg0); got != want {
			t.Errorf("%s: %s, want %s", arg0, got, want)
		}
	}
}
