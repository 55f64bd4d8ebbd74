package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"mrlocal"
)

// runGNUSort runs GNU sort, or skips the test.
func runGNUSort(t *testing.T, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command("sort", args...)
	c.Stdin, c.Stdout, c.Stderr, c.Env = strings.NewReader(stdin), &out, &errs, append(os.Environ(), "LC_ALL=C")
	if _, exited := c.Run().(*exec.ExitError); c.ProcessState == nil && !exited {
		t.Skip("no sort to compare with")
	}
	return out.String(), errs.String()
}

// Each flag of GNU sort is a flag here, or a row of the table of differences.
func TestTheFlagsOfGNUSortAreKnown(t *testing.T) {
	help, _ := runGNUSort(t, "", "--help")
	if version, _ := runGNUSort(t, "", "--version"); !strings.Contains(version, "GNU coreutils") {
		t.Skip("no GNU sort to compare with")
	}
	page, err := os.ReadFile("../../docs/sort.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## What differs")
	flags := append(made("sort", Env{}, mrlocal.Options{}).Settings, does("help", nil), does("version", nil))
	var names []string
	for _, line := range strings.Split(help, "\n") {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "-") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:^ +|, )(--?)([a-zA-Z0-9-]+)(\[?=)?`).FindAllStringSubmatch(line, -1) {
			name := m[2]
			if m[1] == "--" {
				names = append(names, name)
			}
			known := strings.Contains(table, "`"+m[1]+name+"`")
			for _, f := range flags {
				known = known || name == f.Name && (name == "check" || f.Toggle() != (m[3] == "=")) || name == f.Short && m[1] == "-"
			}
			if !known {
				t.Errorf("%s%s is neither a flag nor in docs/sort.md", m[1], name)
			}
		}
	}
	if len(names) < 25 {
		t.Errorf("only %d long flags in the help", len(names))
	}
	// A name is shortened as GNU sort does it.
	shortened := map[string]bool{}
	for _, name := range names {
		for n := 1; n < len(name); n++ {
			prefix := "--" + name[:n]
			if shortened[prefix] {
				continue
			}
			shortened[prefix] = true
			_, theirs := runGNUSort(t, "", prefix)
			_, ours, _ := call(t, "sort", "", prefix)
			if ambiguous := strings.Contains(theirs, "ambiguous"); ambiguous != strings.Contains(ours, "can be") || strings.Contains(ours, "no such flag") {
				t.Errorf("%s: GNU sort says %q, mrlocal %q", prefix, theirs, ours)
			}
		}
	}
	if out, errs, code := call(t, "sort", "", "--version", "--nosuch"); !strings.HasPrefix(out, "mrlocal ") || errs != "" || code != 0 {
		t.Errorf("--version: %q, %s, exit %d", out, errs, code)
	}
}
