package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// orphanTime bounds the time in which the processes that a job has left behind end.
const orphanTime = 2 * time.Second

// adoptOrphans makes this process the parent of the processes that commands of a job leave behind, also
// of those with a session of their own. end kills and reaps them. It spares the children that this
// process had before.
func adoptOrphans() (end func()) {
	before := children()
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		return func() {}
	}
	return func() {
		defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
		// The children of a killed process become children of this one.
		for until := time.Now().Add(orphanTime); time.Now().Before(until); time.Sleep(time.Millisecond) {
			left := slices.DeleteFunc(children(), func(pid int) bool { return slices.Contains(before, pid) })
			if len(left) == 0 {
				return
			}
			for _, pid := range left {
				_ = unix.Kill(pid, unix.SIGKILL)
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}

// children returns the numbers of the child processes of all threads, also of those that have ended and
// were not reaped.
func children() (pids []int) {
	// Most runs have none, and this call is the fastest way to know.
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD {
		return nil
	}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended meanwhile
		for _, word := range strings.Fields(string(text)) {
			var pid int
			if _, err := fmt.Sscan(word, &pid); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
