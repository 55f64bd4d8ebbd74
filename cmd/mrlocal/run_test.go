package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"
)

// Whatever is special about a job is a field of NamedJob, so the commands that run jobs need no
// name of a job.
func TestCommandsKnowNoJobByName(t *testing.T) {
	names := map[string]bool{}
	for _, j := range Jobs() {
		names[j.Name] = true
	}
	var files []string
	for _, name := range []string{"run", "tune", "batch", "batchjobs", "sweep", "validate", "submit", "stream"} {
		found, err := filepath.Glob(name + ".go")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(names) < 15 || len(files) < 5 {
		t.Fatalf("%d jobs, %d files", len(names), len(files))
	}
	for _, path := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, _ := strconv.Unquote(l.Value); names[text] {
					t.Errorf("%s: %s: make it a field of NamedJob", set.Position(l.Pos()), l.Value)
				}
			}
			return true
		})
	}
}
