package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const limitHelper = "MRLOCAL_TEST_LIMIT"

// TestLimitHelperProcess prints MemoryBytes of a process in a control group.
func TestLimitHelperProcess(t *testing.T) {
	group := os.Getenv(limitHelper)
	if group == "" {
		t.Skip("only as a child process")
	}
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("memory " + strconv.FormatInt(MemoryBytes(), 10) + " " + strconv.FormatBool(MemoryLimited()) + "\n")
}

// A group below the root of the hierarchy limits the process, too.
func TestTheLimitOfTheOwnGroupIsFound(t *testing.T) {
	group, limit := "/sys/fs/cgroup/memory/mrlocal-test-"+strconv.Itoa(os.Getpid()), "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err != nil {
		group, limit = "/sys/fs/cgroup/mrlocal-test-"+strconv.Itoa(os.Getpid()), "memory.max"
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no control group can be made: %v", err)
	}
	defer os.Remove(group)
	if err := os.WriteFile(filepath.Join(group, limit), []byte("536870912"), 0o600); err != nil {
		t.Skipf("no memory controller: %v", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestLimitHelperProcess$")
	cmd.Env = append(os.Environ(), limitHelper+"="+group)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "memory 536870912 true\n") {
		t.Errorf("%s, %v", out, err)
	}
}
