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
		{"ab", []string{"ba"}, "ba"},
		{"kitten", []string{"sitting"}, "sitting"},
		{"ca", []string{"abc"}, ""}, // three edits, because no letter is moved twice
		{"xname", []string{"nick", "name"}, "name"},
		{"größe", []string{"grösse", "gröse"}, "gröse"}, // letters count, not bytes
	} {
		if got := Nearest(c.word, c.names); got != c.want {
			t.Errorf("%.20q among %q: %q, want %q", c.word, c.names, got, c.want)
		}
	}
}

func TestThingsAreCounted(t *testing.T) {
	if got := Counted(0, "map") + ", " + Counted(1, "map") + ", " + Counted(2, "map"); got != "0 maps, 1 map, 2 maps" {
		t.Error(got)
	}
}
