package streaming

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mrlocal/streaming/parse"
	"mrlocal/streaming/records"
)

// jobID is the identity of the job in names of tasks. A local runner of Hadoop
// numbers its jobs from 1.
const jobID = "local1_0001"

// attemptName returns the name of an attempt as Hadoop gives it.
func attemptName(id taskID, n int) string {
	return fmt.Sprintf("attempt_%s_%s_%06d_%d", jobID, id.kind, id.task, n)
}

// environment returns the variables of a command (PipeMapRed.addJobConfToEnvironment):
// those of this process, each property of the job with underscores for what is no
// letter and no digit, and those of -cmdenv. Old names exist only for what the task
// itself sets. Hadoop's own defaults, some 700, are left out but for those of tasks.
func (w *Work) environment(id taskID, n int, dir string, split *records.Split) []string {
	c := w.properties()
	task := func(name, value string) {
		c[name] = value
		if old, ok := parse.Old(name); ok {
			c[old] = value
		}
	}
	kind := id.kind
	task("mapreduce.job.id", "job_"+jobID)
	task("mapreduce.task.id", fmt.Sprintf("task_%s_%s_%06d", jobID, kind, id.task))
	task("mapreduce.task.attempt.id", attemptName(id, n))
	task("mapreduce.task.partition", strconv.Itoa(id.task))
	task("mapreduce.task.ismap", strconv.FormatBool(kind == "m"))
	task("mapreduce.job.skiprecords", "false")
	task("mapreduce.job.user.name", w.inherited("USER", "root"))
	if w.Output != "" {
		task("mapreduce.task.output.dir", records.Qualify(w.Output)+"/_temporary/0/_temporary/"+attemptName(id, n))
	}
	if split != nil {
		task("mapreduce.map.input.file", records.Qualify(split.Path))
		task("mapreduce.map.input.start", strconv.FormatInt(split.Start, 10))
		task("mapreduce.map.input.length", strconv.FormatInt(split.Length, 10))
	}
	// A cluster sets this limit against variables longer than a process may have.
	limit, _ := w.conf.Int("stream.jobconf.truncate.limit", -1)
	env := slices.Clone(w.o.Environ)
	for _, name := range c.Names() {
		value := expand(c, c[name])
		if limit >= 0 && int64(len(value)) > limit {
			value = value[:limit]
		}
		env = append(env, variable(name)+"="+value)
	}
	env = append(env, w.added()...)
	// Hadoop sets the last two for a command's own temporary and working directory.
	env = append(env, "TMPDIR="+w.inherited("TMPDIR", "/tmp"))
	if dir != "" {
		env = append(env, "PWD="+dir)
	}
	// Of several values of a variable the last one counts; no value can have a zero byte.
	return slices.DeleteFunc(env, func(v string) bool { return strings.IndexByte(v, 0) >= 0 })
}

// inherited returns a variable of this process, or otherwise if it is not set.
func (w *Work) inherited(name, otherwise string) string {
	for _, v := range w.o.Environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return otherwise
}

// properties returns the properties of the job, with those that Hadoop adds. The map
// belongs to the caller. The first ones are defaults (mapred-default.xml), which the
// job's own replace. Those of the input and output come last, because they are facts.
func (w *Work) properties() parse.Conf {
	c := parse.Conf{}
	for _, d := range [...][2]string{
		{"mapreduce.framework.name", "local"}, {"mapreduce.job.queuename", "default"}, {"mapreduce.task.timeout", "600000"},
		{"mapreduce.task.io.sort.mb", "100"}, {"mapreduce.task.io.sort.factor", "10"}, {"mapreduce.map.sort.spill.percent", "0.80"},
		{"mapreduce.map.maxattempts", "4"}, {"mapreduce.reduce.maxattempts", "4"}, {"mapreduce.map.speculative", "true"}, {"mapreduce.reduce.speculative", "true"},
		{"mapreduce.job.reduce.slowstart.completedmaps", "0.05"}, {"mapreduce.map.output.compress", "false"}, {"mapreduce.output.fileoutputformat.compress", "false"},
		{"mapreduce.output.fileoutputformat.compress.codec", "org.apache.hadoop.io.compress.DefaultCodec"},
		{"mapreduce.input.fileinputformat.split.minsize", "0"}, {"mapreduce.input.lineinputformat.linespermap", "1"},
		{"mapreduce.job.name", "hadoop-streaming-3.4.2.jar"}, {"mapreduce.client.genericoptionsparser.used", "true"},
		{"stream.addenvironment", strings.Join(append([]string{"HADOOP_ROOT_LOGGER="}, w.args.Env...), " ")},
	} {
		c[d[0]] = d[1]
	}
	maps.Copy(c, w.conf)
	c["mapreduce.job.maps"], c["mapreduce.job.reduces"] = strconv.Itoa(len(w.splits)), strconv.Itoa(w.Reducers)
	var inputs []string
	for _, in := range w.args.Inputs {
		inputs = append(inputs, records.Qualify(in))
	}
	c["mapreduce.input.fileinputformat.inputdir"] = strings.Join(inputs, ",")
	c["mapreduce.input.fileinputformat.numinputfiles"] = strconv.Itoa(w.files)
	c["mapreduce.output.fileoutputformat.outputdir"] = records.Qualify(w.args.Output)
	if cwd, err := os.Getwd(); err == nil {
		c["mapreduce.job.working.dir"] = "file:" + cwd
	}
	for name, s := range map[string]*stage{"map": &w.mapper, "combine": &w.combiner, "reduce": &w.reducer} {
		if s.kind == command {
			c["stream."+name+".streamprocessor"] = urlEncode(s.command)
		}
	}
	return c
}

// added returns the variables of -cmdenv. Hadoop joins them with blanks and divides
// them again, so a value ends at its first blank; friendly jobs keep it whole.
func (w *Work) added() []string {
	if w.o.Friendly {
		return slices.DeleteFunc(slices.Clone(w.args.Env), func(v string) bool { return !strings.Contains(v, "=") })
	}
	env := []string{"HADOOP_ROOT_LOGGER="}
	for v := range strings.SplitSeq(strings.Join(w.args.Env, " "), " ") {
		if strings.Contains(v, "=") {
			env = append(env, v)
		}
	}
	return env
}

// variable returns the name of a property as the name of a variable of a shell.
func variable(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}

// expand replaces ${NAME} by the property of that name, up to 20 times
// (Configuration.substituteVars). What is not set stays.
func expand(c parse.Conf, value string) string {
	from := 0
	for range 20 {
		at := strings.Index(value[from:], "${")
		if at < 0 {
			break
		}
		at += from
		end := strings.IndexByte(value[at:], '}')
		if end < 0 {
			break
		}
		name := value[at+2 : at+end]
		if !c.Has(name) {
			from = at + end + 1
			continue
		}
		value = value[:at] + c.Get(name, "") + value[at+end+1:]
	}
	return value
}

// urlEncode encodes text as java.net.URLEncoder does.
func urlEncode(text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("-_.*", c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// resolve finds the program of a command: as a path, in the working directory, in
// PATH. A name that is found nowhere stays, so that starting it fails with its name.
func resolve(words []string, dir string, env []string) ([]string, error) {
	words = slices.Clone(words)
	if filepath.IsAbs(words[0]) {
		return words, nil
	}
	// The command's PATH counts, not that of this process: -cmdenv may set it.
	path := ""
	for _, v := range env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p
		}
	}
	dir = cmp.Or(dir, ".")
	for _, in := range append([]string{dir}, filepath.SplitList(path)...) {
		found, err := filepath.Abs(filepath.Join(in, words[0]))
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(found); err == nil && info.Mode().IsRegular() {
			words[0] = found
			return words, nil
		}
	}
	//lint:ignore ST1005 as Hadoop words it
	return nil, fmt.Errorf("Cannot run program %q: no such file or directory", words[0])
}
