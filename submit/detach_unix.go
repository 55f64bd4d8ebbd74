//go:build unix

package submit

import (
	"os/exec"
	"syscall"
)

// detach gives a command a session of its own, so that signals of the terminal do not reach it.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
