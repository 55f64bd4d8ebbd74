package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/slots/policy/registry"
)

// A flag that batch and sim share must be in a group.
func TestEachSharedFlagHasAHeading(t *testing.T) {
	in := map[string]int{}
	for _, c := range documentedCommands() {
		if name := strings.Join(c.Path, " "); name == "batch" || name == "sim" || name == "run sort" {
			for _, f := range c.Flags {
				in[f.Name]++
			}
		}
	}
	for name, n := range in {
		if n > 1 && groupOf(name) == "" {
			t.Errorf("--%s has no heading", name)
		}
	}
}

// Every example of the help is a command line that the parser takes.
func TestExamplesAreCommandLines(t *testing.T) {
	some := 0
	for _, c := range documentedCommands() {
		for _, example := range examplesOf(c.Path) {
			words, ok := strings.CutPrefix(example, "mrlocal ")
			if !ok || strings.ContainsAny(words, "|>") {
				continue
			}
			some++
			words = strings.ReplaceAll(words, "'== .* =='", "x")
			if _, err := argv.Parse(strings.Fields(words), leaves(all())); err != nil {
				t.Errorf("%s: %v", example, err)
			}
		}
	}
	if some < 20 {
		t.Errorf("only %d examples", some)
	}
}

// bash runs the script in a process of its own and completes the last of the typed words.
func TestBashCompletesCommandsFlagsAndPolicies(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	script, err := completionScript([]string{"bash"}, documentedCommands(), registry.Names())
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
		out, err := exec.Command(bash, "-c", ask).CombinedOutput()
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
		script, err := completionScript([]string{shell}, documentedCommands(), registry.Names())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(script, "table") && strings.Count(script, "pi-dhfs") == 0 {
			t.Errorf("%s: no policy", shell)
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
	if _, err := completionScript([]string{"tcsh"}, nil, nil); err == nil {
		t.Error("tcsh has a script")
	}
}

func TestTheManualPageOfACommandDescribesIt(t *testing.T) {
	pages := manualPages(documentedCommands(), appHelp)
	for name, want := range map[string]string{
		"gen":  ".B mrlocal gen\n[FLAGS] KIND DIR_OR_FILE\n.SH DESCRIPTION\nKIND is one of these:\n.nf\n  wiki ",
		"sort": ".B mrlocal sort\n[FLAGS] [FILE]...\n.SH DESCRIPTION\nWrites the sorted lines",
	} {
		if page := pages["mrlocal-"+name]; !strings.Contains(page, want) {
			t.Errorf("%s lacks %q: %s", name, want, page)
		}
	}
}

// groff formats each page without a warning, if it is installed.
func TestManualPagesAreWellFormed(t *testing.T) {
	groff, err := exec.LookPath("groff")
	pages := manualPages(documentedCommands(), appHelp)
	if len(pages) < 20 {
		t.Fatalf("%d pages", len(pages))
	}
	for name, page := range pages {
		if strings.Contains(page, "`") {
			t.Errorf("%s has a backquote", name)
		}
		if bare := regexp.MustCompile(`(?m)^\.B (-.*)\n$`).FindStringSubmatch(page); bare != nil {
			t.Errorf("%s: %s has no description", name, bare[1])
		}
		if err != nil {
			continue
		}
		c := exec.Command(groff, "-man", "-Tascii", "-ww", "-z")
		c.Stdin = strings.NewReader(page)
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	if err != nil {
		t.Log("groff is not here")
	}
}
