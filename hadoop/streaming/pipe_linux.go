package streaming

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// makePipe makes a pipe whose ends no other child inherits: ends[0] to read, ends[1] to write.
func makePipe(ends *[2]int) error {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	*ends = fds
	return nil
}

// waitExit waits until the process has ended, and does not reap it.
func waitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err
		}
	}
}

// hasExited reports whether the process has ended. It does not wait and does not reap it.
func hasExited(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// attributes returns the attributes of a command: a process group of its own, and a kill when
// this process dies. Linux watches the thread that forks, not the process. That thread belongs
// to a slot and outlives the command. Processes that the command has started get no signal;
// they see the end of their pipes. The command mrlocal kills them after the run.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
