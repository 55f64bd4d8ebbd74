package trace

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// oldFile is a file of schema 2, whose grow has the new size in its first field.
func oldFile() string {
	lines := `{"schema":2,"kind":"mrlocal-events","policy":"fair","seed":1,"config":{},"slots":[{"id":0,"tracker":0,"core":-1,"home":"map"}]}
{"seq":1,"at":5,"op":"grow","job":0,"kind":"map","task":0,"n":0,"slot":0,"bytes":2000,"to_bytes":0}
{"seq":2,"at":6,"op":"start","job":0,"kind":"map","task":0,"n":0,"slot":0,"rule":"own","lent":false,"speculative":false,"locality":"any"}
`
	return lines + strings.NewReplacer("N", "2").Replace(`{"op":"end","events":N,"hash":"`) + hex16(xxhash.Sum64String(lines)) + "\"}\n"
}

func hex16(v uint64) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 16)
	for i := range b {
		b[15-i] = digits[v&15]
		v >>= 4
	}
	return string(b)
}

// TestOldFilesAreConverted: the new file has the new schema, the same decisions, and the sizes
// of grow where they belong. A new file is converted to itself.
func TestOldFilesAreConverted(t *testing.T) {
	var b bytes.Buffer
	if err := Convert(&b, strings.NewReader(oldFile())); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{`{"schema":3,`, `"bytes":0,"to_bytes":2000}`, `"rule":"own"`, `{"op":"end","events":2,`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	var again bytes.Buffer
	if err := Convert(&again, strings.NewReader(got)); err != nil || again.String() != got {
		t.Errorf("%v\n%s", err, again.String())
	}
	if err := Convert(&b, strings.NewReader(oldFile()[:300])); !errors.Is(err, ErrCut) {
		t.Errorf("half a file: %v", err)
	}
}
