package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
	"mrlocal/internal/testkit"
	"mrlocal/slots"
	"mrlocal/slots/setup"
)

func TestBadFilesAreRefusedInOneLine(t *testing.T) {
	bytes := strings.NewReplacer("<TAB>", "\t", "<FF>", "\xff", "<NUL>", "\x00")
	datadriven.RunTest(t, "testdata/bad.txt", func(t *testing.T, d *datadriven.TestData) string {
		_, err := Parse("w.yaml", []byte(bytes.Replace(d.Input+"\n")))
		if err == nil {
			return "accepted"
		}
		if !errs.IsUsage(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: not a usage error of one line: %v", d.Pos, err)
		}
		return err.Error()
	})
}

// everything has nearly every key that there is.
const everything = `cluster: {trackers: 9, map_slots: 10, reduce_slots: 2, cores: 4, disk: 100MB, net: 125MB, slot_weights: {map: 1, reduce: 2}}   # per tracker
defaults: {slowstart: 0.5, map_time: 20s, reduce_time: {uniform: [15s, 25s]}}
locality: {replicas: 3, group_trackers: 3}
users: [{name: ann, max_running_jobs: 2}]
pools:
  - {name: prod, weight: 2, min_maps: 4, min_reduces: 1, max_reduces: 7, max_running_jobs: 3, mode: fifo, preempt_after: 30s, fair_preempt_after: 60s}
                                                           # a comment
  - name: adhoc
slow: [{tracker: 3, factor: 0.3}]
faults: [{at: 50s, tracker: 3, lost: true}, {task: J01/m/7, fail: 2}, {task: J01/r/0, fail: 1}, {at: 70s, task: a/b/m/2, lost: true}]
jobs:
  - {name: a/b, pool: adhoc, maps: 3}
  - name: J01            # unique
    pool: prod
    user: ann
    submit: 1.5s
    after: [a/b, J02]
    weight: 0.25
    priority: very_high
    deadline: 3000s
    maps: 160
    reduces: 30
    map_time: {lognormal: [20s, 0.3]}
    reduce_time: {list: [1s, 2s]}
    map_output: 64MiB
    cpu: 0.6
    disk: 1.5KB
    profile: {map: {cpu: 0.30, io: 0.45, mem: 0.25}, shuffle: {io: 0.0015}, reduce: {cpu: 0.20, io: 0.50, mem: 0.60}}
    job: wordcount
    args: {input: [wiki/, 2024], output: out/J01, ignore-case: true, e: "", "top": 10}
  - name: J02
    job: sort
    args:
      input: wiki/
      k: [2,3n, 1]
`

func TestEveryKeyOfAFileIsRead(t *testing.T) {
	got, err := Parse("w.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	share := func(text string) ppm.Share { p, _ := ppm.Parse(text); return p }
	half := share("0.5")
	usual := Constant(20 * time.Second)
	spread := Times{law: uniform, a: 15 * time.Second, b: 25 * time.Second}
	want := &File{
		Name:    "w.yaml",
		Cluster: Cluster{Cores: 4, DiskBytes: 100e6, NetBytes: 125e6, MapWeight: 1, ReduceWeight: 2},
		Config: setup.Config{
			Trackers: 9, MapSlots: 10, ReduceSlots: 2, Slowstart: &half, Replicas: 3, GroupTrackers: 3,
			Users: []slots.User{{Name: "ann", MaxRunning: 2}},
			Pools: []slots.Pool{
				{Name: "prod", Weight: share("2"), MinMaps: 4, MinReduces: 1, MaxReduces: 7, MaxRunning: 3, FIFO: true, PreemptAfter: 30 * time.Second, FairPreemptAfter: time.Minute},
				{Name: "adhoc", Weight: ppm.One},
			},
			Slow: []setup.Slow{{Tracker: 3, Factor: share("0.3")}},
			Faults: []setup.Fault{
				{At: 50 * time.Second, Tracker: 3, Lost: true},
				{Tracker: -1, Job: 1, Task: 7, Fail: 2},
				{Tracker: -1, Job: 1, Reduce: true, Fail: 1},
				{At: 70 * time.Second, Tracker: -1, Lost: true, Task: 2},
			},
		},
		Jobs: []ListedJob{
			{Submission: setup.Submission{Name: "a/b", Pool: "adhoc", Weight: ppm.One}, Maps: 3, MapTime: usual, ReduceTime: spread, Pos: Pos{12, 5}},
			{
				Submission: setup.Submission{Name: "J01", Pool: "prod", User: "ann", Submit: 1500 * time.Millisecond, After: []int{0, 2}, Weight: share("0.25"), Priority: 2, Deadline: 3000 * time.Second, Profile: &slots.Profile{
					Map: slots.Vector{CPU: share("0.3"), IO: share("0.45"), Memory: share("0.25")}, Shuffle: slots.Vector{IO: 1500},
					Reduce: slots.Vector{CPU: share("0.2"), IO: share("0.5"), Memory: share("0.6")},
				}},
				Maps: 160, Reduces: 30, MapTime: Times{law: lognormal, a: 20 * time.Second, sigma: 0.3}, ReduceTime: Times{law: listed, list: []time.Duration{time.Second, 2 * time.Second}},
				MapOutputBytes: 64 << 20, CPU: share("0.6"), DiskBytes: 1500,
				Job: "wordcount",
				Args: []Arg{
					{"input", []string{"wiki/", "2024"}, Pos{30, 12}}, {"output", []string{"out/J01"}, Pos{30, 34}},
					{"ignore-case", []string{"true"}, Pos{30, 51}}, {"e", []string{""}, Pos{30, 70}}, {"top", []string{"10"}, Pos{30, 77}},
				},
				Pos: Pos{13, 5},
			},
			{
				Submission: setup.Submission{Name: "J02", Pool: "J02", Weight: ppm.One}, MapTime: usual, ReduceTime: spread, Job: "sort",
				Args: []Arg{{"input", []string{"wiki/"}, Pos{34, 7}}, {"k", []string{"2", "3n", "1"}, Pos{35, 7}}}, Pos: Pos{31, 5},
			},
		},
	}
	for i := range want.Jobs {
		if !reflect.DeepEqual(got.Jobs[i], want.Jobs[i]) {
			t.Errorf("job %d\n got %+v\nwant %+v", i, got.Jobs[i], want.Jobs[i])
		}
	}
	want.keys = map[string]keyAt{
		"Options.Trackers": {"trackers", Pos{1, 21}}, "Options.MapSlots": {"map_slots", Pos{1, 35}}, "Options.ReduceSlots": {"reduce_slots", Pos{1, 53}},
		"Options.Slowstart": {"slowstart", Pos{2, 23}}, "Options.Replicas": {"replicas", Pos{3, 22}},
	}
	want.trackersAt = []trackerAt{{3, Pos{9, 18}}, {3, Pos{10, 29}}} // where slow and faults name them
	if got.Jobs, want.Jobs = nil, nil; !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestExperimentsAreRead(t *testing.T) {
	got, err := Parse("w.yaml", []byte(`jobs:
  - {name: J, maps: 1, map_time: 1s}
experiments:
  - name: e
    title: A title
    paper: a paper, Fig. 1
    assumed: [times]
    fitted: map_time
    with: {cost: l1}
    runs: [{name: a, jobs: J, sched: fair, slowstart: [0.05, 1]}]
    figures: [{what: w, target: Q1, paper: 29 %, ours: "makespan[a]", band: [20 %, 40 %], beyond: 0, fitted: true, withdrawn: the band, because: b}, {what: v, paper: 2 s, because: "not built: the network"}]
    charts: [{name: c, title: t, x: xs, y: ys, lines: [{name: l, y: "makespan[a-*]"}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Experiment{{
		Name: "e", Title: "A title", Paper: "a paper, Fig. 1", Assumed: []string{"times"}, Fitted: []string{"map_time"},
		With:    []Arg{{"cost", []string{"l1"}, Pos{9, 12}}},
		Runs:    []Trial{{Name: "a", Jobs: []string{"J"}, Args: []Arg{{"sched", []string{"fair"}, Pos{10, 31}}, {"slowstart", []string{"0.05", "1"}, Pos{10, 44}}}, Pos: Pos{10, 12}}},
		Figures: []Figure{{What: "w", Target: "Q1", Paper: "29 %", Ours: "makespan[a]", Band: []string{"20 %", "40 %"}, Beyond: "0", Fitted: true, Withdrawn: "the band", Because: "b", Pos: Pos{11, 15}}, {What: "v", Paper: "2 s", Because: "not built: the network", Pos: Pos{11, 150}}},
		Charts:  []ChartOf{{Name: "c", Title: "t", X: "xs", Y: "ys", Lines: []LineOf{{"l", "makespan[a-*]", Pos{12, 56}}}}},
		Pos:     Pos{4, 5},
	}}
	if !reflect.DeepEqual(got.Experiments, want) {
		t.Errorf("\n got %+v\nwant %+v", got.Experiments, want)
	}
	for text, complaint := range map[string]string{
		"{name: e, paper: p, runs: [{sched: fair}], figures: []}":                                                         "no name",
		"{name: e, paper: p, runs: [{name: a}], figures: [{what: w, paper: p, ours: o, band: [1]}]}":                      "give [least, most]",
		"{name: e, runs: [{name: a}], figures: [{what: w, paper: p, ours: o}]}":                                           "no paper",
		"{name: e, paper: p, runs: [{name: a}]}":                                                                          "no figures",
		"{name: e, paper: p, runs: [{name: a}], figures: [{what: w, paper: p}]}":                                          "no ours",
		"{name: e, paper: p, runs: [{name: a}], figures: [{what: w, paper: p, ours: o, because: \"not built: x\"}]}":      "has ours, and is not built",
		"{name: e, paper: p, runs: [{name: a}], figures: [{what: w, paper: p, ours: o}], charts: [{name: c, lines: []}]}": "no lines",
	} {
		_, err := Parse("w.yaml", []byte("jobs: [{name: J, maps: 1, map_time: 1s}]\nexperiments: ["+text+"]\n"))
		if err == nil || !strings.HasSuffix(err.Error(), complaint) {
			t.Errorf("%s: %v, want %s", text, err, complaint)
		}
	}
}

func TestOrdinaryFormsOfYAMLAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"a file of Windows":           "jobs:\r\n  - name: a\r\n    maps: 3\r\n  - name: b\r\n    maps: 3\r\n    after: [a]\r\n",
		"a byte order mark":           "\ufeffjobs: [{name: a, maps: 3}, {name: b, maps: 3, after: a}]\n",
		"no newline at the end":       "jobs:\n- {name: a, maps: 3}\n- {name: b, maps: 3, after: [a]}",
		"the marks of a document":     "%YAML 1.2\n---\njobs: [{name: a, maps: 3}, {name: b, maps: 3, after: [a]}]\n...\n",
		"JSON":                        `{"jobs": [{"name": "a", "maps": 3}, {"name": "b", "maps": 3, "after": ["a"]}]}`,
		"sections after the jobs":     "jobs:\n  - name: a\n    maps: 3\n    pool: p\n  - name: b\n    maps: 3\n    after: [a]\npools:\n  - name: p\n",
		"an anchor and its alias":     "defaults: {map_time: &t {uniform: [1s, 2s]}}\njobs:\n- {name: a, maps: 3, map_time: *t}\n- {name: b, maps: 3, after: [a]}\n",
		"jobs merged with <<":         "jobs:\n- &a {name: a, maps: 3}\n- {<<: *a, name: b, after: [a]}\n",
		"a merge of several":          "jobs:\n- &a {name: a, maps: 3}\n- &b\n  <<: [{maps: 3}, *a]\n  name: b\n  after: [a]\n",
		"quoted words":                "\"jobs\":\n- {\"name\": 'a', maps: \"3\"}\n- {name: b, maps: '3', after: [\"a\"]}\n",
		"text in a block":             "jobs:\n- name: a\n  maps: 3\n- name: b\n  maps: 3\n  after: a\n  job: grep\n  args:\n    e: |-\n      - name: c\n",
		"comments between the items":  "jobs: # all\n# one\n  - name: a # this\n# two\n    maps: 3\n\n\n# three\n  - name: b\n    maps: 3\n    after: [a]\n# end\n",
		"items that are not indented": "cluster: {trackers: 2}\njobs:\n- name: a\n  maps: 3\n- name: b\n  maps: 3\n  after:\n  - a\nslow:\n- {tracker: 1, factor: 2}\n",
		"a dash on a line of its own": "jobs:\n  -\n    name: a\n    maps: 3\n  -\n    name: b\n    maps: 3\n    after: [a]\n",
		"flow that goes over lines":   "jobs:\n  - {name: a,\n     maps: 3}\n  - {name: b, maps: 3,\n      after: [\n      a]}\n",
		"a key with a question mark":  "jobs:\n- {name: a, maps: 3}\n- ? name\n  : b\n  maps: 3\n  after: [a]\n",
	} {
		for _, bytes := range []int{1, pieceBytes} {
			f, err := parse("w.yaml", text, bytes)
			if err != nil {
				t.Errorf("%s, in pieces of %d bytes: %v", name, bytes, err)
				continue
			}
			if len(f.Jobs) != 2 || f.Jobs[0].Name != "a" || f.Jobs[1].Name != "b" || f.Jobs[1].Maps != 3 || fmt.Sprint(f.Jobs[1].After) != "[0]" {
				t.Errorf("%s, in pieces of %d bytes: %+v", name, bytes, f.Jobs)
			}
		}
	}
}

// Pieces can use anchors of the head and of an earlier piece. Places behind the jobs are right.
func TestPiecesKnowWhatIsBeforeThem(t *testing.T) {
	text := "defaults: {map_time: &t 7s}\njobs:\n- &a {name: a, maps: 1, map_time: *t}\n- {<<: *a, name: b}\n- {<<: *a, name: c, maps: -1}\n"
	_, err := parse("w", text, 1)
	if err == nil || err.Error() != `w:5:27: maps: -1: too small; at least 0` {
		t.Error(err)
	}
	f, err := parse("w", strings.Replace(text, "-1", "1", 1)+"users: [{name: *a}]\n", 1)
	if err == nil || !strings.HasPrefix(err.Error(), "w:6:16: name: a single value") {
		t.Error(f, err)
	}
}

// samePieces checks that a text gives the same File, or the same error, in pieces and as a whole. Of
// several mistakes they may report different ones.
func samePieces(t *testing.T, text string, several bool) {
	whole, wholeErr := parse("w", text, len(text)+1)
	for _, bytes := range []int{1, 40} {
		f, err := parse("w", text, bytes)
		switch {
		case err == nil && wholeErr == nil:
			if !reflect.DeepEqual(f, whole) {
				t.Errorf("in pieces of %d\n     %+v\nnot %+v", bytes, f, whole)
			}
		case several && err != nil && wholeErr != nil:
		case fmt.Sprint(err) != fmt.Sprint(wholeErr):
			t.Errorf("in pieces of %d: %v, whole: %v\n%s", bytes, err, wholeErr, text)
		}
	}
}

func TestPiecesMeanWhatTheWholeMeans(t *testing.T) {
	samePieces(t, everything, false)
	testkit.Mutants(everything, *draws/5, 2, func(damaged string) { samePieces(t, damaged, true) })
	text, err := os.ReadFile("testdata/bad.txt")
	if err != nil {
		t.Fatal(err)
	}
	for c := range strings.SplitSeq(string(text), "\n\n") {
		body, _, _ := strings.Cut(c, "\n----\n")
		samePieces(t, body+"\n", false)
	}
}

func TestAliasesCanNotMakeMuchOfLittle(t *testing.T) {
	rounds := testkit.Rounds(4)
	many := 15_000 * rounds
	var text strings.Builder
	text.WriteString("jobs:\n- &a0 {name: x, maps: 1}\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&text, "- &a%d {<<: [*a%d, *a%d, *a%d, *a%d], name: x%d}\n", i, i-1, i-1, i-1, i-1, i)
	}
	for name, bomb := range map[string]string{
		"merges of merges":     text.String(),
		"a list of its own":    "jobs: [{name: a, maps: 1, map_time: {list: &l [*l, *l]}}]\n",
		"an alias of itself":   "jobs: &j [{name: &n *n, maps: 1}]\n",
		"jobs in jobs":         "jobs: &j [*j, *j]\n",
		"a long list, often":   "jobs:\n- {name: a, maps: 1, map_time: {list: &l [" + strings.Repeat("1s,", 1250*rounds) + "]}}\n" + strings.Repeat("- {name: b, maps: 1, map_time: {list: *l}}\n", 1250*rounds),
		"brackets":             strings.Repeat("[", many),
		"brackets with words":  "jobs: " + strings.Repeat("[a, ", many),
		"braces":               strings.Repeat("{a: ", many),
		"dashes":               strings.Repeat("- ", many),
		"question marks":       strings.Repeat("? ", many),
		"colons":               strings.Repeat("a: ", many),
		"anchors":              strings.Repeat("&a ", many),
		"anchors over lines":   strings.Repeat("&a\n", many),
		"tags":                 strings.Repeat("!a ", many),
		"tags over lines":      strings.Repeat("!a\n", many),
		"anchors in brackets":  "[" + strings.Repeat("&a ", many),
		"dashes over lines":    strings.Repeat("-\n", many),
		"stairs":               stairs(1200, "a:"),
		"stairs of dashes":     stairs(1200, "-"),
		"empty lines in text":  "a: |\n  " + strings.Repeat("\n", many),
		"many keys":            strings.Repeat("a: b\n", many),
		"many documents":       strings.Repeat("--- a\n", many),
		"questions over lines": strings.Repeat("?\n", many),
	} {
		start := time.Now()
		d := newDecoder("w", len(bomb))
		d.steps = d.steps * int64(rounds) / 4 // the steps of a file take seconds
		if f, err := d.read(bomb, pieceBytes); err == nil {
			t.Errorf("%s: accepted, %d jobs", name, len(f.Jobs))
		} else if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: refused after %v: %v", name, took, err)
		} else {
			t.Logf("%s, %d bytes, %v: %v", name, len(bomb), took.Round(time.Millisecond), err)
		}
	}
}

// No repetition of these texts fills a stack of 200 bytes a text, or takes long. A full stack ends the test.
func TestNothingRepeatedFillsTheStack(t *testing.T) {
	rounds := testkit.Rounds(4)
	defer debug.SetMaxStack(debug.SetMaxStack(512 << 10 * rounds))
	times := 2_500 * rounds
	for _, c := range [][3]string{ // before, repeated, after
		{"a: {", "? a,", "}"}, {"jobs: [", "a,", "]"}, {"jobs: [", "\n", "]"}, {"jobs: {", "a: b,", "}"}, {"jobs: {", "a: b,\n", "}"},
		{"a: |\n", "  x\n", ""}, {"a: |\n", "  x\n\n", ""}, {"a: >\n", "  x\n", ""}, {"a: \"", "x\n ", "\""}, {"a: '", "x\n ", "'"}, {"a: ", "x\n ", ""},
		{"a:\n", "  - b\n", ""}, {"a:\n", "  - b: c\n", ""}, {"a:\n", "  - b: c\n    d: e\n", ""}, {"a: [", "[],", "]"}, {"a: ", "\n", "b"},
		{"a: ", "# x\n", "b"}, {"a: [", "# x\n", "b]"}, {"- a\n", "\n", "- b"}, {"jobs: [", "{a: b},", "]"}, {"a: [", "*b,", "]"}, {"a: [", "&b c,", "]"},
		{"a: |2\n", "\n", ""}, {"a: \"", "\n", "\""}, {"a: '", "\n", "'"}, {"a: x", "\n", "\n y"}, {"a: ", "?", ""}, {"a: &b ", "\n", "c"}, {"", "%\n", ""},
		{"a: [", "'x',", "]"}, {"a:\n", "  ? x\n", ""}, {"a: [", "x: y,", "]"}, {"", "- ? a\n  : b\n", ""}, {"", "? a\n: b\n", ""}, {"", "*a : b\n", ""},
		{"&a a: b\n", "<<: *a\n", ""}, {"", "&a b: c\n", ""}, {"", "!a b: c\n", ""}, {"", "\"b\": c\n", ""}, {"", "b:\n", ""}, {"", ": b\n", ""},
		{"", " b:\nc:\n", ""}, {"", "a: b\n\n\n# x\n", ""}, {"[a]\n", "[a]: b\n", ""}, {"", "{a}: b\n", ""}, {"a: {", "? a : b,", "}"},
		{"a: [", "? a,", "]"}, {"", "--- a\n", ""}, {"", "- a\n...\n", ""}, {"a: [\n", "a: b\n", "]"}, {"a: {\n", "a: b\n", "}"}, {"", "a: b\n c: d\n", ""},
		{"", "- a: b\n- c: d\n  e: f\n", ""}, {"a: [", "{x: y}, ", ""}, {"a: [", "[x],\n", ""}, {"a: {", "x: [y],\n", ""}, {"a: ", "- ", ""},
		{"a: ", "-\n", ""}, {"a: ", "{}", ""}, {"a: ", "[]", ""}, {"a: ", "}", ""}, {"a: ", "]", ""}, {"", "a:\n- b\n", ""}, {"", "- - a\n", ""},
		{"", "- - a\n  - b\n", ""}, {"", "-\n - a\n", ""}, {"", "b: &a\n", ""}, {"", "b: !a\n", ""}, {"", "b: |\n", ""}, {"", "b: >\n c\n", ""},
		{"", "- &a\n", ""}, {"", "- !a\n", ""}, {"", "- a: &b\n", ""}, {"", "- a: !b\n", ""}, {"- ", "- a: !b\n", ""}, {"- ", "- a: &b\n", ""},
		{"- ", "- a: *b\n", ""}, {"", "- a:\n", ""}, {"", "- a: |\n", ""}, {"", "- a: >\n", ""}, {"", "- a: '\n", ""}, {"", "- ? a\n", ""},
		{"", "- ?\n", ""}, {"", "- :\n", ""}, {"", "- <<:\n", ""}, {"", "- <<: *a\n", ""}, {"a: &b\n", "- &b\n", ""}, {"", "a: &b\n- c\n", ""},
		{"", "&b\n- c\n", ""}, {"", "- &b\n- c\n", ""}, {"", "- &b\n  - c\n", ""}, {"", "- &b\n  c: &d\n", ""}, {"", "- c: &d\n  e: &f\n", ""},
		{"[", "&a b: c,", "]"}, {"[", "a: &b,", "]"}, {"{", "a: &b,", "}"}, {"[", "*a: b,", "]"}, {"[\n", "&a\n", "]"}, {"[\n", "- \n", "]"},
		{"[\n", "? \n", "]"}, {"[\n", ":\n", "]"}, {"[\n", "- a\n", "]"}, {"[\n", "? a\n", "]"}, {"[\n", "a\n", "]"}, {"[\n", "|\n", "]"},
		{"[\n", "'a'\n", "]"}, {"", "'a'\n", ""}, {"", "'a' ", ""}, {"", "*a ", ""}, {"", "*a\n", ""}, {"", "@\n", ""}, {"", "%TAG ! !\n", ""},
		{"", "%YAML 1.2\n", ""}, {"", "# a\n---\n", ""}, {"", "- # a\n", ""}, {"", "a: # b\n", ""},
	} {
		start := time.Now()
		if _, err := Parse("w", []byte(c[0]+strings.Repeat(c[1], times)+c[2])); err == nil {
			t.Errorf("%q is accepted", c)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%q: %v", c, took)
		}
	}
}

func stairs(n int, word string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + word + "\n")
	}
	return b.String()
}

func manyJobs(n int) string {
	var b strings.Builder
	b.WriteString("cluster: {trackers: 1000, map_slots: 8, reduce_slots: 2}\npools: [{name: p0}, {name: p1}]\njobs:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: J%06d\n    pool: p%d\n    submit: %dms\n    maps: 10\n    reduces: 2\n    map_time: {uniform: [25s, 35s]}\n    reduce_time: 20s\n", i, i%2, i)
		if i > 0 {
			fmt.Fprintf(&b, "    after: [J%06d]\n", i-1)
		}
	}
	return b.String()
}

func TestAHundredThousandJobsLoad(t *testing.T) {
	n := 10_000 * testkit.Rounds(10)
	text := []byte(manyJobs(n))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	f, err := Parse("w", text)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	t.Logf("%d jobs of %d bytes in %v, %d MiB more from the system", n, len(text), took, (after.Sys-before.Sys)>>20)
	if len(f.Jobs) != n || f.Jobs[n-1].After[0] != n-2 || f.Jobs[n-1].Pos.Line != 4+8*(n-1)-1 {
		t.Errorf("%d jobs, the last %+v", len(f.Jobs), f.Jobs[n-1])
	}
	if more := after.Sys - before.Sys; more > 512<<20 {
		t.Errorf("%d MiB more from the system", more>>20)
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "w.yaml")
	if err := os.WriteFile(path, []byte(everything), 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err := Load(path); err != nil || f.Name != path || len(f.Jobs) != 3 {
		t.Errorf("%v, %v", f, err)
	}
	for _, bad := range []string{dir, filepath.Join(dir, "none.yaml")} {
		if _, err := Load(bad); !errs.IsUsage(err) || !strings.HasPrefix(err.Error(), bad+": ") || strings.Count(err.Error(), bad) != 1 {
			t.Errorf("%v", err)
		}
	}
}

func TestEachDriverNamesWhatAJobLacks(t *testing.T) {
	for text, want := range map[string][2]string{
		"jobs: [{name: a, maps: 3, map_time: 1s}]":                                    {"", "w:1:8: job a: can only be simulated: to run it, give job"},
		"jobs: [{name: a, job: sort, args: {input: x}}]":                              {"w:1:8: job a: no maps", ""},
		"jobs: [{name: a, job: sort, maps: 3, args: {input: x}}]":                     {"w:1:8: job a: no map_time", ""},
		"jobs: [{name: a, job: sort, maps: 3, reduces: 1, map_time: 1s}]":             {"w:1:8: job a: no reduce_time", ""},
		"defaults: {map_time: 1s}\njobs: [{name: a, job: sort, maps: 3}]":             {"", ""},
		"defaults: {map_time: 1s}\njobs: [{name: a, job: sort, maps: 3, reduces: 1}]": {"w:2:8: job a: no reduce_time", ""},
	} {
		f, err := Parse("w", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range []error{f.CheckSimulated(), f.CheckReal()} {
			if err == nil && want[i] != "" || err != nil && (want[i] == "" || !strings.HasPrefix(err.Error(), want[i])) {
				t.Errorf("%s: %v, want %q", text, err, want[i])
			}
		}
	}
}

// Parse returns for any text, in time in proportion to its length. In an accepted File every index
// is in range.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	f.Add("jobs:\n- &a {name: a, maps: 3}\n- {<<: [*a, *a], name: b, after: [a]}\n")
	text, err := os.ReadFile("testdata/bad.txt")
	if err != nil {
		f.Fatal(err)
	}
	for c := range strings.SplitSeq(string(text), "\n\n") {
		body, _, _ := strings.Cut(c, "\n----\n")
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		w, err := Parse("w", []byte(text))
		if took := time.Since(start); took > 10*time.Second {
			t.Fatalf("%v for %d bytes", took, len(text))
		}
		if err != nil {
			if !errs.IsUsage(err) || strings.ContainsAny(err.Error(), "\n\r") || !strings.HasPrefix(err.Error(), "w:") {
				t.Fatalf("not an error of one line with a place: %q", err)
			}
			return
		}
		for i, j := range w.Jobs {
			if j.Name == "" || j.Pool == "" || j.Maps+j.Reduces == 0 && j.Job == "" || j.Pos.Line < 1 {
				t.Fatalf("job %d: %+v", i, j)
			}
			for _, a := range j.After {
				if a < 0 || a >= len(w.Jobs) || a == i {
					t.Fatalf("job %d after %d of %d", i, a, len(w.Jobs))
				}
			}
			j.MapTime.At(1, i, false, 5)
		}
	})
}
