package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mrlocal/slots/policy/registry"
)

// TestDocsNameWhatExists: every function that docs/policies.md gives for a
// clause is declared, and every policy has a section.
func TestDocsNameWhatExists(t *testing.T) {
	text, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := declarations(t, "..", "../fifo", "../demand", ".", "omo", "dynsplit", "ras", "dynamicmr", "../../cmd/mrlocal/internal/tune", "../../cmd/mrlocal/internal/jobprofile",
		"../../spill", "../../engine", "../../sim", "../../bench/reproduce", "../../bench/workloads")
	code := regexp.MustCompile("`([A-Za-z][A-Za-z0-9]*(?:\\.[A-Za-z][A-Za-z0-9]*){0,2})`")
	names := 0
	for i, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 && len(cells) != 5 { // not a row of clause and function, and perhaps a tag
			continue
		}
		for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
			names++
			name := regexp.MustCompile(`^(policy|slots|fifo|omo|dynsplit|ras|dynamicmr|demand|tune|jobprofile)\.`).ReplaceAllString(m[1], "")
			if !declared[name] {
				t.Errorf("docs/policies.md:%d: there is no %s", i+1, m[1])
			}
		}
	}
	if names < 40 {
		t.Errorf("docs/policies.md names %d functions only", names)
	}
	for _, p := range registry.All() {
		if !strings.Contains(string(text), "\n## "+p.Name+":") {
			t.Errorf("docs/policies.md has no section on %s", p.Name)
		}
	}
}

// TestDocsHaveEveryClauseThatIsCited: whoever meets a clause's number in a comment
// finds it in docs/policies.md, among the clauses by number.
func TestDocsHaveEveryClauseThatIsCited(t *testing.T) {
	text, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, index, ok := strings.Cut(string(text), "\n## Clauses by number\n")
	if !ok {
		t.Fatal("docs/policies.md has no clauses by number")
	}
	number := regexp.MustCompile(`\b([ADMNOQRS])([0-9]{1,2})\b`)
	there := map[string]bool{}
	for _, line := range strings.Split(index, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		ids := number.FindAllString(cells[1], -1)
		for _, id := range ids {
			there[id] = true
		}
		if strings.Contains(cells[1], " to ") && len(ids) == 2 {
			from, _ := strconv.Atoi(ids[0][1:])
			to, _ := strconv.Atoi(ids[1][1:])
			for n := from; n < to; n++ {
				there[ids[0][:1]+strconv.Itoa(n)] = true
			}
		}
	}
	cited := 0
	for _, root := range []string{"..", "../../sim", "../../bench/reproduce", "../../bench/workloads", "../../workload"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, group := range f.Comments {
				for _, id := range number.FindAllString(group.Text(), -1) {
					cited++
					if !there[id] {
						t.Errorf("%s: %s, which docs/policies.md does not have", set.Position(group.Pos()), id)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if cited < 150 {
		t.Errorf("comments cite clauses %d times only", cited)
	}
}

// declarations are the functions, types, constants and fields of packages;
// methods and fields with their type's name before a dot.
func declarations(t *testing.T, dirs ...string) map[string]bool {
	all := map[string]bool{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				declare(all, d)
			}
		}
	}
	return all
}

func declare(all map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			receiver := d.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if id, ok := receiver.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		all[name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				all[s.Name.Name] = true
				if fields, ok := s.Type.(*ast.StructType); ok {
					for _, f := range fields.Fields.List {
						for _, n := range f.Names {
							all[s.Name.Name+"."+n.Name] = true
						}
					}
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					all[n.Name] = true
				}
			}
		}
	}
}
