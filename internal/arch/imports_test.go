package arch

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layerOf returns the layer of the longest pattern that matches pkg; -1: none matches.
func layerOf(pkg string) int {
	best, length := -1, -1
	for i, l := range layers() {
		for _, p := range l.packages {
			if matches(p, pkg) && len(strings.TrimSuffix(p, "/...")) > length {
				best, length = i, len(strings.TrimSuffix(p, "/..."))
			}
		}
	}
	return best
}

func mayImportBeside(from, to string) bool {
	for f, tos := range within() {
		if matches(f, from) && matchesAny(tos, to) {
			return true
		}
	}
	return false
}

func importsOf(s *source) []string {
	var paths []string
	for _, spec := range s.file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

func TestImportsGoDown(t *testing.T) {
	_, all := load(t)
	for _, s := range all {
		from := layerOf(s.pkg)
		if from < 0 {
			t.Errorf("%s: package %s stands in no layer: add it to layers in internal/arch/rules_test.go, and to the imports in ARCHITECTURE.md", s.path, s.pkg)
			continue
		}
		for _, p := range importsOf(s) {
			to, ours := strings.CutPrefix(p, module+"/")
			if !ours || s.pkg == to {
				continue
			}
			if l := layerOf(to); l > from || l == from && !mayImportBeside(s.pkg, to) {
				t.Errorf("%s imports %s: an arrow that runs up or across (%q to %q). What both need belongs below both; what only tests need belongs in a test",
					s.path, to, layers()[from].name, layers()[max(l, 0)].name)
			}
		}
	}
}

// TestForbiddenImports: net/url reaches no network, so it is free.
func TestForbiddenImports(t *testing.T) {
	_, all := load(t)
	for _, s := range all {
		for _, p := range importsOf(s) {
			for _, b := range bans() {
				if p != "net/url" && matches(b.imports, p) && matchesAny(b.from, s.pkg) && !matchesAny(b.except, s.pkg) {
					t.Errorf("%s imports %s: %s", s.path, p, b.reason)
				}
			}
		}
	}
}

// TestAPolicyIsKnownToItsTableAlone: a package below slots/policy that has Traits is a policy.
func TestAPolicyIsKnownToItsTableAlone(t *testing.T) {
	_, all := load(t)
	policies, unused := map[string]bool{}, policyImporters()
	for _, s := range all {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Traits" && matches("slots/policy/*", s.pkg) {
				policies[module+"/"+s.pkg] = true
			}
		}
	}
	for _, s := range all {
		for _, p := range importsOf(s) {
			if !policies[p] || matches("slots/policy/*", s.pkg) && s.pkg != "slots/policy/registry" {
				continue // policies build on one another
			}
			if policyImporters()[s.pkg] == "" {
				t.Errorf("%s imports %s: make policies by name, or list the package in policyImporters in internal/arch/rules_test.go", s.path, p)
			}
			delete(unused, s.pkg)
		}
	}
	for pkg := range unused {
		t.Errorf("%s is listed in policyImporters but imports no policy", pkg)
	}
}

// TestAPackageWithOneImporterIsANounOfItsOwn: a package that only answers one caller is a part of that
// caller, unless ownNouns has a reason.
func TestAPackageWithOneImporterIsANounOfItsOwn(t *testing.T) {
	_, all := load(t)
	importers := map[string]map[string]bool{}
	for _, s := range all {
		for _, p := range importsOf(s) {
			if to, ours := strings.CutPrefix(p, module+"/"); ours {
				if importers[to] == nil {
					importers[to] = map[string]bool{}
				}
				importers[to][s.pkg] = true
			}
		}
	}
	for pkg, by := range importers {
		reason, listed := ownNouns()[pkg]
		switch {
		case len(by) == 1 && !listed && !matchesAny(oneOfMany(), pkg):
			t.Errorf("%s has one importer: fold it in, or give the reason in ownNouns in internal/arch/rules_test.go", pkg)
		case len(by) > 1 && listed:
			t.Errorf("%s is listed in ownNouns (%s) but has %d importers", pkg, reason, len(by))
		}
	}
	for pkg := range ownNouns() {
		if len(importers[pkg]) == 0 {
			t.Errorf("%s is listed in ownNouns but nothing imports it", pkg)
		}
	}
}

// TestPoliciesShareWhatIsInTheirPackage: whatever slots/policy exports has a user outside of it.
// If there is one only, the package itself uses it too.
func TestPoliciesShareWhatIsInTheirPackage(t *testing.T) {
	_, all := load(t)
	exported, inside, outside := map[string]string{}, map[string]int{}, map[string]map[string]bool{}
	for _, s := range all {
		imports := slices.Contains(importsOf(s), module+"/slots/policy")
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && imports && x.Name == "policy" {
					if outside[n.Sel.Name] == nil {
						outside[n.Sel.Name] = map[string]bool{}
					}
					outside[n.Sel.Name][s.pkg] = true
				}
			case *ast.Ident:
				if s.pkg == "slots/policy" {
					inside[n.Name]++
				}
			}
			return true
		})
		if s.pkg == "slots/policy" {
			for _, name := range exports(s.file) {
				exported[name] = s.path
			}
		}
	}
	inTypes := map[string]bool{"Numbers": true, "Demand": true} // of what others call: nobody needs the name
	for name, path := range exported {
		if users := len(outside[name]); !inTypes[name] && (users == 0 || users == 1 && inside[name] == 1) {
			t.Errorf("%s: %s: %d packages use it; what one policy uses belongs to that policy, and what none uses is not exported", path, name, users)
		}
	}
}

// exports are the exported names that a file declares at its top, without methods.
func exports(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return !ast.IsExported(n) })
}
