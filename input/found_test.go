package input_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mrlocal/input"
)

func TestFoundFilesComeInSmallPlansFirstAndInOrder(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("d/%03d", i))
	}
	tree(t, names...)
	asked := 0
	var missing []string
	found := input.Found(func(yield func(string) bool) {
		for _, n := range slices.Concat(names[:50], []string{"d/none", "d"}, names[50:]) {
			if asked++; !yield(n) {
				return
			}
		}
	}, input.Options{}, func(path string, _ error) { missing = append(missing, path) })
	var got []string
	plans := 0
	for p, err := range found {
		if err != nil {
			t.Fatal(err)
		}
		if plans++; plans == 1 && asked > 10 {
			t.Errorf("%d files were asked for before the first plan", asked)
		}
		got = append(got, paths(p)...)
	}
	if !slices.Equal(got, names) || strings.Join(missing, " ") != "d/none d" {
		t.Errorf("got %v, missing %v", got, missing)
	}
	asked = 0
	for range found {
		break
	}
	if asked > 10 {
		t.Errorf("%d files were asked for, although nobody wants more than one plan", asked)
	}
}
