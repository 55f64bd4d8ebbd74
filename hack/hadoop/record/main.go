// Command record runs the golden cases of package streaming on a real Hadoop, and writes down what Hadoop did.
//
//	go run ./hack/hadoop/record [-check] HADOOP_HOME DIR [NAME...]
//
// DIR holds the cases as NAME.txtar; without names all of them run. A case has a comment that says
// what it shows. The section args has one argument of hadoop-streaming a line. Inputs are in/…, and
// files of the working directory are work/…. $IN, $OUT and $WORK stand for directories. What
// follows is recorded: exit, out/…, counters, message. A section whose name ends in .b64 holds
// base64; an output that ends in .gz, .bz2 or .deflate stands there decompressed.
//
// With -check no case is written: the command names those that Hadoop does not repeat, and ends with 1. Each case runs
// on Hadoop's local runner in a process of its own, which takes some seconds. hack/hadoop/get fills HADOOP_HOME.
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

// record runs the cases that args name, and reports each to w.
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

// recordCase runs the case of one file in a temporary directory of its own, and reports whether the
// file already holds what came out. It rewrites the file unless check is set.
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

// golden is one case, laid out below tmp: inputs in in/, the working directory of the job in work/,
// Hadoop's configuration in conf/. Hadoop makes out/.
type golden struct {
	tmp   string
	given []txtar.File // the comment's sections that are not recorded
	about []byte
	args  []string
}

// unpack writes the inputs of a case below tmp. Sections that were recorded earlier are left out,
// because the run records them anew.
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
				c.args = append(c.args, c.places().Replace(line))
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
	// An empty section stands for no arguments, which is a case of its own.
	if len(c.args) == 1 && c.args[0] == "" {
		c.args = nil
	}
	if c.given == nil {
		return nil, errors.New("the case has no section args")
	}
	return c, nil
}

// places replaces $IN, $OUT and $WORK by the directories of this run.
func (c *golden) places() *strings.Replacer {
	return strings.NewReplacer("$IN", filepath.Join(c.tmp, "in"), "$OUT", filepath.Join(c.tmp, "out"), "$WORK", filepath.Join(c.tmp, "work"))
}

// placeless is the reverse of places: the directories of this run have other names in the next.
func (c *golden) placeless(text string) string {
	return strings.NewReplacer(filepath.Join(c.tmp, "in"), "$IN", filepath.Join(c.tmp, "out"), "$OUT", filepath.Join(c.tmp, "work"), "$WORK").Replace(text)
}

// settings keep Hadoop's files below tmp, and let it ask often whether a job is
// done: by default it asks each second.
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
	cmd := exec.Command("timeout", args...) // children that hang are ended with their group
	cmd.Dir = filepath.Join(c.tmp, "work")
	// Nothing else of the environment, so that a case gives the same on each machine. A small
	// heap and the first compiler of Java start faster.
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
	// timeout exits with 124 if the time was up.
	if code = cmd.ProcessState.ExitCode(); code == 124 {
		err = fmt.Errorf("the job hangs:\n%s", text.String())
	}
	return code, text.String(), err
}
