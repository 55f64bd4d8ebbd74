package study_test

import (
	"strings"
	"testing"

	"mrlocal/bench/study"
)

func TestSettingsAreListsAndRanges(t *testing.T) {
	for text, want := range map[string]string{
		"a.b=1..8*2": "1 2 4 8", "a=1..4": "1 2 3 4", "a=0..1/0.25": "0 0.25 0.5 0.75 1", "a=0..1/0.1": "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1",
		"a=fair,fifo": "fair fifo", "a={uniform: [1s, 2s]},3s": "{uniform: [1s, 2s]} 3s", "a=10s..1m/20s": "10s 30s 50s", "a=250ms..1s*2": "250ms 500ms 1s",
		"a=64MiB..256MiB*2": "64MiB 128MiB 256MiB", "a=1K..3K/1K": "1KiB 2KiB 3KiB", "a=5": "5", "a=1..8/3": "1 4 7", "a=2..2": "2", "a=4,1": "4 1", "a=0..0.3/0.1": "0 0.1 0.2 0.3",
	} {
		s, err := study.ParseSet(text)
		if got := strings.Join(s.Values, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v instead of %s", text, got, err, want)
		}
	}
	for _, text := range []string{"a", "=1", "a=", "a=1..", "a=8..1", "a=1..8*1", "a=1..8/0", "a=0..8*2", "a=1s..8", "a=x..y", "a=1,,2", "a=1,1", "a=1s..9s", "a=0..1/0.0000001", "a=0.5,0.50", "a=60s,1m", "a=1...3", "a=1..2..3", "a=..3"} {
		if s, err := study.ParseSet(text); err == nil {
			t.Errorf("%s: %v instead of an error", text, s.Values)
		}
	}
}
