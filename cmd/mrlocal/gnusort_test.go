package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal"
	"mrlocal/internal/testkit"
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

func TestDebugWarnsAsGNUSort(t *testing.T) {
	runGNUSort(t, "")
	position := rapid.StringMatching(`[1-3](\.[1-3])?`)
	letters := rapid.SampledFrom([]string{"", "b", "n", "g", "h", "M", "r", "nr", "bn", "f", "d", "i", "V", "br", "fr"})
	testkit.Check(t, func(rt *rapid.T) {
		// With -z, a newline is a blank that takes no column.
		in := rapid.SampledFrom([]string{"b 2\na 10\n c 1.5K\n", "\n", "a \n\x01\n"}).Draw(rt, "in")
		args := []string{"--debug"}
		for _, flag := range []string{"-r", "-b", "-s", "-u", "-f", "-n", "-t.", "-t-", "-t+", "-d", "-i", "-M", "-g", "-h", "-V", "-z"} {
			if rapid.IntRange(0, 6).Draw(rt, flag) == 0 {
				args = append(args, flag)
			}
		}
		for range rapid.IntRange(0, 3).Draw(rt, "keys") {
			key := position.Draw(rt, "begin") + letters.Draw(rt, "letters")
			if rapid.Bool().Draw(rt, "has an end") {
				key += "," + position.Draw(rt, "end") + rapid.SampledFrom([]string{"", "b", ".0"}).Draw(rt, "end letters")
			}
			args = append(args, "-k"+key)
		}
		if rapid.IntRange(0, 5).Draw(rt, "obsolete") == 0 {
			args = append(args, rapid.SampledFrom([]string{"+1", "+0 -1", "+1n -2", "+1.1 -2.2", "+0.1b -1.0"}).Draw(rt, "words"))
			args = append(args[:len(args)-1], strings.Fields(args[len(args)-1])...)
		}
		wantOut, want := runGNUSort(t, in, args...)
		got, errs, code := call(t, "sort", in, args...)
		if wantOut == "" && want != "" && code == 2 { // both refuse the keys, in words of their own
			return
		}
		if errs := strings.ReplaceAll(errs, "mrlocal: sort: ", "sort: "); errs != want || got != wantOut {
			rt.Fatalf("%q: %q\n%s, want %q\n%s", args, got, errs, wantOut, want)
		}
	})
}
