package errs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mrlocal/internal/errs"
)

// TestOnlyNamesOfTheLibraryAreReplaced: words of a user that look like a field stay, whatever wraps an error.
func TestOnlyNamesOfTheLibraryAreReplaced(t *testing.T) {
	spell := func(field string) string { return "--" + strings.ToLower(strings.TrimPrefix(field, "Options.")) }
	room := errs.Errorf("%s: raise %s", "Options.Seed", errs.Field("Options.Memory"))
	fields := errs.Fieldf("Options.A, Options.B", "%q needs %s: %w", "Options.C", errs.Field("Options.D"), room)
	for want, err := range map[string]error{
		"Options.Seed: raise --memory":                                           room,
		`--a, --b: "Options.C" needs --d: Options.Seed: raise --memory`:          fields,
		"Options.X: Options.Seed: raise --memory":                                errs.Inputf("Options.X", "%w", room),
		"Options.X: Options.Seed: raise --memory; so":                            fmt.Errorf("Options.X: %w; so", room),
		"Options.X; Options.Seed: raise --memory":                                errors.Join(errors.New("Options.X"), room),
		"Options.X and Options.Seed: raise --memory, Options.X":                  fmt.Errorf("%w and %w, Options.X", errors.New("Options.X"), room),
		"2 of 3 jobs failed: Options.J: Options.Seed: raise --memory; Options.K": errs.Several(3, []error{errs.Inputf("job Options.J", "%w", room), errors.New("Options.K")}),
	} {
		if got := errs.Word(err, spell); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if text := fields.Error(); text != `Options.A, Options.B: "Options.C" needs Options.D: Options.Seed: raise Options.Memory` || !errors.Is(fields, room) || !errors.Is(fields, errs.BadOptions) {
		t.Error(text)
	}
}

func TestCharactersThatCannotBePrintedAreEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"größe \"a\\b\" \ufffd": "größe \"a\\b\" \ufffd", "a\nb\tc\r": `a\nb\tc\r`, "\a\x1b[31m\x7f": `\x07\x1b[31m\x7f`, "\xff\u2028\U000e0001\"": `\xff\u2028\U000e0001"`,
	} {
		if got := errs.OneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
