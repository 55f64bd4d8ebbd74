package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"mrlocal/internal/testkit"
	"mrlocal/view/svg"
)

// TestScalingIsDrawnAsMeasured draws the figures that bench/scaling.sh wrote to
// docs/scaling.tsv; -rewrite accepts the picture.
func TestScalingIsDrawnAsMeasured(t *testing.T) {
	text, err := os.ReadFile("../docs/scaling.tsv")
	if err != nil {
		t.Fatal(err)
	}
	c := &svg.Chart{Title: "Time against input", XName: "MiB of text", YName: "seconds", Log: true}
	for line := range strings.Lines(string(text)) {
		var job string
		var cores int
		var p svg.Point
		if _, err := fmt.Sscanf(line, "%s\t%d\t%f\t%f", &job, &cores, &p.X, &p.Y); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		name := fmt.Sprintf("%s, %d core", job, cores)
		if cores > 1 {
			name += "s"
		}
		c.Add(name, p)
	}
	var b bytes.Buffer
	if err := c.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "../docs/scaling.svg", b.Bytes())
}
