package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A library names fields of its options (Options.MemoryBytes). Only the command knows the flags that
// set them, and translates (errs.Word). The help of a setting (setting.Of) is for users
// of the command. Packages stream and submit read and write the command lines of children, so only their errors are
// checked.
func TestLibrariesSpeakOfFieldsAndNotOfFlags(t *testing.T) {
	flag := regexp.MustCompile("[\"` (]--[a-z]")
	fset, all := load(t)
	for _, s := range all {
		if matchesAny([]string{"cmd/mrlocal", "internal/flags", "internal/term", "examples/...", "bench/..."}, s.pkg) {
			continue
		}
		check := func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isSetting(call) {
				return false
			}
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && flag.MatchString(text.Value) {
				t.Errorf("%v: %s names a flag", fset.Position(n.Pos()), text.Value)
			}
			return true
		}
		if !matchesAny([]string{"hadoop/stream", "hadoop/submit"}, s.pkg) {
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

// A name of a field in the text of an error is an argument (errs.Field), which errs.Word finds. Nobody searches texts
// for names of fields, because words of the user may look like them.
func TestFieldsInTextsAreArguments(t *testing.T) {
	field := regexp.MustCompile(`\b(Options|Submission)\.[A-Z]`)
	fset, all := load(t)
	for _, s := range all {
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !makesError(call) {
				return true
			}
			texts := call.Args // with the object, which Fieldf marks as fields
			if call.Fun.(*ast.SelectorExpr).Sel.Name == "Fieldf" {
				texts = texts[1:]
			}
			for _, arg := range texts {
				if text, ok := arg.(*ast.BasicLit); ok && field.MatchString(text.Value) {
					t.Errorf("%v: %s names a field", fset.Position(arg.Pos()), text.Value)
				}
			}
			return true
		})
	}
}

// isSetting reports whether call is setting.Of, a line of a table of settings.
func isSetting(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := fun.X.(*ast.Ident)
	return ok && pkg.Name == "setting" && fun.Sel.Name == "Of"
}

// The object of an error of a library is as package errs says at Error. It is a field of the
// options without the value, or a thing behind a word that says what it is. The name of a flag,
// such as control-cycle, or of a key is not such an object.
func TestLibrariesNameFieldsAsTheObjectOfAnError(t *testing.T) {
	field := `(Options|Submission)\.([A-Z]\w*)?(\.[A-Z]\w*)*\[?` // an index may follow
	object := regexp.MustCompile(`^(` + field + `(, ` + field + `)*|` + strings.Join(thingsWithNames(), "|") + `)?$`)
	fset, all := load(t)
	seen := 0
	for _, s := range all {
		if matchesAny([]string{"cmd/mrlocal", "internal/flags", "internal/term", "examples/...", "hadoop/...", "view/web/...", "view/lesson", "bench/...", "hadoop/stream", "hadoop/streaming/...", "hadoop/submit", "slots/explain", "internal/datagen"}, s.pkg) {
			continue // they have no Options, or answer questions that a user has typed
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || !makesError(call) {
				return true
			}
			fun := call.Fun.(*ast.SelectorExpr)
			if fun.Sel.Name != "Optionf" && fun.Sel.Name != "Fieldf" {
				return true
			}
			for text, whole := range objectTexts(call.Args[0]) {
				if seen++; !object.MatchString(text) || whole && strings.HasSuffix(text, " ") {
					t.Errorf("%v: the object %q is not a field (Options.Field), and no thing that package errs lists", fset.Position(n.Pos()), text)
				}
			}
			return true
		})
	}
	if seen < 50 {
		t.Errorf("only %d objects found", seen)
	}
}

// thingsWithNames are the words before a name that is not a field, and what a process has.
func thingsWithNames() []string {
	return []string{"job( )?", "output ", "policy", "temp directory ", "resume directory ", "standard output", "open files", "threads", "address space", "-"}
}

// objectTexts returns the literal beginning of an object, and whether it is the whole object. A
// format of Sprintf would hold a value.
func objectTexts(e ast.Expr) map[string]bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return map[string]bool{text: true}
	case *ast.BinaryExpr:
		first := e
		for {
			left, ok := first.X.(*ast.BinaryExpr)
			if !ok {
				break
			}
			first = left
		}
		if lit, ok := first.X.(*ast.BasicLit); ok {
			text, _ := strconv.Unquote(lit.Value)
			return map[string]bool{text: false}
		}
	case *ast.CallExpr:
		if fun, ok := e.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "TrimSpace" {
			return objectTexts(e.Args[0])
		} else if ok && fun.Sel.Name == "Sprintf" {
			return map[string]bool{"Sprintf": true}
		}
	}
	return nil // a path, or what a caller was given
}

// makesError reports whether a call makes an error from a text.
func makesError(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Optionf", "Fieldf", "Inputf", "Errorf", "New"}, fun.Sel.Name)
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
