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

// The limit of threads holds for all users but root. So the command runs as another
// user here, with the least limit that is not refused, and with one less.
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
	run := func(threads string) (stdout, stderr string, code int) {
		cmd := exec.Command(bash, "-c", `ulimit -u `+threads+` && exec "$0" run wordcount - --memory 16MiB --map-slots 1 --reduce-slots 1 --progress none`, command)
		cmd.Dir, cmd.Stdin, cmd.Env = "/", strings.NewReader("b a b\n"), []string{"PATH=" + os.Getenv("PATH")}
		const nobody = 64_321 // a user who runs nothing else
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // the code says it
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	if out, errs, code := run("11"); code != 2 || out != "" || errs != "mrlocal: run wordcount: threads: 11 are allowed; at least 12 are needed for 2 slots (ulimit -u)\n" {
		t.Errorf("11 threads: code %d, %q, %q", code, out, errs)
	}
	if out, errs, code := run("12"); code != 0 || out != "a\t1\nb\t2\n" {
		t.Errorf("12 threads: code %d, %q, %q", code, out, errs)
	}
}
