package streaming

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// makeWork makes a job from arguments. It has one file of input, and cat for its commands.
func makeWork(t *testing.T, o Options, args ...string) (*Work, error) {
	input := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(input, []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	parsed, err := Args(append(args, "-input", input, "-output", "none", "-mapper", "cat", "-reducer", "cat"))
	if err != nil {
		t.Fatal(err)
	}
	o.TempDir = t.TempDir()
	return New(parsed, o)
}

// newWork is makeWork for arguments without errors.
func newWork(t *testing.T, o Options, args ...string) *Work {
	w, err := makeWork(t, o, args...)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The getenv of C takes the first value of a name, so there must be only one.
func TestACommandGetsOnlyTheLastValueOfAVariable(t *testing.T) {
	here := t.TempDir()
	o := Options{Environ: []string{"TZ=UTC", "TMPDIR=" + here, "PWD=/", "some_name=inherited"}}
	env := newWork(t, o, "-D", "some.name=property", "-cmdenv", "TZ=JST-9").environment(taskID{"m", 0}, 0, "/work", "", nil)
	for _, want := range []string{"TZ=JST-9", "TMPDIR=" + here, "PWD=/work", "some_name=property"} {
		name, _, _ := strings.Cut(want, "=")
		got := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return !strings.HasPrefix(v, name+"=") })
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %s", got, want)
		}
	}
}

// Hadoop sets TMPDIR after the variables of -cmdenv.
func TestOnlyFriendlyJobsMaySetTMPDIR(t *testing.T) {
	here := t.TempDir()
	for friendly, want := range map[bool]string{false: "TMPDIR=" + here, true: "TMPDIR=/there"} {
		o := Options{Environ: []string{"TMPDIR=" + here}, Friendly: friendly}
		if env := newWork(t, o, "-cmdenv", "TMPDIR=/there").environment(taskID{"m", 0}, 0, "", "", nil); !slices.Contains(env, want) {
			t.Errorf("%q, want %s", env, want)
		}
	}
}

// Hadoop sets TMPDIR to the directory of Java, which exists. That of this process may not.
func TestTMPDIRIsADirectoryThatExists(t *testing.T) {
	for _, environ := range [][]string{nil, {"TMPDIR="}, {"TMPDIR=" + t.TempDir() + "/missing"}} {
		if env := newWork(t, Options{Environ: environ}).environment(taskID{"m", 0}, 0, "", "", nil); !slices.Contains(env, "TMPDIR=/tmp") {
			t.Errorf("%q: %q", environ, env)
		}
	}
}

// Hadoop's tasks fail (KeyValueLineRecordReader).
func TestAnEmptySeparatorOfKeyAndValueFailsTheJob(t *testing.T) {
	_, err := makeWork(t, Options{}, "-jobconf", "key.value.separator.in.input.line=", "-inputformat", "KeyValueTextInputFormat")
	var refused *Error
	if !errors.As(err, &refused) || refused.Exit != 1 || len(refused.Lines) != 2 {
		t.Errorf("%v", err)
	}
}

func TestStandardErrorIsPassedOnWithItsEmptyLines(t *testing.T) {
	const text = "\na\n\n\nb\r\n\r\nc\r\rd"
	for at := range len(text) {
		var got bytes.Buffer
		e := newStderr(newWork(t, Options{Stderr: &got}), taskID{"m", 0}, 0, &tally{})
		e.read([]byte(text[:at]))
		e.read([]byte(text[at:]))
		e.close()
		if got.String() != "\na\n\n\nb\n\nc\n\nd\n" {
			t.Fatalf("in two parts, %q and %q: %q", text[:at], text[at:], &got)
		}
	}
}

// A line that is passed on in two parts ends once.
func TestALongLineOfStandardErrorEndsOnce(t *testing.T) {
	var got bytes.Buffer
	e := newStderr(newWork(t, Options{Stderr: &got}), taskID{"m", 0}, 0, &tally{})
	long := strings.Repeat("x", mostLine+1)
	e.read([]byte(long))
	e.read([]byte("\n"))
	e.read([]byte(long))
	e.read([]byte("y\n"))
	if want := long + "\n" + long + "\ny\n"; got.String() != want {
		t.Errorf("%d bytes, want %d", got.Len(), len(want))
	}
}

// TestAStatusIsPrintable: a status reaches terminals through the report, the events and Options.Status.
func TestAStatusIsPrintable(t *testing.T) {
	var shown, sent string
	counted := &tally{}
	e := newStderr(newWork(t, Options{Status: func(text string) { shown = text }}), taskID{"m", 0}, 0, counted)
	e.status = func(text string) { sent = text }
	e.read([]byte("reporter:status:\x1b[31mred\a\tbell\n"))
	const want = `\x1b[31mred\x07\tbell`
	if counted.status != want || sent != want || shown != "m_000000: "+want {
		t.Errorf("kept %q, sent %q, shown %q", counted.status, sent, shown)
	}
}
