//go:build unix && !linux

package streaming

import (
	"errors"
	"syscall"
)

// makePipe makes a pipe whose ends no other child inherits: ends[0] to read, ends[1] to write.
// The lock keeps another goroutine from forking before both ends are marked.
func makePipe(ends *[2]int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(ends[:]); err != nil {
		return err
	}
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	return nil
}

// waitExit fails. The processes that a command leaves behind are therefore not killed here.
func waitExit(int) error { return errors.ErrUnsupported }

// hasExited reports false. Output therefore ends only when all its writers have closed it.
func hasExited(int) bool { return false }

// attributes returns the attributes of a command: a process group of its own. If mrlocal is
// killed, the command only sees the end of its input.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
