package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// WriteJSON writes a report file to w: an object for one report, an array for several. It
// fails if w does.
func WriteJSON(w io.Writer, reports []*Report) error {
	var what any = reports
	if len(reports) == 1 {
		what = reports[0]
	}
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// WriteTable writes a table with a row for each report, to compare policies. It fails if w
// does.
func WriteTable(w io.Writer, reports []*Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := fmt.Fprintln(t, "policy\tmakespan\tmean job time\tutilisation\tmoves\tfairness (Jain)\tlent\thoarding\t"); err != nil {
		return err
	}
	makespan := durations(reports, func(r *Report) float64 { return r.MakespanSeconds })
	mean := durations(reports, (*Report).MeanJobSeconds)
	lent := durations(reports, func(r *Report) float64 { return r.LentSlotSeconds })
	hoarding := durations(reports, func(r *Report) float64 { return r.HoardingSlotSeconds })
	for i, r := range reports {
		if _, err := fmt.Fprintf(t, "%s\t%s\t%s\t%.1f%%\t%d\t%.3f\t%s\t%s\t\n", r.Policy, makespan[i], mean[i], 100*r.Utilisation, r.Moves, r.Jain, lent[i], hoarding[i]); err != nil {
			return err
		}
	}
	return t.Flush()
}

// durations returns a column of times in seconds, all with the same number of decimals:
// none if no time has a fraction, one if a time has a thousand seconds, else three.
func durations(reports []*Report, of func(r *Report) float64) (column []string) {
	digits, most := 0, 0.0
	for _, r := range reports {
		s := of(r)
		if most = max(most, s); s != math.Trunc(s) {
			digits = 3
		}
	}
	if digits > 0 && most >= 1000 {
		digits = 1
	}
	for _, r := range reports {
		column = append(column, strconv.FormatFloat(max(0, of(r)), 'f', digits, 64)+"s")
	}
	return column
}
