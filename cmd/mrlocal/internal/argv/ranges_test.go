package argv

import (
	"fmt"
	"testing"
)

func TestRangesAndLists(t *testing.T) {
	for text, want := range map[string]string{
		"4": "[4]", "1..4": "[1 2 3 4]", "1..8/3": "[1 4 7]", "2..2": "[2]", "1,2,4": "[1 2 4]", "4,1": "[4 1]", "1..9/2": "[1 3 5 7 9]",
	} {
		if got, err := Counts("map-slots", text, 1, 100); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"0.5": "[500000]", "0..1/0.25": "[0 250000 500000 750000 1000000]", "0,1": "[0 1000000]", "0..0.3/0.1": "[0 100000 200000 300000]",
	} {
		if got, err := Shares("borrow-map", text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "empty", "1..": "not a range", "..3": "not a range", "4..1": "ends before it begins", "1..4/": "without a step", "1..4/0": "0: too small", "1,,2": "empty", "1,1": "twice",
		"0..3": "too small", "1..101": "too large", "1...3": "not a whole number", "a": "not a whole number", "1..2..3": "not a whole number",
	} {
		checkBad(t, text, want, func() error { _, err := Counts("map-slots", text, 1, 100); return err })
	}
	for text, want := range map[string]string{
		"0..1": "without a step", "0..1/0": "the step is 0", "0..1/0.000001": "too many values", "0..2/1": "more than 1", "0.5,0.50": "twice",
	} {
		checkBad(t, text, want, func() error { _, err := Shares("borrow-map", text); return err })
	}
}
