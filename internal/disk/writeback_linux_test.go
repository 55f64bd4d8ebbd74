package disk

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

const groupHelper = "MRLOCAL_TEST_WRITEBACK"

const testFileBytes = 96 << 20

// memoryGroup returns the directory of a memory control group, and the names of its limit and
// of the pages of files in memory.stat.
func memoryGroup(pid int) (group, limit, pages string) {
	name := "mrlocal-test-" + strconv.Itoa(pid)
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err == nil {
		return "/sys/fs/cgroup/memory/" + name, "memory.limit_in_bytes", "cache"
	}
	return "/sys/fs/cgroup/" + name, "memory.max", "file"
}

// TestWritebackHelperProcess writes a file in a control group, and prints how many bytes of files
// the group is charged for.
func TestWritebackHelperProcess(t *testing.T) {
	lazy := os.Getenv(groupHelper)
	if lazy == "" {
		t.Skip("only as a child process")
	}
	group, _, pages := memoryGroup(os.Getppid())
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(os.Args[len(os.Args)-1])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, piece := Writeback{Lazy: lazy == "true"}, make([]byte, 256<<10)
	for end := int64(len(piece)); end <= testFileBytes; end += int64(len(piece)) {
		if _, err := f.Write(piece); err != nil {
			t.Fatal(err)
		}
		w.Wrote(f, end)
	}
	stat, err := os.ReadFile(filepath.Join(group, "memory.stat"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(stat) {
		if fields := bytes.Fields(line); len(fields) == 2 && string(fields[0]) == pages {
			os.Stdout.WriteString("\npages " + string(fields[1]) + "\n")
		}
	}
}

// A group is charged for the pages of files. So a run in a group leaves few of them, whether the
// files are synced or not.
func TestAWriterInAMemoryGroupLeavesFewPages(t *testing.T) {
	dir := t.TempDir()
	var system unix.Statfs_t
	if err := unix.Statfs(dir, &system); err != nil || system.Type == unix.TMPFS_MAGIC {
		t.Skip("pages of a file in memory cannot be dropped")
	}
	group, limit, _ := memoryGroup(os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no control group can be made: %v", err)
	}
	defer os.Remove(group)
	if err := os.WriteFile(filepath.Join(group, limit), []byte("536870912"), 0o600); err != nil {
		t.Skipf("no memory controller: %v", err)
	}
	for _, lazy := range []bool{false, true} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestWritebackHelperProcess$", filepath.Join(dir, strconv.FormatBool(lazy)))
		cmd.Env = append(os.Environ(), groupHelper+"="+strconv.FormatBool(lazy))
		out, err := cmd.CombinedOutput()
		_, rest, _ := bytes.Cut(out, []byte("\npages "))
		number, _, found := bytes.Cut(rest, []byte("\n"))
		n, parseErr := strconv.ParseInt(string(number), 10, 64)
		if err != nil || !found || parseErr != nil {
			t.Fatalf("lazy=%v: %s, %v", lazy, out, err)
		}
		// Two windows may wait; the rest is the program and what it reads.
		if n > 4*windowBytes {
			t.Errorf("lazy=%v: the group holds %d bytes of files after %d were written", lazy, n, testFileBytes)
		}
		t.Logf("lazy=%v: %d KiB", lazy, n>>10)
	}
}
