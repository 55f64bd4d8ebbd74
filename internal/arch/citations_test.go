package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
)

// tracked returns the texts of the repository's files by path. They are read once. It skips the test
// outside of a repository.
func tracked(t *testing.T) map[string][]byte {
	t.Helper()
	texts, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	if texts == nil {
		t.Skip("not in a repository")
	}
	return texts
}

var repository = sync.OnceValues(func() (map[string][]byte, error) {
	root := "../.."
	list, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return nil, nil
	}
	texts := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		text, err := os.ReadFile(path.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not yet committed
		}
		if err != nil {
			return nil, err
		}
		texts[name] = text
	}
	if len(texts) < 100 {
		return nil, fmt.Errorf("git lists only %d files", len(texts))
	}
	return texts, nil
})

// remark is a comment, or a paragraph of Markdown, in one line.
type remark struct {
	line int
	text string
}

// remarks returns what a file says to its readers: all of Markdown, the comments of
// Go, assembly, shell, YAML and of the scripts of tests.
func remarks(name string, text []byte) []remark {
	switch path.Ext(name) {
	case ".md":
		return joined(text, func(line string) (string, bool) { return line, strings.TrimSpace(line) != "" })
	case ".go":
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil // a test of arch itself fails on that
		}
		var all []remark
		for _, group := range file.Comments {
			all = append(all, remark{fset.Position(group.Pos()).Line, strings.Join(strings.Fields(group.Text()), " ")})
		}
		return all
	case ".sh", ".yaml", ".yml", ".txt", ".s", ".js", ".css":
	default:
		if !bytes.HasPrefix(text, []byte("#!")) {
			return nil
		}
	}
	return joined(text, func(line string) (string, bool) {
		for _, mark := range []string{"# ", "// ", "/* "} {
			if i := strings.Index(line, mark); i >= 0 && (strings.TrimSpace(line[:i]) == "" || strings.HasSuffix(line[:i], " ")) {
				return line[i+len(mark):], true
			}
		}
		return "", false
	})
}

// joined returns runs of the lines of which part returns something.
func joined(text []byte, part func(line string) (string, bool)) (all []remark) {
	open := false
	for i, line := range strings.Split(string(text), "\n") {
		said, ok := part(line)
		said = strings.Join(strings.Fields(said), " ")
		switch {
		case ok && open:
			all[len(all)-1].text += " " + said
		case ok:
			all = append(all, remark{i + 1, said})
		}
		open = ok
	}
	return all
}

// clause matches the names of clauses of the old sheet of facts: a letter and a
// number that it had.
var clause = regexp.MustCompile(`\b(?:A(?:[1-9]|[1-5][0-9]|6[0-3])|D(?:[1-9]|1[0-9]|2[0-4])|M(?:[1-9]|1[01])|S(?:[1-9]|1[0-7])|R(?:[1-9]|1[0-9]|2[0-2])|` +
	`O(?:[1-9]|1[0-9]|2[0-8])|E(?:[1-9]|1[0-3])|N(?:[1-9]|1[0-3])[a-f]?|Q(?:[1-9]|10))\b`)

// otherwise are uses of such a word that are not clauses, by the start of the path;
// each with the reason.
func otherwise() []struct{ word, below, reason string } {
	return []struct{ word, below, reason string }{
		{"S2", "", "a codec, as are zstd and snappy"},
	}
}

// TestNoCommentCitesTheOldSheet: comments and documents cite papers, Hadoop's
// classes and the names in docs/papers, not a sheet that readers do not have.
func TestNoCommentCitesTheOldSheet(t *testing.T) {
	// In two parts, so that this file has neither. The marks in brackets are those of its sources.
	// A literal beginning makes each search fast.
	sheets := []*regexp.Regexp{regexp.MustCompile(`SP` + `EC\b`), regexp.MustCompile(`ee` + `d[ -]?0[0-9][0-9]\b`)}
	source := regexp.MustCompile(`\[(?:S[0-4]|H1d?|H020)\]`)
	for name, text := range tracked(t) {
		for _, sheet := range sheets {
			if at := sheet.FindIndex(text); at != nil {
				line := bytes.Count(text[:at[0]], []byte("\n")) + 1
				t.Errorf("%s:%d: cites %s, which readers do not have: cite the paper by its key in docs/papers, and the place", name, line, text[at[0]:at[1]])
			}
		}
		for _, r := range remarks(name, text) {
			if m := source.FindString(r.text); m != "" {
				t.Errorf("%s:%d: cites %s, a source that readers do not have", name, r.line, m)
			}
			for _, word := range clause.FindAllString(r.text, -1) {
				allowed := slices.ContainsFunc(otherwise(), func(o struct{ word, below, reason string }) bool {
					return o.word == word && strings.HasPrefix(name, o.below)
				})
				if !allowed {
					t.Errorf("%s:%d: %s in %q: cite a paper's place or a name of docs/papers, or list the word in otherwise, with a reason", name, r.line, word, shortened(r.text, word))
				}
			}
		}
	}
}

func shortened(text, word string) string {
	i := strings.Index(text, word)
	return text[max(0, i-40):min(len(text), i+40)]
}

// papers are the pages of docs/papers. files has the name of the file by the key of a
// paper. names has, by the name of a decision, the key of its page.
type papers struct{ files, names map[string]string }

var heading = regexp.MustCompile(`(?m)^### "(.*)"$`)

func loadPapers(t *testing.T, texts map[string][]byte) papers {
	t.Helper()
	p := papers{map[string]string{}, map[string]string{}}
	for _, m := range regexp.MustCompile(`(?m)^\| \[(\w+)\]\((\w+\.md)\) \|`).FindAllSubmatch(texts["docs/papers/README.md"], -1) {
		key, file := string(m[1]), "docs/papers/"+string(m[2])
		if texts[file] == nil {
			t.Errorf("docs/papers/README.md lists %s, which is not there", file)
		}
		p.files[key] = file
		for _, h := range heading.FindAllSubmatch(texts[file], -1) {
			name := string(h[1])
			if other := p.names[name]; other != "" {
				t.Errorf("%s: the name %q is there twice, in %s too", file, name, p.files[other])
			}
			if name != strings.ToLower(name) {
				t.Errorf("%s: the name %q is not in lower case", file, name)
			}
			p.names[name] = key
		}
	}
	if len(p.files) < 10 || len(p.names) < 80 {
		t.Fatalf("docs/papers has only %d pages with %d names", len(p.files), len(p.names))
	}
	return p
}

// TestCitationsAreInDocsPapers: the key and the quoted names of a citation such as
// [OMO21, eq. 3] or [OMO21, "signed argmin"] exist; so do Hadoop's classes.
func TestCitationsAreInDocsPapers(t *testing.T) {
	texts := tracked(t)
	p := loadPapers(t, texts)
	bracket := regexp.MustCompile(`\[([^\[\]]+)\]`)
	// A key, or any word before a place in a paper or a quoted name.
	citation := regexp.MustCompile(`^([A-Z][A-Za-z]+[0-9]{2}|Hadoop(?:,|$)|[A-Za-z]\w*(?:, (?:Alg\.|eq\.|Fig\.|Table|section|l\.|p\.|")))`)
	hadoop := regexp.MustCompile(`Hadoop [0-9][.0-9x]*, ([A-Z]\w+)`)
	quoted := regexp.MustCompile(`"([^"]*)"`)
	bare := regexp.MustCompile(`(?:^|[^\[\w])([A-Z][A-Za-z]+[0-9]{2}), (?:Alg\.|eq\.|Fig\.|Table|section|l\.|p\.|")`)
	cited := 0
	for name, text := range texts {
		for _, r := range remarks(name, text) {
			for _, m := range bare.FindAllStringSubmatch(bracket.ReplaceAllString(r.text, ""), -1) {
				if p.files[m[1]] != "" {
					t.Errorf("%s:%d: %q: a citation stands in brackets, [%s, ...]", name, r.line, m[0], m[1])
				}
			}
			for _, m := range hadoop.FindAllStringSubmatch(r.text, -1) {
				cited++
				if !bytes.Contains(texts["docs/papers/hadoop.md"], []byte(m[1])) {
					t.Errorf("%s:%d: %s: docs/papers/hadoop.md does not have this class", name, r.line, m[0])
				}
			}
			for _, m := range bracket.FindAllStringSubmatch(r.text, -1) {
				for part := range strings.SplitSeq(m[1], "; ") {
					if !citation.MatchString(part) {
						continue
					}
					cited++
					key, place, _ := strings.Cut(part, ",")
					if p.files[key] == "" {
						t.Errorf("%s:%d: %s: docs/papers/README.md has no paper with the key %s", name, r.line, m[0], key)
					}
					for _, q := range quoted.FindAllStringSubmatch(place, -1) {
						if p.names[q[1]] != key {
							t.Errorf("%s:%d: %s: %s has no heading %q; add it there, with the decision and its reason", name, r.line, m[0], p.files[key], q[1])
						}
					}
				}
			}
		}
	}
	if cited < 100 {
		t.Errorf("only %d citations", cited)
	}
}

// TestDocsPapersNameWhatExists: functions, tests and files that docs/papers and
// docs/policies.md name exist. Each policy has a section, and each of its rules has a row.
func TestDocsPapersNameWhatExists(t *testing.T) {
	texts := tracked(t)
	declared := declarations(t, texts)
	code := regexp.MustCompile("`([^`]+)`")
	dotted := regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*){1,2}$`)
	file := regexp.MustCompile(`^[\w-]+/[\w./-]+$`)
	script := regexp.MustCompile(`[\w-]+(?:/[\w-]+)*/[\w-]+\.txt|(?:[\w-]+/)*testdata/[\w-]+`)
	names := 0
	for page, text := range texts {
		if !strings.HasPrefix(page, "docs/papers/") && page != "docs/policies.md" {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, m := range code.FindAllStringSubmatch(line, -1) {
				word := m[1]
				switch {
				case strings.HasPrefix(word, "Test"), strings.HasPrefix(word, "Benchmark"), dotted.MatchString(word):
					names++
					if !declared[word] && path.Ext(word) != ".md" && path.Ext(word) != ".txt" && !strings.HasPrefix(word, "math.") && !isPlaceholder(word) {
						t.Errorf("%s:%d: there is no %s", page, i+1, word)
					}
				case file.MatchString(word) && path.Ext(word) != "":
					if texts[word] == nil {
						t.Errorf("%s:%d: there is no %s", page, i+1, word)
					}
				}
			}
			for _, m := range script.FindAllString(line, -1) {
				names++
				if !isScript(strings.Trim(m, "` "), texts) {
					t.Errorf("%s:%d: there is no %s", page, i+1, m)
				}
			}
		}
	}
	if names < 250 {
		t.Errorf("docs/papers name %d functions and tests only", names)
	}
	for _, p := range registry.All() {
		section := regexp.MustCompile(`(?m)^### (.*, )?` + p.Name + `(,.*)?$`)
		if !section.Match(texts["docs/policies.md"]) {
			t.Errorf("docs/policies.md has no section on %s", p.Name)
		}
		for rule := range p.New(policy.DefaultOptions()).Traits().Rules {
			if !bytes.Contains(texts["docs/policies.md"], []byte("\n| `"+rule+"` |")) {
				t.Errorf("docs/policies.md has no row on the rule %s of %s", rule, p.Name)
			}
		}
	}
}

// TestRowsOfPapersAreWhole checks the tables of docs/papers that compare a paper with our code.
// They have all six columns, and no cell is empty. Each row names at least one function, and a
// test or a script; the names exist. A row that says "for real" has a test with real runs. Where there is no
// figure, the cell has a dash.
func TestRowsOfPapersAreWhole(t *testing.T) {
	texts := tracked(t)
	declared := declarations(t, texts)
	head := regexp.MustCompile(`^\| place \| (the paper|Hadoop) \| ours \| function \| test \| figure \|$`)
	code := regexp.MustCompile("`([^`]+)`")
	script := regexp.MustCompile(`[\w-]+(?:/[\w-]+)*/[\w-]+\.txt|testdata/[\w-]+`)
	real := regexp.MustCompile(`ForReal|RealRun|ThrottledRuns|Benchmark|script/`)
	rows := 0
	for page, text := range texts {
		if !strings.HasPrefix(page, "docs/papers/") || page == "docs/papers/README.md" {
			continue
		}
		whole, tables := false, 0
		for i, line := range strings.Split(string(text), "\n") {
			cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
			switch {
			case !strings.HasPrefix(line, "|"):
				whole = false
				continue
			case strings.Contains(line, " | ours | function |"), strings.Contains(line, " | test |"), strings.HasSuffix(line, " | figure |"):
				if whole = head.MatchString(line); !whole {
					t.Errorf("%s:%d: the columns are place, the paper, ours, function, test, figure", page, i+1)
				}
				tables++
				continue
			case !whole || strings.HasPrefix(line, "| ---"):
				continue
			}
			rows++
			if len(cells) != 6 {
				t.Errorf("%s:%d: %d cells, want 6", page, i+1, len(cells))
				continue
			}
			for _, c := range cells {
				if strings.TrimSpace(c) == "" {
					t.Errorf("%s:%d: a cell is empty", page, i+1)
				}
			}
			if strings.Contains(cells[1]+cells[2], "for real") && !real.MatchString(cells[4]) {
				t.Errorf("%s:%d: for real, and no test runs it: %s", page, i+1, cells[4])
			}
			for column, names := range map[string][][]string{"function": code.FindAllStringSubmatch(cells[3], -1), "test": code.FindAllStringSubmatch(cells[4], -1)} {
				for _, m := range names {
					if !declared[m[1]] {
						t.Errorf("%s:%d: there is no %s %s", page, i+1, column, m[1])
					}
				}
				if len(names) == 0 && (column == "function" || !script.MatchString(cells[4])) {
					t.Errorf("%s:%d: no %s", page, i+1, column)
				}
			}
		}
		if tables == 0 {
			t.Errorf("%s: no table of functions, tests and figures", page)
		}
	}
	if rows < 200 {
		t.Errorf("docs/papers have %d rows only", rows)
	}
}

// isScript reports whether a file, or a folder of files, is there, by the end of its
// path: pi-dhfs/scenarios.txt, testdata/fair.
func isScript(name string, texts map[string][]byte) bool {
	for there := range texts {
		if strings.HasSuffix("/"+there, "/"+name) || strings.Contains("/"+there, "/"+name+"/") {
			return true
		}
	}
	return false
}

// isPlaceholder reports whether a word of docs/papers/README.md shows how names are
// written.
func isPlaceholder(word string) bool {
	return word == "package.Function" || word == "Type.method" || word == "Type.field"
}

// declarations are all functions, types, variables, methods and fields of the
// module, as package.Name, Type.Name and package.Type.Name, and tests by name.
func declarations(t *testing.T, texts map[string][]byte) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for name, text := range texts {
		if path.Ext(name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimSuffix(file.Name.Name, "_test")
		add := func(names ...string) {
			all[strings.Join(names, ".")] = true
			all[pkg+"."+strings.Join(names, ".")] = true
		}
		for _, d := range file.Decls {
			declare(d, add)
		}
	}
	return all
}

func declare(d ast.Decl, add func(names ...string)) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if receiver := receiverOf(d); receiver != "" {
			add(receiver, d.Name.Name)
		} else {
			add(d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add(s.Name.Name)
				ast.Inspect(s.Type, func(n ast.Node) bool {
					if f, ok := n.(*ast.Field); ok {
						for _, field := range f.Names {
							add(s.Name.Name, field.Name)
						}
					}
					return true
				})
			case *ast.ValueSpec:
				for _, v := range s.Names {
					add(v.Name)
				}
			}
		}
	}
}

// receiverOf is the type of a method's receiver; "": it is a function.
func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	name := ""
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// TestFiguresOfDocsPapersAreExperiments: a last column called figure in a table of
// docs/papers names experiments of bench/workloads. The targets of figures there are names
// of docs/papers.
func TestFiguresOfDocsPapersAreExperiments(t *testing.T) {
	texts := tracked(t)
	p := loadPapers(t, texts)
	target := regexp.MustCompile(`target: "([^"]*)"`)
	experiments := map[string]bool{}
	name := regexp.MustCompile(`(?m)^  - name: (\S+)$`)
	for file, text := range texts {
		if strings.HasPrefix(file, "bench/workloads/") && path.Ext(file) == ".yaml" {
			_, section, _ := bytes.Cut(text, []byte("\nexperiments:\n"))
			for _, m := range target.FindAllSubmatch(section, -1) {
				if p.names[string(m[1])] == "" {
					t.Errorf("%s: docs/papers has no heading %q", file, m[1])
				}
			}
			for _, m := range name.FindAllSubmatch(section, -1) {
				experiments[string(m[1])] = true
			}
		}
	}
	for page, text := range texts {
		if !strings.HasPrefix(page, "docs/papers/") {
			continue
		}
		figure := false
		for i, line := range strings.Split(string(text), "\n") {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			last := strings.TrimSpace(strings.Trim(cells[len(cells)-1], "|"))
			switch {
			case !strings.HasPrefix(line, "|"):
				figure = false
			case last == "figure":
				figure = true
			case figure && last != "—" && strings.Trim(last, "- ") != "" && strings.HasSuffix(line, "| "+last+" |"):
				for e := range strings.SplitSeq(last, ", ") {
					if !experiments[e] {
						t.Errorf("%s:%s: no experiment %s in bench/workloads", page, strconv.Itoa(i+1), e)
					}
				}
			}
		}
	}
}
