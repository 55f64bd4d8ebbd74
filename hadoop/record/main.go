// Command record runs the golden cases of package streaming on a real Hadoop, and records the results.
//
//	go run ./hadoop/record [-check] HADOOP_HOME DIR [NAME...]
//
// DIR holds the cases as NAME.txtar. Without names all of them run. The comment of a case says what
// the case shows. Its sections are:
//
//	args                      arguments of hadoop-streaming, one per line
//	in/…, work/…              inputs, and files of the working directory
//	exit                      recorded: the exit code
//	out/…                     recorded: the output; a .gz, .bz2 or .deflate is decompressed
//	counters, message         recorded: counters of a job that succeeded, messages of one that failed
//
// $IN, $OUT and $WORK stand for the directories in, out and work. A section whose name ends in .b64
// holds base64.
//
// With -check the command writes no file. It names the cases in which Hadoop does not repeat what is
// recorded, and exits with 1 if there are some. Each case runs on Hadoop's local runner in a process
// of its own, for some seconds. hadoop/get makes HADOOP_HOME.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

func main() {
	if err := record(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// record runs the cases that args name, and writes a line about each to w. With -check it fails if
// a case differs.
func record(args []string, w io.Writer) error {
	check := len(args) > 0 && args[0] == "-check"
	if check {
		args = args[1:]
	}
	if len(args) < 2 {
		return errors.New("usage: record [-check] HADOOP_HOME DIR [NAME...]")
	}
	home, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	dir, names := args[1], args[2:]
	if len(names) == 0 {
		files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
		if err != nil {
			return err
		}
		for _, f := range files {
			names = append(names, strings.TrimSuffix(filepath.Base(f), ".txtar"))
		}
	}
	var differ []string
	for _, name := range names {
		begun := time.Now()
		same, err := recordCase(home, filepath.Join(dir, name+".txtar"), check)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		verdict := "the same"
		if !same {
			verdict = "differs"
			differ = append(differ, name)
		}
		fmt.Fprintf(w, "%-40s %4.1f s  %s\n", name, time.Since(begun).Seconds(), verdict)
	}
	if check && len(differ) > 0 {
		return fmt.Errorf("cases that Hadoop answers otherwise: %s", strings.Join(differ, ", "))
	}
	return nil
}

// recordCase runs the case in file, in a temporary directory of its own. It reports whether the file
// already holds the results. It rewrites the file unless check is set.
func recordCase(home, file string, check bool) (same bool, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	tmp, err := os.MkdirTemp("", "mrlocal-record")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	c, err := unpack(txtar.Parse(text), tmp)
	if err != nil {
		return false, err
	}
	code, stderr, err := c.run(home)
	if err != nil {
		return false, err
	}
	got, err := c.result(code, stderr)
	if err != nil {
		return false, err
	}
	if bytes.Equal(got, text) || check {
		return bytes.Equal(got, text), nil
	}
	return false, os.WriteFile(file, got, 0o644)
}

// golden is a case, unpacked below tmp: inputs in in/, the working directory of the job in work/,
// Hadoop's configuration in conf/. Hadoop makes out/.
type golden struct {
	tmp   string
	given []txtar.File // the sections that are not recorded
	about []byte       // the comment of the case
	args  []string     // with the directories of this run
}

// unpack writes the inputs of a case below tmp. It leaves out recorded sections.
func unpack(a *txtar.Archive, tmp string) (*golden, error) {
	c := &golden{tmp: tmp, about: a.Comment}
	for _, dir := range []string{"in", "work", "conf"} {
		if err := os.Mkdir(filepath.Join(tmp, dir), 0o755); err != nil {
			return nil, err
		}
	}
	for _, f := range a.Files {
		top, _, _ := strings.Cut(f.Name, "/")
		switch top {
		case "args":
			for line := range strings.SplitSeq(strings.TrimSuffix(string(f.Data), "\n"), "\n") {
				c.args = append(c.args, c.withDirs().Replace(line))
			}
		case "in", "work":
			name, data, err := decode(f)
			if err != nil {
				return nil, err
			}
			path := filepath.Join(tmp, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				return nil, err
			}
		default:
			continue
		}
		c.given = append(c.given, f)
	}
	// An empty section args means no arguments.
	if len(c.args) == 1 && c.args[0] == "" {
		c.args = nil
	}
	if c.given == nil {
		return nil, errors.New("the case has no section args")
	}
	return c, nil
}

// withDirs returns a replacer of $IN, $OUT and $WORK by the directories of this run.
func (c *golden) withDirs() *strings.Replacer {
	return strings.NewReplacer("$IN", filepath.Join(c.tmp, "in"), "$OUT", filepath.Join(c.tmp, "out"), "$WORK", filepath.Join(c.tmp, "work"))
}

// withoutDirs returns text with $IN, $OUT and $WORK in place of the directories of this run, whose
// names differ in each run.
func (c *golden) withoutDirs(text string) string {
	return strings.NewReplacer(filepath.Join(c.tmp, "in"), "$IN", filepath.Join(c.tmp, "out"), "$OUT", filepath.Join(c.tmp, "work"), "$WORK").Replace(text)
}

// settings is the configuration of Hadoop. It keeps all files below tmp. Hadoop asks every 20 ms
// whether a job has ended; the default of a second would make each case slower.
const settings = `<configuration>
<property><name>hadoop.tmp.dir</name><value>%s</value></property>
<property><name>mapreduce.client.progressmonitor.pollinterval</name><value>20</value></property>
</configuration>
`

// run runs the case and returns Hadoop's exit code and standard error. A job that takes more than
// 120 s is an error, since no case needs ten.
func (c *golden) run(home string) (code int, stderr string, err error) {
	conf := filepath.Join(c.tmp, "conf")
	err = os.WriteFile(filepath.Join(conf, "core-site.xml"), fmt.Appendf(nil, settings, filepath.Join(c.tmp, "hadoop")), 0o644)
	if err != nil {
		return 0, "", err
	}
	jars, err := filepath.Glob(filepath.Join(home, "share/hadoop/tools/lib/hadoop-streaming-*.jar"))
	if err != nil || len(jars) != 1 {
		return 0, "", errors.Join(err, fmt.Errorf("%s holds %d hadoop-streaming jars, not one", home, len(jars)))
	}
	args := slices.Concat([]string{"120", filepath.Join(home, "bin/hadoop"), "jar", jars[0]}, c.args)
	cmd := exec.Command("timeout", args...) // it also ends the children of a job that hangs
	cmd.Dir = filepath.Join(c.tmp, "work")
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
