package input_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"mrlocal/input"
)

func TestFoundFilesComeInSmallPlansFirstAndInOrder(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("d/%03d", i))
	}
	tree(t, names...)
	asked := 0
	var missing []string
	found := input.Found(&input.Search{Paths: func(yield func(string) bool) {
		for _, n := range slices.Concat(names[:50], []string{"d/none", "d"}, names[50:]) {
			if asked++; !yield(n) {
				return
			}
		}
	}, Missing: func(path string, _ error) { missing = append(missing, path) }}, input.Options{})
	var got []string
	plans := 0
	for p, err := range found {
		if err != nil {
			t.Fatal(err)
		}
		if plans++; plans == 1 && asked > 10 {
			t.Errorf("%d files were asked for before the first plan", asked)
		}
		got = append(got, paths(p)...)
	}
	if !slices.Equal(got, names) || strings.Join(missing, " ") != "d/none d" {
		t.Errorf("got %v, missing %v", got, missing)
	}
	asked = 0
	for range found {
		break
	}
	if asked > 10 {
		t.Errorf("%d files were asked for, although nobody wants more than one plan", asked)
	}
}

// A map costs as much as some small files, so most plans of small files are one split.
func TestAPlanOfSmallFoundFilesIsFewSplits(t *testing.T) {
	var names []string
	for i := range 1200 {
		names = append(names, fmt.Sprintf("d/%04d", i))
	}
	tree(t, names...)
	for _, n := range names {
		if err := os.Truncate(n, 16<<10); err != nil {
			t.Fatal(err)
		}
	}
	plans, splits := 0, 0
	for p, err := range input.Found(&input.Search{Paths: slices.Values(names), Missing: func(string, error) {}}, input.Options{MapSlots: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		plans++
		splits += len(p.Splits)
	}
	if splits > 2*plans {
		t.Errorf("%d plans have %d splits", plans, splits)
	}
}

// An attempt costs a tenth of a millisecond, as searching half a megabyte does.
func TestSplitsOfFoundFilesGrowWithTheInput(t *testing.T) {
	var names []string
	for i := range 240 {
		names = append(names, fmt.Sprintf("d/%03d", i))
	}
	tree(t, names...)
	for _, n := range names {
		if err := os.Truncate(n, 7<<20); err != nil { // 1.6 GiB together
			t.Fatal(err)
		}
	}
	// Of 1.6 GiB a split may have 32 MiB with 2 slots, and 13 MiB with 16.
	for _, c := range []struct{ slots, files int }{{2, 4}, {16, 1}} {
		most := 0
		for p, err := range input.Found(&input.Search{Paths: slices.Values(names), Missing: func(string, error) {}}, input.Options{MapSlots: c.slots, NoDecode: true}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range p.Splits {
				most = max(most, len(s.Pieces))
			}
		}
		if most != c.files {
			t.Errorf("%d slots: the largest split has %d files, want %d", c.slots, most, c.files)
		}
	}
}

// GNU grep prints a line for a file that vanishes or changes after it was found, and goes on.
func TestAFoundFileThatVanishesOrChangesIsMissing(t *testing.T) {
	var names []string
	for i := range 6 {
		names = append(names, fmt.Sprintf("d/%d", i))
	}
	tree(t, names...)
	if err := os.WriteFile("d/4", bytes.Repeat([]byte("a line\n"), 100_000), 0o666); err != nil {
		t.Fatal(err)
	}
	missing := map[string]error{}
	var got []string
	search := &input.Search{Paths: slices.Values(names), Missing: func(path string, cause error) {
		if missing[path] != nil {
			t.Errorf("%s is missing twice", path)
		}
		missing[path] = cause
	}}
	for p, err := range input.Found(search, input.Options{BlockBytes: 100_000}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{os.Remove("d/1"), os.WriteFile("d/2", []byte("another"), 0o666), os.Remove("d/4")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range p.Splits {
			r := p.Open(s, &memory{})
			for r.Next() {
				got = append(got, r.Block().Path)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if len(missing) != 3 || !errors.Is(missing["d/1"], fs.ErrNotExist) || !errors.Is(missing["d/2"], input.ErrChanged) || !errors.Is(missing["d/4"], fs.ErrNotExist) {
		t.Errorf("missing: %v", missing)
	}
	if want := []string{"d/0", "d/3", "d/5"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheOutputIsNoFoundFileUnderAnyName(t *testing.T) {
	tree(t, "d/a", "d/b", "d/c")
	if err := os.Link("d/b", "d/link"); err != nil {
		t.Skip(err)
	}
	output, err := os.Stat("d/b")
	if err != nil {
		t.Fatal(err)
	}
	var refused, got []string
	search := &input.Search{Paths: slices.Values([]string{"d/a", "d/b", "d/c", "d/link"}), Except: output, Missing: func(path string, cause error) {
		if cause != input.ErrOutput {
			t.Error(path, cause)
		}
		refused = append(refused, path)
	}}
	for p, err := range input.Found(search, input.Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Files {
			got = append(got, f.Path)
		}
	}
	if !slices.Equal(refused, []string{"d/b", "d/link"}) || !slices.Equal(got, []string{"d/a", "d/c"}) {
		t.Errorf("refused %q, found %q", refused, got)
	}
}
