package workload

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mrlocal/internal/errs"
)

const changeable = `cluster: {trackers: 2, map_slots: 2}
defaults: {map_time: 5s, reduce_time: 1s}
pools:
  - {name: prod, weight: 2}
  - {name: adhoc}
` + jobsOfChangeable

const jobsOfChangeable = `jobs:
  - {name: A, pool: prod, maps: 3}
  - {name: B, pool: adhoc, maps: 3, reduces: 1, map_time: {uniform: [1s, 9s]}}
`

// A file read with changes equals the file with the changed text.
func TestChangesAreWhatTheTextWouldSay(t *testing.T) {
	for _, c := range []struct {
		changes  []Change
		old, new string // in the text
	}{
		{[]Change{{"pools.prod.weight", "3.5"}}, "weight: 2", "weight: 3.5"},
		{[]Change{{"pools.1.weight", "4"}}, "{name: adhoc}", "{name: adhoc, weight: 4}"},
		{[]Change{{"cluster.trackers", "7"}}, "trackers: 2", "trackers: 7"},
		{[]Change{{"cluster.reduce_slots", "3"}}, "map_slots: 2", "map_slots: 2, reduce_slots: 3"},
		{[]Change{{"locality.replicas", "2"}}, "defaults", "locality: {replicas: 2}\ndefaults"},
		{[]Change{{"jobs.B.map_time.uniform.1", "3s"}}, "9s", "3s"},
		{[]Change{{"jobs.B.map_time", "{lognormal: [2s, 0.5]}"}}, "{uniform: [1s, 9s]}", "{lognormal: [2s, 0.5]}"},
		{[]Change{{"jobs.*.maps", "8"}}, "maps: 3", "maps: 8"},
		{[]Change{{"defaults.map_time", "6s"}, {"pools.prod.weight", "1"}}, "", ""},
		{[]Change{{"jobs", "[{name: C, pool: prod, maps: 3}]"}}, jobsOfChangeable, "jobs: [{name: C, pool: prod, maps: 3}]\n"},
		{[]Change{{"jobs.A.profile.map.cpu", "0.5"}}, "pool: prod, ", "pool: prod, profile: {map: {cpu: 0.5}}, "},
	} {
		want, err := Parse("w", []byte(strings.ReplaceAll(changeable, c.old, c.new)))
		if c.old == "" {
			want, err = Parse("w", []byte(strings.NewReplacer("map_time: 5s", "map_time: 6s", "weight: 2", "weight: 1").Replace(changeable)))
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseChanged("w", []byte(changeable), c.changes)
		if err != nil {
			t.Errorf("%v: %v", c.changes, err)
			continue
		}
		show := func(f *File) string {
			for i := range f.Jobs {
				f.Jobs[i].Pos = Pos{}
				if p := f.Jobs[i].Profile; p != nil {
					return fmt.Sprintf("%+v", *p)
				}
			}
			f.keys = nil // they have the places of values
			return fmt.Sprintf("%+v", f)
		}
		if show(got) != show(want) {
			t.Errorf("%v:\n%s\ninstead of\n%s", c.changes, show(got), show(want))
		}
	}
}

func TestBadChangesAreNamed(t *testing.T) {
	for _, c := range []struct{ path, value, want string }{
		{"pools.adhok.weight", "1", `pools.adhok.weight=1: no adhok in pools; there are prod, adhoc`},
		{"pool.adhoc.weight", "1", `pool.adhoc.weight=1: no pool; there are cluster, defaults, locality, users, pools, `},
		{"pools.adhoc.wait", "1", `no wait in pools.adhoc; there are name, weight, `},
		{"pools.2.weight", "1", `no 2 in pools; there are prod, adhoc, with indexes from 0`},
		{"slow.3.factor", "1", `slow.3.factor=1: no 3 in slow; it has 1, counted from 0`},
		{"jobs.B.map_time.uniform.2", "1s", `no 2 in jobs.B.map_time.uniform; it has 2, counted from 0`},
		{"cluster.trackers", "x", `cluster.trackers=x: x: not a whole number`},
		{"jobs.A.pool", "nosuch", "jobs.A.pool=nosuch: unknown pool"},
		{"cluster.trackers", "{", "cluster.trackers={: not YAML"},
		{"cluster", "{trackers: 1, trackers: 2}", "cluster={trackers: 1, trackers: 2}: trackers is given twice, first in a change"},
		{"cluster..trackers", "1", "not PATH=VALUE on one line"},
		{"jobs.A.maps.x", "1", `jobs.A.maps.x=1: no maps in jobs.A; there are name, `},
	} {
		_, err := ParseChanged("w", []byte("slow: [{tracker: 1, factor: 0.5}]\n"+changeable), []Change{{c.path, c.value}})
		if err == nil || !errors.Is(err, errs.BadOptions) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s=%s: %v instead of %s", c.path, c.value, err, c.want)
		}
	}
}

// A change that makes another place of the file wrong stands in the message next to that place.
func TestAChangeIsNamedBesideThePlaceThatItMakesWrong(t *testing.T) {
	text := "slow: [{tracker: 1, factor: 0.5}]\n" + changeable
	for _, c := range []struct {
		changes []Change
		want    string
	}{
		{[]Change{{"pools.prod.weight", "1"}, {"cluster.trackers", "1"}}, "w:1:18: tracker: there is no tracker 1; they count from 0 to 0; the file was changed by pools.prod.weight=1, cluster.trackers=1"},
		{[]Change{{"jobs.A.name", "B"}}, "w:9:12: job B: given twice, first in a change; the file was changed by jobs.A.name=B"},
	} {
		if _, err := ParseChanged("w", []byte(text), c.changes); err == nil || err.Error() != c.want {
			t.Errorf("%v instead of %s", err, c.want)
		}
	}
	f, err := ParseChanged("w", []byte("jobs: [{name: J, maps: 1}]"), []Change{{"jobs.0", "{name: K, maps: 2}"}})
	if err != nil {
		t.Fatal(err)
	}
	if err, want := f.CheckSimulated(), "w: job K: no map_time, neither here nor in defaults"; err == nil || err.Error() != want {
		t.Errorf("%v instead of %s", err, want)
	}
}

// Jobs keep their indexes if the file is read in pieces. A change may replace the whole list.
func TestChangesFindJobsInAnyPiece(t *testing.T) {
	var b strings.Builder
	b.WriteString("jobs:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "  - {name: J%d, maps: 1, map_time: 1s}\n", i)
	}
	b.WriteString("cluster: {trackers: 3}\n")
	read := func(path, value string) *File {
		d := newDecoder("w", b.Len())
		d.changes = []change{{Change: Change{path, value}, path: strings.Split(path, "."), near: -1}}
		f, err := d.read(b.String(), 100)
		if err != nil || f.Trackers != 3 {
			t.Fatalf("%s: %v, %+v", path, err, f)
		}
		return f
	}
	if f := read("jobs", "[{name: a, maps: 1}]"); len(f.Jobs) != 1 || f.Jobs[0].Name != "a" {
		t.Errorf("%+v", f.Jobs)
	}
	f := read("jobs.250.map_time", "9s")
	if f.Jobs[250].MapTime.a != 9*time.Second {
		t.Error("the job has not changed")
	}
	if f.Jobs[249].MapTime.a != time.Second || f.Jobs[251].MapTime.a != time.Second {
		t.Error("another job has changed")
	}
}
