//go:build unix && !linux

package child

import (
	"errors"
	"syscall"
)

// makePipe makes a pipe that no other child gets.
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

// waitExit is not known here: the group is not killed after its leader has ended.
func waitExit(int) error { return errors.ErrUnsupported }

func hasExited(int) bool { return false }

// attributes are those of a new process. If mrlocal is killed, the command sees the end of its input.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
