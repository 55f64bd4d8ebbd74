package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mrlocal/internal/errs"
)

// keep calls KeepTemp, and has the test close the result.
func keep(t *testing.T, dir string) *KeptTemp {
	t.Helper()
	k, err := KeepTemp(dir, NewTempRoot(nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close(false) })
	return k
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAKeptDirectoryIsFoundAgainAndIsGoneInTheEnd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	for name, missing := range map[string]bool{"a directory of the user": false, "one that Keep makes": true} {
		dir := t.TempDir()
		if missing {
			dir = filepath.Join(dir, "new")
		}
		first := keep(t, dir)
		if first.Found {
			t.Errorf("%s: found in an empty directory", name)
		}
		write(t, filepath.Join(first.Path, JournalName))
		if err := first.Close(false); err != nil {
			t.Fatal(err)
		}
		if n := SweepTemp([]string{dir}); n != 0 {
			t.Errorf("%s: swept", name)
		}
		second := keep(t, dir)
		if !second.Found || second.Path != first.Path {
			t.Errorf("%s: %+v after %+v", name, second, first)
		}
		f, err := second.Create("map-*")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		for range 2 {
			if err := second.Close(true); err != nil {
				t.Fatal(err)
			}
		}
		_, err = os.Stat(dir)
		if gone := os.IsNotExist(err); gone != missing {
			t.Errorf("%s: gone %v", name, gone)
		}
		if !missing && len(names(t, dir)) != 0 {
			t.Errorf("%s: left %q", name, names(t, dir))
		}
	}
}

func TestKeepSweepsWhatHasNoJournal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	dir := t.TempDir()
	first := keep(t, dir)
	write(t, filepath.Join(first.Path, "map-1"))
	first.Close(false)
	if second := keep(t, dir); second.Found || len(names(t, dir)) != 1 {
		t.Errorf("%+v; %q", second, names(t, dir))
	}
}

func TestAJournalWithoutItsLockIsNamedAndCleaned(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	dir := t.TempDir()
	first := keep(t, dir)
	write(t, filepath.Join(first.Path, JournalName))
	write(t, filepath.Join(first.Path, "map-12"))
	if err := os.Remove(filepath.Join(first.Path, lockName)); err != nil {
		t.Fatal(err)
	}
	if found := CleanTemp([]string{dir}, false); len(found) > 0 {
		t.Errorf("of a live run: %v", found)
	}
	first.Close(false)
	if _, err := KeepTemp(dir, NewTempRoot(nil, 0)); !errs.IsUsage(err) || !strings.Contains(err.Error(), `no file "lock"`) || !strings.Contains(err.Error(), "mrlocal clean") {
		t.Errorf("Keep: %v", err)
	}
	notes := filepath.Join(first.Path, "notes")
	write(t, notes)
	if found := CleanTemp([]string{dir}, false); len(found) > 0 {
		t.Errorf("with a file of the user: %v", found)
	}
	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	if found := CleanTemp([]string{dir}, false); len(found) != 1 || found[0].Err != nil || len(names(t, dir)) > 0 {
		t.Errorf("found %v, left %q", found, names(t, dir))
	}
}

func TestKeepRefuses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	dir := t.TempDir()
	file, foreign, used, two := filepath.Join(dir, "file"), filepath.Join(dir, "foreign"), filepath.Join(dir, "used"), filepath.Join(dir, "two")
	write(t, file)
	for _, d := range []string{foreign, filepath.Join(foreign, ".hidden"), filepath.Join(two, "mrlocal-1-0123456789abcdef"), filepath.Join(two, "mrlocal-2-0123456789abcdef")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(foreign, "notes.txt"))
	write(t, filepath.Join(two, "mrlocal-1-0123456789abcdef", JournalName))
	write(t, filepath.Join(two, "mrlocal-2-0123456789abcdef", JournalName))
	keep(t, used)
	if os.Getuid() == 0 { // only root can give a directory away
		other := filepath.Join(dir, "other")
		if err := errors.Join(os.Mkdir(other, 0o777), os.Chown(other, 1, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := KeepTemp(other, NewTempRoot(nil, 0)); !errs.IsUsage(err) || !strings.Contains(err.Error(), "another user") {
			t.Errorf("of another user: %v", err)
		}
	}
	for path, want := range map[string]string{
		file: "not a directory", foreign: "notes.txt", used: "another process", two: "2 journals", filepath.Join(file, "x"): "not a directory",
		filepath.Join(dir, "no", "where"): "no such file",
	} {
		k, err := KeepTemp(path, NewTempRoot(nil, 0))
		if !errs.IsUsage(err) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", path, k, err)
		}
	}
	if got := names(t, foreign); len(got) != 2 {
		t.Errorf("left %q", got)
	}
}

func TestKeepRefusesANoteThatIsNoFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no locks here")
	}
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	write(t, victim)
	if err := os.Symlink(victim, filepath.Join(dir, publishedName)); err != nil {
		t.Fatal(err)
	}
	if _, err := KeepTemp(dir, NewTempRoot(nil, 0)); !errs.IsUsage(err) || !strings.Contains(err.Error(), publishedName) {
		t.Errorf("Keep: %v", err)
	}
	if err := Note(dir, "1", "/x"); err == nil || len(Noted(dir, "/x")) > 0 {
		t.Errorf("Note follows the link: %v", err)
	}
	if text, _ := os.ReadFile(victim); bytes.Contains(text, []byte("/x")) {
		t.Errorf("%q", text)
	}
}

// A note of a long path hides no note behind it.
func TestNotesOfAnyLength(t *testing.T) {
	dir := t.TempDir()
	for i, path := range []string{"/a", "/" + strings.Repeat("long/", 20_000), "/a"} {
		if err := Note(dir, strconv.Itoa(i), path); err != nil {
			t.Fatal(err)
		}
	}
	if got := Noted(dir, "/a"); !slices.Equal(got, []string{"0", "2"}) {
		t.Errorf("keys %q", got)
	}
}
