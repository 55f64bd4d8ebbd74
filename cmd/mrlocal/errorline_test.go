package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"mrlocal/internal/errs"
)

func TestAnErrorIsOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		what string
		err  error
		want string
	}{
		"plain":                   {"run sort", errs.Optionf("a.txt", "no such file"), "mrlocal: run sort: a.txt: no such file\n"},
		"no what":                 {"", errors.New("x"), "mrlocal: x\n"},
		"a newline in a name":     {"run", &fs.PathError{Op: "open", Path: "a\nb", Err: os.ErrNotExist}, "mrlocal: run: open a\\nb: file does not exist\n"},
		"a byte that is not text": {"", errors.New("a\xffb"), "mrlocal: a\\xffb\n"},
		"an escape sequence":      {"", errors.New("\x1b[31m"), "mrlocal: \\x1b[31m\n"},
		"joined errors":           {"", errors.Join(errors.New("a"), errors.New("b")), "mrlocal: a; b\n"},
		"flags for options":       {"", errs.Errorf("give %s or %s.", errs.Field("Options.HDFS.Web"), errs.Field("Options.MemoryBytes")), "mrlocal: give --webhdfs or --memory.\n"},
		"words of a user":         {"", errs.Inputf("Options.MapSlots", "Options.Seed: %s", errs.Field("Options.Seed")), "mrlocal: Options.MapSlots: Options.Seed: --seed\n"},
		"umlauts stay":            {"", errors.New("größe"), "mrlocal: größe\n"},
	} {
		if got := errorLine(c.what, c.err); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	long := errorLine("x", errors.New(strings.Repeat("ü", 1<<20)))
	if len(long) > mostLineBytes+100 || strings.Count(long, "\n") != 1 {
		t.Errorf("a long message became %d bytes", len(long))
	}
}
