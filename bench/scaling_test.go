package bench_test

import (
	"bytes"
	"fmt"
	"math"
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
	c := &svg.Chart{Title: "Throughput against input", XName: "MiB of text, as a power of 2", YName: "MiB a second"}
	for line := range strings.Lines(string(text)) {
		var job string
		var cores int
		var size, seconds float64
		if _, err := fmt.Sscanf(line, "%s\t%d\t%f\t%f", &job, &cores, &size, &seconds); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		name := fmt.Sprintf("%s, %d core", job, cores)
		if cores > 1 {
			name += "s"
		}
		c.Add(name, svg.Point{X: math.Log2(size), Y: size / seconds})
	}
	var b bytes.Buffer
	if err := c.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "../docs/scaling.svg", b.Bytes())
}
