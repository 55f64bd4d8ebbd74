package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testkit.Transitions{M: m}) }

// kit has a directory, a memory budget and a directory of temporary files. All must be clean
// when the test ends.
type kit struct {
	t      testing.TB
	dir    string
	memory *membudget.Budget
	temp   *disk.TempRoot
}

func newKit(t testing.TB, memoryBytes int64) *kit {
	t.Helper()
	dir := t.TempDir()
	tempDir := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tempDir, 0o777); err != nil {
		t.Fatal(err)
	}
	memory, err := membudget.New(memoryBytes)
	if err != nil {
		t.Fatal(err)
	}
	w := &kit{t: t, dir: dir, memory: memory, temp: disk.NewTempRoot([]string{tempDir}, 0)}
	t.Cleanup(func() {
		if left := memory.Leased(); left != 0 {
			t.Errorf("%d bytes are still leased", left)
		}
		if err := errors.Join(w.temp.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
		if left := tree(t, tempDir); len(left) != 0 {
			t.Errorf("temp files left: %q", left)
		}
	})
	return w
}

func (w *kit) path(name string) string { return filepath.Join(w.dir, name) }

func (w *kit) parts(count int) Parts {
	return Parts{Count: count, Memory: w.memory, CreateTemp: func() (*disk.TempFile, error) { return w.temp.Create("spool-*") }}
}

// begin opens and starts a target.
func (w *kit) begin(s Spec, p Parts) *Target {
	w.t.Helper()
	target, err := Open(s)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := target.Start(); err != nil {
		w.t.Fatal(err)
	}
	target.Expect(p)
	w.t.Cleanup(func() { target.Abort() })
	return target
}

func (w *kit) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *kit) write(name, text string) string {
	w.t.Helper()
	path := w.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// list returns the names in the directory of the kit, without its temporary files.
func (w *kit) list() []string {
	w.t.Helper()
	return slices.DeleteFunc(tree(w.t, w.dir), func(name string) bool { return name == "tmp" || strings.HasPrefix(name, "tmp/") })
}

func tree(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			names = append(names, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func mustList(t testing.TB, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

// put writes text to a part. If that fails, Commit of the part fails too.
func put(t testing.TB, p Part, err error, text string) Part {
	t.Helper()
	must(t, err)
	_, _ = io.WriteString(p, text)
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestADirectoryHoldsItsPartsAndSuccessOnlyOnceCommitted(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{Dir: w.path("out")}, w.parts(2))
	for task, text := range []string{"a\n", "b\n"} {
		p, err := target.Attempt(task, 0)
		must(t, put(t, p, err, text).Commit())
	}
	mustList(t, w.list(), "out", "out/_temporary", "out/_temporary/.mrlocal", "out/_temporary/task_r_000000", "out/_temporary/task_r_000000/part-r-00000",
		"out/_temporary/task_r_000001", "out/_temporary/task_r_000001/part-r-00001")
	must(t, target.Commit())
	mustList(t, w.list(), "out", "out/_SUCCESS", "out/part-r-00000", "out/part-r-00001")
	if got := w.read("out/part-r-00000") + w.read("out/part-r-00001"); got != "a\nb\n" {
		t.Errorf("got %q", got)
	}
}

func TestOfTwoAttemptsAtAPartFileTheFirstToCommitWins(t *testing.T) {
	w := newKit(t, 1<<20)
	p := w.parts(1)
	p.MapOnly = true
	target := w.begin(Spec{Dir: w.path("out")}, p)
	first, err := target.Attempt(0, 0)
	put(t, first, err, "first")
	second, err := target.Attempt(0, 1)
	must(t, put(t, second, err, "second").Commit())
	if err := first.Commit(); !errors.Is(err, ErrLost) {
		t.Errorf("the later commit: %v", err)
	}
	must(t, target.Commit())
	mustList(t, w.list(), "out", "out/_SUCCESS", "out/part-m-00000")
	if got := w.read("out/part-m-00000"); got != "second" {
		t.Errorf("got %q", got)
	}
}

func TestADirectoryWithAMissingPartIsNotCommitted(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{Dir: w.path("out")}, w.parts(2))
	p, err := target.Attempt(1, 0)
	must(t, put(t, p, err, "b").Commit())
	if err := target.Commit(); err == nil || !strings.Contains(err.Error(), "1 of 2 parts") {
		t.Errorf("Commit: %v", err)
	}
	mustList(t, w.list())
}

func TestOverwriteReplacesTheOldDirectoryOnlyAtCommit(t *testing.T) {
	for _, tc := range []struct {
		name   string
		commit bool
		want   string
	}{{"committed", true, "new"}, {"aborted", false, "old"}} {
		t.Run(tc.name, func(t *testing.T) {
			w := newKit(t, 1<<20)
			w.write("out/part-r-00000", "old")
			w.write("out/part-r-00001", "old too")
			w.write("out/_SUCCESS", "")
			target := w.begin(Spec{Dir: w.path("out"), Overwrite: true}, w.parts(1))
			p, err := target.Attempt(0, 0)
			must(t, put(t, p, err, "new").Commit())
			if got := w.read("out/part-r-00000"); got != "old" {
				t.Errorf("before the commit: %q", got)
			}
			if tc.commit {
				must(t, target.Commit())
				mustList(t, w.list(), "out", "out/_SUCCESS", "out/part-r-00000")
			} else {
				must(t, target.Abort())
				mustList(t, w.list(), "out", "out/_SUCCESS", "out/part-r-00000", "out/part-r-00001")
			}
			if got := w.read("out/part-r-00000"); got != tc.want {
				t.Errorf("afterwards: %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAStrangersFileThatAppearsInTheOldDirectoryStopsTheReplacement(t *testing.T) {
	w := newKit(t, 1<<20)
	w.write("out/_SUCCESS", "")
	target := w.begin(Spec{Dir: w.path("out"), Overwrite: true}, w.parts(1))
	p, err := target.Attempt(0, 0)
	must(t, put(t, p, err, "new").Commit())
	w.write("out/diary.txt", "dear")
	if err := target.Commit(); err == nil {
		t.Error("committed over a stranger's file")
	}
	mustList(t, w.list(), "out", "out/_SUCCESS", "out/diary.txt")
}

func TestAbortLeavesAStrangersFileInOurDirectory(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{Dir: w.path("out")}, w.parts(1))
	w.write("out/diary.txt", "dear")
	target.Abort()
	mustList(t, w.list(), "out", "out/diary.txt")
}

func TestAFileAppearsWholeAndKeepsTheModeOfTheOneItReplaces(t *testing.T) {
	w := newKit(t, 1<<20)
	path := w.write("result", "old")
	must(t, os.Chmod(path, 0o640))
	target := w.begin(Spec{File: path}, w.parts(3))
	for _, i := range []int{2, 0, 1} {
		p, err := target.Part(i, 0)
		must(t, put(t, p, err, fmt.Sprintln(i)).Commit())
	}
	if got := w.read("result"); got != "old" {
		t.Errorf("before the commit: %q", got)
	}
	must(t, target.Commit())
	mustList(t, w.list(), "result")
	if got := w.read("result"); got != "0\n1\n2\n" {
		t.Errorf("got %q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestALinkKeepsLeadingToTheFileThatIsReplaced(t *testing.T) {
	for _, there := range []bool{true, false} {
		w := newKit(t, 1<<20)
		if there {
			w.write("far/result", "old")
		} else {
			must(t, os.Mkdir(w.path("far"), 0o777))
		}
		must(t, os.Symlink("far/result", w.path("link")))
		target := w.begin(Spec{File: w.path("link")}, w.parts(1))
		p, err := target.Part(0, 0)
		must(t, put(t, p, err, "new").Commit())
		must(t, target.Commit())
		mustList(t, w.list(), "far", "far/result", "link")
		if link, err := os.Readlink(w.path("link")); link != "far/result" || w.read("far/result") != "new" {
			t.Errorf("link %q, %v, file %q", link, err, w.read("far/result"))
		}
	}
}

func TestAVeryLongNameIsWrittenBesideItself(t *testing.T) {
	w := newKit(t, 1<<20)
	name := strings.Repeat("ä", 127)
	target := w.begin(Spec{File: w.path(name)}, w.parts(1))
	p, err := target.Part(0, 0)
	must(t, put(t, p, err, "x").Commit())
	must(t, target.Commit())
	mustList(t, w.list(), name)
}

func TestPartsOfKnownSizesAreWrittenAtTheirPlacesInAnyOrder(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{File: w.path("result")}, w.parts(3))
	if parallel, err := target.SetSizes([]int64{3, 0, 2}); !parallel || err != nil {
		t.Fatalf("SetSizes: %v, %v", parallel, err)
	}
	last, err := target.Part(2, 0)
	put(t, last, err, "d")
	first, err := target.Part(0, 0)
	put(t, first, err, "ab")
	put(t, last, nil, "e")
	must(t, last.Commit())
	first.Abort() // the task is tried again below
	first, err = target.Part(0, 1)
	must(t, put(t, first, err, "abc").Commit())
	empty, err := target.Part(1, 0)
	must(t, err)
	must(t, empty.Commit())
	must(t, target.Commit())
	if got := w.read("result"); got != "abcde" {
		t.Errorf("got %q", got)
	}
}

func TestAPartOfAnotherSizeThanAnnouncedFails(t *testing.T) {
	for _, text := range []string{"ab", "abcd"} {
		w := newKit(t, 1<<20)
		target := w.begin(Spec{File: w.path("result")}, w.parts(1))
		if _, err := target.SetSizes([]int64{3}); err != nil {
			t.Fatal(err)
		}
		p, err := target.Part(0, 0)
		put(t, p, err, text)
		if err := p.Commit(); err == nil {
			t.Errorf("%q was taken for 3 bytes", text)
		}
		if err := target.Commit(); err == nil {
			t.Error("committed without its part")
		}
		mustList(t, w.list())
	}
}

func TestStandardOutputGetsThePartsInOrderAndASpoolIsReleasedWhenItsTurnComes(t *testing.T) {
	w := newKit(t, 1<<20)
	var out bytes.Buffer
	var released []int
	p := w.parts(3)
	p.OnRelease = func(parts int) { released = append(released, parts) }
	target := w.begin(Spec{Stdout: &out}, p)
	for _, i := range []int{1, 2, 0} {
		part, err := target.Part(i, 0)
		must(t, put(t, part, err, fmt.Sprintln(i)).Commit())
	}
	must(t, target.Commit())
	if out.String() != "0\n1\n2\n" || !slices.Equal(released, []int{1, 2, 3}) {
		t.Errorf("got %q, released %v", out.String(), released)
	}
}

func TestWithoutPartsTheResultIsEmptyAndWhole(t *testing.T) {
	w := newKit(t, 1<<20)
	for _, spec := range []Spec{{File: w.path("file")}, {Dir: w.path("dir")}, {}} {
		target := w.begin(spec, w.parts(0))
		target.Seal(0)
		must(t, target.Commit())
	}
	mustList(t, w.list(), "dir", "dir/_SUCCESS", "file")
}

func TestAnUnknownOrUnmetNumberOfPartsIsNotCommitted(t *testing.T) {
	w := newKit(t, 1<<20)
	for name, parts := range map[string]int{"unknown": 0, "none written": 2} {
		target := w.begin(Spec{File: w.path("file")}, w.parts(parts))
		if err := target.Commit(); err == nil {
			t.Errorf("%s: committed", name)
		}
	}
	mustList(t, w.list())
}

func TestStandardOutputThatIsAFileIsWrittenInParallelAndAfterWhatStandsThere(t *testing.T) {
	w := newKit(t, 1<<20)
	f, err := os.Create(w.path("redirected"))
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("before\n")
	must(t, err)
	target := w.begin(Spec{Stdout: f}, w.parts(2))
	if parallel, err := target.SetSizes([]int64{2, 2}); !parallel || err != nil {
		t.Fatalf("SetSizes: %v, %v", parallel, err)
	}
	_, err = f.WriteString("note\n") // as notes do under 2>&1
	must(t, err)
	for _, i := range []int{1, 0} {
		p, err := target.Part(i, 0)
		must(t, put(t, p, err, fmt.Sprintln(i)).Commit())
	}
	must(t, target.Commit())
	if got := w.read("redirected"); got != "before\n0\n1\nnote\n" {
		t.Errorf("got %q", got)
	}
}

func TestAFailedRunLeavesNoHolesInStandardOutput(t *testing.T) {
	w := newKit(t, 1<<20)
	f, err := os.Create(w.path("redirected"))
	must(t, err)
	defer f.Close()
	_, err = f.WriteString("before\n")
	must(t, err)
	target := w.begin(Spec{Stdout: f}, w.parts(2))
	_, err = target.SetSizes([]int64{1 << 20, 2})
	must(t, err)
	p, err := target.Part(1, 0)
	must(t, put(t, p, err, "1\n").Commit())
	must(t, target.Abort())
	if got := w.read("redirected"); got != "before\n" {
		t.Errorf("%d bytes are left", len(got))
	}
}

func TestStandardOutputInAppendModeIsWrittenInOrder(t *testing.T) {
	w := newKit(t, 1<<20)
	w.write("log", "before\n")
	f, err := os.OpenFile(w.path("log"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	defer f.Close()
	target := w.begin(Spec{Stdout: f}, w.parts(1))
	if parallel, err := target.SetSizes([]int64{2}); parallel || err != nil {
		t.Fatalf("SetSizes: %v, %v", parallel, err)
	}
	p, err := target.Part(0, 0)
	must(t, put(t, p, err, "0\n").Commit())
	must(t, target.Commit())
	if got := w.read("log"); got != "before\n0\n" {
		t.Errorf("got %q", got)
	}
}
