package main

import (
	"os/exec"
	"regexp"
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
		if got := commitOf(c.info, archived); got != c.want {
			t.Errorf("%+v: %s, want %s", c.info, got, c.want)
		}
	}
	if got := commitOf(nil, "58a8cd115a3f of 2026-11-29\n"); got != "58a8cd115a3f of 2026-11-29" {
		t.Errorf("a tree that git archive has made: %s", got)
	}
}

// TestAnArchiveHasItsCommit: git archive writes it into the file that the program embeds.
func TestAnArchiveHasItsCommit(t *testing.T) {
	tree, err := exec.Command("git", "-C", "../..", "archive", "HEAD", "cmd/mrlocal").Output()
	if err != nil {
		t.Skip("not a clone of git:", err)
	}
	if !regexp.MustCompile(`\n?[0-9a-f]{7,40} of \d{4}-\d\d-\d\d\n`).Match(tree) {
		t.Error("git archive leaves the pattern")
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
