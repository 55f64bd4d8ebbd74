package submit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
)

// sparkSpec returns the options of a chain of two jobs on Spark.
func sparkSpec(t *testing.T) Options {
	o := spec(t)
	c, err := grep.New(grep.Options{Patterns: []string{"x"}})
	o.Engine, o.Jar, o.Chain, o.Job, o.Inputs, o.Output = Spark, "", chain(t, c, err), "grep", []string{"/in", "/größe"}, "s3a://bucket/out"
	return o
}

// TestTheDriverIsShownForAShell compares the driver of a chain, and its command, with a golden file.
func TestTheDriverIsShownForAShell(t *testing.T) {
	o := sparkSpec(t)
	o.Args, o.Reducers, o.Name, o.Queue, o.Properties = []string{"--regexp=a\"\\b\té\xff"}, 3, "it's mine", "prod", []string{"spark.executor.memory=2g"}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/spark.txt", []byte(p.Text(nil)))
}

// TestPythonReadsTheDriver lets Python parse the driver, and print the words of the child.
func TestPythonReadsTheDriver(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is missing, which runs the driver")
	}
	o := sparkSpec(t)
	var word []byte
	for b := range 256 {
		word = append(word, byte(b))
	}
	o.Args = []string{string(word)}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(python, "-c", `import ast, sys
tree = ast.parse(sys.stdin.buffer.read())
values = {n.targets[0].id: ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign)}
sys.stdout.buffer.write(values["STEPS"][0][0][1] + ascii(values["INPUTS"]).encode())`)
	c.Stdin = strings.NewReader(p.driver)
	got, err := c.Output()
	if want := append(word, `['/in', '/gr\xf6\xdfe']`...); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
}

// TestARefusalNamesNoOtherEngine: what a cluster cannot do, neither of both can.
func TestARefusalNamesNoOtherEngine(t *testing.T) {
	for name, change := range map[string]func(j *jobs.Job){
		"NUL": func(j *jobs.Job) { j.Delim = jobs.NUL }, "Bare": func(j *jobs.Job) { j.Bare = true }, "NoInput": func(j *jobs.Job) { j.NoInput = true },
		"Rounds": func(j *jobs.Job) { j.Rounds = 2 }, "Outputs": func(j *jobs.Job) { j.Outputs = []string{"x"} }, "ByFile": func(j *jobs.Job) { j.ByFile = true },
	} {
		o := sparkSpec(t)
		o.Chain = slices.Clone(o.Chain)
		change(&o.Chain[0])
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "Hadoop") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhatTheDriverPrintsIsRead runs scripts in place of spark-submit. A script prints what the driver prints.
func TestWhatTheDriverPrintsIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		kind   error
		want   string // nothing: the job succeeds
	}{
		"done":      {"eval driver=\\$$#; grep -q '^STEPS' $driver; echo 'mrlocal: counter: 1 REDUCE_OUTPUT_RECORDS 7'; echo 'mrlocal: counter: 9 X 7'; echo 'mrlocal: note: app-1 http://x'", nil, ""},
		"refused":   {"echo 'WARN: x' >&2; echo 'mrlocal: error: Path /out already exists'; exit 2", errs.BadInput, "Path /out already exists"},
		"failed":    {"echo 'mrlocal: error: mrlocal child ended with 3: bad'; echo 'INFO end' >&2; exit 3", errs.JobFailed, "spark-submit ended with 3: mrlocal child ended with 3: bad"},
		"no master": {"echo 'Exception in thread \"main\" Could not parse Master URL' >&2; echo '	at x' >&2; exit 1", errs.JobFailed, "Could not parse Master URL"},
		"wrong":     {"echo 'Error: Unrecognized option' >&2; exit 2", errs.JobFailed, "ended with 2: Error: Unrecognized option"},
	} {
		t.Run(name, func(t *testing.T) {
			o := sparkSpec(t)
			o.Submit = command(t, c.script)
			p, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			var notes []string
			r, err := p.Run(context.Background(), Listener{Note: func(text string) { notes = append(notes, text) }})
			if c.want != "" {
				if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || r.Jobs[1].State != "failed" || r.Error == "" {
					t.Errorf("%v, report %+v; want %s", err, r, c.want)
				}
				return
			}
			got := fmt.Sprint(err, notes, r.Jobs[1].Name, r.Jobs[1].StepOf, r.Jobs[1].State, r.Jobs[1].Counters.ReduceOutputRecords)
			if want := fmt.Sprint(nil, []string{"app-1 http://x"}, o.Chain[1].Name, o.Chain[0].Name, "done", 7); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestTheEndOfTheContextEndsSparkSubmit cancels at the first note. The signal must end the command.
func TestTheEndOfTheContextEndsSparkSubmit(t *testing.T) {
	o := sparkSpec(t)
	o.Submit = command(t, "echo 'mrlocal: note: app-1'; exec sleep 60")
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	if _, err = p.Run(ctx, Listener{Note: func(string) { cancel(stop) }}); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
