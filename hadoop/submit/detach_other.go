//go:build !unix

package submit

import "os/exec"

// detach does nothing, because this system has no sessions.
func detach(*exec.Cmd) {}
