// Package arch has the rules of the project as tests. There are rules on the imports of a
// package and on the length of a function. Others say which files may start goroutines, and
// which calls only the command may make. Each failure gives the reason of the rule.
//
// The package has only tests, and exports nothing. It parses the sources of the module,
// which takes less than a second.
package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "mrlocal"

// source is one Go file of the module that is not a test.
type source struct {
	path string // below the module, with slashes
	pkg  string // its folder; "": the root of the module
	file *ast.File
	code []bool // by line, from 1: the line holds code
}

func (s *source) lines(from, to int) int {
	n := 0
	for line := from; line <= to && line < len(s.code); line++ {
		if s.code[line] {
			n++
		}
	}
	return n
}

// load returns the module's sources. They are read once for all tests, which only read them.
func load(t *testing.T) (*token.FileSet, []*source) {
	t.Helper()
	m := parsed()
	if m.err != nil {
		t.Fatal(m.err)
	}
	return m.fset, m.all
}

type sources struct {
	fset *token.FileSet
	all  []*source
	err  error
}

var parsed = sync.OnceValue(func() (m sources) {
	m.fset = token.NewFileSet()
	root, err := filepath.Abs("../..")
	if err != nil {
		m.err = err
		return m
	}
	m.err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != root && (base == "testdata" || name == filepath.Join(root, ".ci/tools") || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(m.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		below, _ := filepath.Rel(root, name)
		below = filepath.ToSlash(below)
		pkg := path.Dir(below)
		if pkg == "." {
			pkg = ""
		}
		m.all = append(m.all, &source{path: below, pkg: pkg, file: file, code: codeLines(text)})
		return nil
	})
	if m.err == nil && len(m.all) < 20 {
		m.err = fmt.Errorf("only %d sources found below %s", len(m.all), root)
	}
	return m
})

// codeLines marks the lines that hold a token other than a comment.
func codeLines(text []byte) []bool {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	code := make([]bool, bytes.Count(text, []byte("\n"))+2)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return code
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // the scanner has inserted the semicolon
		}
		first := file.Line(pos)
		for line := first; line <= first+strings.Count(lit, "\n"); line++ {
			code[line] = true
		}
	}
}

// matches reports whether pattern matches pkg. A pattern is a package. With "/..." it matches the
// package and all packages below it, with "/*" only those below it. "..." matches all packages.
func matches(pattern, pkg string) bool {
	if pattern == "..." || pattern == pkg {
		return true
	}
	if above, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(pkg, above)
	}
	below, ok := strings.CutSuffix(pattern, "/...")
	return ok && (pkg == below || strings.HasPrefix(pkg, below+"/"))
}

func matchesAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

func TestForbiddenCalls(t *testing.T) {
	fset, all := load(t)
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for _, b := range callBans() {
				prefix, glob := strings.CutSuffix(b.name, "*")
				named := sel.Sel.Name == b.name || glob && strings.HasPrefix(sel.Sel.Name, prefix)
				if pkg.Name == b.pkg && named && matchesAny(b.from, s.pkg) && !matchesAny(b.except, s.pkg) {
					t.Errorf("%s:%d: %s.%s: %s", s.path, fset.Position(n.Pos()).Line, b.pkg, sel.Sel.Name, b.reason)
				}
			}
			return true
		})
	}
}

func TestGoroutinesStartOnlyInListedFiles(t *testing.T) {
	fset, all := load(t)
	listed := map[string]bool{}
	for _, f := range goroutineFiles() {
		listed[f] = false
	}
	table, err := os.ReadFile("../../docs/goroutines.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if startsGoroutine(n) {
				if _, in := listed[s.path]; !in {
					t.Errorf("%s:%d: starts a goroutine; list the file in internal/arch/rules_test.go and say in docs/goroutines.md who owns it and how it ends", s.path, fset.Position(n.Pos()).Line)
				}
				listed[s.path] = true
			}
			return true
		})
	}
	for f, used := range listed {
		if !used {
			t.Errorf("%s is listed but starts no goroutine", f)
		}
		if !bytes.Contains(table, []byte("`"+f+"`")) {
			t.Errorf("%s: docs/goroutines.md has no row for it", f)
		}
	}
}

// startsGoroutine reports whether a node is a go statement or a call of a method Go or TryGo.
func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && (sel.Sel.Name == "Go" || sel.Sel.Name == "TryGo")
	}
	return false
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	_, all := load(t)
	docs := map[string][]string{}
	for _, s := range all {
		if _, ok := docs[s.pkg]; !ok {
			docs[s.pkg] = nil
		}
		if s.file.Doc == nil {
			continue
		}
		text := s.file.Doc.Text()
		docs[s.pkg] = append(docs[s.pkg], s.path)
		if start := "Package " + s.file.Name.Name + " "; !strings.HasPrefix(text, start) && s.file.Name.Name != "main" {
			t.Errorf("%s: the package comment starts with %q", s.path, start)
		}
		if len(text) < leastPackageDoc {
			t.Errorf("%s: the package comment says what the package is, why, who owns memory, what its neighbours are; %d characters cannot", s.path, len(text))
		}
	}
	for pkg, files := range docs {
		if len(files) != 1 {
			t.Errorf("package %q has %d package comments, not one: %v", pkg, len(files), files)
		}
	}
}

func TestSizesStayInBudget(t *testing.T) {
	fset, all := load(t)
	var functions []int
	for _, s := range all {
		n := s.lines(1, len(s.code)-1)
		if n > mostFileLines {
			t.Errorf("%s: %d lines of code, at most %d: split it by what it is about", s.path, n, mostFileLines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			n := s.lines(fset.Position(f.Pos()).Line, fset.Position(f.End()).Line)
			functions = append(functions, n)
			most := mostFunctionLines
			if strings.Contains(f.Doc.Text(), "hot:") || hasHotComment(s.file, f) {
				most = mostHotFunctionLines
			}
			if n > most {
				t.Errorf("%s:%d: %s has %d lines of code, at most %d: give its parts names", s.path, fset.Position(f.Pos()).Line, f.Name.Name, n, most)
			}
		}
	}
	slices.Sort(functions)
	if p90 := functions[len(functions)*9/10]; p90 > mostP90FunctionLines {
		t.Errorf("nine of ten functions have at most %d lines of code, not %d", p90, mostP90FunctionLines)
	}
}

// An assignment such as a, b, c = x, y, z holds more than a reader takes in. A few are fine, as for figures that
// belong together.
func TestFewAssignmentsHaveManyTargets(t *testing.T) {
	fset, all := load(t)
	lines := 0
	var found []string
	for _, s := range all {
		lines += s.lines(1, len(s.code)-1)
		for _, at := range manyTargets(s.file) {
			found = append(found, fmt.Sprintf("%s:%d", s.path, fset.Position(at).Line))
		}
	}
	if most := lines / 1000; len(found) > most {
		t.Errorf("%d assignments to three targets or more, at most %d (1 per 1,000 lines of code): split some of\n%s", len(found), most, strings.Join(found, "\n"))
	}
}

// manyTargets returns the places of assignments and declarations with as many values as targets, and at least three.
func manyTargets(file *ast.File) (at []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		targets, values := 0, 0
		switch n := n.(type) {
		case *ast.AssignStmt:
			targets, values = len(n.Lhs), len(n.Rhs)
		case *ast.ValueSpec:
			targets, values = len(n.Names), len(n.Values)
		}
		if targets >= 3 && targets == values {
			at = append(at, n.Pos())
		}
		return true
	})
	return at
}

// hasHotComment reports whether a function has a comment "// hot:" in its body.
func hasHotComment(file *ast.File, f *ast.FuncDecl) bool {
	for _, g := range file.Comments {
		if g.Pos() > f.Pos() && g.End() < f.End() && strings.HasPrefix(g.Text(), "hot:") {
			return true
		}
	}
	return false
}

// TestHotLoopsAreMeasured: the mark of a hot function has a reason, and bench/loops.sh
// runs benchmarks of its package, or of one above or below it.
func TestHotLoopsAreMeasured(t *testing.T) {
	fset, all := load(t)
	script, err := os.ReadFile("../../bench/loops.sh")
	if err != nil {
		t.Fatal(err)
	}
	var measured []string
	for word := range strings.FieldsSeq(string(script)) {
		if pkg, ok := strings.CutPrefix(word, "./"); ok {
			measured = append(measured, pkg)
		}
	}
	for _, s := range all {
		isNear := func(pkg string) bool {
			return pkg == s.pkg || strings.HasPrefix(pkg, s.pkg+"/") || strings.HasPrefix(s.pkg, pkg+"/")
		}
		for _, g := range s.file.Comments {
			for _, c := range g.List {
				why, hot := strings.CutPrefix(c.Text, "// hot:")
				if hot && strings.TrimSpace(why) == "" {
					t.Errorf("%s: hot, and why?", fset.Position(c.Pos()))
				}
				if hot && !slices.ContainsFunc(measured, isNear) {
					t.Errorf("%s: no line of bench/loops.sh runs benchmarks of package %s", fset.Position(c.Pos()), s.pkg)
				}
			}
		}
	}
}

// TestTransitionsAreMade: the tests of a package check each enum of states (invariant.State), and
// that they make each transition of its table.
func TestTransitionsAreMade(t *testing.T) {
	_, all := load(t)
	enums := map[string]int{}
	for _, s := range all {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && listsStates(f) {
				enums[s.pkg]++
			}
		}
	}
	for pkg, n := range enums {
		tests, err := filepath.Glob("../../" + pkg + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		var text []byte
		for _, name := range tests {
			test, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, test...)
		}
		if got := bytes.Count(text, []byte("testkit.CheckStates(t, ")); got != n {
			t.Errorf("%s: %d enums of states, and testkit.CheckStates checks %d", pkg, n, got)
		}
		if !bytes.Contains(text, []byte("testkit.Transitions{M: m}")) {
			t.Errorf("%s: TestMain does not run the tests by testkit.Transitions, so a table may list too much", pkg)
		}
	}
	if len(enums) < 5 {
		t.Errorf("only %d packages have enums of states", len(enums))
	}
}

// listsStates reports whether f is the method Next of an invariant.State.
func listsStates(f *ast.FuncDecl) bool {
	if f.Name.Name != "Next" || f.Recv == nil || f.Type.Results.NumFields() != 1 {
		return false
	}
	list, ok := f.Type.Results.List[0].Type.(*ast.ArrayType)
	if !ok {
		return false
	}
	of, ok := list.Elt.(*ast.Ident)
	recv, isType := f.Recv.List[0].Type.(*ast.Ident)
	return ok && isType && of.Name == recv.Name
}

func TestNoInitAndNoVariableState(t *testing.T) {
	fset, all := load(t)
	for _, s := range all {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "init" && d.Recv == nil {
					t.Errorf("%s:%d: func init: what has to be set up is set up by a constructor", s.path, fset.Position(d.Pos()).Line)
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR {
					checkVariables(t, fset, s, d)
				}
			}
		}
	}
}

// checkVariables allows package variables that are set only by their declaration: sentinel errors,
// tables, embedded files, assertions that a type implements an interface. invariant.Moves changes in
// checked builds only.
func checkVariables(t *testing.T, fset *token.FileSet, s *source, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		for i, name := range v.Names {
			if name.Name == "_" || s.pkg == "internal/testkit" || s.pkg == "internal/invariant" && name.Name == "Moves" || embedded(d, v) {
				continue
			}
			where := fmt.Sprintf("%s:%d", s.path, fset.Position(name.Pos()).Line)
			if i >= len(v.Values) {
				t.Errorf("%s: var %s has no value: package variables that change are hidden arguments", where, name.Name)
			} else if assigned(s.file, name) {
				t.Errorf("%s: var %s is assigned to: package variables that change are hidden arguments", where, name.Name)
			}
		}
	}
}

// embedded reports whether the declaration d of v embeds files of the repository as a type that never changes.
func embedded(d *ast.GenDecl, v *ast.ValueSpec) bool {
	if text, ok := v.Type.(*ast.Ident); ok && d.Doc != nil {
		return text.Name == "string" && strings.Contains(d.Doc.List[len(d.Doc.List)-1].Text, "go:embed")
	}
	t, ok := v.Type.(*ast.SelectorExpr)
	return ok && t.Sel.Name == "FS"
}

// assigned reports whether file assigns to the package variable, judged by its
// name where no function declares the same one.
func assigned(file *ast.File, name *ast.Ident) bool {
	found, local := false, false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && id.Name == name.Name {
					found = found || n.Tok != token.DEFINE
					local = local || n.Tok == token.DEFINE
				}
			}
		case *ast.IncDecStmt:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == name.Name {
				found = true
			}
		case *ast.Field:
			for _, id := range n.Names {
				local = local || id.Name == name.Name
			}
		}
		return true
	})
	return found && !local
}

func TestUnsafeHasASafeTwin(t *testing.T) {
	_, all := load(t)
	have := map[string]bool{}
	for _, s := range all {
		have[s.path] = true
	}
	for _, s := range all {
		if !slices.Contains(importsOf(s), "unsafe") {
			continue
		}
		stem, ok := strings.CutSuffix(s.path, "_unsafe.go")
		if !ok || !have[stem+"_safe.go"] {
			t.Errorf("%s imports unsafe: it belongs in a file *_unsafe.go with a twin *_safe.go under the build tag safe, and a fuzz test that they agree", s.path)
		}
	}
}

func TestTheRulesSeeWhatTheyForbid(t *testing.T) {
	for pkg, want := range map[string]string{
		"": "front door", "cmd/mrlocal": "programs", "internal/errs": "errors", "internal/order": "internal", "jobs": "ground", "jobs/grep": "jobs",
		"slots": "data and slots", "slots/policy": "policies", "slots/policy/policytest": "suite of policies",
		"engine": "drivers", "spill": "kvbuffer",
	} {
		if got := layerOf(pkg); got < 0 || layers()[got].name != want {
			t.Errorf("package %q: layer %d, want %s", pkg, got, want)
		}
	}
	if layerOf("nonsense") >= 0 {
		t.Error("an unknown package stands in a layer")
	}
	if got := codeLines([]byte("package x\n\n// c\nvar a = `1\n2`\n")); fmt.Sprint(got[1:6]) != "[true false false true true]" {
		t.Errorf("code lines %v", got)
	}
	const many = "package x\nfunc f() {\n a, b, c := 1, 2, 3\n a, b, c = g()\n a, b = b, a\n var d, e, f = a, b, c\n}"
	if file, err := parser.ParseFile(token.NewFileSet(), "", many, parser.SkipObjectResolution); err != nil || len(manyTargets(file)) != 2 {
		t.Errorf("%d assignments to many targets, not 2 (%v)", len(manyTargets(file)), err)
	}
}
