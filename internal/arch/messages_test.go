package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A library names fields of its options (Options.MemoryBytes). Only the command
// knows the flags that set them, and translates (cmd/mrlocal/internal/argv). Packages stream and
// submit read and write the command lines of children, so only their errors are checked.
func TestLibrariesSpeakOfFieldsAndNotOfFlags(t *testing.T) {
	flag := regexp.MustCompile("[\"` (]--[a-z]")
	fset, all := load(t)
	for _, s := range all {
		if matchesAny([]string{"cmd/mrlocal/...", "examples/...", "bench/..."}, s.pkg) {
			continue
		}
		check := func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && flag.MatchString(text.Value) {
				t.Errorf("%v: %s names a flag", fset.Position(n.Pos()), text.Value)
			}
			return true
		}
		if !matchesAny([]string{"stream", "submit"}, s.pkg) {
			ast.Inspect(s.file, check)
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && makesError(call) {
				ast.Inspect(call, check)
			}
			return true
		})
	}
}

// makesError reports whether a call makes an error from a text.
func makesError(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Optionf", "Inputf", "Errorf", "New"}, fun.Sel.Name)
}

// Users do not know the packages below internal, so messages do not name them.
func TestErrorsDoNotNameInternalPackages(t *testing.T) {
	fset, all := load(t)
	for _, s := range all {
		if !strings.HasPrefix(s.pkg, "internal/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			text, literal := call.Args[0].(*ast.BasicLit)
			if ok && literal && (fun.Sel.Name == "Errorf" || fun.Sel.Name == "New") && strings.HasPrefix(text.Value, `"`+s.file.Name.Name+": ") {
				t.Errorf("%v: %s names the package", fset.Position(n.Pos()), text.Value)
			}
			return true
		})
	}
}
