package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
)

// quiet is mrlocal without streams.
func quiet() *flags.Program {
	return program(Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }})
}

// A flag that batch and sim share must be in a group.
func TestEachSharedFlagHasAHeading(t *testing.T) {
	in, heading := map[string]int{}, map[string]string{}
	quiet().Each(func(path []string, c *flags.Command) {
		if name := strings.Join(path, " "); name == "batch" || name == "sim" || name == "run sort" {
			for _, s := range c.Settings {
				in[s.Name]++
				heading[s.Name] = s.Group
			}
		}
	})
	for name, n := range in {
		if n > 1 && heading[name] == "" {
			t.Errorf("--%s has no heading", name)
		}
	}
}

// A flag that every job of run has belongs to no job, so it has a heading.
func TestAFlagOfAllJobsHasAHeading(t *testing.T) {
	in, without, jobs := map[string]int{}, map[string]int{}, 0
	quiet().Each(func(path []string, c *flags.Command) {
		if path[0] != "run" || len(path) < 2 {
			return
		}
		jobs++
		for _, s := range c.Settings {
			if in[s.Name]++; s.Group == "" {
				without[s.Name]++
			}
		}
	})
	for name, n := range without {
		if n == jobs {
			t.Errorf("--%s has no heading", name)
		}
	}
	if jobs < 20 || in["webhdfs"] != jobs {
		t.Errorf("%d jobs, %d with --webhdfs", jobs, in["webhdfs"])
	}
}

// A wrong value has the same message as a flag of run and as an arg of a workload file, which adds its place.
func TestAnArgHasTheMessageOfItsFlag(t *testing.T) {
	cases := 0
	for _, n := range Jobs() {
		for _, s := range n.New().Settings() {
			for _, text := range []string{"?", "-1", "0", ""} {
				wrong := setting.Named(n.New().Settings(), s.Name).Value.Set(text)
				if wrong == nil || s.Toggle() { // a toggle is true or false in a file
					continue
				}
				cases++
				want := fmt.Sprintf("--%s: %v\n", s.Name, wrong)
				if got := said(t, "", "run", n.Name, "--"+s.Name+"="+text); !strings.HasSuffix(got, want) {
					t.Errorf("run %s --%s=%s: %q, want %q", n.Name, s.Name, text, got, want)
				}
				file := fmt.Sprintf("jobs:\n- {name: a, job: %s, args: {%s: %q}}\n", n.Name, s.Name, text)
				want = fmt.Sprintf("standard input:2:%d: job a: %s: %v\n", strings.Index(file, s.Name+": ")-len("jobs:\n")+1, s.Name, wrong)
				if got := said(t, file, "batch", "-"); !strings.HasSuffix(got, want) {
					t.Errorf("batch: %s: %q, want %q", file, got, want)
				}
			}
		}
	}
	if t.Logf("%d wrong values", cases); cases < 200 {
		t.Error("too few")
	}
}

// said runs mrlocal and returns its standard error. The run must be refused.
func said(t *testing.T, stdin string, args ...string) string {
	var errors strings.Builder
	code := run(context.Background(), args, Env{Stdin: strings.NewReader(stdin), Stdout: io.Discard, Stderr: &errors, Getenv: func(string) string { return "" }})
	if code != Usage {
		t.Errorf("%q: exit code %d", args, code)
	}
	return errors.String()
}

// Every example of the help is a command line that the parser takes.
func TestExamplesAreCommandLines(t *testing.T) {
	some := 0
	quiet().Each(func(path []string, c *flags.Command) {
		for _, example := range c.Examples {
			words, ok := strings.CutPrefix(strings.ReplaceAll(example, "'== .* =='", "x"), "mrlocal "+strings.Join(path, " "))
			if strings.ContainsAny(words, "|>") || len(c.Sub) > 0 || !ok && len(path) == 1 {
				continue
			}
			some++
			if _, err := c.Parse(strings.Fields(words)); err != nil || !ok {
				t.Errorf("%s: %v", example, err)
			}
		}
	})
	if some < 20 {
		t.Errorf("only %d examples", some)
	}
}

// No two flags of a command have one name or one letter, and each has a help, unless the text of a tool has it.
func TestFlagsOfACommandDiffer(t *testing.T) {
	quiet().Each(func(path []string, c *flags.Command) {
		seen := map[string]bool{}
		for _, s := range c.Settings {
			if seen[s.Name] || s.Short != "" && s.Short != s.Name && seen[s.Short] {
				t.Errorf("%s: --%s stands twice", path, s.Name)
			}
			seen[s.Name], seen[s.Short] = true, true
			if s.Help == "" && !c.Tool {
				t.Errorf("%s: --%s has no help", path, s.Name)
			}
		}
	})
}

// bash runs the script in a process of its own and completes the last of the typed words.
func TestBashCompletesCommandsFlagsAndPolicies(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	script, err := quiet().Script("bash")
	if err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string][]string{
		"mrlocal re":                          {"replay", "reproduce"},
		"mrlocal run s":                       {"select", "self-join", "sequence-count", "sort", "streaming"},
		"mrlocal run kmeans --cl":             {"--clusters"},
		"mrlocal run sort --map":              {"--map-slots"},
		"mrlocal run grep wiki --sched pi-d":  {"pi-dhfs"},
		"mrlocal sim f.yaml --sched fair-def": {"fair-deficit"},
		"mrlocal run sort --pin ":             {"core", "none"},
		"mrlocal sort --rev":                  {"--reverse"},
		"mrlocal completion f":                {},
	} {
		words := strings.Split(typed, " ")
		ask := script + "\nCOMP_WORDS=("
		for _, w := range words {
			ask += "'" + w + "' "
		}
		ask += ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\ncd \"$(mktemp -d)\"\n_mrlocal\nprintf '%s\\n' \"${COMPREPLY[@]}\""
		c := exec.Command(bash, "-c", ask) // TestMain has put mrlocal into the PATH
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", typed, err, out)
		}
		if got := strings.Fields(string(out)); !slices.Equal(slices.Sorted(slices.Values(got)), want) && len(got)+len(want) > 0 {
			t.Errorf("%q completes to %q, want %q", typed, got, want)
		}
	}
}

// fish and zsh read their scripts without an error, if they are installed.
func TestOtherShellsReadTheirScripts(t *testing.T) {
	for _, shell := range []string{"zsh", "fish"} {
		script, err := quiet().Script(shell)
		if err != nil {
			t.Fatal(err)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here", shell)
			continue
		}
		c := exec.Command(path, "-n", "/dev/stdin")
		c.Stdin = strings.NewReader(script)
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
	if _, err := quiet().Script("tcsh"); err == nil {
		t.Error("tcsh has a script")
	}
}

// groff formats each page without a warning, if it is installed. Each page names the flags of its command.
func TestManualPagesDescribeTheirCommands(t *testing.T) {
	dir := t.TempDir()
	p := quiet()
	if err := p.WritePages(dir); err != nil {
		t.Fatal(err)
	}
	groff, missing := exec.LookPath("groff")
	var pages []string
	p.Each(func(path []string, c *flags.Command) {
		name := filepath.Join(dir, "mrlocal-"+strings.Join(path, "-")+".1")
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Settings {
			if plain := strings.ReplaceAll(string(page), `\-`, "-"); !strings.Contains(plain, "-"+s.Name) && (s.Help != "" || !c.Tool) {
				t.Errorf("%s does not have --%s", name, s.Name)
			}
		}
		pages = append(pages, name)
	})
	if missing == nil {
		g := exec.CommandContext(t.Context(), groff, append([]string{"-man", "-Tascii", "-ww", "-z"}, pages...)...)
		if out, err := g.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v: %s", err, out)
		}
	}
	if missing != nil && !errors.Is(missing, exec.ErrNotFound) {
		t.Error(missing)
	}
	if _, err := p.Page([]string{"run", "srot"}); err == nil {
		t.Error("there is a page of no command")
	}
}
