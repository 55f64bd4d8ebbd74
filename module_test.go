package mrlocal_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A user's program lives in a module of its own. The test makes one with
// README.md's own commands and runs examples/job there, and makes another one
// in a workspace.
func TestAProgramInAnotherModule(t *testing.T) {
	t.Parallel() // it waits for the compiler
	if testing.Short() {
		t.Skip("builds programs")
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	const files = "echo the quick fox > a.txt; echo the lazy dog, the > b.txt\n"
	replace := readmeCommands(t)
	setUp, _, _ := strings.Cut(replace, "go mod edit")
	workspace := setUp + "go work init . ../mrlocal\ngo run . ../mrlocal/docs/adr\n"
	for name, script := range map[string]string{"replace": replace, "workspace": workspace} {
		t.Run(name, func(t *testing.T) {
			// With the directory of this module, not a copy, the build takes what is in the build cache.
			script = strings.NewReplacer("../mrlocal/docs/adr", "../a.txt ../b.txt", "../mrlocal", "'"+root+"'").Replace(script)
			cmd := exec.Command("sh", "-e", "-c", files+script)
			cmd.Dir = t.TempDir()
			cmd.Env = fromTheCache(t)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr.String())
			}
			const want = "dog\tb.txt\nfox\ta.txt\nlazy\tb.txt\nquick\ta.txt\nthe\ta.txt,b.txt\n"
			if got := string(out); got != want {
				t.Errorf("output %q, want %q", got, want)
			}
		})
	}
}

// fromTheCache returns the environment of a go command in another module. The command finds each module in the
// module cache. A build of this module needs less than a tidy module does, so go mod download fetches what is missing.
func fromTheCache(t *testing.T) []string {
	t.Helper()
	if out, err := exec.Command("go", "mod", "download").CombinedOutput(); err != nil {
		t.Fatalf("go mod download: %v\n%s", err, out)
	}
	return append(os.Environ(), "GOWORK=", "GOPROXY=off", "GOSUMDB=off")
}

// readmeCommands returns the indented block below README.md's words on a module
// of one's own.
func readmeCommands(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "module of its own")
	var commands strings.Builder
	for line := range strings.SplitSeq(after, "\n") {
		command, indented := strings.CutPrefix(line, "    ")
		if indented {
			commands.WriteString(command + "\n")
		} else if commands.Len() > 0 && line != "" {
			break
		}
	}
	if commands.Len() == 0 {
		t.Fatal("README.md has no commands for a module of one's own")
	}
	return commands.String()
}

// prefaceOfGo has the declarations that the blocks in the documents lack, and all their imports.
const prefaceOfGo = `package main

import (
	"context"
	"os"
	"strings"

	"mrlocal"
	"mrlocal/jobs"
	"mrlocal/jobs/typed"
	"mrlocal/hadoop/stream"
)

var (
	ctx      context.Context
	chain    jobs.Chain
	mapLines func(jobs.Block, jobs.Emitter) error
	_        = stream.Main
	_        = strings.Fields
	_        typed.Pair[int, int]
	_        = os.Args
	_        mrlocal.Options
)

func main() {}
`

// Each block of Go in the documents for users is the body of a function, and compiles in a module
// of the user's own.
func TestTheDocumentsLinesOfGoCompile(t *testing.T) {
	t.Parallel() // it waits for the compiler
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	program, blocks := prefaceOfGo, 0
	for _, name := range append(documents, "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n```go\n")[1:] {
			block, _, _ := strings.Cut(part, "\n```")
			used := ""
			if strings.Contains(block, "report, err := ") {
				used = "_, _ = report, err"
			}
			program += fmt.Sprintf("\nfunc _() {\n//line %s:1\n%s\n%s\n}\n", name, block, used)
			blocks++
		}
	}
	if blocks < 3 {
		t.Fatalf("%d blocks of Go", blocks)
	}
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-e", "-c", "go mod init example.com/user; go mod edit -require=mrlocal@v0.0.0 -replace=mrlocal=\"$0\"; go mod tidy; go vet .", root)
	cmd.Dir = t.TempDir()
	cmd.Env = fromTheCache(t)
	if err := os.WriteFile(filepath.Join(cmd.Dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheExampleOfAJobIsShort(t *testing.T) {
	text, err := os.ReadFile("examples/job/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(text), "\n"); lines > 60 {
		t.Errorf("examples/job/main.go has %d lines; at most 60", lines)
	}
}
