package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"mrlocal/internal/flags"
)

// widths are values of COLUMNS, the last ones as narrow as a phone. Without COLUMNS there are 80 columns.
func widths() []string { return []string{"", "60", "40"} }

// printed runs mrlocal with COLUMNS and returns its standard output, and its standard error.
func printed(t *testing.T, columns string, args ...string) (out, notes string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(name string) string {
		if name == "COLUMNS" {
			return columns
		}
		return ""
	}})
	if code != Done && code != Differs {
		t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
	}
	return stdout.String(), stderr.String()
}

// fits checks that no line of the text is longer than COLUMNS. Only a single word may be longer, such as a path; in a
// command of several lines a backslash follows it.
func fits(t *testing.T, text, columns string, args ...string) {
	t.Helper()
	most, _ := strconv.Atoi(cmp.Or(columns, "80"))
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if n := uniseg.StringWidth(line); n > most && strings.Contains(strings.TrimSpace(strings.TrimSuffix(line, ` \`)), " ") {
			t.Errorf("%v with COLUMNS=%s: %d columns: %s", args, columns, n, line)
		}
	}
}

// TestHelpFitsItsWidth has the help of all commands and jobs, short and long. The examples are still commands.
func TestHelpFitsItsWidth(t *testing.T) {
	pages := [][]string{{"--help"}}
	quiet().Each(func(path []string, c *flags.Command) {
		pages = append(pages, append(slices.Clone(path), "--help"))
		if c.Raw == nil {
			pages = append(pages, append(slices.Clone(path), "--help-all"))
		}
		for _, columns := range widths() {
			help, _ := printed(t, columns, append([]string{"help"}, path...)...)
			if c.Raw == nil {
				help, _ = printed(t, columns, append(slices.Clone(path), "--help-all")...)
			}
			_, examples, _ := strings.Cut(help, "\nEXAMPLES:\n")
			examples, _, _ = strings.Cut(examples, "\n\n")
			if got := strings.Fields(strings.ReplaceAll(examples, "\\\n", "")); !slices.Equal(got, strings.Fields(strings.Join(c.Examples, " "))) {
				t.Errorf("%v with COLUMNS=%s: the examples are\n%s", path, columns, examples)
			}
		}
	})
	if len(pages) < 100 {
		t.Errorf("only %d pages", len(pages))
	}
	pages = append(pages, []string{"streaming", "--unknown"}) // Hadoop prints the options after such an error
	for _, args := range pages {
		for _, columns := range widths() {
			help, _ := printed(t, columns, args...)
			fits(t, help, columns, args...)
		}
	}
}

// TestManualPagesFitTheirWidth lets groff lay all pages out for 80 columns. On a narrower terminal man fills the
// sentences of a page for it; examples and lists stay as they are.
func TestManualPagesFitTheirWidth(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := quiet().WritePages(dir); err != nil {
		t.Fatal(err)
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, page := range pages {
		out, err := exec.CommandContext(t.Context(), groff, "-man", "-Tascii", "-P-cbou", "-rLL=78n", page).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", page, err, out)
		}
		fits(t, string(out), "", filepath.Base(page))
	}
}

// noTables are the commands that print neither tables nor sentences, and what they print.
func noTables() map[string]string {
	return map[string]string{
		"sort": "its result", "grep": "its result", "count": "its result", "stream": "its result",
		"streaming": "what Hadoop Streaming prints", "submit": "commands of a shell, and a line for each step",
		"ui": "the address of its page", "workload": "a YAML file", "gen": "nothing", "lint": "a line for each fault, as compilers do",
		"completion": "a script", "man": "a page for man", "version": "one line",
		"validate": "a table; the script validate.txt tests it",
	}
}

// TestTablesFitTheirWidth runs each command that prints tables or sentences. No line may be longer than the width,
// unless it is a single word, a note, or YAML.
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
		{"explain", events + ".pi-dhfs"}, {"explain", events + ".pi-dhfs", "--lent"}, {"explain", events + ".pi-dhfs", "--job", "b"}, {"explain", events + ".pi-dhfs", "--task", "0/m/1"}, {"explain", events + ".fair", "--why-idle", "2"},
		{"show", events + ".fair", "--gantt"}, {"replay", events + ".fair"}, {"policies"}, {"reproduce", "--list"}, {"reproduce", "fig4"},
		{"sweep", two, "--map-slots", "1..3", "--reduce-slots", "1,2", "--sched", "fair,pi-dhfs"},
		{"sweep", two, "--map-slots", "1..2", "--sched", "fair,pi-dhfs", "--seeds", "3"},
		append([]string{"tune"}, small...), append([]string{"profile"}, slices.Concat(small[:len(small)-3], small[len(small)-1:])...),
		{"demo", "--list"}, {"demo", "borrow", "--speed", "fast"}, {"clean", "--dry-run", dir},
	}
	quiet().Each(func(path []string, _ *flags.Command) {
		if some := slices.ContainsFunc(commands, func(args []string) bool { return args[0] == path[0] }); some == (noTables()[path[0]] != "") {
			t.Errorf("%s: %v", path[0], some)
		}
	})
	for _, args := range commands {
		for _, columns := range widths() {
			text, notes := printed(t, columns, args...)
			if args[0] == "run" || args[0] == "batch" { // their tables go to standard error
				text += notes
			}
			var lines []string
			for line := range strings.Lines(text) {
				if as := func(prefix string) bool { return strings.HasPrefix(line, prefix) }; !as("mrlocal: ") && !as("# ") && !as("profile: ") {
					lines = append(lines, line)
				}
			}
			fits(t, strings.Join(lines, ""), columns, args...)
		}
	}
}

// TestOneThingIsNotSeveral: in what the commands say of one job with one map and one reduce, in one slot each, no 1
// stands before a plural.
func TestOneThingIsNotSeveral(t *testing.T) {
	dir := t.TempDir()
	one, events := filepath.Join(dir, "one.yaml"), filepath.Join(dir, "e.jsonl")
	if err := os.WriteFile(one, []byte("cluster: {trackers: 1, map_slots: 1, reduce_slots: 1}\njobs:\n  - {name: A, maps: 1, reduces: 1, map_time: 10ms, reduce_time: 5ms}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	several := regexp.MustCompile(`(?m)(^|[^\d.,:=/-])1 ([a-z]+ )?(maps|reduces|slots|jobs|tasks|moves|loans|runs|seeds|attempts|decisions|trackers|times|rounds|bytes|lines|rows|pools|pairs|figures|checks|comparisons)\b.*`)
	for _, args := range [][]string{
		{"sim", one, "--sched", "fair,pi-dhfs", "--events", events}, {"sim", one, "--verbose", "--gantt"}, {"sim", one, "--sched", "dynsplit"},
		{"explain", events + ".fair"}, {"explain", events + ".fair", "--why-idle", "0"}, {"explain", events + ".fair", "--task", "0/r/0"},
		{"explain", events + ".pi-dhfs", "--job", "A"}, {"compare", events + ".fair", events + ".pi-dhfs"}, {"replay", events + ".fair"},
		{"show", events + ".fair", "--gantt"}, {"show", events + ".fair", "--svg", filepath.Join(dir, "one.svg")}, {"sweep", one, "--map-slots", "1..2"},
		{"workload", "generate", "--jobs", "1"}, {"run", "randomtext", "--bytes", "64KiB", "--output", filepath.Join(dir, "out"), "--map-slots", "1", "--reduce-slots", "0", "--verbose"},
		{"reproduce", "fig4"},
	} {
		out, notes := printed(t, "", args...)
		if picture, err := os.ReadFile(args[len(args)-1]); err == nil && strings.HasSuffix(args[len(args)-1], ".svg") {
			out += string(picture)
		}
		if found := several.FindString(out + notes); found != "" {
			t.Errorf("%v: %s", args, found)
		}
	}
}
