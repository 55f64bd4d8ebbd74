package jobtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Tool runs a program that a job must agree with, in the C locale, in a
// folder with the files; it reports its output and exit code. The test is
// skipped where the program is not installed.
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
