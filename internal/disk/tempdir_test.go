package disk

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"mrlocal/internal/errs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func create(t *testing.T, r *TempRoot) *TempFile {
	t.Helper()
	f, err := r.Create("spill-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestNothingIsMadeBeforeTheFirstFile(t *testing.T) {
	dir := t.TempDir()
	r := NewTempRoot([]string{dir}, 0)
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("there is %q", got)
	}
}

func TestFilesArePrivateGoRoundTheDirectoriesAndAreGoneAfterwards(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	r := NewTempRoot(dirs, 0)
	var in [2]int
	for range 6 {
		f := create(t, r)
		own := filepath.Dir(f.Name())
		info, err := os.Stat(own)
		if err != nil || info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
			t.Errorf("%s: mode %v, %v", own, info.Mode(), err)
		}
		for i, dir := range dirs {
			if filepath.Dir(own) == dir {
				in[i]++
			}
		}
	}
	if in != [2]int{3, 3} {
		t.Errorf("files per directory: %v", in)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range dirs {
		if got := names(t, dir); len(got) != 0 {
			t.Errorf("left: %q", got)
		}
	}
	if _, err := r.Create("x"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Create after Close: %v", err)
	}
}

func TestADirectoryThatRefusesIsPassedOver(t *testing.T) {
	good := t.TempDir()
	r := NewTempRoot([]string{filepath.Join(good, "gone"), good}, 0)
	defer r.Close()
	for range 3 {
		create(t, r)
	}
	bad := NewTempRoot([]string{filepath.Join(good, "gone")}, 0)
	if _, err := bad.Create("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestCheckNamesWhatIsNoDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "not a directory", "": "Options.TempDirs[1]: is empty; name a directory", filepath.Join(dir, "no"): "no such file", filepath.Join(file, "x"): "not a directory; name another"} {
		if err := NewTempRoot([]string{dir, path}, 0).Check(); !errs.IsUsage(err) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCloseFromElsewhereAtAnyMoment(t *testing.T) {
	for range 20 {
		dir := t.TempDir()
		r := NewTempRoot([]string{dir}, 0)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for {
					f, err := r.Create("x-*")
					if err != nil {
						return
					}
					f.Write([]byte("x"))
					f.Close()
				}
			})
		}
		group.Go(func() { r.Close() })
		group.Wait()
		if got := names(t, dir); len(got) != 0 {
			t.Fatalf("left: %q", got)
		}
	}
}

const keepAlive = "MRLOCAL_TEST_TEMPDIR"

// TestHelperProcess makes a file, says so and waits to be killed.
func TestHelperProcess(t *testing.T) {
	dir := os.Getenv(keepAlive)
	if dir == "" {
		t.Skip("only as a child process")
	}
	create(t, NewTempRoot([]string{dir}, 0))
	os.Stdout.WriteString("ready\n")
	os.Stdin.Read(make([]byte, 1))
}

func TestWhatAKilledRunLeftIsSweptAndWhatARunningOneHasIsNot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHelperProcess$")
	cmd.Env = append(os.Environ(), keepAlive+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 6)
	if _, err := out.Read(ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("child: %q, %v", ready, err)
	}
	ours := NewTempRoot([]string{dir}, 0)
	defer ours.Close()
	create(t, ours)
	if n := SweepTemp([]string{dir}); n != 0 || len(names(t, dir)) != 2 {
		t.Errorf("swept %d of running processes: %q is left", n, names(t, dir))
	}
	if found := CleanTemp([]string{dir}, false); len(found) != 0 || len(names(t, dir)) != 2 {
		t.Errorf("cleaned %v of running processes: %q is left", found, names(t, dir))
	}
	cmd.Process.Kill()
	cmd.Wait()
	if found := CleanTemp([]string{dir}, true); len(found) != 1 || len(names(t, dir)) != 2 {
		t.Errorf("a dry run found %v, and %q is left", found, names(t, dir))
	}
	if n := SweepTemp([]string{dir}); n != 1 || len(names(t, dir)) != 1 {
		t.Errorf("swept %d after a kill: %q is left", n, names(t, dir))
	}
}

func TestSweepLeavesAloneWhatMayNotBeOurs(t *testing.T) {
	dir := t.TempDir()
	far := t.TempDir()
	mkdir := func(name string, files ...string) {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, name, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	mkdir("mrlocal-1-0123456789abcdef", "spill-1") // no lock, not empty
	mkdir("mrlocal-1-0123456789abcde", "lock")     // not our naming
	mkdir("mrlocal-", "lock")
	if err := os.WriteFile(filepath.Join(dir, "mrlocal-2-0123456789abcdef"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(far, filepath.Join(dir, "mrlocal-3-0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	before := len(names(t, dir))
	if n := SweepTemp([]string{dir, filepath.Join(dir, "gone")}); n != 0 || len(names(t, dir)) != before {
		t.Errorf("swept %d: %q is left", n, names(t, dir))
	}
}

// A sweep that runs while directories are made must never take one away from
// its owner.
func TestSweepWhileOthersBegin(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	var sweeping, making sync.WaitGroup
	sweeping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				SweepTemp([]string{dir})
			}
		}
	})
	for range 4 {
		making.Go(func() {
			for range 25 {
				r := NewTempRoot([]string{dir}, 0)
				f, err := r.Create("x-*")
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(f.Name()); err != nil {
					t.Errorf("taken away: %v", err)
				}
				f.Close()
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	making.Wait()
	close(stop)
	sweeping.Wait()
	SweepTemp([]string{dir})
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}
