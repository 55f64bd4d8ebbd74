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

// TestQuotasAreReadInBothVersions has the files of a control group in versions 1 and 2.
func TestQuotasAreReadInBothVersions(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  int64 // 0: no quota
	}{
		"2, none":           {map[string]string{"cpu.max": "max 100000\n"}, 0},
		"2, one and a half": {map[string]string{"cpu.max": "150000 100000\n"}, 2},
		"2, a tenth":        {map[string]string{"cpu.max": "10000 100000\n"}, 1},
		"2, damaged":        {map[string]string{"cpu.max": "1 0\n"}, 0},
		"1, none":           {map[string]string{"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, 0},
		"1, four":           {map[string]string{"cpu.cfs_quota_us": "200000\n", "cpu.cfs_period_us": "50000\n"}, 4},
		"1, no period":      {map[string]string{"cpu.cfs_quota_us": "200000\n"}, 0},
		"no controller":     {nil, 0},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, ok := coresLimit(dir); got != c.want || ok != (c.want > 0) {
			t.Errorf("%s: %d, %v", name, got, ok)
		}
	}
}
