package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
)

// A line of the journal is the CRC-32C of its JSON text in eight hexadecimal digits, a space,
// the text, and a newline.

// format is the version of the format. Journals of other versions are refused.
const format = 3

// sumDigits is the length of the checksum of a line. It shows that a crash has torn the line, or
// that somebody has edited it.
const sumDigits = 8

// first is the first line: all on which map outputs depend in addition to the inputs, and the number of
// inputs. A line with the fingerprint of each input follows.
type first struct {
	Format   int      `json:"mrlocal_journal"`
	Settings []string `json:"settings"` // name=value
	Inputs   int      `json:"inputs"`
}

// splits is the line behind the fingerprints. A line with the Division follows.
type splits struct {
	Count int    `json:"splits"`
	Hash  uint64 `json:"hash"` // of input.Plan.Division
}

// sumOf returns the CRC-32C of a text.
func sumOf(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

// appendLine appends v to dst as a line of the journal.
func appendLine(dst []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return fmt.Appendf(dst, "%0*x %s\n", sumDigits, sumOf(text), text), nil
}

// textOf returns the JSON text of a line; false: the line is torn or damaged.
func textOf(line []byte) ([]byte, bool) {
	if len(line) < sumDigits+2 || line[len(line)-1] != '\n' || line[sumDigits] != ' ' {
		return nil, false
	}
	sum, err := strconv.ParseUint(string(line[:sumDigits]), 16, 32)
	text := line[sumDigits+1 : len(line)-1]
	return text, err == nil && uint32(sum) == sumOf(text)
}

// headOf returns the lines with which a run with these settings and inputs begins its journal:
// first, the fingerprints, and splits.
func headOf(settings []string, plan *input.Plan) ([]byte, error) {
	f := first{Format: format, Settings: settings, Inputs: len(plan.Files)}
	head, err := appendLine(nil, &f)
	for i := 0; i < len(plan.Files) && err == nil; i++ {
		var print input.Fingerprint
		if print, err = plan.Fingerprint(i); err == nil {
			head, err = appendLine(head, &print)
		} else {
			err = errs.Inputf(plan.Files[i].Path, "%w", errs.Cause(err))
		}
	}
	if err != nil {
		return nil, err
	}
	return appendLine(head, &splits{Count: len(plan.Splits), Hash: plan.Division()})
}

// read compares the head of the journal with that of this run. It then reads the division and the
// records up to the first one that is torn, and cuts off the rest. It fails if the heads differ.
func (j *Journal) read(plan *input.Plan) error {
	r := bufio.NewReader(j.file)
	if err := j.readHead(r, len(plan.Files)); err != nil {
		return err
	}
	// The two heads are equal, so the length of one is that of the other.
	j.bytes, j.head = int64(len(j.head)), nil
	line, err := r.ReadBytes('\n')
	text, ok := textOf(line)
	if err != nil || !ok || json.Unmarshal(text, &j.division) != nil || j.division.Parts < 1 {
		return j.damaged(err)
	}
	for {
		j.bytes += int64(len(line))
		// A line without its newline is the torn one at the end; textOf refuses it.
		if line, err = r.ReadBytes('\n'); err != nil && !errors.Is(err, io.EOF) {
			return j.refuse("its journal: %v", errs.Cause(err))
		}
		var m record
		if text, ok = textOf(line); !ok || json.Unmarshal(text, &m) != nil || m.Task < 0 || m.Task >= len(plan.Splits) {
			break
		}
		j.maps[m.Task] = m
	}
	// A torn record must not stay between the records of the killed run and those of this one.
	return j.failed(j.file.Truncate(j.bytes))
}

// damaged returns the error of a journal whose head cannot be read. err is the error of the file;
// nil or io.EOF: the bytes themselves are wrong.
func (j *Journal) damaged(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		return j.refuse("its journal: %v", errs.Cause(err))
	}
	return j.refuse("its journal is damaged, or is not one of mrlocal; remove the directory to begin anew")
}

// readHead reads the head of the journal and compares it, line by line, with that of this run. The
// run has the given number of inputs. readHead returns the error for the first line that differs.
func (j *Journal) readHead(r *bufio.Reader, inputs int) error {
	n := 0
	for want := range bytes.Lines(j.head) {
		got, err := r.ReadBytes('\n')
		text, ok := textOf(got)
		if err != nil || !ok {
			return j.damaged(err)
		}
		if !bytes.Equal(got, want) {
			now, _ := textOf(want)
			switch {
			case n == 0:
				return j.otherRun(text, now)
			case n <= inputs:
				return j.otherInput(text, now)
			}
			return j.refuse("the input was divided into other splits; repeat the command with as many slots, or name another directory")
		}
		n++
	}
	return nil
}

// otherRun returns the error for a first line, was, that differs from that of this run, now.
func (j *Journal) otherRun(was, now []byte) error {
	var a, b first
	if json.Unmarshal(was, &a) != nil || json.Unmarshal(now, &b) != nil || a.Format == 0 {
		return j.damaged(nil)
	}
	if a.Format != b.Format {
		return j.refuse("its journal has format %d, and this version of mrlocal reads %d; remove the directory to begin anew", a.Format, b.Format)
	}
	// This covers settings that only one of the two runs has.
	for _, s := range slices.Concat(b.Settings, a.Settings) {
		name, _, _ := strings.Cut(s, "=")
		x, y := valueOf(a.Settings, name), valueOf(b.Settings, name)
		switch {
		case x == y:
		case name == buildSetting:
			return j.refuse("another build of the program began it (%s, and this is %s); run that one, or name another directory", x, y)
		case name == sideSetting && x != notGiven && y != notGiven:
			return j.refuse("the bytes of %s have changed; restore the file, or name another directory", errs.Field(name))
		default:
			return j.refuse("%s was %s and is %s; repeat the command, or name another directory", errs.Field(name), x, y)
		}
	}
	return j.refuse("it had %s and has %d; repeat the command, or name another directory", errs.Counted(a.Inputs, "input file"), b.Inputs)
}

const notGiven = "not given" // the value of a name that a run does not have

// valueOf returns the value of a name in settings, for a message. A name may have several values,
// an empty one, or none.
func valueOf(settings []string, name string) string {
	var values []string
	for _, s := range settings {
		if n, value, _ := strings.Cut(s, "="); n == name {
			values = append(values, value)
		}
	}
	switch {
	case values == nil:
		return notGiven
	case len(values) == 1 && values[0] == "":
		return "given"
	}
	return strings.Join(values, " ")
}

// otherInput returns the error for an input whose fingerprint in the journal, was, differs from
// that of this run, now.
func (j *Journal) otherInput(was, now []byte) error {
	var a, b input.Fingerprint
	if json.Unmarshal(was, &a) != nil || json.Unmarshal(now, &b) != nil {
		return j.damaged(nil)
	}
	why := "its bytes have changed"
	switch {
	case a.Path != b.Path:
		return j.refuse("input %q stands where %q was; repeat the command, or name another directory", b.Path, a.Path)
	case a.Of != b.Of:
		return j.refuse("input %q belonged to path %d of the command and belongs to path %d; repeat the command, or name another directory", b.Path, a.Of+1, b.Of+1)
	case a.Bytes != b.Bytes:
		why = fmt.Sprintf("it had %s and has %d", errs.Counted(a.Bytes, "byte"), b.Bytes)
	case a.ModNanos != b.ModNanos:
		why = "it was written to since"
	// Only the ctime or the inode differs here. The bytes that were sampled are the same.
	case a.SampleHash == b.SampleHash:
		why = "it was changed or replaced since, or its attributes were"
	}
	return errs.Inputf(b.Path, "%s; a journal in %s was begun with it: name another directory, or remove that one", why, j.name)
}

// digestOf returns a hash of the bytes of a file, as 16 hexadecimal digits.
func digestOf(path string) (string, error) {
	f, err := disk.OpenRead(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := xxhash.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%016x", hash.Sum64()), nil
}

// ownDigest returns the hash of the program of this process, which is read once. On Linux this is the file that
// runs, also if an update has put another one in its place.
var ownDigest = sync.OnceValues(func() (string, error) { return digestOf("/proc/self/exe") })

// buildID identifies the program of this process: a hash of its file and, if it is known, the commit. The
// commit alone does not tell programs apart that were built from changed files, or with other modules.
func buildID() (string, error) {
	id, err := ownDigest()
	if err != nil {
		path, pathErr := os.Executable()
		if pathErr != nil {
			return "", err
		}
		if id, err = digestOf(path); err != nil {
			return "", err
		}
	}
	const shortHash = 12
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				id += " of commit " + s.Value[:min(len(s.Value), shortHash)]
			}
		}
	}
	return id, nil
}
