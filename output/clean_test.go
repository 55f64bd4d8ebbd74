package output

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

const cleanHelper = "MRLOCAL_TEST_OUTPUT_CLEAN"

// TestCleanHelperProcess is the process that is killed. It writes a part of a file, of a new
// directory, and of a directory that replaces another one. Then it reports that and waits.
func TestCleanHelperProcess(t *testing.T) {
	dir := os.Getenv(cleanHelper)
	if dir == "" {
		t.Skip("only as a child process")
	}
	w := newKit(t, 1<<20)
	for _, spec := range []Spec{{File: filepath.Join(dir, "file")}, {Dir: filepath.Join(dir, "new")}, {Dir: filepath.Join(dir, "old"), Overwrite: true}} {
		target := w.begin(spec, w.parts(1))
		if spec.File != "" {
			p, err := target.Part(0, 0)
			put(t, p, err, "some text")
			must(t, p.Commit())
			continue
		}
		p, err := target.Attempt(0, 0)
		put(t, p, err, "some text")
		must(t, p.Commit())
	}
	os.Stdout.WriteString("ready\n")
	os.Stdin.Read(make([]byte, 1))
}

func TestCleanFindsWhatAKilledRunLeftAndNothingOfALiveOne(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	w := newKit(t, 1<<20)
	w.write("old/_SUCCESS", "")
	w.write("old/part-r-00000", "old")
	w.write(".file.mrlocal-0123", "not ours")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestCleanHelperProcess$")
	cmd.Env = append(os.Environ(), cleanHelper+"="+w.dir)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	ready := make([]byte, 6)
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("child: %q, %v", ready, err)
	}
	clean := func(dir string, dry bool) (names []string) {
		t.Helper()
		found, err := Clean(dir, dry, true)
		must(t, err)
		for _, l := range found {
			must(t, l.Err)
			if l.Bytes != 9 {
				t.Errorf("%s has %d bytes", l.Path, l.Bytes)
			}
			names = append(names, l.Path)
		}
		return names
	}
	before := w.list()
	for _, dir := range []string{w.dir, w.path("new")} {
		if found := clean(dir, false); len(found) > 0 {
			t.Errorf("of a live run: %q", found)
		}
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if found := clean(w.dir, true); len(found) != 2 {
		t.Errorf("a dry run found %q", found)
	}
	mustList(t, w.list(), before...)
	if found := clean(w.dir, false); len(found) != 2 {
		t.Errorf("found %q", found)
	}
	if found := clean(w.path("new"), false); len(found) != 1 {
		t.Errorf("found %q", found)
	}
	mustList(t, w.list(), "old", "old/_SUCCESS", "old/part-r-00000", ".file.mrlocal-0123")
}

func TestCleanLeavesWhatOthersHaveBegun(t *testing.T) {
	for name, files := range map[string][]string{
		"Hadoop":               {"h/_temporary/0/task_1/part-r-00001", "h/part-r-00000"},
		"notes":                {"h/_temporary/notes"},
		"names of mrlocal":     {"h/_temporary/task_r_000000/part-r-00000", "h/part-r-00000"},
		"notes next to a mark": {"h/_temporary/.mrlocal", "h/_temporary/notes"},
		"notes in an attempt":  {"h/_temporary/.mrlocal", "h/_temporary/attempt_r_000000_0/notes"},
		"hidden":               {"h/.x.mrlocal-0123456789abcdef/_temporary/0/part-r-00000"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newKit(t, 1<<20)
			for _, f := range files {
				w.write(f, "mine")
			}
			before := w.list()
			if found, err := Clean(w.path("h"), false, true); err != nil || len(found) > 0 {
				t.Errorf("found %v, %v", found, err)
			}
			mustList(t, w.list(), before...)
		})
	}
}

func TestCleanTakesTheDirectoryItselfOnlyWhereItMay(t *testing.T) {
	w := newKit(t, 1<<20)
	w.write("h/_temporary/.mrlocal", "")
	w.write("h/_temporary/attempt_r_000000_0/part-r-00000", "x")
	before := w.list()
	if found, err := Clean(w.path("h"), false, false); err != nil || len(found) > 0 {
		t.Errorf("found %v, %v", found, err)
	}
	mustList(t, w.list(), before...)
	t.Chdir(w.path("h"))
	if found, err := Clean(".", false, true); err != nil || len(found) != 1 || found[0].Err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	mustList(t, w.list())
}

// A run that is killed before it marks `_temporary` leaves that directory empty. Clean removes
// it only under a hidden name, which no other program uses.
func TestCleanRemovesAnEmptyStageBesideTheResultOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	w := newKit(t, 1<<20)
	for _, dir := range []string{".bare.mrlocal-0000000000000000/_temporary", ".empty.mrlocal-0000000000000000", ".full.mrlocal-0000000000000000/_temporary/0", "hadoop/_temporary"} {
		must(t, os.MkdirAll(w.path(dir), 0o777))
	}
	found, err := Clean(w.dir, false, true)
	must(t, err)
	for _, l := range found {
		must(t, l.Err)
	}
	if len(found) != 2 || found[0].Path != w.path(".bare.mrlocal-0000000000000000") || found[1].Path != w.path(".empty.mrlocal-0000000000000000") {
		t.Errorf("found %+v", found)
	}
	if found, err := Clean(w.path("hadoop"), false, true); err != nil || len(found) > 0 {
		t.Errorf("a directory that Hadoop may have made: %+v, %v", found, err)
	}
	// The next run to the same name removes it too, and a directory whose removal was interrupted.
	for _, name := range []string{"_temporary/", "part-r-00000"} {
		must(t, os.MkdirAll(w.path(".out.mrlocal-0000000000000000"), 0o777))
		if name == "_temporary/" {
			must(t, os.Mkdir(w.path(".out.mrlocal-0000000000000000/_temporary"), 0o777))
		} else {
			w.write(".out.mrlocal-0000000000000000/"+name, "old")
		}
		sweepBeside(w.path("out"))
		if _, err := os.Stat(w.path(".out.mrlocal-0000000000000000")); !os.IsNotExist(err) {
			t.Errorf("the next run leaves it with %s: %v", name, err)
		}
	}
}
