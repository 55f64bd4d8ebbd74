package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
)

// literals calls f for each literal string of the Go files below dir that are not tests, and for the
// call whose argument it is; nil: it is not an argument.
func literals(t *testing.T, dir string, f func(at token.Position, text string, call *ast.CallExpr)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		calls := map[ast.Expr]*ast.CallExpr{}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				for _, a := range n.Args {
					calls[a] = n
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					f(set.Position(n.Pos()), text, calls[n])
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A command asks its line and its settings for flags by name. A name that no command has is a typo.
func TestEachFlagThatCodeAsksForExists(t *testing.T) {
	has := map[string]bool{}
	quiet().Each(func(_ []string, c *flags.Command) {
		for _, s := range c.Settings {
			has[s.Name] = true
		}
	})
	asked := 0
	literals(t, ".", func(at token.Position, text string, call *ast.CallExpr) {
		if call == nil {
			return
		}
		fun, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return
		}
		of, ok := fun.X.(*ast.Ident)
		if !ok || !slices.Contains([]string{"line.Has", "setting.Named", "setting.Without"}, of.Name+"."+fun.Sel.Name) {
			return
		}
		if asked++; !has[text] {
			t.Errorf("%v: no command has --%s", at, text)
		}
	})
	if asked < 10 {
		t.Errorf("only %d names found", asked)
	}
	// Lists of names: that of tools, and those of packages that know no command.
	for place, least := range map[string]int{"tools.go engineFlags": 17, "../../bench/study/plan.go title": 4, "../../workload/measured.go Signature": 5} {
		path, in, _ := strings.Cut(place, " ")
		names := listed(t, path, in)
		if len(names) < least {
			t.Errorf("%s: only the names %v", place, names)
		}
		for _, name := range names {
			if !has[name] {
				t.Errorf("%s: no command has --%s", place, name)
			}
		}
	}
}

// listed returns the words in a constant of the file at path, or the keys of the map and of the cases in a function.
func listed(t *testing.T, path, in string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(all ...ast.Expr) {
		for _, x := range all {
			if l, ok := x.(*ast.BasicLit); ok {
				names = append(names, strings.Fields(strings.Trim(l.Value, "\"`"))...)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return n.Name.Name == in
		case *ast.ValueSpec:
			if n.Names[0].Name == in {
				add(n.Values...)
			}
		case *ast.KeyValueExpr:
			add(n.Key)
		case *ast.CaseClause:
			add(n.List...)
		}
		return true
	})
	return names
}

// Libraries name fields in their errors. For each of them a command has a flag, unless a user sets it in
// a workload file, or cannot set it.
func TestEachFieldInATextIsAFlag(t *testing.T) {
	var all []setting.Setting
	quiet().Each(func(_ []string, c *flags.Command) { all = append(all, c.Settings...) })
	flagOf := setting.Fields(all, (*setting.Setting).Flag)
	keys := strings.Fields("Faults Pools Users Capacities GroupTrackers")
	code := strings.Fields("Found Note Warn Watch Progress Stdout Stderr ResumeSettings UTF16 Bytes Maps Files Context Multiline")
	seen := 0
	root := filepath.Join("..", "..")
	for _, dir := range []string{"engine", "hadoop", "input", "internal", "jobs", "output", "shuffle", "sim", "slots", "spill", "trace", "view", "workload"} {
		literals(t, filepath.Join(root, dir), func(at token.Position, text string, _ *ast.CallExpr) {
			for rest := text; ; {
				_, after, ok := strings.Cut(rest, "Options.")
				if !ok {
					return
				}
				rest = after
				name := after[:len(after)-len(strings.TrimLeftFunc(after, func(r rune) bool {
					return r == '.' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
				}))]
				name = strings.TrimRight(name, ".")
				if name == "" || slices.Contains(keys, name) || slices.Contains(code, name) {
					continue
				}
				if seen++; !strings.HasPrefix(flagOf("Options."+name), "-") {
					t.Errorf("%v: Options.%s is the field of no flag", at, name)
				}
			}
		})
	}
	if seen < 50 {
		t.Errorf("only %d fields found", seen)
	}
}
