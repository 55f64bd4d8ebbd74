package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The limit of threads of a user does not hold for root. So the command runs as another user here,
// with the least limit that is not refused, and with one thread less. The limit of a control group
// holds for root too.
func TestTooFewThreadsAreRefused(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("needs bash, and root to become another user")
	}
	dir, err := os.MkdirTemp("", "mrlocal-threads") // not t.TempDir, into which nobody else may look
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	command := filepath.Join(dir, "mrlocal") // this test binary is the command under that name
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	to, err := os.OpenFile(command, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, self); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(user uint32, limit, line string) (stdout, stderr string, code int) {
		cmd := exec.Command(bash, "-c", limit+` && exec "$0" `+line, command)
		cmd.Dir, cmd.Stdin, cmd.Env = "/", strings.NewReader("b a b\n"), []string{"PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the code says it
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	const (
		nobody = 64_321 // a user who runs nothing else
		job    = "run wordcount - --memory 16MiB --map-slots 1 --reduce-slots 1 --progress none"
		where  = "(ulimit -u, or pids.max of the control group)\n"
	)
	if out, errs, code := run(nobody, "ulimit -u 11", job); code != 2 || out != "" || errs != "mrlocal: run wordcount: threads: 11 are allowed; at least 12 are needed for 2 slots "+where {
		t.Errorf("11 threads: code %d, %q, %q", code, out, errs)
	}
	if out, errs, code := run(nobody, "ulimit -u 12", job); code != 0 || out != "a\t1\nb\t2\n" {
		t.Errorf("12 threads: code %d, %q, %q", code, out, errs)
	}
	for _, threads := range []string{"6", "7"} { // with fewer the runtime may end before main
		if out, errs, code := run(nobody, "ulimit -u "+threads, "version"); code != 2 || out != "" || !strings.HasPrefix(errs, "mrlocal: threads: "+threads+" are allowed; at least 8 are needed") {
			t.Errorf("%s threads: code %d, %q, %q", threads, code, out, errs)
		}
	}

	group, err := os.MkdirTemp("/sys/fs/cgroup/pids", "mrlocal-threads")
	if err != nil {
		t.Logf("no control group of version 1 for threads: %v", err)
		return
	}
	t.Cleanup(func() { os.Remove(group) })
	for most, want := range map[string]string{"11": "mrlocal: run wordcount: threads: 11 are allowed; at least 12 are needed for 2 slots " + where, "12": ""} {
		enter := "echo " + most + " >" + group + "/pids.max && echo $$ >" + group + "/cgroup.procs"
		if _, errs, code := run(0, enter, job); errs != want || (code == 0) != (want == "") {
			t.Errorf("a group with %s threads: code %d, %q", most, code, errs)
		}
	}
}
