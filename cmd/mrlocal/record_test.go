package main

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"mrlocal/internal/testkit"
)

var hadoopHome = flag.String("hadoop", "", "run the golden cases of package streaming on the Hadoop in this directory, which hadoop/get makes")

// TestHadoopDoesWhatIsRecorded runs the golden cases on a real Hadoop, on its local runner, each for some seconds.
// With -rewrite it records the results. The comment of a case says what the case shows. Its sections are:
//
//	args                      arguments of hadoop-streaming, one per line
//	in/…, work/…              inputs, and files of the working directory
//	exit                      recorded: the exit code
//	out/…                     recorded: the output; a .gz, .bz2 or .deflate is decompressed
//	counters, message         recorded: counters of a job that succeeded, messages of one that failed
//
// $IN, $OUT and $WORK stand for the directories in, out and work. A section whose name ends in .b64 holds base64.
func TestHadoopDoesWhatIsRecorded(t *testing.T) {
	if *hadoopHome == "" {
		t.Skip("needs -hadoop")
	}
	home, err := filepath.Abs(*hadoopHome)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := filepath.Glob(filepath.Join(*goldenDir, "*.txtar"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases in %s: %v", *goldenDir, err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			tmp := t.TempDir()
			c := read(t, path, tmp)
			code, stderr, err := c.onHadoop(home, tmp)
			if err != nil {
				t.Fatal(err)
			}
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool {
				top, _, _ := strings.Cut(f.Name, "/")
				return !slices.Contains([]string{"args", "in", "work"}, top)
			})
			results, err := c.results(code, stderr)
			if err != nil {
				t.Fatal(err)
			}
			a.Files = append(a.Files, results...)
			testkit.Golden(t, path, txtar.Format(a))
		})
	}
}

// hadoopSettings is the configuration of Hadoop. It keeps all files below a directory. Hadoop asks every 20 ms
// whether a job has ended; the default of a second would make each case slower.
const hadoopSettings = `<configuration>
<property><name>hadoop.tmp.dir</name><value>%s</value></property>
<property><name>mapreduce.client.progressmonitor.pollinterval</name><value>20</value></property>
</configuration>
`

// onHadoop runs the case and returns Hadoop's exit code and standard error. A job that takes more than 120 s is an
// error, since no case needs ten.
func (c *hadoopCase) onHadoop(home, tmp string) (code int, stderr string, err error) {
	conf := filepath.Join(tmp, "conf")
	err = errors.Join(os.Mkdir(conf, 0o755), os.WriteFile(filepath.Join(conf, "core-site.xml"), fmt.Appendf(nil, hadoopSettings, filepath.Join(tmp, "hadoop")), 0o644))
	if err != nil {
		return 0, "", err
	}
	jars, err := filepath.Glob(filepath.Join(home, "share/hadoop/tools/lib/hadoop-streaming-*.jar"))
	if err != nil || len(jars) != 1 {
		return 0, "", errors.Join(err, fmt.Errorf("%s holds %d hadoop-streaming jars, not one", home, len(jars)))
	}
	args := slices.Concat([]string{"120", filepath.Join(home, "bin/hadoop"), "jar", jars[0]}, c.args)
	cmd := exec.Command("timeout", args...) // it also ends the children of a job that hangs
	cmd.Dir = c.work
	// No other variables are passed on, so that a case gives the same results on each machine. Java
	// starts faster with a small heap and its first compiler.
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C.UTF-8", "TZ=UTC",
		"HADOOP_HOME=" + home, "HADOOP_CONF_DIR=" + conf, "HADOOP_OPTS=-Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.io.tmpdir=" + conf,
	}
	var text bytes.Buffer
	cmd.Stderr = &text
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	// timeout exits with 124 if it has ended the job.
	if code = cmd.ProcessState.ExitCode(); code == 124 {
		err = fmt.Errorf("the job hangs:\n%s", text.String())
	}
	return code, text.String(), err
}

// results returns the recorded sections of a run: its exit code, the files in out/, and what its standard error says.
func (c *hadoopCase) results(code int, stderr string) (sections []txtar.File, err error) {
	sections = append(sections, txtar.File{Name: "exit", Data: fmt.Appendf(nil, "%d\n", code)})
	err = filepath.WalkDir(c.out, func(path string, d fs.DirEntry, err error) error {
		// A job that failed may have made no output.
		if errors.Is(err, fs.ErrNotExist) && path == c.out {
			return nil
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") { // Hadoop's checksum files
			return err
		}
		data, err := decompressed(path)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name(), err)
		}
		name, err := filepath.Rel(filepath.Dir(c.out), path)
		sections = append(sections, section(filepath.ToSlash(name), c.placeless(string(data))))
		return err
	})
	if lines := stableCounters(stderr); code == 0 && lines != "" { // the counters of a failed job depend on chance
		sections = append(sections, txtar.File{Name: "counters", Data: []byte(lines)})
	}
	if lines := c.placeless(failure(stderr)); code != 0 && lines != "" {
		sections = append(sections, txtar.File{Name: "message", Data: []byte(lines)})
	}
	return sections, err
}

// decompressed returns the bytes of an output file, decompressed by its suffix. Compressed bytes depend
// on the version of a codec, so they are not recorded.
func decompressed(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	switch filepath.Ext(path) {
	case ".gz":
		if r, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	case ".deflate":
		if r, err = zlib.NewReader(f); err != nil {
			return nil, err
		}
	case ".bz2":
		r = bzip2.NewReader(f)
	}
	return io.ReadAll(r)
}

// editable reports whether a section of a txtar file can hold text unchanged. It must be valid UTF-8
// with a newline at its end, and have no control characters that an editor may change.
func editable(text string) bool {
	return text == "" || utf8.ValidString(text) && strings.HasSuffix(text, "\n") && !strings.Contains("\n"+text, "\n-- ") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == '\ufeff' })
}

// section returns a section with text, in base64 if it is not editable.
func section(name, text string) txtar.File {
	if editable(text) {
		return txtar.File{Name: name, Data: []byte(text)}
	}
	return txtar.File{Name: name + ".b64", Data: []byte(base64.StdEncoding.EncodeToString([]byte(text)) + "\n")}
}

// stable are the counters of Hadoop that depend on the job and its input alone. Others count time,
// memory, spills or bytes of files.
var stable = []string{
	"Map input records", "Map output records", "Combine input records", "Combine output records",
	"Reduce input groups", "Reduce input records", "Reduce output records",
}

// stableCounters returns lines GROUP<TAB>NAME=VALUE, sorted, from the counters in Hadoop's standard
// error. They are the stable counters of the framework, and those of the commands.
func stableCounters(stderr string) string {
	_, text, _ := strings.Cut(stderr, "mapreduce.Job: Counters: ")
	var lines []string
	group := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if pair, ok := strings.CutPrefix(line, "\t\t"); ok {
			name, _, _ := strings.Cut(pair, "=")
			switch group {
			case "Map-Reduce Framework":
				if !slices.Contains(stable, name) || strings.HasPrefix(pair, "Combine") && strings.HasSuffix(pair, "=0") {
					continue
				}
			case "File System Counters", "Shuffle Errors", "File Input Format Counters ", "File Output Format Counters ", "Job Counters ":
				continue
			}
			lines = append(lines, group+"\t"+pair+"\n")
		} else if g, ok := strings.CutPrefix(line, "\t"); ok {
			group = g
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// failure returns the lines of Hadoop's standard error that say why a job failed. These are lines
// that hadoop-streaming logs as an error, or prints without the prefix of its log. An exception
// that ended the job gives two lines: its first line and the line of the root cause.
func failure(stderr string) string {
	// A line of Hadoop's log: time, level, class, text.
	logged := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ ([A-Z]+) ([\w.]+): (.*)`)
	bare := regexp.MustCompile(`^(Streaming Command Failed!|Try -help |Required argument|Found \d+ unexpected|-\w+ ?: class not found|No Arguments Given|File: .* does not exist|Exception in thread "main"|You need to specify)`)
	// Two texts depend on chance and are replaced. One is the random part in names of attempts. The
	// other says whether Hadoop sees a child's exit or its closed pipe first.
	attempt := regexp.MustCompile(`attempt_local\d+_|job_local\d+_`)
	race := regexp.MustCompile(`subprocess (exited successfully|still running|exited with error code \d+)$`)
	var lines []string
	// failed says that the lines are those of the job's exception. first is its first line, and
	// cause the line of its root cause so far.
	failed, first, cause := false, "", ""
	// end appends the exception and the line behind it. It leaves out empty lines, and a cause that
	// repeats the end of the first line.
	end := func(line string) {
		if strings.HasSuffix(first, strings.TrimPrefix(cause, "Caused by: ")) {
			cause = ""
		}
		lines = slices.DeleteFunc(append(lines, first, cause, line), func(l string) bool { return l == "" })
		first, cause = "", ""
	}
	for line := range strings.Lines(stderr + "\n") {
		line = strings.TrimRight(line, "\n")
		m := logged.FindStringSubmatch(line)
		switch {
		case m != nil:
			failed = m[2] == "mapred.LocalJobRunner" && m[1] == "WARN"
			if m[1] == "ERROR" {
				end(m[3])
			}
		case bare.MatchString(line):
			end(line)
		case failed && first == "":
			first = attempt.ReplaceAllString(race.ReplaceAllString(line, "$${CHILD}"), "$${JOB}_")
		case failed && strings.HasPrefix(line, "Caused by: "):
			cause = race.ReplaceAllString(line, "$${CHILD}")
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
