package machine

import (
	"errors"
	"math"
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

// TestTheLowestLimitOfTheGroupsAboveCounts has trees of control groups in which a group, one above it, or
// the root of a container has the limit.
func TestTheLowestLimitOfTheGroupsAboveCounts(t *testing.T) {
	const v2, v1, none = "0::/a/b/c\n", "9:pids:/\n4:memory:/a/b\n2:cpu,cpuacct:/a/b\n0::/\n", math.MaxInt64
	for name, c := range map[string]struct {
		memberships   string
		files         map[string]string
		memory, cores int64 // none: no limit
	}{
		"no groups":       {"", nil, none, none},
		"2, own":          {v2, map[string]string{"a/b/c/memory.max": "67108864", "a/b/c/cpu.max": "300000 100000"}, 64 << 20, 3},
		"2, above":        {v2, map[string]string{"a/memory.max": "1073741824", "a/b/memory.max": "max", "a/b/c/memory.max": "2147483648", "a/cpu.max": "50000 100000", "a/b/c/cpu.max": "max 100000"}, 1 << 30, 1},
		"2, own is lower": {v2, map[string]string{"a/memory.max": "1073741824", "a/b/c/memory.max": "1048576"}, 1 << 20, none},
		"2, container":    {"0::/\n", map[string]string{"memory.max": "1073741824", "cpu.max": "6400000 100000"}, 1 << 30, 64},
		"2, outside":      {"0::/../../x\n", map[string]string{"memory.max": "1073741824"}, 1 << 30, none},
		"2, next to 1":    {v2, map[string]string{"unified/a/b/memory.max": "1073741824", "unified/a/cpu.max": "200000 100000"}, 1 << 30, 2},
		"2, another":      {v2, map[string]string{"d/memory.max": "1073741824", "d/cpu.max": "1 1"}, none, none},
		"1, own":          {v1, map[string]string{"memory/a/b/memory.limit_in_bytes": "1099511627776", "cpu/a/b/cpu.cfs_quota_us": "250000", "cpu/a/b/cpu.cfs_period_us": "100000"}, 1 << 40, 3},
		"1, above":        {v1, map[string]string{"memory/a/memory.limit_in_bytes": "1048576", "memory/a/b/memory.limit_in_bytes": "9223372036854771712", "cpu/a/b/cpu.cfs_quota_us": "-1", "cpu/a/b/cpu.cfs_period_us": "100000", "cpu/a/cpu.cfs_quota_us": "10000", "cpu/a/cpu.cfs_period_us": "100000"}, 1 << 20, 1},
		"1, container":    {v1, map[string]string{"memory/memory.limit_in_bytes": "1048576"}, 1 << 20, none},
	} {
		root := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(root, file)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text+"\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		groups := controlGroups{root, c.memberships}
		memory, ok := groups.leastOf("memory", memoryLimit)
		if ok != (c.memory != none) || ok && memory != c.memory {
			t.Errorf("%s: memory %d, %v", name, memory, ok)
		}
		cores, ok := groups.leastOf("cpu", coresLimit)
		if ok != (c.cores != none) || ok && cores != c.cores {
			t.Errorf("%s: %d cores, %v", name, cores, ok)
		}
	}
}
