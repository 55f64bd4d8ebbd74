package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"testing"
)

// A library names fields of its options (Options.MemoryBytes). Only the command
// knows the flags that set them, and translates (cmd/mrlocal/internal/argv).
func TestLibrariesSpeakOfFieldsAndNotOfFlags(t *testing.T) {
	flag := regexp.MustCompile("[\"` (]--[a-z]")
	fset, all := load(t)
	for _, s := range all {
		if matchesAny([]string{"cmd/mrlocal/...", "examples/...", "bench/..."}, s.pkg) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && flag.MatchString(text.Value) {
				t.Errorf("%v: %s names a flag", fset.Position(n.Pos()), text.Value)
			}
			return true
		})
	}
}
