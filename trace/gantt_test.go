package trace

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestAnAxisFitsItsWidth: a mark that would pass the end is left out, and marks stand at their columns, also after µ.
func TestAnAxisFitsItsWidth(t *testing.T) {
	var b strings.Builder
	axis(&b, 9, 71, 80, 50*time.Microsecond)
	line := strings.TrimSuffix(b.String(), "\n")
	if n := utf8.RuneCountInString(line); n > 80 {
		t.Errorf("%d columns: %s", n, line)
	}
	for c, mark := range map[int]string{0: "0s", 10: "500µs", 20: "1ms", 60: "3ms"} {
		if got := string([]rune(line)[9+c:]); !strings.HasPrefix(got, mark) {
			t.Errorf("at %d: %s, want %s", 9+c, got, mark)
		}
	}
}

// TestALegendFitsItsWidth: a wide character takes two columns, and a long entry goes on below.
func TestALegendFitsItsWidth(t *testing.T) {
	var b strings.Builder
	writeWrapped(&b, []string{"A " + strings.Repeat("日", 8), "B b", "C " + strings.Repeat("long ", 5) + "name", "- goes on"}, 22)
	if want := "A 日日日日日日日日\nB b\nC long long long long\n  long name\n- goes on\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}
