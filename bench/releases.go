package bench

import (
	"math"

	"mrlocal/slots/policy/omo"
)

// releasesOf returns a metric of [OMO21, Fig. 7] by windows of step: the containers that
// were released, or those that OMO's monitor expected when the window began. x is the
// seconds at which a window begins.
func (d *done) releasesOf(name string) (v value) {
	for _, w := range d.releases.Windows() {
		n := float64(w.Released)
		if name == "expected" {
			n = w.Expected
		}
		v.v, v.x = append(v.v, n), append(v.x, w.From.Seconds())
	}
	return v
}

// Errors are how far the estimates of release rates are from what was released, as means
// over the windows of a run but the first, of which nothing can be expected. All are in
// containers a window.
type Errors struct {
	Estimate float64 // of the monitor's estimate
	Constant float64 // of the mean of all windows, which only the whole run tells
	Gap      float64 // of the estimate, in windows that differ more than the mean difference from the one before
	After    float64 // of the estimate, in the windows after these
}

// ErrorsOf compares estimates and releases of a run. A run of fewer than three windows has
// no errors.
func ErrorsOf(windows []omo.Window) (e Errors) {
	if len(windows) < 3 {
		return e
	}
	windows = windows[1:]
	var mean, change float64
	for i, w := range windows {
		mean += float64(w.Released) / float64(len(windows))
		if i > 0 {
			change += math.Abs(float64(w.Released-windows[i-1].Released)) / float64(len(windows)-1)
		}
	}
	gaps := 0.0
	for i, w := range windows {
		wrong := math.Abs(w.Expected - float64(w.Released))
		e.Estimate += wrong / float64(len(windows))
		e.Constant += math.Abs(mean-float64(w.Released)) / float64(len(windows))
		if i > 0 && i+1 < len(windows) && math.Abs(float64(w.Released-windows[i-1].Released)) > change {
			next := windows[i+1]
			gaps++
			e.Gap += wrong
			e.After += math.Abs(next.Expected - float64(next.Released))
		}
	}
	e.Gap, e.After = e.Gap/max(gaps, 1), e.After/max(gaps, 1)
	return e
}
