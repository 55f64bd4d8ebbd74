package typed

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTimesAreThoseOfPackageTime: texts near the usual form, and times of all years and zones.
func TestTimesAreThoseOfPackageTime(t *testing.T) {
	var clock clock
	rapid.Check(t, func(t *rapid.T) {
		sec, nano := rapid.OneOf(rapid.Int64Range(-70_000_000_000, 260_000_000_000), rapid.Int64Range(0, 200_000)).Draw(t, "second"), rapid.SampledFrom([]int64{0, 0, 0, 1, 500_000_000}).Draw(t, "nanosecond")
		at := time.Unix(sec, nano).In(rapid.SampledFrom([]*time.Location{time.UTC, time.UTC, time.FixedZone("", 3600), time.Local}).Draw(t, "zone"))
		text := at.AppendFormat(nil, time.RFC3339Nano)
		if got := clock.append([]byte("x"), at); string(got) != "x"+string(text) {
			t.Fatalf("%s, want x%s", got, text)
		}
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = byte(rapid.SampledFrom([]rune("0123456789-T:Z/ \xff")).Draw(t, "byte"))
		}
		got, err := parseTime(string(text))
		want, err2 := time.Parse(time.RFC3339Nano, string(text))
		if !got.Equal(want) || got.String() != want.String() || (err == nil) != (err2 == nil) {
			t.Fatalf("%q: %v, %v, want %v, %v", text, got, err, want, err2)
		}
	})
}
