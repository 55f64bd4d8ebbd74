package process

import (
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
