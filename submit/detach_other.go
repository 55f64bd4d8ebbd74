//go:build !unix

package submit

import "os/exec"

// detach leaves a command as it is: there are no sessions here.
func detach(*exec.Cmd) {}
