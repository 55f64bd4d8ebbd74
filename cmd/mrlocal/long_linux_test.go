package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrlocal/input"
	"mrlocal/internal/disk"
)

// Linux takes no path of more than 4,095 bytes, but a tree may be deeper. A file at any depth is found and read.
func TestPathsThatAreTooLongForTheSystem(t *testing.T) {
	gnu, dir := gnuGrep(t), t.TempDir()
	t.Chdir(dir)
	above, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	// The lengths of the names differ, so that paths end on each side of the bounds.
	path := "tree"
	var files []string
	for level := range 45 {
		name := filepath.Base(path)
		if err := above.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		below, err := above.OpenRoot(name)
		if err := above.Close(); err != nil {
			t.Fatal(err)
		}
		above = below
		if err == nil {
			err = below.WriteFile("f", fmt.Appendf(nil, "needle %d\n", level), 0o600)
		}
		if err == nil {
			err = below.WriteFile(".gitignore", []byte("ignored\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, path+"/f")
		path += "/" + strings.Repeat("d", 180+7*(level%11))
	}
	if err := above.Close(); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"-rc", "-rl", "-rh"} {
		want, _ := runGrepOf(t, dir, "", gnu, flags, "needle", "tree")
		got, stderr, code := runGrepTool(1<<10, "", flags, "needle", "tree")
		if lines := func(text string) []string { return slices.Sorted(strings.Lines(text)) }; code != 0 || stderr != "" ||
			!slices.Equal(lines(got), slices.DeleteFunc(lines(want), func(line string) bool { return strings.Contains(line, "/.gitignore") })) {
			t.Errorf("%s: %d lines, %d of GNU grep; exit %d; %.100s", flags, strings.Count(got, "\n"), strings.Count(want, "\n"), code, stderr)
		}
	}
	plan, err := input.NewPlan([]string{"tree"}, input.Options{})
	if err != nil || len(plan.Files) != len(files) {
		t.Errorf("a plan of the tree: %v", err)
	}
	for level, file := range files {
		for _, command := range []string{"sort", "sort -m", "sort -s -k2", "count"} {
			var got bytes.Buffer
			_, _ = rest(t, os.DevNull, 0, ours(append(strings.Fields(command), file), &got))
			if text := strings.TrimPrefix(got.String(), "      1 "); text != fmt.Sprintf("needle %d\n", level) {
				t.Errorf("%s of a path of %d bytes: %q", command, len(file), text)
			}
		}
		if text, err := disk.ReadFile(file); err != nil || string(text) != fmt.Sprintf("needle %d\n", level) {
			t.Errorf("a path of %d bytes: %q, %v", len(file), text, err)
		}
		if _, err := disk.Lstat(filepath.Join(filepath.Dir(file), "missing")); !os.IsNotExist(err) {
			t.Errorf("a missing name: %v", err)
		}
	}
}
