package jobtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Tool runs a program that a job must agree with, in the C locale and in a
// directory that holds files. It returns the standard output and the exit code,
// 0 or 1. The test is skipped if the program is not installed, and fails at any
// other exit code.
func Tool(t testing.TB, files []File, name string, args ...string) ([]byte, int) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	dir := t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() > 1 {
		t.Fatalf("%s %q: exit %d: %s", name, args, cmd.ProcessState.ExitCode(), stderr.Bytes())
	}
	return out, cmd.ProcessState.ExitCode()
}
