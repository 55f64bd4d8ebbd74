package lines

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTexts(t *testing.T) {
	for record, want := range map[string]string{
		"": "", "a": "a", "a,b": "a|b", ",": "|", "a,": "a|", `"a,b",c`: "a,b|c", `"a""b"`: `a"b`, `""`: "", `"",""`: "|",
		"\"a\nb\",c": "a\nb|c", `"open`: "open", `"a"x,b`: `a"x|b`, `x"y,z`: `x"y|z`, `"""",b`: `"|b`,
	} {
		if got := strings.Join(CSVTexts([]byte(record), ','), "|"); got != want {
			t.Errorf("%q: %q, want %q", record, got, want)
		}
	}
}

func TestWhatIsAppendedIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("a;\"\r\n, \x00é"))), 1, 5).Draw(t, "texts")
		separator := rapid.SampledFrom([]byte(",;\t ")).Draw(t, "separator")
		var record []byte
		for i, text := range texts {
			if i > 0 {
				record = append(record, separator)
			}
			record = AppendCSV(record, []byte(text), separator)
		}
		if got := CSVTexts(record, separator); !slices.Equal(got, texts) {
			t.Fatalf("%q became %q and then %q", texts, record, got)
		}
	})
}
