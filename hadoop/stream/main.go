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
	"mrlocal/internal/setting"
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
	var o Options
	var err error
	all := o.Fields()
	if len(args) == 1 && args[0] == DescribeWord {
		err = json.NewEncoder(stdout).Encode(describe(chain))
	} else {
		var side Side
		if side, err = parse(args, all); err == nil {
			o.Task = TaskOf(getenv)
			err = Run(context.Background(), chain, side, o, stdin, stdout, stderr)
		}
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "stream: %s\n", errs.OneLine(errs.Word(err, setting.Fields(all, (*setting.Setting).Flag))))
	if errs.IsUsage(err) {
		return 2
	}
	return 3
}

// parse reads the arguments of Main. all are the settings of its options. Errors are of kind errs.BadOptions.
func parse(args []string, all []setting.Setting) (Side, error) {
	if len(args) == 0 {
		return 0, errs.Optionf("stream", "name a side: %s", strings.Join(Sides(), ", "))
	}
	side, err := ParseSide(args[0])
	for args = args[1:]; len(args) > 0 && err == nil; {
		name, value, attached := strings.Cut(args[0], "=")
		long, isLong := strings.CutPrefix(name, "--")
		s := setting.Named(all, long)
		switch args = args[1:]; {
		case s == nil || !isLong:
			return side, errs.Optionf(name, "no such flag")
		case !attached && s.Toggle():
			value = "true"
		case !attached && len(args) == 0:
			return side, errs.Optionf(name, "needs a value")
		case !attached:
			value, args = args[0], args[1:]
		}
		if err = s.Value.Set(value); err != nil {
			err = errs.Optionf(name, "%w", err)
		}
	}
	return side, err
}

// ParseSide returns the side with that name, one of Sides. The error is of kind errs.BadOptions.
func ParseSide(name string) (Side, error) {
	if i := slices.Index(Sides(), name); i >= 0 {
		return Side(i), nil
	}
	return 0, errs.Optionf(strconv.Quote(name), "no side of a job; give %s", strings.Join(Sides(), ", "))
}

// WriteCuts writes cuts in the form that Options.Fields reads: a line for each, escaped as on the wire.
func WriteCuts(w io.Writer, cuts [][]byte) error {
	b := bufio.NewWriter(w)
	var line []byte
	for _, cut := range cuts {
		line = append(appendEscaped(line[:0], cut), '\n')
		_, _ = b.Write(line) // Flush returns the first error
	}
	return b.Flush()
}

// readCuts reads a file of cuts, which WriteCuts has written. The cuts belong to the caller.
func readCuts(path string) ([][]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errs.Cause(err))
	}
	cuts := [][]byte{}
	for line := range (jobs.Block{Data: text}).Lines() {
		cut, err := appendUnescaped(nil, line)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(cuts)+1, err)
		}
		cuts = append(cuts, cut)
	}
	return cuts, nil
}
