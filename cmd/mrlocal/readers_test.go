package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mrlocal"
	"mrlocal/bench"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/internal/testkit"
	"mrlocal/sim"
	"mrlocal/slots/policy/registry"
	"mrlocal/view/lesson"
	"mrlocal/view/web/lab"
	"mrlocal/workload"
	"mrlocal/workload/source"
)

// The workload of TestOneSettingMeansTheSameEverywhere, with places for sections and for the flags of an experiment.
const settingsFile = `%sjobs:
  - {name: A, maps: 6, reduces: 2, map_time: 10s, reduce_time: 5s}
  - {name: B, maps: 3, reduces: 1, map_time: {uniform: [10s, 20s]}, reduce_time: 5s}
experiments:
  - {name: e, paper: p, runs: [{name: r, %s}], readings: [{what: w, ours: "makespan[r]"}], figures: [{what: w, paper: 1 s, ours: "makespan[r]"}]}
`

// fileKeys are the sections and keys of a workload file for settings.
func fileKeys() map[string]string {
	return map[string]string{"trackers": "cluster", "map-slots": "cluster", "reduce-slots": "cluster", "max-slots": "cluster",
		"slowstart": "defaults", "attempts": "defaults", "replicas": "locality", "remote-penalty": "locality"}
}

// texts returns the values of settings by name.
func texts(all []setting.Setting) string {
	var lines []string
	for i := range all {
		lines = append(lines, all[i].Name+"="+all[i].Value.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestOneSettingMeansTheSameEverywhere draws settings and sets them by flag, by key of a file, by experiment, by a
// draft of the page and by a lesson. All have the same configuration, or the same message: each names the settings as
// its user does.
func TestOneSettingMeansTheSameEverywhere(t *testing.T) {
	own := sim.NewSettings()
	names := []string{}
	for _, s := range own.Fields() {
		if !s.Toggle() {
			names = append(names, s.Name)
		}
	}
	keys := slices.Sorted(maps.Keys(fileKeys()))
	inFile := 0
	accepted, refused := 0, 0
	testkit.Check(t, func(t *rapid.T) {
		given := map[string]string{}
		names := names
		if rapid.Bool().Draw(t, "in a file") { // else few draws could stand in one
			names = keys
		}
		for range rapid.IntRange(1, 3).Draw(t, "settings") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			values := append([]string{"0", "1", "2", "3", "0.5", "1.5", "-1", "20s", "0s", "64MiB", "x", "0=0.5", "7=0.5", "map=1,reduce=2"}, setting.Named(own.Fields(), name).Value.Words...)
			values = slices.DeleteFunc(values, func(v string) bool { return v == "measured" }) // its message names the file, which the page calls otherwise
			given[name] = rapid.SampledFrom(values).Draw(t, "value")
		}
		policy := rapid.SampledFrom([]string{"fifo", "fair", "dynamicmr", "omo", "fiar"}).Draw(t, "policy")
		unknown := registry.Check(policy)
		if unknown != nil { // readers differ in which of two mistakes they find first
			clear(given)
		}
		order := slices.Sorted(maps.Keys(given))

		// By the table itself, as a flag does it.
		byFlag, line := sim.NewSettings(), []string{}
		var want error
		for _, name := range order {
			line = append(line, "--"+name+"="+given[name])
			scratch := sim.NewSettings()
			if err := setting.Set(scratch.Fields(), name, given[name]); err != nil && want == nil {
				want = err.(*errs.Error)
			}
		}
		_, err := (&flags.Command{Settings: byFlag.Fields()}).Parse(line)
		check := func(reader, got string, err, want error, name func(*setting.Setting) string) {
			t.Helper()
			if (err == nil) != (want == nil) || err != nil && !strings.HasSuffix(got, errs.Word(want, setting.Fields(own.Fields(), name))) {
				t.Fatalf("%s %v: %v, %s, want %v", reader, given, err, got, want)
			}
		}
		flag, word := (*setting.Setting).Flag, (*setting.Setting).Word
		check("flags", strings.TrimSuffix(errorLine("", cmp.Or(err, errors.New(""))), "\n"), err, want, flag)

		file, err := workload.Parse("w.yaml", fmt.Appendf(nil, settingsFile, "", "sched: fifo"))
		if err != nil {
			t.Fatal(err)
		}
		if unknown != nil {
			want = unknown
			var s Scheduling
			err := s.readPolicies(policy, false)
			check("--sched", fmt.Sprint(err), err, want, flag)
		} else if want == nil { // between settings
			o, err := byFlag.For(file, policy)
			if err == nil {
				err = sim.Check(file, o)
			}
			want = err
		}
		if unknown == nil && checkKeys(t, given, policy, want, &byFlag) {
			inFile++
		}

		var pairs []string
		for _, name := range order {
			pairs = append(pairs, name+": "+strconv.Quote(given[name]))
		}
		var ours bench.Cell
		f, err := workload.Parse("w.yaml", fmt.Appendf(nil, settingsFile, "", "sched: "+policy+", "+strings.Join(pairs, ", ")))
		if err != nil {
			t.Fatal(err)
		}
		all, err := bench.Of(f)
		check("experiment", fmt.Sprint(err), err, want, word)
		if err == nil {
			r, err := all[0].Run(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			ours = r.Lines[0].Ours
		}

		var page lab.Lab
		body, err := json.Marshal(lab.Draft{Workload: fmt.Sprintf(settingsFile, "", "sched: fifo"), Policies: []string{policy}, Settings: given})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := page.Simulate(t.Context(), body)
		problem := []byte("{}")
		if err != nil {
			_, problem = lab.Problem(err)
		}
		var shown struct{ Error string }
		if err := json.Unmarshal(problem, &shown); err != nil {
			t.Fatal(err)
		}
		check("page", shown.Error, err, want, word)

		l := &lesson.Lesson{Name: "l", Workload: fmt.Sprintf(settingsFile, "", "sched: fifo"), Runs: []lesson.Run{{Policy: policy, Settings: given}}}
		err = l.Simulate(t.Context(), 0, io.Discard, nil)
		check("lesson", errs.Word(cmp.Or(err, errors.New("")), setting.Fields(own.Fields(), word)), err, want, word)
		if want != nil {
			refused++
			return
		}
		accepted++
		var out lab.Simulated
		if err := json.Unmarshal(answer, &out); err != nil {
			t.Fatal(err)
		}
		o, err := byFlag.For(file, policy)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.Run(t.Context(), file, o)
		if err != nil {
			t.Fatal(err)
		}
		// The figure of an experiment has three digits.
		if experiment, err := strconv.ParseFloat(string(ours), 64); err != nil || math.Abs(experiment/r.MakespanSeconds-1) > 0.005 || out.Results[0].MakespanSeconds != r.MakespanSeconds {
			t.Fatalf("%v under %s: experiment %s s, page %v s, flags %v s", given, policy, ours, out.Results[0].MakespanSeconds, r.MakespanSeconds)
		}
		taught, err := l.Options(0, file)
		if err != nil {
			t.Fatal(err)
		}
		byLesson, options := sim.NewSettings(), byFlag
		byLesson.Options, byLesson.Policies, options.Options = taught, byFlag.Policies, o
		options.Seed, byLesson.Seed = max(1, options.Seed), max(1, byLesson.Seed) // a lesson has seed 1
		if got, want := texts(byLesson.Fields()), texts(options.Fields()); got != want {
			t.Fatalf("%v: the lesson has\n%s\nwant\n%s", given, got, want)
		}
	})
	if !t.Failed() && testkit.Long() && min(accepted, refused, inFile) == 0 { // else little is drawn
		t.Errorf("%d accepted, %d refused, %d in a file", accepted, refused, inFile)
	}
}

// checkKeys sets settings in a file, if all of them have keys there. It reports whether they have. The configuration is
// that of the flags, if they have no mistake. Else the message is want, or that of the first mistake in the file. It
// has the place and the key.
func checkKeys(t *rapid.T, given map[string]string, policy string, want error, byFlag *sim.Settings) bool {
	text, written := "", 0
	var first error // in the order of the file
	for _, section := range []string{"cluster", "defaults", "locality"} {
		keys := ""
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if fileKeys()[name] != section {
				continue
			}
			key, scratch := strings.ReplaceAll(name, "-", "_"), sim.NewSettings()
			keys += fmt.Sprintf("  %s: %q\n", key, given[name])
			if err := setting.Named(scratch.Fields(), name).Value.Set(given[name]); err != nil && first == nil {
				first = fmt.Errorf("%s: %w", key, err)
			}
			written++
		}
		if keys != "" {
			text += section + ":\n" + keys
		}
	}
	if written < len(given) {
		return false
	}
	s := sim.NewSettings()
	f, err := workload.Parse("w.yaml", fmt.Appendf(nil, settingsFile, text, "sched: fifo"))
	if err == nil && first == nil {
		s.Config = f.Config
		if want == nil && texts(s.Fields()) != texts(byFlag.Fields()) {
			t.Fatalf("%s: the file has\n%s\nwant\n%s", text, texts(s.Fields()), texts(byFlag.Fields()))
		}
		var o sim.Options
		unset := sim.NewSettings()
		if o, err = unset.For(f, policy); err == nil {
			err = sim.Check(f, o)
		}
	}
	want = cmp.Or(first, want)
	line := errorLine("", cmp.Or(err, errors.New("")))
	if (err == nil) != (want == nil) || err != nil && (!strings.HasPrefix(line, "mrlocal: w.yaml:") || !strings.HasSuffix(line, errs.Word(want, setting.Fields(s.Fields(), (*setting.Setting).Key))+"\n")) {
		t.Fatalf("%s: %s, want %v", text, line, want)
	}
	return true
}

// TestKeysOfFilesAreSettings checks each key of a workload file that is a setting against the table.
func TestKeysOfFilesAreSettings(t *testing.T) {
	for name, section := range fileKeys() {
		for _, text := range []string{"0", "1", "2", "3", "0.5", "1.5", "-1", "20s", "x", "100001", "99999999999999999999"} {
			want := sim.NewSettings()
			problem := setting.Set(want.Fields(), name, text)
			key := strings.ReplaceAll(name, "-", "_")
			f, err := workload.Parse("w.yaml", fmt.Appendf(nil, settingsFile, fmt.Sprintf("%s: {%s: %q}\n", section, key, text), "sched: fifo"))
			switch {
			case problem != nil:
				if _, cause, _ := strings.Cut(problem.Error(), ": "); err == nil || err.Error() != fmt.Sprintf("w.yaml:1:%d: %s: %s", len(section+": {"+key+": ")+1, key, cause) {
					t.Errorf("%s: %s: %v, want %v", name, text, err, problem)
				}
			case err != nil:
				t.Errorf("%s: %s: %v", name, text, err)
			default:
				got := sim.NewSettings()
				got.Config = f.Config
				if texts(got.Fields()) != texts(want.Fields()) {
					t.Errorf("%s: %s: the file has another configuration", name, text)
				}
			}
		}
	}
}

// TestAGivenZeroIsAZero sets each setting to 0. The text is refused, or the value differs from the one that was not
// given, or the default is 0 as well.
func TestAGivenZeroIsAZero(t *testing.T) {
	tables := map[string]func() []setting.Setting{
		"sim":      func() []setting.Setting { s := sim.NewSettings(); return s.Fields() },
		"engine":   func() []setting.Setting { return new(mrlocal.Options).Fields() },
		"job":      func() []setting.Setting { return new(mrlocal.JobOptions).Fields() },
		"generate": func() []setting.Setting { return new(source.Options).Fields() },
		"tasks":    func() []setting.Setting { return new(source.Tasks).Fields() },
		"scaling":  func() []setting.Setting { return new(source.Scaling).Fields() },
		"cluster":  func() []setting.Setting { return new(source.Cluster).Fields() },
	}
	// These have a test of their own, or the text is a name or path.
	other := []string{"reducers", "input", "output", "output-file", "webhdfs", "hdfs-user", "pools", "tmp"}
	for table, fields := range tables {
		for i, s := range fields() {
			if slices.Contains(other, s.Name) || s.Toggle() {
				continue
			}
			fresh := fields()[i].Value.String()
			err := s.Value.Set("0")
			if err == nil && s.Value.String() == fresh && s.Default != "0" {
				t.Errorf("%s: %s 0 is as if it were not given; its default is %q", table, s.Name, s.Default)
			}
		}
	}
}
