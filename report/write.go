package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// WriteJSON writes the report file: one object, or an array of them where
// there are several.
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

// WriteTable writes a row for each report: what a person compares policies by.
func WriteTable(w io.Writer, reports []*Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := fmt.Fprintln(t, "policy\tmakespan\tmean job time\tutilisation\tmoves\tfairness (Jain)\tlent\thoarding\t"); err != nil {
		return err
	}
	for _, r := range reports {
		if _, err := fmt.Fprintf(t, "%s\t%s\t%s\t%.1f%%\t%d\t%.3f\t%s\t%s\t\n", r.Policy, duration(r.MakespanSeconds), duration(r.MeanJobSeconds()),
			100*r.Utilisation, r.Moves, r.Jain, duration(r.LentSlotSeconds), duration(r.HoardingSlotSecond)); err != nil {
			return err
		}
	}
	return t.Flush()
}

// duration shows a time in seconds: to the millisecond below a thousand of
// them, to the tenth above, so that rows can be compared at a glance.
func duration(s float64) string {
	digits := 3
	if s >= 1000 {
		digits = 1
	}
	if s == float64(int64(s)) {
		digits = 0
	}
	return strconv.FormatFloat(max(0, s), 'f', digits, 64) + "s"
}
