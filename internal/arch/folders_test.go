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

// parts are packages that no user is promised, and that lie outside internal: a plan of folders names them, or packages
// of several folders import them.
func parts() map[string]string {
	return map[string]string{
		"input/...": "the way of the data", "spill": "the way of the data", "shuffle/...": "the way of the data", "output": "the way of the data",
		"engine/...":      "the root package has aliases of its types",
		"slots/policy/*":  "a policy; users make it by its name, by the registry",
		"jobs/puma":       "jobs of the papers, for the command",
		"workload/source": "for the command", "sim/...": "cost models, beside the driver that charges them",
		"view/...": "pictures, for the command and for bench", "bench/...": "experiments and sweeps, for the command",
		"hadoop/...": "clusters, for the command", "jobs/grep/find": "files to search, for the command",
		"cmd/...": "the command", "examples/...": "programs",
	}
}

// TestPromisedPackagesAreTold finds packages that are neither in the list of promises of the root package, nor below
// internal, nor one of parts.
func TestPromisedPackagesAreTold(t *testing.T) {
	_, all := load(t)
	promised := map[string]bool{}
	for _, s := range all {
		if s.path != "mrlocal.go" {
			continue
		}
		_, list, found := strings.Cut(s.file.Doc.Text(), "# What is promised")
		list, _, end := strings.Cut(list, "All other packages")
		if !found || !end {
			t.Fatal("mrlocal.go does not tell what is promised")
		}
		for line := range strings.Lines(list) {
			if names, indented := strings.CutPrefix(line, "\t"); indented {
				names, _, _ = strings.Cut(names, "  ")
				for name := range strings.SplitSeq(names, ", ") {
					promised[strings.TrimPrefix(strings.TrimSpace(name), module)] = true
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, s := range all {
		seen[s.pkg] = true
		internal := slices.Contains(strings.Split(s.pkg, "/"), "internal")
		part := matchesAny(slices.Collect(maps.Keys(parts())), s.pkg)
		if !promised[s.pkg] && !internal && !part {
			t.Errorf("%s is not promised by mrlocal.go: move it below internal, or say in parts why not", s.pkg)
		}
	}
	for p := range promised {
		if !seen[p] {
			t.Errorf("mrlocal.go promises %q, which does not exist", p)
		}
	}
}
