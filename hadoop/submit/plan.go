// Package submit runs jobs of this module on a cluster, through Hadoop Streaming or Spark.
//
// A Plan for Hadoop is a list of commands. Each job of the chain has a command. Further commands
// remove the directories between the jobs. A Plan for Spark is one command, spark-submit, with a driver
// in Python that runs all jobs (driver.py). New makes the plan without a request to the cluster, so a
// user can read it first. Run then runs the commands and reads the text that they print.
//
//	Options ──New──► Plan ──Text──► a shell
//	                 └────Run────► hadoop, spark-submit ──printed text──► progress, report
//
// The children of the jobs are mrlocal stream (package stream), or a program with jobs of its own
// (Program). The cluster ships the binary with each job. A total order over several reduces needs cuts.
// For Hadoop the caller samples them and names their file. The driver of Spark samples them itself.
//
// Memory: the plan, and of the printed text the last line and the cause of a failure. Package stream
// is the child, and package report holds the outcome.
package submit

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"mrlocal/hadoop/stream"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/jobs"
)

// Engine is what runs the children on the cluster.
type Engine uint8

const (
	Hadoop Engine = iota // Hadoop Streaming
	Spark                // a driver for spark-submit
)

// Options describe the jobs and how they run. Chain, Inputs, Output and Binary are required, and Jar for
// Hadoop. New copies the slices that the plan keeps.
type Options struct {
	Engine Engine
	// Chain has at least one job. New reads its names and numbers of reduces, and which of its
	// functions are set. It never calls a function.
	Chain jobs.Chain
	// Job is the name by which mrlocal stream knows the chain. It is empty for a program that has
	// one chain only (Program).
	Job  string
	Args []string // flags of the job itself
	// Inputs are files and directories, and Output is a directory that does not exist yet. Hadoop takes
	// hdfs: URIs. Spark takes URIs of any scheme and absolute paths of its default file system.
	Inputs []string
	Output string

	Reducers int // of the first job; 0: one
	// Name is the name of the job in YARN; "": "mrlocal" and the name of the job. In a chain of
	// several jobs, "N of M" follows it.
	Name  string
	Queue string // of YARN; "": the cluster's default
	// Properties are properties of Hadoop or Spark, as NAME=VALUE. They come behind those of this package,
	// so they replace them.
	Properties []string
	Results    stream.Results
	InOrder    bool // see stream.Options
	Files      int  // number of input files; required if the first job has Begin

	Hadoop string // path or name of the command hadoop; "": "hadoop"
	Submit string // path or name of the command spark-submit; "": "spark-submit"
	Jar    string // path of the jar of Hadoop Streaming; see the function Jar
	Binary string // path of the program that the children run: a static mrlocal, or a user's own
	Cuts   string // path of the file of cuts, if NeedsCuts; "": "cuts"
}

// NeedsCuts reports whether the caller must sample cuts: the engine is Hadoop, and the first job is a
// total order over several reduces.
func (o *Options) NeedsCuts() bool { return o.Engine == Hadoop && o.hasCuts() }

// hasCuts reports whether the first job is a total order over several reduces.
func (o *Options) hasCuts() bool {
	j := &o.Chain[0]
	return o.Reducers > 1 && j.Ordered && j.Partition == nil && j.NewReducer != nil
}

// Plan is a list of commands that run one after the other. Each job reads the output of the job
// before it. A Plan does not change after New.
type Plan struct {
	Steps   []Step
	between []string // output directories of all jobs but the last, to be removed at the end
	command string   // hadoop or spark-submit: a path, or a name in the search path
	driver  string   // text of the program for spark-submit; "": the command is hadoop
	jobs    []string // names of the jobs that the driver runs
}

// Step is a command that runs one job on Hadoop, or all jobs of the chain on Spark.
type Step struct {
	Job  string   // name of the job, or of the first one
	Args []string // of the command
}

// childName is the name of the binary in the working directory of a task. Hadoop makes it a link to
// its local copy.
const childName = "mrlocal"

// cutsName is the name of the file of cuts in the working directory of a task.
const cutsName = "cuts"

// New makes the plan. Each job of the chain but the last writes to a directory next to Output. Its
// name is that of Output, a point, and the name of the job. New sends nothing to the cluster. Its errors
// are of kind errs.BadOptions.
func New(o Options) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Engine == Spark {
		return o.sparkPlan(), nil
	}
	p := &Plan{command: cmp.Or(o.Hadoop, "hadoop")}
	// inputs are those of the current job, first those of the chain.
	inputs := o.Inputs
	for i := range o.Chain {
		// Only the last job writes where the user asked. The others write next to it, and not below
		// it, because Hadoop refuses an output directory that exists.
		output := o.Output
		if i < len(o.Chain)-1 {
			output = strings.TrimRight(o.Output, "/") + "." + o.Chain[i].Name
			p.between = append(p.between, output)
		}
		args, err := o.step(i, inputs, output)
		if err != nil {
			return nil, err
		}
		p.Steps = append(p.Steps, Step{Job: o.Chain[i].Name, Args: args})
		inputs = []string{output}
	}
	return p, nil
}

// check returns an error for options that the cluster cannot do. The error names the field to change.
// The same mistake on the cluster would cost the start of a job.
func (o *Options) check() error {
	switch {
	case len(o.Inputs) == 0:
		return errs.Fieldf("Options.Inputs", "name a file or directory of the cluster, as hdfs://HOST:PORT/PATH")
	case o.Output == "":
		return errs.Fieldf("Options.Output", "name a new directory of the cluster, as hdfs://HOST:PORT/PATH")
	// The reduce task of a job without a reducer sorts the lines back into their order. Several such
	// tasks would each have a part of that order.
	case o.Chain[0].NewReducer == nil && o.Reducers > 1:
		return errs.Fieldf("Options.Reducers", "%d: %s has no reduce of its own; one puts its lines in order", o.Reducers, o.Chain[0].Name)
	// GenericOptionsParser takes a comma as the end of a path, and # as the start of the name of a
	// link. The path must also be a valid URI.
	case strings.ContainsAny(o.Binary, ",# %"):
		return errs.Fieldf("Options.Binary", "%s: a cluster ships no file with a comma, #, %% or space in its path", o.Binary)
	case o.Engine == Spark && o.Results != stream.Text:
		return errs.Fieldf("Options.Results", "not for Spark, where text may have any bytes")
	case o.Engine == Spark && o.Jar != "":
		return errs.Fieldf("Options.Jar", "not for Spark, which does not use Hadoop Streaming")
	}
	if o.Chain[0].Begin != nil && o.Files <= 0 {
		return errs.Fieldf("Options.Files", "%s has Begin, which gets the number of input files", o.Chain[0].Name)
	}
	if err := stream.Check(o.Chain); err != nil {
		return err
	}
	if err := checkQueue("Options.Queue", o.Queue); err != nil {
		return err
	}
	for i, path := range append([]string{o.Output}, o.Inputs...) {
		object := "Options.Inputs"
		if i == 0 {
			object = "Options.Output"
		}
		switch {
		case o.Engine == Spark && !(strings.HasPrefix(path, "/") || strings.Contains(path, "://")) || !utf8.ValidString(path):
			return errs.Fieldf(object, "%s: write /PATH, hdfs://HOST:PORT/PATH or another URI that Spark reads", errs.Quote(path))
		case o.Engine == Hadoop && !hdfs.Is(path):
			return errs.Fieldf(object, "%s: not on a cluster; write hdfs://HOST:PORT/PATH", path)
		case i > 0 && o.Engine == Hadoop && strings.Contains(path, ","):
			return errs.Fieldf(object, "%s: Hadoop takes a comma for the end of a path", path)
		}
	}
	for _, property := range o.Properties {
		name, value, ok := strings.Cut(property, "=")
		if !ok || name == "" {
			return errs.Fieldf("Options.Properties", "%s: not NAME=VALUE", strconv.Quote(property))
		}
		// Two properties, one the old name of the other, may also set the queue.
		if name == "mapreduce.job.queuename" || name == "mapred.job.queue.name" {
			if err := checkQueue("Options.Properties", value); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkQueue refuses the name of a queue with an empty part, or with a blank at an end of a part. Such
// a name ends the ResourceManager of Hadoop 3.4.2, and all jobs of the cluster with it. The
// FairScheduler does not catch its own error (QueueManager.buildNewQueueList). object is the option to
// name in the error.
func checkQueue(object, queue string) error {
	if queue == "" {
		return nil
	}
	for part := range strings.SplitSeq(queue, ".") {
		if part == "" || strings.TrimSpace(part) != part {
			return errs.Fieldf(object, "%s: a queue has no empty part and none with a blank at its end", strconv.Quote(queue))
		}
	}
	return nil
}

// reduces returns the number of reduces of job i of the chain, from 0, and whether it needs cuts.
// Options.Reducers and cuts concern the first job alone. A later job has one reduce.
func (o *Options) reduces(i int) (n int, cuts bool) {
	if n = 1; i == 0 {
		n, cuts = max(1, o.Reducers), o.hasCuts()
	}
	// A job may set its own number of reduces.
	return cmp.Or(o.Chain[i].Reduces, n), cuts
}

// name returns the name of the application.
func (o *Options) name() string { return cmp.Or(o.Name, "mrlocal "+cmp.Or(o.Job, o.Chain[0].Name)) }

// step returns the arguments of hadoop for job i of the chain, from 0. Generic options (-D, -files)
// come first, because Hadoop takes none after the first other option.
func (o *Options) step(i int, inputs []string, output string) ([]string, error) {
	reduces, cuts := o.reduces(i)
	name := o.name()
	if len(o.Chain) > 1 {
		name += fmt.Sprintf(" %d of %d", i+1, len(o.Chain))
	}
	args := []string{"jar", o.Jar}
	set := func(property, value string) { args = append(args, "-D", property+"="+value) }
	set("mapreduce.job.name", name)
	if o.Queue != "" {
		set("mapreduce.job.queuename", o.Queue)
	}
	set("mapreduce.job.reduces", strconv.Itoa(reduces))
	// As in package engine, only a newline ends a line, and inputs may have directories of any depth.
	set("textinputformat.record.delimiter", "\n")
	set("mapreduce.input.fileinputformat.input.dir.recursive", "true")
	// A child writes a whole line as the key, with an empty value. Text needs no separator
	// behind such a key; typed bytes need the separator to be empty.
	if o.Results == stream.TypedBytes {
		set("stream.reduce.output", "typedbytes")
		set("mapreduce.output.textoutputformat.separator", noSeparator)
	} else {
		set("stream.reduce.output", "keyonlytext")
	}
	// Hadoop keeps the last value of a property, so the user's properties come last.
	for _, property := range o.Properties {
		args = append(args, "-D", property)
	}
	// PATH#LINK: Hadoop ships the file at PATH and links it as LINK where a task starts.
	files := o.Binary + "#" + childName
	if cuts {
		files += "," + cmp.Or(o.Cuts, cutsName) + "#" + cutsName
	}
	// Both sides of a job get the same flags, so that they agree on the form of the wire.
	child := o.child(i, reduces, cuts, inputs)
	args = append(args, "-files", files)
	for _, side := range [][2]string{{"map", "-mapper"}, {"reduce", "-reducer"}} {
		line, err := joinCommand(append([]string{childName, "stream", side[0]}, child...))
		if err != nil {
			return nil, err
		}
		args = append(args, side[1], line)
	}
	for _, in := range inputs {
		args = append(args, "-input", in)
	}
	return append(args, "-output", output), nil
}

// noSeparator is a property's value that is empty for the task. Hadoop drops a property with an empty
// value. It expands this variable, which is not set, to an empty text (Configuration.substituteVars).
const noSeparator = "${env.MRLOCAL_NO_SEPARATOR:-}"

// child returns the arguments of a child behind its side. i counts jobs from 0, while
// --step counts them from 1. mrlocal stream and stream.Main must know each flag. A flag with the
// child's default value is left out.
func (o *Options) child(i, reduces int, cuts bool, inputs []string) []string {
	var args []string
	add := func(when bool, words ...string) {
		if when {
			args = append(args, words...)
		}
	}
	add(o.Job != "", o.Job)
	add(true, o.Args...)
	add(i > 0, "--step="+strconv.Itoa(i+1))
	add(reduces > 1, "--reduces="+strconv.Itoa(reduces))
	add(cuts, "--cuts="+cutsName)
	add(i == 0 && o.InOrder, "--in-order")
	// Blocks have the number of their input (jobs.Block.Input), and so have positions of records.
	for _, in := range inputs {
		add(i == 0 && (len(inputs) > 1 || o.InOrder || o.Chain[0].NewReducer == nil), "--input="+in)
	}
	add(i == 0 && o.Chain[0].Begin != nil, "--files="+strconv.Itoa(o.Files))
	add(o.Results == stream.TypedBytes, "--results=typedbytes")
	add(o.Engine == Spark, "--spark")
	return args
}

// joinCommand joins words to a command that Hadoop Streaming splits into the same words
// (PipeMapRed.splitArgs). It splits at spaces and at quotes of both kinds, and knows no escapes. So
// joinCommand fails for an empty word, and for a word with quotes of both kinds.
func joinCommand(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		switch {
		case w == "":
			return "", errs.Optionf("an empty word", "Hadoop Streaming loses it on its way to a task")
		case !strings.ContainsAny(w, " '\""):
			quoted[i] = w
		// A quote of one kind protects those of the other kind.
		case !strings.Contains(w, "'"):
			quoted[i] = "'" + w + "'"
		case !strings.Contains(w, `"`):
			quoted[i] = `"` + w + `"`
		default:
			return "", errs.Optionf(strconv.Quote(w), `Hadoop Streaming takes no word with both kinds of quotes; write \x27 for one in a pattern`)
		}
	}
	return strings.Join(quoted, " "), nil
}

// Text returns the commands for bash, one per line. cuts are the words of the command that writes the
// cuts to its standard output; nil if no cuts are needed.
func (p *Plan) Text(cuts []string) string {
	var b strings.Builder
	if cuts != nil {
		fmt.Fprintf(&b, "%s >%s\n", shellLine(cuts), cutsName)
	}
	if p.driver != "" {
		fmt.Fprintf(&b, "cat >%s <<'END'\n%sEND\n", driverName, p.driver)
	}
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "%s\n", shellLine(append([]string{p.command}, s.Args...)))
	}
	for _, dir := range p.between {
		fmt.Fprintf(&b, "%s\n", shellLine(append([]string{p.command}, removal(dir)...)))
	}
	return b.String()
}

// removal returns the arguments of hadoop that remove a directory.
func removal(dir string) []string { return []string{"fs", "-rm", "-r", "-f", "-skipTrash", dir} }

// shellLine joins words to a line that bash splits into the same words. Words of a child are quoted
// twice: for Hadoop Streaming (joinCommand), and here for bash.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

// HomeJar is the jar of Hadoop Streaming as a pattern that a shell expands. It suits a plan to be
// printed if the installation of Hadoop is not known.
const HomeJar = `"$HADOOP_HOME"/share/hadoop/tools/lib/hadoop-streaming-*.jar`

// shellWord returns a word as bash reads it, in quotes if it needs them. HomeJar stays as it is.
func shellWord(w string) string {
	switch {
	case w == HomeJar:
		return w
	// bash takes these characters as they are, but not # at the start of a word.
	case regexp.MustCompile(`^[-_./:=,@%+a-zA-Z0-9][-_./:=,@%+#a-zA-Z0-9]*$`).MatchString(w):
		return w
	case !strings.ContainsFunc(w, isControl):
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	// A word with control characters is written with escapes, so that it stays on one line. The loop
	// goes over bytes, so invalid UTF-8 passes unchanged.
	var b strings.Builder
	for _, c := range []byte(strings.NewReplacer("\n", `\n`, "\t", `\t`, "'", `\'`, `\`, `\\`).Replace(w)) {
		if isControl(rune(c)) {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}

// isControl reports whether a character is a control character of ASCII.
func isControl(r rune) bool { return r < ' ' || r == 0x7f }
