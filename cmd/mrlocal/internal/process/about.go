package process

import (
	"embed"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version returns a version with commit, Go release and platform.
func Version(version string) string {
	commit := "" // unknown if the binary was built outside of a repository
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			// Twelve digits of a commit are unique in this repository.
			if s.Key == "vcs.revision" {
				commit = " " + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return fmt.Sprintf("mrlocal %s%s %s %s/%s", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// thirdParty has THIRD_PARTY: the notices of all that others wrote. These are modules of Go,
// the standard library, and files of the page. A test compares it with the modules that are
// linked and with the files below web:
//
//	go test ./cmd/mrlocal/internal/process -run Notice -rewrite
//
// writes it anew.
//
//go:embed THIRD_PARTY
var thirdParty embed.FS

// Notices returns the notices of others.
func Notices() ([]byte, error) { return thirdParty.ReadFile("THIRD_PARTY") }
