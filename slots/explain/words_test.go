package explain

import (
	"mrlocal/internal/errs"
	"strings"
	"testing"
	"time"
)

func TestTimesHaveMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 12500 * time.Millisecond: "12.5s", time.Hour: "3600.0s", 1234567890: "1.235s", 499_999: "0.0s", 10 * time.Second: "10.0s",
	} {
		if got := seconds(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestThingsAreListed(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a and b": {"a", "b"}, "a, b and c": {"a", "b", "c"}} {
		if got := list(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

func TestAParagraphIsWrappedAndIndented(t *testing.T) {
	long := strings.Repeat("word ", 24) + "n" + errs.Sticky + "=" + errs.Sticky + "1"
	want := strings.Repeat("word ", 15) + "word\n  " + strings.Repeat("word ", 8) + "n = 1\n    part.\n"
	if got := errs.Fit(paragraphOf(long, "", "part."), 80); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatStaysTheSameWhileNumbersChange(t *testing.T) {
	a := withoutNumbers("the gate of J01 was closed with 3 of 8 maps done. 1 reduce was pending, load" + errs.Sticky + "=" + errs.Sticky + "0.50 (2/4).")
	b := withoutNumbers("the gate of J01 was closed with 4 of 8 maps done. 12 reduces were pending, load" + errs.Sticky + "=" + errs.Sticky + "0.75 (3/4).")
	c := withoutNumbers("the gate of J02 was closed with 4 of 8 maps done. 12 reduces were pending, load" + errs.Sticky + "=" + errs.Sticky + "0.75 (3/4).")
	if a != b || a == c {
		t.Errorf("\n%s\n%s\n%s", a, b, c)
	}
}
