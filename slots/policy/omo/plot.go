package omo

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"mrlocal/internal/errs"
	"mrlocal/trace"
)

const (
	mostWindows  = 10_000 // of a plot; bounds its memory
	releasesWide = 50     // columns of the longest bar
)

// PlotReleases reads an event file and writes a plot in the manner of [OMO21, Fig. 7], one line
// per window. A bar shows how many containers were released in the window. A + shows how
// many OMO's monitor expected when the window began. window must be above 0; name is that of
// the file, for errors. PlotReleases fails if the file is cut short, was changed or is not an event
// file, or if the plot would have more than 10,000 windows. Then it writes nothing.
func PlotReleases(w io.Writer, r io.Reader, name string, window time.Duration) error {
	d, err := trace.NewDecoder(r)
	if err != nil {
		return errs.Inputf(name, "%v", err)
	}
	watch := NewReleases(window)
	for e, err := range d.All() {
		if err != nil {
			return errs.Inputf(name, "%v", err)
		}
		if e.At/window >= mostWindows {
			return errs.Optionf("", "the run has more than %d windows of %v", mostWindows, window)
		}
		_ = watch.Record(nil, e) // never fails
	}
	_, err = w.Write(releasePlot(watch.Windows()))
	return err
}

// releasePlot draws windows, one per line. The greatest number of the plot has releasesWide
// columns.
func releasePlot(windows []Window) []byte {
	most := 1.0
	for _, w := range windows {
		most = max(most, float64(w.Released), w.Expected)
	}
	columns := func(n float64) int { return int(n/most*releasesWide + 0.5) } // rounded
	var b bytes.Buffer
	fmt.Fprintf(&b, "%12s %8s %8s\n", "from", "released", "expected")
	for _, w := range windows {
		// The + may stand behind the bar or on it.
		bar := []byte(strings.Repeat("#", columns(float64(w.Released))) + strings.Repeat(" ", releasesWide+1))
		bar[columns(w.Expected)] = '+'
		fmt.Fprintf(&b, "%12v %8d %8.1f %s\n", w.From, w.Released, w.Expected, bytes.TrimRight(bar, " "))
	}
	return b.Bytes()
}
