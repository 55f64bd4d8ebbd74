//go:build unix

package submit

import (
	"os/exec"
	"syscall"
)

// detach makes a command start in a session of its own. Signals from the terminal, such as that of
// Ctrl-C, then do not reach it.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
