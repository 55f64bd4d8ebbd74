package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/jobs"
)

// Main is the child of a program with jobs of its own. Three lines at the start of the main
// function of the program call it:
//
//	if len(os.Args) > 1 && os.Args[1] == "stream" {
//		os.Exit(stream.Main(chain, os.Args[2:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
//	}
//
// args are a side and flags: --step N, --reduces N, --cuts FILE, --in-order, --input PATH,
// --files N, --results text|typedbytes. They mean what they mean for mrlocal stream. The word
// describe instead of a side prints the Description of the chain as JSON, for mrlocal submit.
//
// Main returns the exit code: 0, 2 for wrong arguments, or 3 if the job failed. An error is one
// line on stderr.
func Main(chain jobs.Chain, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	var err error
	if len(args) == 1 && args[0] == DescribeWord {
		err = json.NewEncoder(stdout).Encode(describe(chain))
	} else {
		var side Side
		var o Options
		if side, o, err = parse(args); err == nil {
			o.Task = TaskOf(getenv)
			err = Run(context.Background(), chain, side, o, stdin, stdout, stderr)
		}
	}
	if err == nil {
		return 0
	}
	// Errors name fields of Options. The flags have the same names.
	text := err.Error()
	for _, field := range []string{"Step", "Reduces", "Cuts", "Results", "Files"} {
		text = strings.ReplaceAll(text, "Options."+field, "--"+strings.ToLower(field))
	}
	text = strings.ReplaceAll(text, "Options.Inputs", "--input")
	fmt.Fprintf(stderr, "stream: %s\n", errs.OneLine(text))
	if errs.IsUsage(err) {
		return 2
	}
	return 3
}

// parse reads the arguments of Main. Its errors are of kind errs.BadOptions.
func parse(args []string) (Side, Options, error) {
	var o Options
	if len(args) == 0 {
		return 0, o, errs.Optionf("stream", "name a side: %s", strings.Join(Sides(), ", "))
	}
	side, err := ParseSide(args[0])
	for args = args[1:]; len(args) > 0 && err == nil; {
		name, value, attached := strings.Cut(args[0], "=")
		args = args[1:]
		if name == "--in-order" {
			o.InOrder = true
			continue
		}
		if !attached && len(args) == 0 {
			return side, o, errs.Optionf(name, "needs a value")
		}
		if !attached {
			value, args = args[0], args[1:]
		}
		err = o.set(name, value)
	}
	return side, o, err
}

// set sets the option of a flag that has a value. name has its hyphens.
func (o *Options) set(name, value string) (err error) {
	numbers := map[string]*int{"--step": &o.Step, "--reduces": &o.Reduces, "--files": &o.Files}
	if to := numbers[name]; to != nil {
		if *to, err = strconv.Atoi(value); err != nil {
			err = errs.Optionf(name, "%q is not a number", value)
		}
		return err
	}
	switch name {
	case "--input":
		o.Inputs = append(o.Inputs, value)
	case "--results":
		o.Results, err = ParseResults(value)
	case "--cuts":
		o.Cuts, err = ReadCuts(value)
	default:
		return errs.Optionf(name, "no such flag")
	}
	return err
}

// ParseSide returns the side with that name, one of Sides. The error is of kind errs.BadOptions.
func ParseSide(name string) (Side, error) {
	if i := slices.Index(Sides(), name); i >= 0 {
		return Side(i), nil
	}
	return 0, errs.Optionf(strconv.Quote(name), "no side of a job; give %s", strings.Join(Sides(), ", "))
}

// ParseResults returns the form of results with that name: text or typedbytes. The error is of
// kind errs.BadOptions.
func ParseResults(name string) (Results, error) {
	switch name {
	case "text":
		return Text, nil
	case "typedbytes":
		return TypedBytes, nil
	}
	return 0, errs.Optionf("Options.Results", "%q: give text or typedbytes", name)
}

// WriteCuts writes cuts in the form that ReadCuts reads: a line for each, escaped as on the wire.
func WriteCuts(w io.Writer, cuts [][]byte) error {
	b := bufio.NewWriter(w)
	var line []byte
	for _, cut := range cuts {
		line = append(appendEscaped(line[:0], cut), '\n')
		_, _ = b.Write(line) // Flush returns the first error
	}
	return b.Flush()
}

// ReadCuts reads a file of cuts, which WriteCuts has written. The cuts belong to the caller. Errors
// are of kind errs.BadOptions.
func ReadCuts(path string) ([][]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errs.Optionf("Options.Cuts", "%s: %w", path, errs.Cause(err))
	}
	cuts := [][]byte{}
	for line := range (jobs.Block{Data: text}).Lines() {
		cut, err := appendUnescaped(nil, line)
		if err != nil {
			return nil, errs.Optionf("Options.Cuts", "%s: line %d: %w", path, len(cuts)+1, err)
		}
		cuts = append(cuts, cut)
	}
	return cuts, nil
}
