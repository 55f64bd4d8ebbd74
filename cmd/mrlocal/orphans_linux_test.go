package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// command runs a script as package streaming runs a command: in a process group that is killed when the script has
// ended. It returns the numbers that the script has written to the file pids, and waits until there are want.
func command(t *testing.T, want int, script string) (pids []int) {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("sh", "-c", script)
	c.Dir, c.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true}
	c.Env = append(os.Environ(), attemptVariable+"attempt_1")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, "the script has written its numbers", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "pids"))
		return strings.Count(string(text), "\n") == want
	})
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	_ = unix.Kill(-c.Process.Pid, unix.SIGKILL)
	text, _ := os.ReadFile(filepath.Join(dir, "pids"))
	for word := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
		pids = append(pids, pid)
	}
	return pids
}

// within fails the test if a condition does not hold within some seconds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("not in time: " + what)
		}
	}
}

// lives reports whether a process exists, also one that has ended and was not reaped.
func lives(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// TestWhatCommandsLeaveEndsWithTheRun: however they have left the group of their command.
func TestWhatCommandsLeaveEndsWithTheRun(t *testing.T) {
	for _, tool := range []string{"setsid", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	for name, c := range map[string]struct {
		want   int
		script string
	}{
		"nothing":             {0, "true"},
		"of the group":        {1, "sleep 100 & echo $! >> pids"},
		"a session":           {1, "setsid sleep 100 & echo $! >> pids"},
		"sessions in another": {3, "setsid sh -c 'echo $$ >> pids; setsid sh -c \"echo \\$\\$ >> pids; setsid sleep 100 & echo \\$! >> pids; wait\" & wait' &"},
		"daemons":             {2, "setsid sh -c 'for i in 1 2; do (setsid sleep 100 & echo $! >> pids); done' & wait"},
		"a group":             {1, "bash -c 'set -m; sleep 100 & echo $! >> pids' 2>/dev/null"},
		"another environment": {1, "env -i setsid sleep 100 & echo $! >> pids"},
		"a stopped process":   {1, "setsid sh -c 'echo $$ >> pids; kill -STOP $$' &"},
		"many":                {100, "for i in $(seq 100); do setsid sleep 100 & echo $! >> pids; done"},
	} {
		t.Run(name, func(t *testing.T) {
			end := adoptOrphans()
			pids := command(t, c.want, c.script)
			begun := time.Now()
			end()
			if time.Since(begun) > orphanTime/2 {
				t.Errorf("it took %v", time.Since(begun))
			}
			for _, pid := range pids {
				if lives(pid) {
					t.Errorf("process %d is left", pid)
				}
			}
			if left := children(); left != nil {
				t.Errorf("children %v are left", left)
			}
		})
	}
}

// TestTheKillingEnds: also if orphans start orphans without end.
func TestTheKillingEnds(t *testing.T) {
	end := adoptOrphans()
	script := filepath.Join(t.TempDir(), "chain")
	if err := os.WriteFile(script, []byte("[ -e "+script+" ] || exit\nsetsid sh "+script+" &\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, 1, "setsid sh "+script+" & echo $! >> pids")
	begun := time.Now()
	end()
	if took := time.Since(begun); took > 2*orphanTime {
		t.Errorf("it took %v", took)
	}
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	within(t, "the chain has ended", func() bool { (&orphans{}).kill(); return children() == nil })
}

// TestARunSparesWhatItHasNotStarted: children that the process had before, and what these have started.
func TestARunSparesWhatItHasNotStarted(t *testing.T) {
	dir := t.TempDir()
	before := exec.Command("sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; (setsid sleep 100 & echo $! > pid); mv pid daemon; exec sleep 100")
	before.Dir = dir
	if err := before.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = before.Wait() }()
	defer func() { _ = before.Process.Kill() }()
	end := adoptOrphans()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	daemon := 0
	within(t, "the daemon runs", func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "daemon"))
		daemon, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return daemon > 0
	})
	defer func() { _, _ = unix.Wait4(daemon, nil, 0, nil) }()
	defer func() { _ = unix.Kill(daemon, unix.SIGKILL) }()
	left := command(t, 1, "setsid sleep 100 & echo $! >> pids")
	end()
	if !lives(before.Process.Pid) || !lives(daemon) {
		t.Error("a child from before, or its daemon, was killed")
	}
	if lives(left[0]) {
		t.Error("an orphan of the command is left")
	}
}

// TestOrphansThatEndAreReapedInTheRun: and a command is left to the one who waits for it.
func TestOrphansThatEndAreReapedInTheRun(t *testing.T) {
	defer adoptOrphans()()
	waited := exec.Command("sh", "-c", "exit 3")
	waited.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	plain := exec.Command("sh", "-c", "exit 4")
	for _, c := range []*exec.Cmd{waited, plain} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	command(t, 20, "for i in $(seq 20); do (setsid sh -c 'echo $$ >> pids' &); sh -c 'echo >/dev/null' & done")
	within(t, "orphans are reaped", func() bool { (&orphans{}).reap(); return len(children()) == 2 })
	for code, c := range map[int]*exec.Cmd{3: waited, 4: plain} {
		if _ = c.Wait(); c.ProcessState.ExitCode() != code {
			t.Errorf("exit code %d, want %d", c.ProcessState.ExitCode(), code)
		}
	}
}
