package paths_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/paths"
)

// tree makes a directory with in/a, a link to it, and links to nothing.
func tree(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	for _, err := range []error{
		err, os.MkdirAll(filepath.Join(dir, "in"), 0o777), os.WriteFile(filepath.Join(dir, "in", "a"), nil, 0o666),
		os.Symlink("in", filepath.Join(dir, "link")), os.Symlink("in/new", filepath.Join(dir, "dangling")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

func TestNamesOfOnePlaceHaveOnePath(t *testing.T) {
	dir := tree(t)
	for name, want := range map[string]string{
		"in/a": "in/a", "link/a": "in/a", "in/../link/a": "in/a", "dangling": "in/new", "link/new": "in/new", "in/": "in", "link/..": "",
		"no/such/dir/x": "no/such/dir/x", "link/no/x": "in/no/x", "loop": "loop",
	} {
		if got := paths.Locate(name); got != filepath.Join(dir, want) {
			t.Errorf("%s leads to %s, want %s", name, got, want)
		}
	}
}

func TestResolveFailsWhereTheSystemWould(t *testing.T) {
	tree(t)
	if _, info, err := paths.Resolve("link/a"); err != nil || info == nil {
		t.Errorf("a file: %v, %v", info, err)
	}
	if _, info, err := paths.Resolve("dangling"); err != nil || info != nil {
		t.Errorf("a link to nothing: %v, %v", info, err)
	}
	var parent *paths.ParentError
	if _, _, err := paths.Resolve("no/such"); !errors.As(err, &parent) || parent.Dir != "no" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing parent: %v", err)
	}
	if _, _, err := paths.Resolve("loop"); err == nil {
		t.Error("a loop of links resolves")
	}
}

func TestWhatEnclosesWhat(t *testing.T) {
	dir := tree(t)
	for path, want := range map[string]string{"in/a": "link", "in/new": "link", "in": "link", "other": ""} {
		if got, ok := paths.Enclosing(filepath.Join(dir, path), []string{"missing", "in/a/b", "link"}); got != want || ok != (want != "") {
			t.Errorf("%s lies in %q", path, got)
		}
	}
	info, err := os.Stat("in")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := paths.Inside(info, []string{"missing", "link", "link/a"}); !ok || got != "link/a" {
		t.Errorf("inside of in: %q", got)
	}
	if got, ok := paths.Same(info, []string{"in/a", "link/../in"}); !ok || got != "link/../in" {
		t.Errorf("the same as in: %q", got)
	}
}

func TestInputsAreExpandedAsTheyAreFound(t *testing.T) {
	tree(t)
	if err := os.WriteFile("in/[x]", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := paths.Expand([]string{"-", "in/[x]", "in/?", "missing", "no*"}); !slices.Equal(got, []string{"in/[x]", "in/a", "missing"}) {
		t.Errorf("%q", got)
	}
}

func TestJobsOfABatchDoNotCollide(t *testing.T) {
	dir := tree(t)
	for name, tc := range map[string]struct {
		jobs  []paths.JobFiles
		want  string
		later bool
	}{
		"apart":                      {jobs: []paths.JobFiles{{Inputs: []string{"in"}, Output: "x"}, {Inputs: []string{"in"}, Output: "y"}}},
		"a device for both":          {jobs: []paths.JobFiles{{Output: os.DevNull}, {Output: os.DevNull}}},
		"one output":                 {jobs: []paths.JobFiles{{Name: "one", Output: "dangling"}, {Output: "link/new"}}, want: "is the output of job one too"},
		"an output in the other":     {jobs: []paths.JobFiles{{Name: "one", Output: "out"}, {Output: "out/sub"}}, want: "lies inside the output of job one"},
		"reads without waiting":      {jobs: []paths.JobFiles{{Name: "one", Output: "out"}, {Inputs: []string{"out/part*"}}}, want: "is written by job one"},
		"reads what it waits for":    {jobs: []paths.JobFiles{{Output: "out"}, {Inputs: []string{"out/part*"}, After: []int{0}}}, later: true},
		"writes where others read":   {jobs: []paths.JobFiles{{Name: "one", Inputs: []string{dir}}, {Output: "in/out"}}, want: "which job one reads"},
		"a glob that does not match": {jobs: []paths.JobFiles{{Inputs: []string{"in/b*"}}, {Output: "in/out"}}},
		"a glob that matches":        {jobs: []paths.JobFiles{{Name: "one", Inputs: []string{"in/o*"}}, {Output: "in/out"}}, want: "which job one reads"},
	} {
		in, _, err := paths.CheckBatch(tc.jobs)
		switch {
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		case tc.want == "" && (err != nil || in.Later != tc.later):
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
}
