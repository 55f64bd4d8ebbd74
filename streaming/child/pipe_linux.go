package child

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// makePipe makes a pipe that no other child gets.
func makePipe(ends *[2]int) error {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	*ends = fds
	return nil
}

// waitExit waits until the process has ended, and leaves it to be reaped.
func waitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// hasExited reports whether a process has ended. It is not reaped.
func hasExited(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// attributes are those of a new process: a group of its own, and a death with ours. The system
// watches the thread that forks, not the process. That thread is a slot's and outlives the
// command. Processes that the command has started get no signal; their pipes end.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
