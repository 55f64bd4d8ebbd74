package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A user's job lives in a module of its own: the Example, built as a program
// outside of this tree.
func TestAUsersJobBuildsAsAModuleOutsideTheTree(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	example := read(t, "example_test.go")
	if lines := strings.Count(example[strings.Index(example, "// indexer"):], "\n"); lines >= 60 {
		t.Errorf("the example has %d lines, must stay under 60", lines)
	}
	program := strings.Replace(example, "package engine_test", "package main", 1)
	program = strings.Replace(program, "func Example()", "func main()", 1)
	write(t, filepath.Join(dir, "main.go"), program)
	write(t, filepath.Join(dir, "go.mod"), strings.Replace(read(t, "../go.mod"), "module mrlocal", "module outside", 1))
	write(t, filepath.Join(dir, "go.sum"), read(t, "../go.sum"))
	run(t, dir, "go", "mod", "edit", "-require=mrlocal@v0.0.0", "-replace=mrlocal="+root)
	run(t, dir, "go", "build", "-mod=mod", "-o", "index", ".")
	const want = "dog\tb.txt\nfox\ta.txt\nlazy\tb.txt\nquick\ta.txt\nthe\ta.txt,b.txt\n"
	if got := run(t, dir, filepath.Join(dir, "index")); got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, stderr.String())
	}
	return string(out)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
