package submit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mrlocal/hadoop/stream"
	"mrlocal/internal/errs"
	"mrlocal/internal/testkit"
	"mrlocal/jobs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/sort"
	"mrlocal/jobs/wordcount"
	"mrlocal/slots/report"
)

func chain(t *testing.T, c jobs.Chain, err error) jobs.Chain {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// spec returns the options of a word count.
func spec(t *testing.T) Options {
	c, err := wordcount.New(wordcount.Options{})
	return Options{
		Chain: chain(t, c, err), Job: "wordcount", Inputs: []string{"hdfs://nn:8020/in"}, Output: "hdfs://nn:8020/out",
		Jar: HomeJar, Binary: "/opt/mrlocal/mrlocal",
	}
}

// TestThePlanIsShownForAShell compares the commands of each job with a golden file.
func TestThePlanIsShownForAShell(t *testing.T) {
	var b strings.Builder
	show := func(title string, s Options, cuts []string) {
		t.Helper()
		p, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", title, p.Text(cuts))
	}
	s := spec(t)
	show("wordcount", s, nil)
	s.Queue, s.Name, s.Properties, s.Hadoop, s.Jar = "root.default", "it's mine", []string{"mapreduce.map.memory.mb=512"}, "/opt/hadoop/bin/hadoop", "/opt/streaming.jar"
	s.Reducers = 3
	show("wordcount in three reduces", s, []string{"mrlocal", "stream", "cuts", "wordcount", "--reduces=3", "hdfs://nn:8020/in"})

	s = spec(t)
	c, err := sort.New(sort.Options{Keys: []string{"2,2"}, Stable: true})
	s.Chain, s.Job, s.Args, s.InOrder, s.Results = chain(t, c, err), "sort", []string{"--key=2,2", "--stable"}, true, stream.TypedBytes
	show("sort by a key, stable, with carriage returns", s, nil)

	s = spec(t)
	c, err = grep.New(grep.Options{Patterns: []string{"a b"}})
	s.Chain, s.Job, s.Args = chain(t, c, err), "grep", []string{"--regexp=a b", "--regexp=it's"}
	show("grep, a chain of two", s, nil)

	c, err = grep.New(grep.Options{Patterns: []string{"x"}, Lines: true})
	s.Chain, s.Args, s.Files = chain(t, c, err), []string{"--lines", "--regexp=x"}, 7
	show("grep of lines", s, nil)
	testkit.Golden(t, "testdata/plans.txt", []byte(b.String()))
}

func TestWhatHadoopCannotDoIsRefusedByName(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"Options.Inputs":           func(s *Options) { s.Inputs = nil },
		"in.txt: not on a cluster": func(s *Options) { s.Inputs = []string{"in.txt"} },
		"a comma":                  func(s *Options) { s.Inputs = []string{"hdfs://nn/a,b"} },
		"Options.Output":           func(s *Options) { s.Output = "" },
		"out: not on a cluster":    func(s *Options) { s.Output = "out" },
		"Options.Binary":           func(s *Options) { s.Binary = "/opt/my mrlocal" },
		"not NAME=VALUE":           func(s *Options) { s.Properties = []string{"x"} },
		"empty part":               func(s *Options) { s.Queue = "root..a" },
		"blank at its end":         func(s *Options) { s.Properties = []string{"mapreduce.job.queuename=root.a "} },
		"both kinds of quotes":     func(s *Options) { s.Args = []string{`-e '"`} },
		"an empty word":            func(s *Options) { s.Args = []string{""} },
		"in.txt: write /PATH":      func(s *Options) { s.Engine, s.Jar, s.Inputs = Spark, "", []string{"in.txt"} },
		"out: write /PATH":         func(s *Options) { s.Engine, s.Jar, s.Output = Spark, "", "out" },
		"another URI":              func(s *Options) { s.Engine, s.Jar, s.Inputs = Spark, "", []string{"/a\xff"} },
		"may have any bytes":       func(s *Options) { s.Engine, s.Jar, s.Results = Spark, "", stream.TypedBytes },
		"does not use Hadoop":      func(s *Options) { s.Engine = Spark },
		"ships no file":            func(s *Options) { s.Engine, s.Jar, s.Binary = Spark, "", "/a,b" },
		"Options.Reducers":         func(s *Options) { s.Engine, s.Jar, s.Reducers, s.Chain[0].NewReducer = Spark, "", 2, nil },
	} {
		s := spec(t)
		change(&s)
		if _, err := New(s); !errors.Is(err, errs.BadOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestTheWatcherReadsWhatHadoopPrints reads the output of the client of Hadoop 3.4.2 for a word count.
func TestTheWatcherReadsWhatHadoopPrints(t *testing.T) {
	text, err := os.ReadFile("testdata/client-3.4.2.txt")
	if err != nil {
		t.Fatal(err)
	}
	var job report.JobReport
	var said []string
	w := watcher{job: &job, l: Listener{
		Progress: func(_ string, maps, reduces int) { said = append(said, fmt.Sprintf("%d/%d", maps, reduces)) },
		Note:     func(text string) { said = append(said, text) },
	}}
	for line := range strings.Lines(string(text)) {
		w.line(strings.TrimRight(line, "\n"), time.Now())
	}
	if got, want := strings.Join(said, " "), "http://localhost:19309/proxy/application_1795378304921_0012/ job_1795378304921_0012 25/0 75/0 100/0 100/100"; got != want {
		t.Errorf("said %s, want %s", got, want)
	}
	c := job.Counters
	if !w.accepted || !w.counted || w.jobID() != "job_1795378304921_0012" || job.Maps != 4 || job.Reduces != 1 {
		t.Errorf("accepted %t, counted %t, job %s, %d maps, %d reduces", w.accepted, w.counted, w.jobID(), job.Maps, job.Reduces)
	}
	want := report.Counters{MapInputRecords: 53641, MapInputBytes: 2097182, MapOutputRecords: 247657, MapOutputBytes: 921759, CombineInputRecords: 247657, CombineOutputRecords: 67868,
		ReduceInputGroups: 50906, ReduceInputRecords: 67868, ReduceOutputRecords: 50906, ReduceShuffleBytes: 1057519, SpilledRecords: 135736,
		DataLocalMaps: 4, LaunchedMaps: 4, LaunchedReduces: 1, KilledMaps: 1}
	if c != want {
		t.Errorf("counters %+v\nwant     %+v", c, want)
	}
}

// command writes a script that is run in place of hadoop.
func command(t *testing.T, script string) string {
	path := filepath.Join(t.TempDir(), "hadoop")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExitCodesOfHadoopBecomeKinds runs scripts in place of hadoop.
func TestExitCodesOfHadoopBecomeKinds(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		kind   error
		want   string
	}{
		"refused":     {"echo 'x ERROR streaming.StreamJob: Error Launching job : Output directory hdfs://nn/out already exists' >&2; echo 'Streaming Command Failed!'; exit 5", errs.BadInput, "Output directory hdfs://nn/out already exists"},
		"failed":      {"echo 'INFO mapreduce.Job: Job job_1 failed with state FAILED due to: Task failed'; echo last; exit 1", errs.JobFailed, "hadoop ended with 1: Job job_1 failed with state FAILED due to: Task failed"},
		"lost":        {"echo 'INFO mapreduce.Job: Running job: job_1'; echo 'ERROR streaming.StreamJob: Error Launching job : Connection refused' >&2; exit 5", errs.JobFailed, "hadoop ended with 5: Error Launching job : Connection refused"},
		"no counters": {"exit 0", nil, "without counters"},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t)
			s.Hadoop = command(t, c.script)
			p, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Run(context.Background(), Listener{Progress: func(string, int, int) {}, Note: func(string) {}})
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if len(r.Jobs) != 1 || r.Jobs[0].State != "failed" || r.Error == "" {
				t.Errorf("report %+v", r)
			}
		})
	}
}

// TestOneNoteNamesAServerThatDoesNotAnswer reads the output of Hadoop 3.4.2's client without a
// ResourceManager.
func TestOneNoteNamesAServerThatDoesNotAnswer(t *testing.T) {
	var said []string
	w := watcher{job: &report.JobReport{}, l: Listener{Note: func(text string) { said = append(said, text) }}}
	for i := range 3 {
		w.line(fmt.Sprintf("2026-11-23 13:20:11,208 INFO ipc.Client: Retrying connect to server: localhost/127.0.0.1:19205. Already tried %d time(s); maxRetries=3", i), time.Now())
	}
	if got := strings.Join(said, "|"); got != "no answer from localhost/127.0.0.1:19205; Hadoop tries again" {
		t.Error(got)
	}
}

// TestTheEndOfTheContextKillsTheJob waits for the job's ID, cancels, and looks for the kill. The cluster may have the
// job before the client says that it runs.
func TestTheEndOfTheContextKillsTheJob(t *testing.T) {
	for _, said := range []string{"INFO mapreduce.Job: Running job: job_7", `INFO mapreduce.JobSubmitter: Submitting tokens for job: job_7
INFO mapreduce.Job: The url to track the job: http://rm/proxy/`} {
		t.Run(said[:30], func(t *testing.T) { endsWithAKill(t, said) })
	}
}

// endsWithAKill runs a job that prints the given text, and cancels it at the first note.
func endsWithAKill(t *testing.T, said string) {
	s := spec(t)
	killed := filepath.Join(t.TempDir(), "killed")
	s.Hadoop = command(t, `case $1 in
jar) echo "`+said+`" >&2; exec sleep 60 ;;
*) echo "$@" >`+killed+`.part; mv `+killed+`.part `+killed+` ;;
esac`)
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	_, err = p.Run(ctx, Listener{Progress: func(string, int, int) {}, Note: func(string) { cancel(stop) }})
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(killed); err == nil {
			if got := strings.TrimSpace(string(text)); got != "org.apache.hadoop.mapred.JobClient -kill job_7" {
				t.Errorf("%q", got)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatal("nothing killed the job")
		}
	}
}

func TestTheJarIsBesideTheCommand(t *testing.T) {
	home := t.TempDir()
	jar := filepath.Join(home, "share", "hadoop", "tools", "lib", "hadoop-streaming-3.4.2.jar")
	hadoop := filepath.Join(home, "bin", "hadoop")
	for path, text := range map[string]string{jar: "", hadoop: "#!/bin/sh\n"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "hadoop")
	if err := os.Symlink(hadoop, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{hadoop, link} {
		if got, err := Jar(path); err != nil || filepath.Base(got) != "hadoop-streaming-3.4.2.jar" {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	if err := os.Remove(jar); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{hadoop, filepath.Join(home, "none")} {
		if _, err := Jar(path); !errors.Is(err, errs.BadOptions) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
