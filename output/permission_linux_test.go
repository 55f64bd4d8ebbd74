package output

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mrlocal/internal/errs"
)

// If the tests run as root, no permission refuses anything. So the check runs in a process of
// the user nobody.
func TestAReadOnlyParentIsFoundBeforeAnythingRuns(t *testing.T) {
	const inside = "MRLOCAL_TEST_OUTPUT"
	if dir := os.Getenv(inside); dir != "" {
		for _, spec := range []Spec{{File: filepath.Join(dir, "closed/result")}, {Dir: filepath.Join(dir, "closed/out")}, {File: filepath.Join(dir, "open/readonly")}} {
			if _, err := Open(spec); !errs.IsUsage(err) || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%v: %v", spec, err)
			}
		}
		return
	}
	dir, err := os.MkdirTemp("/tmp", "mrlocal-test-")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "closed"), 0o555))
	must(t, os.Mkdir(filepath.Join(dir, "open"), 0o755))
	must(t, os.Chmod(filepath.Join(dir, "open"), 0o777))
	must(t, os.WriteFile(filepath.Join(dir, "open/readonly"), nil, 0o444))
	binary, err := os.ReadFile(os.Args[0])
	must(t, err)
	self := filepath.Join(dir, "test")
	must(t, os.WriteFile(self, binary, 0o755))
	cmd := exec.Command(self, "-test.run", "^"+t.Name()+"$")
	cmd.Env, cmd.Dir = append(os.Environ(), inside+"="+dir), dir
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
