package streaming

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCommandsAreCutWithoutAShell(t *testing.T) {
	for command, want := range map[string][]string{
		"cat":              {"cat"},
		"  a   b ":         {"a", "b"},
		`awk '{print $1}'`: {"awk", "{print $1}"},
		`a "b c" d`:        {"a", "b c", "d"},
		`a'b c'd`:          {"a", "b c", "d"},
		`a "it's"`:         {"a", "it's"},
		`a ''`:             {"a"},
		`a 'b c`:           {"a", "b c"},
		`a\ b`:             {`a\`, "b"},
		"cat | sort > x":   {"cat", "|", "sort", ">", "x"},
		"a\tb":             {"a\tb"},
		"":                 nil,
	} {
		if got := SplitCommand(command); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

// base has all required arguments.
var base = []string{"-input", "i", "-output", "o", "-mapper", "cat"}

func TestArgumentsAreReadAsStreamJobReadsThem(t *testing.T) {
	dir := t.TempDir()
	file, conf := filepath.Join(dir, "f"), filepath.Join(dir, "c.xml")
	for path, text := range map[string]string{file: "", conf: "<configuration><property><name>mapred.reduce.tasks</name><value>7</value></property></configuration>"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	with := func(generic ...string) []string { return append(generic, base...) }
	for name, c := range map[string]struct {
		args []string
		ok   func(j *ParsedJob) bool
	}{
		"a property":              {with("-D", "a=b=c"), func(j *ParsedJob) bool { return j.Conf.Get("a", "") == "b=c" }},
		"attached":                {with("-Da=b"), func(j *ParsedJob) bool { return j.Conf.Get("a", "") == "b" }},
		"nothing behind the sign": {with("-Da="), func(j *ParsedJob) bool { return !j.Conf.Has("a") }},
		"an old name":             {with("-D", "mapred.reduce.tasks=3"), func(j *ParsedJob) bool { return j.Conf["mapreduce.job.reduces"] == "3" }},
		"a file of properties":    {with("-conf", conf), func(j *ParsedJob) bool { return j.Conf["mapreduce.job.reduces"] == "7" }},
		"a link":                  {with("-files", file+"#x"), func(j *ParsedJob) bool { return j.Files[0] == Shipped{Path: file, Link: "x"} }},
		"several inputs":          {append(slices.Clone(base), "-input", "a", "b,c{d,e}"), func(j *ParsedJob) bool { return slices.Equal(j.Inputs, []string{"i", "a", "b", "c{d,e}"}) }},
		"the first of two":        {append(slices.Clone(base), "-mapper", "wc"), func(j *ParsedJob) bool { return j.Mapper.Text == "cat" }},
		"two hyphens":             {[]string{"--input", "i", "--output", "o"}, func(j *ParsedJob) bool { return j.Output == "o" && !j.Mapper.Given }},
		"a value like an option":  {append(slices.Clone(base), "-cmdenv", "-x=1"), func(j *ParsedJob) bool { return j.Env[0] == "-x=1" }},
		"quotes around a value":   {append(slices.Clone(base), "-reducer", `"wc -l"`), func(j *ParsedJob) bool { return j.Reducer.Text == "wc -l" }},
		"-io is for all legs": {append(slices.Clone(base), "-io", "rawbytes"), func(j *ParsedJob) bool {
			return j.Conf["stream.map.output"] == "rawbytes" && j.Conf["stream.reduce.input"] == "rawbytes"
		}},
		"help needs nothing else": {[]string{"-help"}, func(j *ParsedJob) bool { return j.Help }},
	} {
		j, err := Args(c.args)
		if err != nil || !c.ok(j) {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
	}
}

func TestMistakesHaveMessageAndExitCode(t *testing.T) {
	for want, args := range map[string][]string{
		"No Arguments Given!":                         nil,
		"Required argument: -input <name>":            {"-output", "o"},
		"Required argument: -output ":                 {"-input", "i"},
		"Unrecognized option: -D":                     append(slices.Clone(base), "-D", "a=b"), // generic options come first
		"Unrecognized option: -nosuch":                append(slices.Clone(base), "-nosuch"),
		"Missing argument for option: reducer":        append(slices.Clone(base), "-reducer"),
		"Found 1 unexpected arguments on the command": append(slices.Clone(base), "stray"),
		"File /no/such does not exist.":               append([]string{"-files", "/no/such"}, base...),
		"Java classes are not loaded here":            append([]string{"-libjars", "a.jar"}, base...),
	} {
		_, err := Args(args)
		var e *Error
		if !errors.As(err, &e) || e.Exit != 1 || !strings.Contains(e.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}
