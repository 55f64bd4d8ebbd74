package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"mrlocal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// versionText returns the line of mrlocal version: version, commit, Go release and platform.
func versionText() string {
	commit := "" // unknown if the binary was built outside of a repository
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			// Twelve digits are enough to identify a commit.
			if s.Key == "vcs.revision" {
				commit = " " + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return fmt.Sprintf("mrlocal %s%s %s %s/%s", mrlocal.Version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// thirdParty has the file THIRD_PARTY: the licence notices of code from others. This code is the linked
// Go modules, the standard library, and files of the page. A test compares the file with the linked
// modules and with the files below view/web/assets. To write it again:
//
//	go test ./cmd/mrlocal -run Notice -rewrite
//
//go:embed THIRD_PARTY
var thirdParty string

// Program returns the words by which the user calls this program in a shell. arg0 is os.Args[0],
// or "" if it is not known. For a program that "go run" has built, it returns that command.
func Program(arg0 string) string {
	if strings.Contains(arg0, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/mrlocal"
	}
	return cmp.Or(arg0, "mrlocal")
}
