package mrlocal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mrlocal"
)

// TestTheDocumentationNamesEachField: go doc shows no fields of an alias, so its comment has to.
func TestTheDocumentationNamesEachField(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "mrlocal.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile(`\w+`)
	said := map[string][]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, is := n.(*ast.TypeSpec); is {
			said[s.Name.Name] = word.FindAllString(s.Doc.Text(), -1)
		}
		return true
	})
	for name, of := range map[string]any{"Options": mrlocal.Options{}, "JobOptions": mrlocal.JobOptions{}, "Config": mrlocal.Config{}, "KVBuffer": mrlocal.KVBuffer{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if len(field.Index) == 1 && field.IsExported() && !slices.Contains(said[name], field.Name) {
				t.Errorf("the comment of %s does not name %s", name, field.Name)
			}
		}
	}
}

// TestExamplesImportOnlyWhatIsPromised: the package comment lists the packages for users, and examples need no others.
func TestExamplesImportOnlyWhatIsPromised(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "mrlocal.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(f.Doc.Text(), "# What is promised")
	list, _, _ = strings.Cut(list, "All other packages")
	promised := regexp.MustCompile(`[\w/]+`).FindAllString(list, -1)
	files, err := filepath.Glob("examples/*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"mrlocal/([\w/]+)"`).FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(promised, m[1]) && !strings.HasPrefix(m[1], "internal/") {
				t.Errorf("%s imports mrlocal/%s, which is not promised", path, m[1])
			}
		}
	}
	for _, p := range promised {
		if _, err := os.Stat(p); strings.Contains(p, "/") && err != nil {
			t.Errorf("%s is promised and is no package", p)
		}
	}
}
