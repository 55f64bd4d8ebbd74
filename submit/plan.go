// Package submit runs jobs of this module on a Hadoop cluster, through Hadoop Streaming.
//
// A Plan is the list of commands of Hadoop that do a job: one for each job of the chain, and one
// that removes what lay between them. New makes it without asking the cluster anything, so a user can
// read it first. Run then runs it and follows what Hadoop prints.
//
//	Options ──New──► Plan ──Text──► a shell
//	                 └────Run────► hadoop ──what it prints──► progress, report
//
// The children of the jobs are mrlocal stream (package stream), or a program with jobs of its own
// (Program). mrlocal travels with each job as a file. A total order over several reduces needs cuts;
// the caller samples them and names their file.
//
// Memory: the plan, and of Hadoop's output the last line and the cause of a failure. Neighbours: package stream is the child; package
// report has the outcome.
package submit

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"mrlocal/errs"
	"mrlocal/hdfs"
	"mrlocal/jobs"
	"mrlocal/stream"
)

// Options describe the jobs to run, and how. Chain, Inputs, Output, Jar and Binary are required. The
// caller keeps the slices; New copies what it needs of them.
type Options struct {
	// Chain has at least one job. The plan reads its names, numbers of reduces and which functions
	// are set; it never calls the functions.
	Chain jobs.Chain
	// Job is the name by which mrlocal stream knows the chain. It is empty for a program that has
	// one chain only (Program).
	Job    string
	Args   []string // flags of the job itself
	Inputs []string // on HDFS
	Output string   // a directory that does not exist yet

	Reducers int // of the first job; 0: one
	// Name is the name of the job in YARN; "": mrlocal and the name of the job. In a chain of
	// several jobs, "N of M" follows it.
	Name  string
	Queue string // of YARN; "": the cluster's default
	// Properties are settings of Hadoop, as NAME=VALUE. They come behind those of this package.
	Properties []string
	Results    stream.Results
	InOrder    bool // see stream.Options
	Files      int  // number of input files, for a job that wants to know; 0: unknown

	Hadoop string // the command; "": hadoop
	Jar    string // hadoop-streaming
	Binary string // the static mrlocal, or another program, that children run
	Cuts   string // the file of cuts, where NeedsCuts; "": named cuts
}

// NeedsCuts reports whether the first job is a total order over several reduces.
func (o *Options) NeedsCuts() bool {
	j := &o.Chain[0]
	return o.Reducers > 1 && j.Ordered && j.Partition == nil && j.NewReducer != nil
}

// Plan is a list of commands that run one after the other: each reads what the one before wrote.
// Nothing changes a Plan after New.
type Plan struct {
	Steps   []Step
	between []string // directories to be removed at the end
	hadoop  string   // the command: a path, or a name in the search path
}

// Step is one job of Hadoop, which a command runs.
type Step struct {
	Job  string
	Args []string // of the command hadoop
}

// childName is the name of the binary in the working directory of a task. Hadoop makes a link there
// to its local copy.
const childName = "mrlocal"

// cutsName is the name of the file of cuts there.
const cutsName = "cuts"

// New makes the plan. Each job of the chain reads the output directory of the one before; those
// between lie beside the last one, under its name and the name of the job. New asks nothing of the
// cluster. Its errors are of kind errs.BadOptions.
func New(o Options) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &Plan{hadoop: o.Hadoop}
	p.hadoop = cmp.Or(p.hadoop, "hadoop")
	// inputs are those of the first job here; below, each job reads the output of the one before.
	inputs := o.Inputs
	for i := range o.Chain {
		// Only the last job writes where the user asked. The others write beside it, and not below
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

// check refuses what Hadoop cannot do. The error names the field to change. A
// refusal here costs nothing; the same mistake on the cluster costs the start of a job.
func (o *Options) check() error {
	switch {
	case len(o.Inputs) == 0:
		return errs.Optionf("Options.Inputs", "name a file or directory of the cluster, as hdfs://HOST:PORT/PATH")
	case o.Output == "":
		return errs.Optionf("Options.Output", "name a new directory of the cluster, as hdfs://HOST:PORT/PATH")
	case !hdfs.Is(o.Output):
		return errs.Optionf("Options.Output", "%s: not on a cluster; write hdfs://HOST:PORT/PATH", o.Output)
	// Without a reducer the one reduce task only sorts the lines back into their order. Several such
	// tasks would each have a part of that order.
	case o.Chain[0].NewReducer == nil && o.Reducers > 1:
		return errs.Optionf("Options.Reducers", "%d: %s has no reduce of its own; one puts its lines in order", o.Reducers, o.Chain[0].Name)
	// GenericOptionsParser takes a comma as the end of a path and # as the start of a link's
	// name, and the path must be a URI.
	case strings.ContainsAny(o.Binary, ",# %"):
		return errs.Optionf("Options.Binary", "%s: Hadoop's -files takes no comma, #, %% or space in a path", o.Binary)
	}
	if err := checkQueue("Options.Queue", o.Queue); err != nil {
		return err
	}
	for _, in := range o.Inputs {
		switch {
		case !hdfs.Is(in):
			return errs.Optionf("Options.Inputs", "%s: not on a cluster; write hdfs://HOST:PORT/PATH", in)
		case strings.Contains(in, ","):
			return errs.Optionf("Options.Inputs", "%s: Hadoop takes a comma for the end of a path", in)
		}
	}
	for _, property := range o.Properties {
		name, value, ok := strings.Cut(property, "=")
		if !ok || name == "" {
			return errs.Optionf("Options.Properties", "%s: not NAME=VALUE", strconv.Quote(property))
		}
		// A property may name the queue too, by its new name or its old one.
		if name == "mapreduce.job.queuename" || name == "mapred.job.queue.name" {
			if err := checkQueue("Options.Properties", value); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkQueue refuses the name of a queue that ends the ResourceManager of Hadoop 3.4.2, and with it each job of the
// cluster: the FairScheduler does not catch its own error about an empty part (QueueManager.buildNewQueueList).
func checkQueue(object, queue string) error {
	if queue == "" {
		return nil
	}
	for part := range strings.SplitSeq(queue, ".") {
		if part == "" || strings.TrimSpace(part) != part {
			return errs.Optionf(object, "%s: a queue has no empty part and none with a blank at its end", strconv.Quote(queue))
		}
	}
	return nil
}

// step returns the arguments of hadoop for job i of the chain, from 0. Generic options (-D, -files)
// come first, because Hadoop stops reading them at the first other option.
func (o *Options) step(i int, inputs []string, output string) ([]string, error) {
	// Reduces and cuts concern the first job alone. A later job has one reduce unless it fixes the
	// number itself.
	reduces, cuts := 1, false
	if i == 0 {
		reduces, cuts = max(1, o.Reducers), o.NeedsCuts()
	}
	// A job that fixes its number of reduces has it here too.
	if p := o.Chain[i].Reduces; p > 0 {
		reduces = p
	}
	name := o.Name
	if name == "" {
		name = "mrlocal " + cmp.Or(o.Job, o.Chain[0].Name)
	}
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
	// A line ends with a newline alone, and files lie in directories of any depth, as they do here.
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
	// Hadoop keeps the last value of a property, so the user's come last.
	for _, property := range o.Properties {
		args = append(args, "-D", property)
	}
	// PATH#LINK: Hadoop ships the file at PATH and links it as LINK where a task starts.
	files := o.Binary + "#" + childName
	if cuts {
		from := o.Cuts
		from = cmp.Or(from, cutsName)
		files += "," + from + "#" + cutsName
	}
	// Both sides of a job get the same flags, so that they agree on partitions and forms.
	child := o.child(i, reduces, cuts, inputs)
	args = append(args, "-files", files)
	for _, side := range [][2]string{{"map", "-mapper"}, {"reduce", "-reducer"}} {
		words := []string{childName, "stream", side[0]}
		if o.Job != "" {
			words = append(words, o.Job)
		}
		line, err := splitLine(append(words, child...))
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

// noSeparator is an empty value that reaches a task. Hadoop loses a property without characters; it
// expands this one, whose variable nobody sets, to none (Configuration.substituteVars).
const noSeparator = "${env.MRLOCAL_NO_SEPARATOR:-}"

// child returns the arguments of a child behind the name of its job. i counts jobs from 0, but
// --step counts them from 1. Each flag must be one that mrlocal stream knows (package hadoop of
// the command). A flag whose value is the child's default is left out.
func (o *Options) child(i, reduces int, cuts bool, inputs []string) []string {
	// A copy: every step appends flags of its own to the flags of the job.
	args := append([]string(nil), o.Args...)
	if i > 0 {
		args = append(args, "--step="+strconv.Itoa(i+1))
	}
	if reduces > 1 {
		args = append(args, "--reduces="+strconv.Itoa(reduces))
	}
	if cuts {
		args = append(args, "--cuts="+cutsName)
	}
	if i == 0 && o.InOrder {
		args = append(args, "--in-order")
	}
	// Positions of records are of use to both sides only where they travel.
	if i == 0 && (o.InOrder || o.Chain[0].NewReducer == nil) {
		for _, in := range inputs {
			args = append(args, "--input="+in)
		}
	}
	if i == 0 && o.Files > 0 {
		args = append(args, "--files="+strconv.Itoa(o.Files))
	}
	if o.Results == stream.TypedBytes {
		args = append(args, "--results=typedbytes")
	}
	return args
}

// splitLine joins words so that Hadoop Streaming splits them again (PipeMapRed.splitArgs): at
// spaces and at quotes of both kinds, without any escape.
func splitLine(words []string) (string, error) {
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

// Text returns the commands for a shell, one a line. cuts is the command that makes the cuts, if
// they are needed; nil otherwise.
func (p *Plan) Text(cuts []string) string {
	var b strings.Builder
	if cuts != nil {
		fmt.Fprintf(&b, "%s >%s\n", shellLine(cuts), cutsName)
	}
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "%s\n", shellLine(append([]string{p.hadoop}, s.Args...)))
	}
	for _, dir := range p.between {
		fmt.Fprintf(&b, "%s\n", shellLine(append([]string{p.hadoop}, removal(dir)...)))
	}
	return b.String()
}

// removal returns the arguments of hadoop that remove a directory.
func removal(dir string) []string { return []string{"fs", "-rm", "-r", "-f", "-skipTrash", dir} }

// shellLine joins words so that bash reads the same words back. Hadoop Streaming splits otherwise
// (splitLine), so a word of a child is quoted twice.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

// HomeJar is the name of the jar in an installation that is not known. Only a shell can find it.
const HomeJar = `"$HADOOP_HOME"/share/hadoop/tools/lib/hadoop-streaming-*.jar`

// shellWord quotes a word for bash. HomeJar stays for the shell to expand.
func shellWord(w string) string {
	// plain characters mean nothing to bash, except # at the start of a word.
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+#", r)
	}
	switch {
	case w == HomeJar:
		return w
	case w == "":
		return "''"
	case strings.IndexFunc(w, func(r rune) bool { return !plain(r) }) < 0 && w[0] != '#':
		return w
	case strings.IndexFunc(w, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0:
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	// Control characters stay on one line.
	var b strings.Builder
	b.WriteString("$'")
	// By byte, not by rune: bytes that are not UTF-8 pass through unchanged.
	for i := range len(w) {
		switch c := w[i]; {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + "'"
}
