package workload_test

import (
	"testing"

	"pgregory.net/rapid"

	"mrlocal/workload"
)

func TestEdit(t *testing.T) {
	slots, weight := []string{"cluster", "map_slots"}, []string{"pools", "p", "weight"}
	for name, c := range map[string]struct {
		path     []string
		in, want string
	}{
		"a value on one line":        {slots, "cluster: {map_slots: 2, net: 1MB} # mine\njobs: []\n", "cluster: {map_slots: 7, net: 1MB} # mine\njobs: []\n"},
		"a value on its own line":    {slots, "jobs: []\ncluster:\n  map_slots: 12 # per tracker\n", "jobs: []\ncluster:\n  map_slots: 7 # per tracker\n"},
		"behind other characters":    {slots, "cluster: {name: \"äö\", map_slots: 2}\n", "cluster: {name: \"äö\", map_slots: 7}\n"},
		"a key that is missing":      {slots, "cluster: {trackers: 2}\n", "cluster: {map_slots: 7, trackers: 2}\n"},
		"a missing key, by lines":    {slots, "cluster:\n  trackers: 2\n", "cluster:\n  map_slots: 7\n  trackers: 2\n"},
		"an empty mapping":           {slots, "cluster: {}\njobs: []\n", "cluster: {map_slots: 7}\njobs: []\n"},
		"a section that is missing":  {slots, "# jobs\njobs: []\n", "# jobs\ncluster: {map_slots: 7}\njobs: []\n"},
		"a pool":                     {weight, "pools: [{name: q, weight: 1}, {name: p, weight: 2}]\n", "pools: [{name: q, weight: 1}, {name: p, weight: 7}]\n"},
		"a pool without weight":      {weight, "pools:\n  - name: p\n    max_maps: 3\n", "pools:\n  - weight: 7\n    name: p\n    max_maps: 3\n"},
		"a pool that only jobs name": {weight, "pools:\n  - {name: q}\njobs: []\n", "pools:\n  - {name: \"p\", weight: 7}\n  - {name: q}\njobs: []\n"},
		"other pools that jobs name": {weight, "jobs: [{name: a, pool: q}, {name: b, pool: p}, {name: c, pool: q}]\n", "pools: [{name: \"p\", weight: 7}, {name: \"q\"}]\njobs: [{name: a, pool: q}, {name: b, pool: p}, {name: c, pool: q}]\n"},
		"no pools":                   {weight, "jobs: []\n", "pools: [{name: \"p\", weight: 7}]\njobs: []\n"},
	} {
		if got, err := workload.Edit(c.in, c.path, "7"); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
	for _, text := range []string{"", "- a\n", "a: [", "cluster: {map_slots: &a 2}\n", "cluster: {map_slots: \"2\"}\n", "cluster: {map_slots: [2]}\n", "{cluster: {map_slots: 2}}"} {
		if got, err := workload.Edit(text, slots, "7"); err == nil {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	for _, path := range [][]string{nil, {"pools"}, {"pools", "p"}, {"jobs", "a"}, {"cluster", "a", "b"}, {"pools", "p", "weight"}} {
		if got, err := workload.Edit("jobs: [{name: a}]\ncluster: 3\npools: {a: 1}\n", path, "7"); err == nil {
			t.Errorf("%q becomes %q", path, got)
		}
	}
}

// TestAnEditIsRead edits texts twice: the second edit changes only the number of the first.
func TestAnEditIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"jobs: [{name: a, pool: p, maps: 1}]\n", "cluster:\n  trackers: 1\njobs:\n  - {name: a, pool: p, maps: 1}\n", "pools:\n- name: q\njobs: [{name: a, pool: q, maps: 1}]\n"}).Draw(t, "text")
		for _, path := range [][]string{{"cluster", "map_slots"}, {"pools", "p", "weight"}, {"pools", "q", "weight"}, {"cluster", "trackers"}} {
			first, err := workload.Edit(text, path, "3")
			if err != nil {
				t.Fatal(err)
			}
			second, err := workload.Edit(first, path, "4")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := workload.Parse("edited", []byte(second)); err != nil || len(second) != len(first) {
				t.Fatalf("%q, then %q: %v", first, second, err)
			}
			text = second
		}
	})
}
