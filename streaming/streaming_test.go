package streaming

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrlocal/streaming/parse"
)

// makeWork makes a job from arguments. It has one file of input, and cat for its commands.
func makeWork(t *testing.T, o Options, args ...string) (*Work, error) {
	input := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(input, []byte("a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	parsed, err := parse.Args(append(args, "-input", input, "-output", "none", "-mapper", "cat", "-reducer", "cat"))
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
	o := Options{Environ: []string{"TZ=UTC", "TMPDIR=/here", "PWD=/", "some_name=inherited"}}
	env := newWork(t, o, "-D", "some.name=property", "-cmdenv", "TZ=JST-9").environment(taskID{"m", 0}, 0, "/work", nil)
	for _, want := range []string{"TZ=JST-9", "TMPDIR=/here", "PWD=/work", "some_name=property"} {
		name, _, _ := strings.Cut(want, "=")
		got := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return !strings.HasPrefix(v, name+"=") })
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %s", got, want)
		}
	}
}

// Hadoop sets TMPDIR after the variables of -cmdenv.
func TestOnlyFriendlyJobsMaySetTMPDIR(t *testing.T) {
	for friendly, want := range map[bool]string{false: "TMPDIR=/here", true: "TMPDIR=/there"} {
		o := Options{Environ: []string{"TMPDIR=/here"}, Friendly: friendly}
		if env := newWork(t, o, "-cmdenv", "TMPDIR=/there").environment(taskID{"m", 0}, 0, "", nil); !slices.Contains(env, want) {
			t.Errorf("%q, want %s", env, want)
		}
	}
}

// Hadoop's tasks fail (KeyValueLineRecordReader).
func TestAnEmptySeparatorOfKeyAndValueFailsTheJob(t *testing.T) {
	_, err := makeWork(t, Options{}, "-jobconf", "key.value.separator.in.input.line=", "-inputformat", "KeyValueTextInputFormat")
	var refused *parse.Error
	if !errors.As(err, &refused) || refused.Exit != 1 || len(refused.Lines) != 2 {
		t.Errorf("%v", err)
	}
}
