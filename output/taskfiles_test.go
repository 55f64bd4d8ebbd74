package output

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// ownDir returns the directory of an attempt for files of user code, and writes a file into it.
func ownDir(t *testing.T, p Part, file, text string) string {
	t.Helper()
	dir, err := p.(HasDir).Dir()
	must(t, err)
	path := filepath.Join(dir, file)
	must(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must(t, os.WriteFile(path, []byte(text), 0o666))
	return dir
}

// TestFilesOfAnAttemptCommitAndAbortWithIt: the files of attempts that fail, lose or are killed are gone at once.
func TestFilesOfAnAttemptCommitAndAbortWithIt(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{Dir: w.path("out")}, w.parts(2))
	begin := func(task, n int, text string) (Part, string) {
		p, err := target.Attempt(task, n)
		put(t, p, err, text)
		return p, ownDir(t, p, "sub/same", text)
	}
	gone := func(dir string) {
		t.Helper()
		if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	killed, dir := begin(0, 0, "killed")
	ownDir(t, killed, "of-killed", "x")
	killed.Abort()
	gone(dir)
	winner, _ := begin(0, 1, "winner")
	loser, dir := begin(0, 2, "loser")
	ownDir(t, loser, "of-loser", "x")
	must(t, winner.Commit())
	if err := loser.Commit(); !errors.Is(err, ErrLost) {
		t.Errorf("the second attempt: %v", err)
	}
	loser.Abort()
	gone(dir)
	last, _ := begin(1, 0, "last")
	ownDir(t, last, "two words", "y")
	must(t, last.Commit())

	// Maps before the reduces have files too. Those of reduces come last.
	m, err := target.Bare(7, 0)
	must(t, err)
	ownDir(t, m, "sub/same", "map")
	ownDir(t, m, "of-map", "map")
	must(t, m.Commit())
	again, err := target.Bare(7, 1) // as after the loss of its map output
	must(t, err)
	dir = ownDir(t, again, "of-second-run", "map")
	if err := again.Commit(); !errors.Is(err, ErrLost) {
		t.Errorf("the map again: %v", err)
	}
	gone(dir)
	none, err := target.Bare(8, 0)
	must(t, err)
	_, err = none.(HasDir).Dir()
	must(t, err)
	must(t, none.Commit())

	must(t, target.Commit())
	mustList(t, tree(t, w.path("out")), "_SUCCESS", "of-map", "part-r-00000", "part-r-00001", "sub", "sub/same", "two words")
	if got := w.read("out/sub/same"); got != "last" {
		t.Errorf("the file of the last task has %q", got)
	}
}

// TestFilesOfAttemptsGoWithTheResult: nothing is left of a result that is aborted, or whose run was killed.
func TestFilesOfAttemptsGoWithTheResult(t *testing.T) {
	w := newKit(t, 1<<20)
	target := w.begin(Spec{Dir: w.path("out")}, w.parts(2))
	p, err := target.Attempt(0, 0)
	put(t, p, err, "text")
	ownDir(t, p, "side", "x")
	must(t, p.Commit())
	open, err := target.Attempt(1, 0)
	put(t, open, err, "text")
	ownDir(t, open, "side", "x")
	must(t, target.Abort())
	mustList(t, w.list())

	w.write("out/_temporary/.mrlocal", "")
	w.write("out/_temporary/attempt_r_000000_0/part-r-00000", "")
	w.write("out/_temporary/attempt_r_000000_0/_files/sub/side", "")
	found, err := Clean(w.path("out"), false, true)
	if err != nil || len(found) != 1 || found[0].Err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	mustList(t, w.list())
}

// TestMoveAll: a file replaces a directory of its name and the other way round; two directories become one.
func TestMoveAll(t *testing.T) {
	w := newKit(t, 1<<20)
	for _, f := range []string{"to/a/x", "to/b", "to/c/old", "to/keep", "from/a", "from/b/y", "from/c/new", "from/d/e/z"} {
		w.write(f, f)
	}
	must(t, os.Mkdir(w.path("from/empty"), 0o777))
	must(t, moveAll(w.path("from"), w.path("to")))
	mustList(t, tree(t, w.path("to")), "a", "b", "b/y", "c", "c/new", "c/old", "d", "d/e", "d/e/z", "empty", "keep")
	must(t, moveAll(w.path("missing"), w.path("to")))
}
