package streaming

import (
	"cmp"
	"embed"
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Conf is the configuration of a job. It maps the current name of each property to its value.
// Methods take old names too. Values are texts, as in Hadoop, and Int and Bool convert them at
// each call. Several goroutines may use a Conf as long as none calls Set.
type Conf map[string]string

// lists has files with a property in each line: its name, a blank and its value. defaults.txt has those
// that all jobs have; Hadoop's are in mapred-default.xml. renamed.txt has old names with the current ones;
// they are those of DeprecatedProperties that a streaming job may set or see.
//
//go:embed *.txt
var lists embed.FS

// readConf returns the properties of one of these files.
func readConf(name string) Conf {
	c := Conf{}
	text, _ := lists.ReadFile(name) // it is embedded, so this cannot fail
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, " ")
		c[name] = strings.TrimSpace(value)
	}
	return c
}

// currentNames returns the current names of properties that were renamed, by their old names.
var currentNames = sync.OnceValue(func() Conf { return readConf("renamed.txt") })

// Current returns the current name of a property that was renamed. It returns any other name as it
// is.
func Current(name string) string { return cmp.Or(currentNames()[name], name) }

// Set sets a property, by any of its names.
func (c Conf) Set(name, value string) { c[Current(name)] = value }

// Get returns the value of a property, by any of its names. It returns otherwise if the property is
// not set. A property that is set to "" counts as set.
func (c Conf) Get(name, otherwise string) string {
	if v, ok := c[Current(name)]; ok {
		return v
	}
	return otherwise
}

// Has reports whether a property is set.
func (c Conf) Has(name string) bool {
	_, ok := c[Current(name)]
	return ok
}

// Int returns the value of a property that is a whole number, or otherwise if it is not set. Spaces
// around the number are allowed. It fails if the value is not a whole number of 64 bits.
func (c Conf) Int(name string, otherwise int64) (int64, error) {
	v, ok := c[Current(name)]
	if !ok {
		return otherwise, nil
	}
	// Hadoop takes hexadecimal numbers with 0x too (Configuration.getLong).
	n, err := strconv.ParseInt(strings.TrimSpace(v), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a whole number", name, v)
	}
	return n, nil
}

// Bool returns the value of a property that is true or false, in any case of letters. It returns
// otherwise for any other text, or if the property is not set (Configuration.getBoolean).
func (c Conf) Bool(name string, otherwise bool) bool {
	switch strings.ToLower(strings.TrimSpace(c[Current(name)])) {
	case "true":
		return true
	case "false":
		return false
	}
	return otherwise
}

// Names returns the current names of all properties, sorted.
func (c Conf) Names() []string { return slices.Sorted(maps.Keys(c)) }

// read adds the properties of a configuration file in XML, as hadoop -conf does. A property
// replaces an earlier one of the same name. The mark final has no effect; in Hadoop it protects a
// property from later files.
func (c Conf) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file struct {
		Property []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, p := range file.Property {
		c.Set(strings.TrimSpace(p.Name), p.Value)
	}
	return nil
}

// Split divides a command into its words at spaces outside of quotes, as PipeMapRed.splitArgs
// does. The rules are not those of a shell. A quote also divides, so a'b c'd is three words,
// and an empty pair of quotes is not a word. A backslash is an ordinary character. A quote that
// is not closed lasts to the end of the command.
func SplitCommand(command string) []string {
	var texts []string
	for _, w := range Words(command) {
		texts = append(texts, w.Text)
	}
	return texts
}

// Word is a word of a command.
type Word struct {
	Text   string // without the quotes
	Quoted bool   // the word stood between quotes
}

// wordParts matches the words of a command: with single quotes, with double quotes, and others.
var wordParts = lazy(`'([^']*)'?|"([^"]*)"?|([^ '"]+)`)

// Words divides a command as Split does, and says which words were quoted.
func Words(command string) (words []Word) {
	for _, part := range wordParts().FindAllStringSubmatch(command, -1) {
		if text := part[1] + part[2] + part[3]; text != "" {
			words = append(words, Word{text, part[3] == ""})
		}
	}
	return words
}

// jobID is the part of the names of tasks that names the job. Hadoop's local runner
// numbers its jobs from 1.
const jobID = "local1_0001"

// attemptName returns Hadoop's name of attempt n of a task, with n from 0.
func attemptName(id taskID, n int) string {
	return fmt.Sprintf("attempt_%s_%s_%06d_%d", jobID, id.kind, id.task, n)
}

// environment returns the variables of a command, NAME=VALUE, for attempt n of a task
// (PipeMapRed.addJobConfToEnvironment). They are those of this process, the properties of
// the job, and those of -cmdenv. If a name has several values, only the last one is passed on.
// dir is the working directory, or "". files is the directory of the attempt whose files become part of the
// output, or "". split is nil in reduces.
//
// Properties that the task sets also exist under their old names. Hadoop has some 700
// default properties; only those that concern tasks are set.
func (w *Work) environment(id taskID, n int, dir, files string, split *FileSplit) []string {
	c := w.properties()
	task := func(name, value string) {
		c[name] = value
		for old, current := range currentNames() {
			if current == name {
				c[old] = value
			}
		}
	}
	kind := id.kind
	task("mapreduce.job.id", "job_"+jobID)
	task("mapreduce.task.id", fmt.Sprintf("task_%s_%s_%06d", jobID, kind, id.task))
	task("mapreduce.task.attempt.id", attemptName(id, n))
	task("mapreduce.task.partition", strconv.Itoa(id.task))
	task("mapreduce.task.ismap", strconv.FormatBool(kind == "m"))
	task("mapreduce.job.skiprecords", "false")
	task("mapreduce.job.user.name", valueOf(w.o.Environ, "USER", "root"))
	if files != "" {
		task("mapreduce.task.output.dir", Qualify(files))
	}
	if split != nil {
		task("mapreduce.map.input.file", Qualify(split.Path))
		task("mapreduce.map.input.start", strconv.FormatInt(split.Start, 10))
		task("mapreduce.map.input.length", strconv.FormatInt(split.Length, 10))
	}
	// Users set this limit where a property is longer than the system allows for a variable.
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
	// Hadoop sets these two after all others, so -cmdenv cannot set them. In a friendly job it can
	// set TMPDIR.
	temp := valueOf(w.o.Environ, "TMPDIR", "")
	if info, err := os.Stat(temp); err != nil || !info.IsDir() {
		temp = "/tmp"
	}
	env = append(env, "TMPDIR="+temp)
	if w.o.Friendly {
		env = append(env, w.added()...)
	}
	if dir != "" {
		env = append(env, "PWD="+dir)
	}
	return lastValues(env)
}

// lastValues returns variables NAME=VALUE with the last value of each name alone, sorted. Commands
// would take the first one. A variable with a NUL byte would fail the start of the command, so it is
// left out.
func lastValues(env []string) []string {
	last := map[string]string{} // the whole variable, by name
	for _, v := range env {
		if strings.IndexByte(v, 0) < 0 {
			name, _, _ := strings.Cut(v, "=")
			last[name] = v
		}
	}
	return slices.Sorted(maps.Values(last))
}

// valueOf returns the value of a variable in env, or otherwise if it is not set.
func valueOf(env []string, name, otherwise string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return otherwise
}

// properties returns the properties of the job and those that Hadoop adds. The Conf belongs
// to the caller. The job's own properties replace Hadoop's defaults (mapred-default.xml).
// Properties that name the input and output replace both, because the job cannot set them.
func (w *Work) properties() Conf {
	c := readConf("defaults.txt")
	c["stream.addenvironment"] = strings.Join(append([]string{"HADOOP_ROOT_LOGGER="}, w.args.Env...), " ")
	maps.Copy(c, w.conf)
	c["mapreduce.job.maps"], c["mapreduce.job.reduces"] = strconv.Itoa(len(w.splits)), strconv.Itoa(w.Reducers)
	var inputs []string
	for _, in := range w.args.Inputs {
		inputs = append(inputs, Qualify(in))
	}
	c["mapreduce.input.fileinputformat.inputdir"] = strings.Join(inputs, ",")
	c["mapreduce.input.fileinputformat.numinputfiles"] = strconv.Itoa(w.files)
	c["mapreduce.output.fileoutputformat.outputdir"] = Qualify(w.args.Output)
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

// added returns the variables of -cmdenv, NAME=VALUE. Hadoop joins them with blanks and
// divides them again, so a value ends at its first blank. Friendly jobs keep the whole
// value.
func (w *Work) added() []string {
	env := slices.Clone(w.args.Env)
	if !w.o.Friendly {
		env = append([]string{"HADOOP_ROOT_LOGGER="}, strings.Split(strings.Join(env, " "), " ")...)
	}
	return slices.DeleteFunc(env, func(v string) bool { return !strings.Contains(v, "=") })
}

// special matches a character that is no ASCII letter and no digit.
var special = lazy(`[^0-9A-Za-z]`)

// variable returns the name of the variable for a property. Each special character becomes an underscore
// (PipeMapRed.safeEnvVarName).
func variable(name string) string { return special().ReplaceAllString(name, "_") }

// expand replaces each ${NAME} in value by the property of that name, at most 20 times
// (Configuration.substituteVars). A name that is not set stays as it is.
func expand(c Conf, value string) string {
	from := 0 // value[:from] needs no further look
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

// urlEncode encodes text as java.net.URLEncoder does, byte by byte.
func urlEncode(text string) string {
	return strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(text))
}

// resolve returns the words of a command with the absolute path of its program. It looks
// for the program in the working directory dir, or in this process's if dir is "". Then it
// looks in the directories of PATH in env. The error names a program that is nowhere.
func resolve(words []string, dir string, env []string) ([]string, error) {
	words = slices.Clone(words)
	if filepath.IsAbs(words[0]) {
		return words, nil
	}
	// The PATH is that of the command, because -cmdenv may set it.
	path := filepath.SplitList(valueOf(env, "PATH", ""))
	for _, in := range append([]string{cmp.Or(dir, ".")}, path...) {
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
