package explain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mrlocal/errs"
	"mrlocal/slots/policy/omo"
	"mrlocal/trace"
)

const (
	mostWindows  = 10_000 // of a plot, so that its memory is bounded
	releasesWide = 50     // columns of the longest bar
)

// Releases reads an event file and writes a plot of [OMO21, Fig. 7]: for each window how
// many containers were released in it, as a bar, and with + how many OMO's monitor expected
// when the window began. It fails as Sentences does, and if there would be more than 10,000
// windows; then nothing is written. window is above 0.
func Releases(w io.Writer, r io.Reader, name string, window time.Duration) error {
	d, err := trace.NewDecoder(r)
	if err != nil {
		return errs.Inputf(name, "%v", err)
	}
	watch := omo.NewReleases(window)
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errs.Inputf(name, "%v", err)
		}
		if e.At/window >= mostWindows {
			return errs.Optionf("release windows", "%v: the run has more than %d windows of that length", window, mostWindows)
		}
		if err := watch.Record(nil, &e); err != nil {
			return err
		}
	}
	_, err = w.Write(releasePlot(watch.Windows()))
	return err
}

// releasePlot draws windows, one a line.
func releasePlot(windows []omo.Window) []byte {
	most := 1.0
	for _, w := range windows {
		most = max(most, float64(w.Released), w.Expected)
	}
	columns := func(n float64) int { return int(n/most*releasesWide + 0.5) }
	var b bytes.Buffer
	fmt.Fprintf(&b, "%12s %8s %8s\n", "from", "released", "expected")
	for _, w := range windows {
		bar := []byte(strings.Repeat("#", columns(float64(w.Released))) + strings.Repeat(" ", releasesWide+1))
		bar[columns(w.Expected)] = '+'
		fmt.Fprintf(&b, "%12v %8d %8.1f %s\n", w.From, w.Released, w.Expected, bytes.TrimRight(bar, " "))
	}
	return b.Bytes()
}
