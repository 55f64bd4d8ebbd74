package arch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// top returns the folder at the top that holds a package. The root package is a folder of its own.
func top(pkg string) string {
	folder, _, _ := strings.Cut(pkg, "/")
	return folder
}

// TestFewArrowsBetweenFolders counts the pairs of folders at the top of which one imports the other, and
// looks for a circle of them. Tests, internal and examples are left out.
func TestFewArrowsBetweenFolders(t *testing.T) {
	_, all := load(t)
	arrows, pairs := map[string]map[string]bool{}, 0
	for _, s := range all {
		from := top(s.pkg)
		for _, p := range importsOf(s) {
			below, ours := strings.CutPrefix(p, module)
			to := top(strings.TrimPrefix(below, "/"))
			if !ours || from == to || from == "internal" || to == "internal" || from == "examples" {
				continue
			}
			if arrows[from] == nil {
				arrows[from] = map[string]bool{}
			}
			if !arrows[from][to] {
				arrows[from][to] = true
				pairs++
			}
		}
	}
	t.Logf("%d pairs of folders of which one imports the other, at most %d", pairs, mostPairs)
	if pairs > mostPairs {
		t.Errorf("%d pairs of folders of which one imports the other, at most %d: move what both need below both", pairs, mostPairs)
	}
	if circle := circleOf(arrows); circle != nil {
		t.Errorf("folders import one another in a circle: %s", strings.Join(circle, ", "))
	}
}

// circleOf returns the folders that are left when those that import none of the others are taken away
// again and again, and those that none of the others imports. Without a circle nothing is left.
func circleOf(arrows map[string]map[string]bool) []string {
	left := map[string]map[string]bool{}
	for from, to := range arrows {
		left[from] = maps.Clone(to)
	}
	for again := true; again; {
		again = false
		for from, to := range left {
			maps.DeleteFunc(to, func(to string, _ bool) bool { return left[to] == nil })
			if len(to) == 0 {
				delete(left, from)
				again = true
			}
		}
	}
	return slices.Sorted(maps.Keys(left))
}

func TestACircleOfFoldersIsFound(t *testing.T) {
	one := map[string]bool{"b": true}
	if c := circleOf(map[string]map[string]bool{"a": one, "b": {"c": true}, "c": {}}); c != nil {
		t.Errorf("a line of folders is the circle %v", c)
	}
	if c := circleOf(map[string]map[string]bool{"a": one, "b": {"c": true}, "c": {"b": true}}); c == nil {
		t.Error("no circle found")
	}
}

// TestFewFoldersAtTheTop leaves out what .gitignore names: the README's commands make wiki/ and others.
func TestFewFoldersAtTheTop(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile(filepath.Join("..", "..", ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !strings.Contains(string(ignored), "\n/"+e.Name()+"/\n") {
			folders = append(folders, e.Name())
		}
	}
	if len(folders) > mostTopFolders {
		t.Errorf("%d folders at the top, at most %d: %s", len(folders), mostTopFolders, strings.Join(folders, " "))
	}
}
