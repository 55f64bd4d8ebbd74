package streaming

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file reads the arguments of hadoop-streaming as StreamJob of Hadoop 3.4.2 reads
// them, mistakes included. For example, generic options (-D, -files) must come before all
// others. The package also divides the commands of a job into words.
//
// The package shuffle nothing. It reads the configuration files that -conf names, and checks
// that the files of -files, -archives and -file exist. Package streaming makes a job of the
// result.

// ParsedJob is a job as the arguments describe it. Inputs, outputs and names of classes are
// not checked.
type ParsedJob struct {
	Conf                      Conf     // of -conf, -D and the options that stand for properties
	Inputs                    []string // paths, URIs and patterns
	Output                    string   // a path or URI
	Mapper, Combiner, Reducer Command
	InputFormat, OutputFormat string   // names of classes; "": the option was not given
	InputReader               string   // class,name=value,…
	Partitioner               string   // name of a class
	Env                       []string // of -cmdenv, NAME=VALUE as a rule
	Files                     []Shipped
	LazyOutput                bool     // write no empty parts
	Help                      bool     // the user asks for help: -help or -info
	Debugs                    []string // the names mapdebug and reducedebug, as often as given
	Warnings                  []string // one line for each use of a deprecated option
}

// Command is the value of -mapper, -combiner or -reducer: a command or the name of a class.
type Command struct {
	Text  string
	Given bool // the option was given
}

// Shipped is a file that appears in the working directory of the commands.
type Shipped struct {
	Path    string // absolute
	Link    string // its name in the working directory
	Archive bool   // the file is unpacked, into a directory of that name
	Packed  bool   // of -file: where a command has Path as its program, Link is meant
}

// Error is an error as StreamJob prints it. The command prints Lines as they are, so that
// scripts which look for Hadoop's messages find them.
type Error struct {
	Exit  int      // exit code of the command
	Lines []string // for standard error
	Usage bool     // the command prints its usage too
}

// Error returns all lines in one, with ": " between them.
func (e *Error) Error() string { return strings.Join(e.Lines, ": ") }

// fail returns the error of StreamJob.fail: the message, a hint at -help, and exit code 1.
func fail(format string, args ...any) *Error {
	return &Error{Exit: 1, Lines: []string{fmt.Sprintf(format, args...), "Try -help for more information"}}
}

// refuse returns an error that ends mrlocal before the job starts. exit is the exit code
// of Hadoop's command.
func refuse(exit int, format string, args ...any) error {
	return &Error{Exit: exit, Lines: []string{fmt.Sprintf(format, args...)}}
}

// failed returns an error that Hadoop finds only when its tasks run. Its text and exit
// code are those of a failed job.
func failed(format string, args ...any) error {
	return &Error{Exit: 1, Lines: []string{fmt.Sprintf(format, args...), "Job not successful!"}}
}

// Args reads the arguments of hadoop-streaming, without the name of the program. The error is an
// *Error. Required options may be missing from a result with Help. Args reads the files of
// -conf and checks that shipped files exist.
func Args(args []string) (*ParsedJob, error) {
	j := &ParsedJob{Conf: Conf{}}
	if len(args) == 0 {
		return nil, &Error{Exit: 1, Lines: []string{"No Arguments Given!"}, Usage: true}
	}
	if strings.EqualFold(args[0], "streamjob") { // HadoopStreaming.main takes this word for a command
		args = args[1:]
	}
	// Generic options are applied as they come, so a later -D replaces an earlier one or a -conf.
	options, rest, err := generic(args)
	if err != nil {
		return nil, err
	}
	for _, o := range options {
		if err := j.generic(o.name, o.values[0]); err != nil {
			return nil, err
		}
	}
	options, stray, err := specific(rest)
	if err != nil {
		e := fail("")
		e.Lines = append([]string{err.Error()}, e.Lines...)
		e.Usage = true
		return nil, e
	}
	if len(stray) > 0 {
		return nil, fail("Found %d unexpected arguments on the command line [%s]", len(stray), strings.Join(stray, ", "))
	}
	for _, o := range options {
		if err := j.set(o); err != nil {
			return nil, err
		}
	}
	// A user who asks for help need not give the required options.
	if j.Help {
		return j, nil
	}
	if len(j.Inputs) == 0 {
		return nil, fail("Required argument: -input <name>")
	}
	if j.Output == "" {
		return nil, fail("Required argument: -output ")
	}
	return j, nil
}

// generic applies a generic option (GenericOptionsParser.processGeneralOptions). It refuses
// options that make sense on a cluster only.
func (j *ParsedJob) generic(name, value string) error {
	switch name {
	case "D":
		if n, v, ok := strings.Cut(value, "="); ok && v != "" { // Hadoop ignores NAME= too
			j.Conf.Set(n, v)
		}
	case "conf":
		if err := j.Conf.read(value); err != nil {
			return refuse(1, "%v", err)
		}
	case "fs":
		if value != "local" && !strings.HasPrefix(value, "file:") {
			return refuse(1, "-fs %s: only the local file system is read here", value)
		}
		j.Conf.Set("fs.defaultFS", "file:///")
	case "jt":
		j.Conf.Set("mapreduce.jobtracker.address", value)
	case "files", "archives":
		for one := range strings.SplitSeq(value, ",") {
			if err := j.ship(one, name == "archives"); err != nil {
				return err
			}
		}
	case "libjars":
		return refuse(1, "-libjars %s: Java classes are not loaded here", value)
	case "tokenCacheFile":
		return refuse(1, "-tokenCacheFile %s: there is nothing to authenticate to here", value)
	}
	return nil
}

// ship adds a file of -files or -archives: PATH or PATH#LINK. It fails if the file does not
// exist, because a task that misses it would fail only after minutes.
func (j *ParsedJob) ship(uri string, archive bool) error {
	path, link, _ := strings.Cut(uri, "#")
	local := Local(path)
	if _, err := os.Stat(local); err != nil || local == "" {
		return refuse(1, "File %s does not exist.", path)
	}
	link = cmp.Or(link, filepath.Base(local))
	// The commands run in other directories, so the path must be absolute.
	abs, err := filepath.Abs(local)
	if err != nil {
		return refuse(1, "%v", err)
	}
	j.Files = append(j.Files, Shipped{Path: abs, Link: link, Archive: archive})
	return nil
}

// deprecated adds the warning that an option is deprecated, in the words of Hadoop.
func (j *ParsedJob) deprecated(option, better string) {
	j.Warnings = append(j.Warnings, fmt.Sprintf("-%s option is deprecated, please use %s instead.", option, better))
}

// set applies an option of StreamJob. If an option with one value is repeated, its first value
// counts, as commons-cli returns it. Options that take many values collect them all.
func (j *ParsedJob) set(o givenOption) error {
	texts := map[string]*string{
		"output": &j.Output, "inputformat": &j.InputFormat, "outputformat": &j.OutputFormat, "inputreader": &j.InputReader, "partitioner": &j.Partitioner,
	}
	if to, ok := texts[o.name]; ok {
		*to = cmp.Or(*to, o.values[0])
		return nil
	}
	commands := map[string]*Command{"mapper": &j.Mapper, "combiner": &j.Combiner, "reducer": &j.Reducer}
	if to, ok := commands[o.name]; ok {
		if !to.Given {
			*to = Command{o.values[0], true}
		}
		return nil
	}
	switch o.name {
	case "input":
		for _, v := range o.values {
			j.Inputs = append(j.Inputs, commaPaths(v)...)
		}
	case "lazyOutput":
		j.LazyOutput = true
	case "help", "info":
		j.Help = true
	case "mapdebug", "reducedebug":
		j.Debugs = append(j.Debugs, o.name)
	case "cmdenv":
		j.Env = append(j.Env, o.values[0])
	case "file", "cacheFile", "cacheArchive":
		return j.shipOld(o)
	default:
		return j.property(o)
	}
	return nil
}

// shipOld applies a deprecated option for files: -file, -cacheFile or -cacheArchive. Only a file of
// -file is Packed, because Hadoop packs it into the jar of the job.
func (j *ParsedJob) shipOld(o givenOption) error {
	if o.name == "cacheArchive" {
		j.deprecated(o.name, "-archives")
	} else {
		j.deprecated(o.name, "-files")
	}
	for _, v := range o.values {
		if o.name == "file" {
			if _, err := os.Stat(v); err != nil {
				abs, _ := filepath.Abs(v)
				return fail("File: file:%s does not exist.", abs)
			}
		}
		if err := j.ship(v, o.name == "cacheArchive"); err != nil {
			return err
		}
		j.Files[len(j.Files)-1].Packed = o.name == "file"
	}
	return nil
}

// property applies an option that stands for properties. Options without a case here, such as
// -verbose, have no effect. specific has already refused unknown names.
func (j *ParsedJob) property(o givenOption) error {
	value := o.values
	switch o.name {
	case "jobconf":
		j.deprecated("jobconf", "-D")
		n, v, ok := strings.Cut(value[0], "=")
		if !ok {
			return refuse(1, "-jobconf %s: give NAME=VALUE", value[0])
		}
		j.Conf.Set(n, v)
	case "dfs":
		j.deprecated("dfs", "-fs")
		return j.generic("fs", value[0])
	case "additionalconfspec":
		j.deprecated("additionalconfspec", "-conf")
		return j.generic("conf", value[0])
	case "numReduceTasks":
		j.Conf.Set("mapreduce.job.reduces", value[0])
		if _, err := strconv.Atoi(value[0]); err != nil {
			return refuse(1, "-numReduceTasks: %q is not a number of tasks", value[0])
		}
	case "io":
		for _, name := range []string{"stream.map.input", "stream.map.output", "stream.reduce.input", "stream.reduce.output"} {
			j.Conf.Set(name, value[0])
		}
	}
	return nil
}

// commaPaths divides a list of paths at commas outside of braces, as in a,b{1,2}
// (FileInputFormat.getPathStrings).
func commaPaths(list string) []string {
	var paths []string
	// depth counts open braces. from is the index of the first byte of the current path.
	depth, from := 0, 0
	for i := 0; i <= len(list); i++ {
		if i == len(list) || list[i] == ',' && depth == 0 {
			paths = append(paths, list[from:i])
			from = i + 1
			continue
		}
		switch list[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
	}
	return paths
}

// many is the number of values of an option that takes all that follow. No command line has so
// many, so loops need no case of their own.
const many = 1 << 30

// valuesOf returns the greatest number of values that an option of hadoop-streaming takes; 0
// means that the option is on or off. name has no hyphens. The list is that of
// StreamJob.setupOptions.
func valuesOf(name string) (values int, known bool) {
	switch name {
	case "input", "file", "cacheFile", "cacheArchive":
		return many, true
	case "output", "mapper", "combiner", "reducer", "dfs", "additionalconfspec", "inputformat", "outputformat",
		"partitioner", "numReduceTasks", "inputreader", "mapdebug", "reducedebug", "jobconf", "cmdenv", "io":
		return 1, true
	case "background", "verbose", "info", "debug", "help", "lazyOutput":
		return 0, true
	}
	return 0, false
}

// TakesValue reports whether an option of hadoop-streaming, or a generic one, takes a value. name has no hyphens.
func TakesValue(name string) bool {
	values, _ := valuesOf(name)
	return values > 0 || isGeneric(name)
}

// isGeneric reports whether an option is one of Hadoop's generic options, which come before
// all others. name has no hyphens.
func isGeneric(name string) bool {
	return slices.Contains([]string{"conf", "D", "fs", "jt", "libjars", "files", "archives", "tokenCacheFile"}, name)
}

// bare returns an option without its one or two hyphens.
func bare(word string) string { return strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-") }

// unquote removes double quotes around a word that has no others inside (commons-cli). The
// user's shell has already removed one pair.
func unquote(word string) string {
	if len(word) > 1 && word[0] == '"' && word[len(word)-1] == '"' && !strings.Contains(word[1:len(word)-1], `"`) {
		return word[1 : len(word)-1]
	}
	return word
}

// givenOption is an option of the command line, with its values in order. An option that is
// on or off has none.
type givenOption struct {
	name   string // without hyphens
	values []string
}

// generic reads the generic options at the start of args, as GnuParser does. It stops at the
// first word that is not one of them. rest is the part of args from there on.
func generic(args []string) (options []givenOption, rest []string, err error) {
	for i := 0; i < len(args); i++ {
		name, value, attached := genericName(args[i])
		if name == "" {
			// -- ends the options and is itself dropped.
			if args[i] == "--" {
				i++
			}
			return options, args[i:], nil
		}
		if !attached {
			// A value may begin with a hyphen, unless it is a generic option itself.
			if i+1 == len(args) || strings.HasPrefix(args[i+1], "-") && isGeneric(bare(args[i+1])) {
				return options, args, refuse(1, "Missing argument for option: %s", name)
			}
			i++
			value = args[i]
		}
		options = append(options, givenOption{name, []string{unquote(value)}})
	}
	return options, nil, nil
}

// genericName returns the name of the generic option that a word is, or "" if it is none.
// attached says that the word also holds the value, as in -Dx=1 or -files=a. Otherwise the
// value is the next word.
func genericName(word string) (name, value string, attached bool) {
	if !strings.HasPrefix(word, "-") || word == "-" || word == "--" {
		return "", "", false
	}
	opt := bare(word)
	if isGeneric(opt) {
		return opt, "", false
	}
	if before, after, ok := strings.Cut(opt, "="); ok && isGeneric(before) {
		return before, after, true
	}
	// -D alone may have its value without a sign between. This comes last, so that no other option
	// is taken for it.
	if strings.HasPrefix(word, "-D") {
		return "D", word[2:], true
	}
	return "", "", false
}

// specific reads the options of hadoop-streaming, as BasicParser does. A word behind an option
// that takes more values is a value, even if it begins with a hyphen, unless it is an option
// itself. stray has the words that belong to no option. The error has Hadoop's text; the caller
// adds the hint at -help.
func specific(args []string) (options []givenOption, stray []string, err error) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			return options, append(stray, args[i+1:]...), nil
		case !strings.HasPrefix(word, "-") || word == "-":
			stray = append(stray, word)
			continue
		}
		name := bare(word)
		most, known := valuesOf(name)
		if !known {
			//lint:ignore ST1005 as Hadoop words it
			return options, stray, fmt.Errorf("Unrecognized option: %s", word)
		}
		o := givenOption{name: name}
		for len(o.values) < most && i+1 < len(args) {
			next := args[i+1]
			if _, isOption := valuesOf(bare(next)); strings.HasPrefix(next, "-") && isOption {
				break
			}
			o.values = append(o.values, unquote(next))
			i++
		}
		if most > 0 && len(o.values) == 0 {
			//lint:ignore ST1005 as Hadoop words it
			return options, stray, fmt.Errorf("Missing argument for option: %s", name)
		}
		options = append(options, o)
	}
	return options, stray, nil
}
