package main

import (
	"runtime/debug"
	"testing"
)

func TestAVersionSaysOfWhichCommitItIs(t *testing.T) {
	const none = "(built without the commit, see go help buildvcs)"
	commit, day := debug.BuildSetting{Key: "vcs.revision", Value: "58a8cd115a3f6a7b8c9d"}, debug.BuildSetting{Key: "vcs.time", Value: "2026-11-29T23:00:00Z"}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, none}, {&debug.BuildInfo{}, none}, {&debug.BuildInfo{Settings: []debug.BuildSetting{commit}}, none},
		{&debug.BuildInfo{Settings: []debug.BuildSetting{commit, day, {Key: "vcs.modified", Value: "false"}}}, "58a8cd115a3f of 2026-11-29"},
		{&debug.BuildInfo{Settings: []debug.BuildSetting{commit, day, {Key: "vcs.modified", Value: "true"}}}, "58a8cd115a3f of 2026-11-29 with changes"},
	} {
		if got := commitOf(c.info); got != c.want {
			t.Errorf("%+v: %s, want %s", c.info, got, c.want)
		}
	}
}

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
