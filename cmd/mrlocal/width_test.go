package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTablesFitTheirWidth runs each command that prints tables or sentences, without COLUMNS and with a width. No
// line may be longer than the width, unless it is a single word or is to be copied.
// The script validate.txt tests validate.
func TestTablesFitTheirWidth(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("text.txt", strings.Repeat("one two three\n", 4000))
	write("two.yaml", fmt.Sprintf(`cluster: {trackers: 1, map_slots: 2, reduce_slots: 1}
jobs:
  - {name: a-job-whose-name-is-rather-long, maps: 4, reduces: 2, map_time: 20ms, reduce_time: 10ms,
     job: wordcount, args: {input: %[1]s, block-size: 16KiB, reducers: 2, output: %[2]s, overwrite: true}}
  - {name: b, maps: 5, reduces: 1, map_time: {uniform: [20ms, 40ms]}, reduce_time: 10ms,
     job: sort, args: {input: %[1]s, block-size: 16KiB, reducers: 1, output: %[3]s, overwrite: true}}
`, at("text.txt"), at("out/a"), at("out/b")))
	two, events := at("two.yaml"), at("e.jsonl")
	small := []string{"wordcount", "--map-slots", "2", "--reduce-slots", "1", "--block-size", "16KiB", "--reducers", "2", "--rounds", "1", at("text.txt")}
	commands := [][]string{
		{"sim", two, "--sched", "all", "--verbose"}, {"sim", two, "--sched", "fair,pi-dhfs", "--gantt", "--events", events},
		{"sim", two, "--sched", "fair,pi-dhfs", "--seeds", "3"}, {"batch", two, "--sched", "fair,pi-dhfs", "--verbose", "--progress", "none"},
		{"run", "wordcount", at("text.txt"), "-o", at("o.txt"), "--verbose", "--gantt", "--block-size", "16KiB"},
		{"compare", events + ".fair", events + ".pi-dhfs"}, {"sim", two, "--sched", "fair,pi-dhfs", "--compare"},
		{"explain", events + ".pi-dhfs"}, {"explain", events + ".pi-dhfs", "--task", "0/m/1"}, {"explain", events + ".fair", "--why-idle", "2"},
		{"show", events + ".fair", "--gantt"}, {"replay", events + ".fair"}, {"policies"}, {"reproduce", "--list"}, {"reproduce", "fig4"},
		{"sweep", two, "--map-slots", "1..3", "--reduce-slots", "1,2", "--sched", "fair,pi-dhfs"},
		{"sweep", two, "--map-slots", "1..2", "--sched", "fair,pi-dhfs", "--seeds", "3"},
		append([]string{"tune"}, small...), append([]string{"profile"}, slices.Concat(small[:len(small)-3], small[len(small)-1:])...),
		{"demo", "--list"}, {"help"}, {"run", "sort", "--help-all"}, {"sim", "--help-all"}, {"policies", "--help"},
	}
	for _, args := range commands {
		for _, columns := range []string{"", "60"} {
			most := 80
			if columns != "" {
				fmt.Sscan(columns, &most)
			}
			var out, notes bytes.Buffer
			e := Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &notes, Getenv: func(name string) string {
				if name == "COLUMNS" {
					return columns
				}
				return ""
			}}
			code := run(t.Context(), args, e)
			if code != Done && code != Differs {
				t.Fatalf("%v: exit code %d: %s", args, code, &notes)
			}
			if args[0] == "run" || args[0] == "batch" { // their tables go to standard error
				out.Write(notes.Bytes())
			}
			for line := range strings.Lines(out.String()) {
				line = strings.TrimRight(line, "\n")
				// These are notes, YAML, and commands to copy.
				as := func(prefix string) bool { return strings.HasPrefix(line, prefix) }
				if as("mrlocal: ") || as("# ") || as("profile: ") || as("   mrlocal ") {
					continue
				}
				if n := utf8.RuneCountInString(line); n > most && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%v with COLUMNS=%s: %d columns: %s", args, columns, n, line)
				}
			}
		}
	}
}
