package stream

import (
	"bufio"
	"bytes"
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

// DescribeWord is the argument of Main that prints a Description.
const DescribeWord = "describe"

// Description describes the chain of another program for package submit.
type Description struct {
	Jobs []DescribedJob `json:"jobs"` // of the chain, in order
}

// DescribedJob describes a job of a chain. Name, Reduces and Ordered are those of jobs.Job.
type DescribedJob struct {
	Name        string `json:"name"`
	Reduces     int    `json:"reduces,omitempty"`
	Ordered     bool   `json:"ordered,omitempty"`
	Partitioned bool   `json:"partitioned,omitempty"` // it has a Partition
	MapOnly     bool   `json:"map_only,omitempty"`    // it has no NewReducer
	Begins      bool   `json:"begins,omitempty"`      // it has Begin, which gets the number of input files
	Refused     string `json:"refused,omitempty"`     // why it cannot run on a cluster; "": it can
}

// describe returns the Description of a chain. If the first job has Begin, it is
// described as it is for one input file.
func describe(chain jobs.Chain) Description {
	d := Description{}
	for i := range chain {
		j := &chain[i]
		c, err := newChild(chain, Options{Step: i + 1})
		if err == nil {
			j, err = &c.job, Check(chain)
		}
		o := DescribedJob{Name: j.Name, Reduces: j.Reduces, Ordered: j.Ordered, Partitioned: j.Partition != nil, MapOnly: j.NewReducer == nil, Begins: i == 0 && chain[0].Begin != nil}
		if err != nil {
			o.Refused = err.Error()
		}
		d.Jobs = append(d.Jobs, o)
	}
	return d
}

// EachKey reads the output of a map of a job with one reduce. It calls do with the key of each
// record, which do borrows during the call. It fails if a line is not a record.
func EachKey(wire io.Reader, do func(key []byte)) error {
	lines := scanLines(wire)
	var key []byte
	for lines.Scan() {
		whole, _, _ := bytes.Cut(lines.Bytes(), []byte{'\t'})
		var err error
		if key, err = appendUnescaped(key[:0], keyOf(whole)); err != nil {
			return err
		}
		do(key)
	}
	return lines.Err()
}

// Hadoop's default partitioner sends a key to reduce (hash & 0x7fffffff) % reduces. The hash
// of Text begins with 1, and each byte, as a signed one, makes it hash*31 + byte (Hadoop 3.4,
// WritableComparator.hashBytes, HashPartitioner). A label is a suffix of a key that sets the
// remainder of the hash. It stands at the end, so it does not change the order of keys.
//
// The letters of a label are printable ASCII. A step of the last letter changes the hash by 1,
// a step of the letter before it by 31, and so on. So n letters reach 94 + 93*(31 + 31^2 + … +
// 31^(n-1)) hashes in a row. In such a row the hash falls from 2^31-1 to 0 once at most. So
// 2*reduces hashes in a row always hold one for each reduce.
const (
	firstLetter = 33 // '!'
	letters     = 94 // up to '~'
)

// labelLetters returns the number of letters of a label: the least number that reaches 2*reduces
// hashes in a row.
func labelLetters(reduces int) int {
	n := 1
	for span := letters; span < 2*reduces; n++ {
		span = 31*span + letters - 31
	}
	return n
}

// hashOf returns Hadoop's hash of a key that ends with p. hash is that of the bytes before p, or
// 1 if p is the whole key.
func hashOf(hash int32, p []byte) int32 {
	for _, b := range p {
		hash = 31*hash + int32(int8(b))
	}
	return hash
}

// appendLabel appends to key the label that makes Hadoop send the key to reduce target, from 0 to
// reduces-1.
func appendLabel(key []byte, target, reduces int) []byte {
	n := labelLetters(reduces)
	hash := hashOf(1, key) // then with a label of only first letters
	for range n {
		hash = 31*hash + firstLetter
	}
	return appendMove(key, n, distance(hash, target, reduces))
}

// distance returns the least number to add to hash, so that the sum leads to target. It is less
// than 2*reduces.
func distance(hash int32, target, reduces int) int64 {
	from := int64(hash & 0x7fffffff)
	away := (int64(target) - from%int64(reduces) + int64(reduces)) % int64(reduces)
	if from+away > 0x7fffffff { // the sum falls to 0 on its way
		away = 0x80000000 - from + int64(target)
	}
	return away
}

// appendMove appends n letters that change the hash by away, beyond n first letters.
func appendMove(key []byte, n int, away int64) []byte {
	weight := int64(1) // by which a step of the current letter changes the hash
	for range n - 1 {
		weight *= 31
	}
	for ; weight > 0; weight /= 31 {
		d := min(away/weight, letters-1)
		key = append(key, byte(firstLetter+d))
		away -= d * weight
	}
	return key
}
