package policy_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	mutantCount = flag.Int("mutants", 0, "how many mutants of each package to test with its own tests; 0: none")
	mutantSeed  = flag.Int("mutants-seed", 1, "draws other mutants")
	mutantsOf   = flag.String("mutants-of", "", "mutate this `PACKAGE` alone, such as slots/policy/ras")
)

// mutated are the packages whose code is mutated, and the further packages whose tests count.
var mutated = map[string][]string{
	"slots": {"slots/policy/..."}, "slots/policy": {"slots/policy/..."}, "slots/policy/capacity": nil,
	"slots/policy/dhfs": {"slots/policy/dynamicmr"}, "slots/policy/dynamicmr": nil, "slots/policy/dynsplit": nil,
	"slots/policy/fair": {"slots/policy/dynamicmr", "slots/policy/registry"}, "slots/policy/fifo": nil, "slots/policy/fresh": nil,
	"slots/policy/omo": nil, "slots/policy/ras": nil, "slots/policy/yarn": {"slots/policy/omo", "slots/policy/fresh"},
}

const (
	mutantsLeft = 0.05            // the greatest share of valid mutants that no test kills
	mutantTime  = 2 * time.Minute // a mutant whose test binary takes longer does not end
	mutantBytes = 6 << 30         // of address space, so that a mutant that allocates without end is killed
)

// mutant is one change of a file: the bytes from one offset to another become text.
type mutant struct {
	dir, file string
	from, to  int
	text      string
	name      string // the file and the line before and after the change, and which one of several alike it is
}

// number orders mutants at random, and in the same way when other code changes.
func (m *mutant) number() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, *mutantSeed, m.name)
	return h.Sum64()
}

// swapped has the operators and functions that replace each other. The first one of several moves a boundary.
var swapped = map[string][]string{
	"<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"}, "==": {"!="}, "!=": {"=="},
	"&&": {"||"}, "||": {"&&"}, "+": {"-"}, "-": {"+"}, "*": {"/"}, "/": {"*"}, "+=": {"-="}, "-=": {"+="},
	"++": {"--"}, "--": {"++"}, "min": {"max"}, "max": {"min"}, "true": {"false"}, "false": {"true"},
}

// mutantsIn returns all mutants of a file with source src.
func mutantsIn(t *testing.T, dir, file, src string) (all []mutant) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, file, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	change := func(from, to token.Pos, text string) {
		m := mutant{dir: dir, file: file, from: files.Position(from).Offset, to: files.Position(to).Offset, text: text}
		begin := strings.LastIndex(src[:m.from], "\n") + 1
		end := m.to + strings.Index(src[m.to:]+"\n", "\n")
		line := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		m.name = fmt.Sprintf("%s/%s: %s => %s", dir, file, line(src[begin:end]), cmp.Or(line(src[begin:m.from]+text+src[m.to:end]), "(nothing)"))
		if seen[m.name]++; seen[m.name] > 1 {
			m.name += fmt.Sprintf(" (%d)", seen[m.name])
		}
		all = append(all, m)
	}
	swap := func(at token.Pos, old string) {
		for _, text := range swapped[old] {
			change(at, at+token.Pos(len(old)), text)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			swap(n.OpPos, n.Op.String())
		case *ast.Ident:
			swap(n.Pos(), n.Name)
		case *ast.IfStmt:
			change(n.Cond.Pos(), n.Cond.End(), "!("+src[files.Position(n.Cond.Pos()).Offset:files.Position(n.Cond.End()).Offset]+")")
		case *ast.BasicLit:
			if n.Kind == token.INT {
				change(n.Pos(), n.End(), "("+n.Value+"+1)")
				change(n.Pos(), n.End(), "("+n.Value+"-1)")
			}
		case *ast.IncDecStmt:
			swap(n.TokPos, n.Tok.String())
			change(n.Pos(), n.End(), "")
		case *ast.ExprStmt:
			if !strings.HasPrefix(src[files.Position(n.Pos()).Offset:], "invariant.") { // a check that holds does nothing
				change(n.Pos(), n.End(), "")
			}
		case *ast.AssignStmt:
			swap(n.TokPos, n.Tok.String())
			if n.Tok != token.DEFINE {
				change(n.Pos(), n.End(), "")
			}
		}
		return true
	})
	return all
}

// mutantsOfPackage returns all mutants of a package, of which root is the parent of its folder.
func mutantsOfPackage(t *testing.T, root, dir string) (all []mutant) {
	files, _ := filepath.Glob(filepath.Join(root, dir, "*.go"))
	for _, file := range files {
		if src, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		} else if !strings.HasSuffix(file, "_test.go") {
			all = append(all, mutantsIn(t, dir, filepath.Base(file), string(src))...)
		}
	}
	return all
}

// survives runs the tests of packages on a mutant, one package after the other up to a failure. It reports
// whether the code compiles, and whether all tests pass then.
func (m *mutant) survives(t *testing.T, root string, packages ...string) (compiles, lives bool) {
	work := t.TempDir()
	path, changed, replaced := filepath.Join(root, m.dir, m.file), filepath.Join(work, "mutant.go"), filepath.Join(work, "overlay")
	src, err := os.ReadFile(path)
	overlay, err2 := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	err3 := os.WriteFile(changed, []byte(string(src[:m.from])+m.text+string(src[m.to:])), 0o600)
	if err := errors.Join(err, err2, err3, os.WriteFile(replaced, overlay, 0o600)); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("go", "test", "-p=1", "-failfast", "-short", "-tags=invariants", "-vet=off", "-ldflags=-s -w", "-overlay="+replaced, "-timeout="+mutantTime.String(),
		fmt.Sprintf(`-exec=sh -c 'ulimit -v %d; exec "$@"' sh`, mutantBytes>>10))
	run.Args = append(append(run.Args, packages...), "-rapid.seed=1", "-rapid.shrinktime=1ns", "-rapid.nofailfile")
	run.Dir = root
	out, err := run.CombinedOutput()
	ran := regexp.MustCompile(`(?m)^FAIL\t\S+\t[0-9]`) // without a time no test has run
	return err == nil || ran.Match(out), err == nil
}

// readSentences reads testdata/mutants.txt: by mutant, "same" or "lives". A line is this word, the name of the
// mutant, " # " and a sentence. same: no test can tell the mutant from the code, so it is not valid.
func readSentences(t *testing.T) map[string]string {
	data, err := os.ReadFile("testdata/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for line := range strings.Lines(string(data)) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, why, _ := strings.Cut(rest, " # ")
		switch {
		case kind == "" || kind == "#":
		case why != "" && (kind == "same" || kind == "lives"):
			kinds[name] = kind
		default:
			t.Errorf("testdata/mutants.txt: %s: not same or lives, a mutant, # and a sentence", line)
		}
	}
	return kinds
}

// TestMutants changes the code at one place after the other, and runs the tests on it. At most one in twenty
// such mutants passes them, and each that does has a sentence in testdata/mutants.txt. Without -mutants the test
// only checks that the code still has the mutants of that file.
func TestMutants(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	kinds := readSentences(t)
	stale := maps.Clone(kinds)
	left, valid := 0, 0
	for _, dir := range slices.Sorted(maps.Keys(mutated)) {
		all := mutantsOfPackage(t, root, dir)
		for _, m := range all {
			delete(stale, m.name)
		}
		if *mutantCount > 0 && (*mutantsOf == "" || *mutantsOf == dir) {
			all = slices.DeleteFunc(all, func(m mutant) bool { return kinds[m.name] == "same" })
			slices.SortFunc(all, func(a, b mutant) int { return cmp.Compare(a.number(), b.number()) })
			t.Run(dir, func(t *testing.T) {
				n, of := testMutants(t, root, dir, all[:min(*mutantCount, len(all))], kinds)
				left, valid = left+n, valid+of
			})
		}
	}
	if float64(left) > mutantsLeft*float64(valid) {
		t.Errorf("%d of %d survive, more than %.0f %%", left, valid, 100*mutantsLeft)
	}
	if *mutantCount > 0 && valid == 0 {
		t.Error("no mutant compiles")
	}
	for name := range stale {
		t.Errorf("testdata/mutants.txt: the code has no such place: %s", name)
	}
}

// testMutants tests mutants of one package. It returns how many pass the tests, and how many compile.
func testMutants(t *testing.T, root, dir string, all []mutant, kinds map[string]string) (left, valid int) {
	packages := []string{"./" + dir}
	for _, p := range mutated[dir] {
		packages = append(packages, "./"+p)
	}
	for _, m := range all {
		compiles, lives := m.survives(t, root, packages...)
		if !compiles {
			continue
		}
		if valid++; lives {
			left++
			t.Logf("survives: %s", m.name)
			if kinds[m.name] == "" {
				t.Errorf("has no sentence: %s", m.name)
			}
		}
	}
	t.Logf("%d drawn, %d compile, %d survive", len(all), valid, left)
	return left, valid
}

// TestMutantsIn: each kind of change is made.
func TestMutantsIn(t *testing.T) {
	var got []string
	for _, m := range mutantsIn(t, "d", "f.go", "package p\nfunc f(a int) int {\n\tif a < 7 {\n\t\ta++\n\t}\n\tg()\n\treturn min(a, 2)\n}\n") {
		got = append(got, strings.TrimPrefix(m.name, "d/f.go: "))
	}
	want := []string{
		"if a < 7 { => if !(a < 7) {", "if a < 7 { => if a <= 7 {", "if a < 7 { => if a >= 7 {", "if a < 7 { => if a < (7+1) {",
		"if a < 7 { => if a < (7-1) {", "a++ => a--", "a++ => (nothing)", "g() => (nothing)", "return min(a, 2) => return max(a, 2)",
		"return min(a, 2) => return min(a, (2+1))", "return min(a, 2) => return min(a, (2-1))",
	}
	if !slices.Equal(got, want) {
		t.Errorf("mutants %q, want %q", got, want)
	}
}
