package argv

import (
	"strings"
	"testing"

	"mrlocal/internal/errs"
	"mrlocal/internal/ppm"
)

func TestSizesAreReadExactly(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "10B": 10, "1K": 1 << 10, "1k": 1 << 10, "1KiB": 1 << 10, "1KB": 1000, "64MiB": 64 << 20, "64mib": 64 << 20,
		"100MB": 100_000_000, "1G": 1 << 30, "2T": 2 << 40, "1.5G": 3 << 29, "1.25M": 1310720, ".5K": 512, "0.1MB": 100_000,
		"64 MiB": 64 << 20, "1Mi": 1 << 20, "7E": 7 << 60, "9223372036854775807": 1<<63 - 1, "1.999999999999999999K": 2047,
	} {
		if got, err := Size("memory", text, 0); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
		if back, err := Size("memory", ppm.FormatBytes(want), 0); err != nil || back != want {
			t.Errorf("%d is written %s, read as %d, %v", want, ppm.FormatBytes(want), back, err)
		}
	}
	for text, want := range map[string]string{
		"": "empty", "-1": "not a size", "NaN": "not a size", "1e99": "not a size", "inf": "not a size", "64XB": "not a size", "MiB": "not a size",
		"1.": "not a number", ".": "not a number", "1..5M": "not a number", "8E": "too large", "99999999999999999999": "too large",
		"9999999999T": "too large", "0x10": "not a size", "1 2": "not a size", "+1": "not a size", strings.Repeat("9", 5000): "too large", "5": "too small; at least 1KiB",
	} {
		checkBad(t, text, want, func() error { _, err := Size("memory", text, 1024); return err })
	}
}

func TestSharesAreReadAsPartsPerMillion(t *testing.T) {
	for text, want := range map[string]ppm.Share{"0": 0, "1": 1_000_000, "1.0": 1_000_000, ".5": 500_000, "0.5": 500_000, "0.000001": 1, "0.250000000": 250_000, "00.5": 500_000} {
		if got, err := Share("borrow-map", text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "empty", "-1": "not a share", "NaN": "not a share", "1e99": "not a share", "1e-1": "not a share", "1.5": "more than 1", "2": "more than 1",
		"1.0000001": "too fine", "0.1234567": "too fine", ".": "not a share", "50%": "not a share", "1.2.3": "not a share", strings.Repeat("9", 5000): "more than 1",
	} {
		checkBad(t, text, want, func() error { _, err := Share("borrow-map", text); return err })
	}
}

func TestCountsTimesAndChoices(t *testing.T) {
	if n, err := Count("reducers", "17", 0, 100); n != 17 || err != nil {
		t.Errorf("17: %d, %v", n, err)
	}
	for text, want := range map[string]string{
		"": "empty", "-1": "too small; at least 1", "0": "too small", "NaN": "not a whole", "1e99": "not a whole", "1.5": "not a whole", "-": "not a whole",
		"101": "too large; at most 100", "99999999999999999999": "too large", "-99999999999999999999": "too small", strings.Repeat("1", 5000): "too large", "+5": "not a whole",
	} {
		checkBad(t, text, want, func() error { _, err := Count("map-slots", text, 1, 100); return err })
	}
	if d, err := Time("task-timeout", "250ms"); d.Milliseconds() != 250 || err != nil {
		t.Errorf("250ms: %v, %v", d, err)
	}
	for text, want := range map[string]string{
		"": "empty", "20": "no unit", "-1s": "must be more than 0s", "0s": "must be more", "NaN": "not a time", "1e99": "not a time", "1e99s": "not a time",
		"99999999999h": "too long", "abc": "not a time",
	} {
		checkBad(t, text, want, func() error { _, err := Time("task-timeout", text); return err })
	}
	checkBad(t, "zst", "did you mean zstd?", func() error { _, err := Choice("compress", "zst", "none", "s2", "zstd", "auto"); return err })
	checkBad(t, "", "empty", func() error { _, err := Choice("compress", "", "none", "s2"); return err })
	checkBad(t, "", "empty", func() error { _, err := NonEmpty("tmp", ""); return err })
	checkBad(t, "-1", "not a whole", func() error { _, err := Seed("seed", "-1"); return err })
}
func checkBad(t *testing.T, text, want string, read func() error) {
	t.Helper()
	err := read()
	if err == nil || !errs.IsUsage(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("%.40q: %v, want %q", text, err, want)
		return
	}
	if len(err.Error()) > 300 {
		t.Errorf("%.40q: a message of %d bytes", text, len(err.Error()))
	}
}
