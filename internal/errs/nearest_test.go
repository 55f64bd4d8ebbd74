package errs

import (
	"strings"
	"testing"
)

func TestNearestIsWhatWasMeant(t *testing.T) {
	policies := []string{"fifo", "fair", "pi-dhfs", "pd-dhfs", "pi-fifo"}
	for _, c := range []struct {
		word  string
		names []string
		want  string
	}{
		{"fiar", policies, "fair"}, // a swap of neighbours is one edit
		{"pi-dfs", policies, "pi-dhfs"},
		{"pidhfs", policies, "pi-dhfs"},
		{"lifo", policies, "fifo"},
		{"pi", policies, ""},
		{strings.Repeat("f", 1000), policies, ""},
		{"FAIR", policies, "fair"},
		{"J1", []string{"J01", "J02"}, "J01"},
		{"pd-", policies, "pd-dhfs"}, // a beginning
		{"kubernetes", policies, ""},
		{"", policies, ""},
		{"m", []string{"r", "e"}, "r"}, // the first of equally near names
		{"m", []string{"map", "reduce"}, ""},
		{"reducer", []string{"reduce", "reducers"}, "reduce"},
		{"reduce", []string{"reduce", "reducers"}, "reduce"}, // an exact match is nearest
		{"wordcuont", []string{"sort", "wordcount"}, "wordcount"},
	} {
		if got := Nearest(c.word, c.names); got != c.want {
			t.Errorf("%.20q among %q: %q, want %q", c.word, c.names, got, c.want)
		}
	}
}

func TestDistanceCountsEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "xabc", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestThingsAreCounted(t *testing.T) {
	if got := Counted(0, "map") + ", " + Counted(1, "map") + ", " + Counted(2, "map"); got != "0 maps, 1 map, 2 maps" {
		t.Error(got)
	}
}
