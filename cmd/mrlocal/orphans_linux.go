package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	orphanTime = 2 * time.Second // bounds the time in which the processes that a job has left behind are killed
	reapPause  = time.Second     // between looks for orphans that have ended during a run
)

// orphans are the processes that commands of a job leave behind. Their parent is this process.
type orphans struct {
	before []int // children that this process had before the run, without order
	doubt  bool  // orphans may come from elsewhere: from these children, or from anywhere if this is process 1
}

// adoptOrphans makes this process the parent of the processes that commands of a job leave behind, also
// of those with a session of their own. It reaps those that end during the run. end kills and reaps the
// others. Both spare the children that this process had before, and what these have started.
// The runs of a process come one after the other, and nothing else starts a process meanwhile.
func adoptOrphans() (end func()) {
	o := &orphans{before: children()}
	o.doubt = len(o.before) > 0 || os.Getpid() == 1
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		return func() {}
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		pause := time.NewTicker(reapPause)
		defer pause.Stop()
		for {
			select {
			case <-stop:
				return
			case <-pause.C:
				o.reap()
			}
		}
	})
	return func() {
		close(stop)
		group.Wait()
		o.kill()
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
}

// reap reaps orphans that have ended. It leaves commands to those who wait for them. A command leads a
// process group in the session of this process, so it cannot change its session.
func (o *orphans) reap() {
	ownSession, err := unix.Getsid(0)
	for _, c := range o.left() {
		session, noSession := unix.Getsid(c)
		group, noGroup := unix.Getpgid(c)
		command := session == ownSession && (group == c || group == unix.Getpgrp())
		if !command && cmp.Or(err, noSession, noGroup) == nil {
			_, _ = unix.Wait4(c, nil, unix.WNOHANG, nil)
		}
	}
}

// kill kills and reaps the orphans. No command of the run is left. Children of a killed process become
// children of this one, so it looks again until there are none, or the time is up.
func (o *orphans) kill() {
	// A list misses children if others end while the system writes it, and a process has no environment
	// while it becomes another program. So a look that finds nothing to do proves nothing.
	const quietLooks = 20
	quiet := 0
	for until := time.Now().Add(orphanTime); quiet < quietLooks && time.Now().Before(until); quiet++ {
		left := o.left()
		if len(left) == 0 && len(o.before) == 0 {
			return
		}
		reaped := false
		for _, c := range left {
			if got, _ := unix.Wait4(c, nil, unix.WNOHANG, nil); got == c {
				reaped, quiet = true, 0
			} else if (!o.doubt || fromCommand(c)) && unix.Kill(c, unix.SIGKILL) == nil { // one of another user cannot be killed
				quiet = 0
			}
		}
		if !reaped { // otherwise children of the reaped process are here now
			time.Sleep(time.Millisecond)
		}
	}
}

// left returns the children that this process did not have before the run.
func (o *orphans) left() []int {
	return slices.DeleteFunc(children(), func(c int) bool { return slices.Contains(o.before, c) })
}

// attemptVariable begins a variable that package streaming gives to each command.
const attemptVariable = "mapreduce_task_attempt_id="

// fromCommand reports whether a process has the environment of a command of a job, or of what that has started.
func fromCommand(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // none if it has ended or belongs to another user
	return bytes.Contains(append([]byte{0}, text...), []byte("\x00"+attemptVariable))
}

// children returns the numbers of the child processes of all threads, also of those that have ended and
// were not reaped. It returns none if the system does not list them.
func children() (pids []int) {
	// Most runs have none, and this call is the fastest way to know.
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD {
		return nil
	}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended meanwhile
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
