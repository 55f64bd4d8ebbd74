package measure

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"mrlocal/internal/chart"
	"mrlocal/report"
)

// SweepRow is one run of a sweep.
type SweepRow struct {
	Configuration
	*report.Report
}

// speedups returns T0/T1 - 1 of each row. T1 is the makespan of the row. T0 is that of
// the first policy in the same configuration or, with one policy only, of the first row.
// If T1 is 0, the speedup is 0.
func (p *Plan) speedups(rows []SweepRow) []float64 {
	all := make([]float64, len(rows))
	for i := range rows {
		first := 0
		if n := len(p.policies); n > 1 {
			// The rows of a configuration are together, one for each policy, so this is its
			// first row.
			first = i / n * n
		}
		if t1 := rows[i].MakespanSeconds; t1 > 0 {
			all[i] = rows[first].MakespanSeconds/t1 - 1
		}
	}
	return all
}

// against says what T0 is.
func (p *Plan) against() string {
	if len(p.policies) > 1 {
		return p.policies[0] + " in the same configuration"
	}
	return p.settings(&p.runs[0])
}

// settings returns the values of a configuration: borrow-map 0, borrow-reduce 1.
func (p *Plan) settings(c *Configuration) string {
	var all []string
	for i := range p.dimensions {
		d := &p.dimensions[i]
		all = append(all, d.flag+" "+d.word(*d.at(c)))
	}
	return strings.Join(all, ", ")
}

// Table returns the rows as a table for people.
func (p *Plan) Table(rows []SweepRow) []byte {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i := range p.dimensions {
		fmt.Fprintf(t, "%s\t", p.dimensions[i].flag)
	}
	if p.total > 0 {
		fmt.Fprint(t, "reduce-slots\t")
	}
	fmt.Fprintln(t, "policy\tmakespan\tspeedup\tutilisation\tmoves\t")
	for i, speedup := range p.speedups(rows) {
		r := &rows[i]
		for d := range p.dimensions {
			fmt.Fprintf(t, "%s\t", p.dimensions[d].word(*p.dimensions[d].at(&r.Configuration)))
		}
		if p.total > 0 {
			fmt.Fprintf(t, "%d\t", r.ReduceSlots)
		}
		fmt.Fprintf(t, "%s\t%ss\t%.1f%%\t%.1f%%\t%d\t\n", r.Policy, number(math.Round(1000*r.MakespanSeconds)/1000), 100*speedup, 100*r.Utilisation, r.Moves)
	}
	_ = t.Flush() // into memory
	fmt.Fprintf(&b, "speedup: T0/T1 - 1 against %s\n", p.against())
	b.WriteString(p.best(rows))
	return b.Bytes()
}

// best names the row with the shortest makespan, and says by how much it is shorter than
// the next one and than the first row. Of equal rows the first is best.
func (p *Plan) best(rows []SweepRow) string {
	if len(rows) < 2 {
		return ""
	}
	// equal counts the later rows that are as short as the best.
	best, equal := 0, 0
	next := math.Inf(1) // the shortest makespan that is longer than the best
	for i := range rows {
		switch t, least := rows[i].MakespanSeconds, rows[best].MakespanSeconds; {
		case t < least:
			best, equal, next = i, 0, least
		case t == least && i > best:
			equal++
		case t > least:
			next = min(next, t)
		}
	}
	r := &rows[best]
	text := fmt.Sprintf("best: %s", r.Policy)
	if settings := p.settings(&r.Configuration); settings != "" {
		text += ", " + settings
	}
	text += fmt.Sprintf(", %ss", number(math.Round(1000*r.MakespanSeconds)/1000))
	if equal > 0 {
		text += fmt.Sprintf(" (%s as short)", count(equal, "other row"))
	}
	if math.IsInf(next, 1) {
		return text + "; all rows are equal\n"
	}
	text += fmt.Sprintf("; %.1f%% shorter than the next", 100*(1-r.MakespanSeconds/next))
	if first := rows[0].MakespanSeconds; first > r.MakespanSeconds {
		text += fmt.Sprintf(", %.1f%% shorter than the first row", 100*(1-r.MakespanSeconds/first))
	}
	return text + "\n"
}

// CSV returns every figure of each run. All sweeps have the same columns.
func (p *Plan) CSV(rows []SweepRow) []byte {
	var b bytes.Buffer
	// Times are in seconds. Shares, the utilisation and the speedup are fractions of 1.
	b.WriteString("policy,trackers,map_slots,reduce_slots,borrow_map,borrow_reduce,makespan_s,mean_job_s,speedup,utilisation,moves,lent_slot_s,jain,hoarding_slot_s\n")
	for i, speedup := range p.speedups(rows) {
		r := &rows[i]
		c := &r.Config
		fields := []string{
			r.Policy, strconv.Itoa(c.Trackers), strconv.Itoa(c.MapSlots), strconv.Itoa(c.ReduceSlots), number(c.BorrowMap), number(c.BorrowReduce),
			number(r.MakespanSeconds), number(r.MeanJobSeconds()), number(speedup), number(r.Utilisation), strconv.FormatInt(r.Moves, 10),
			number(r.LentSlotSeconds), number(r.Jain), number(r.HoardingSlotSeconds),
		}
		b.WriteString(strings.Join(fields, ",") + "\n")
	}
	return b.Bytes()
}

// number returns v with as many decimals as it needs, at most six.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Chart returns a chart with a line for each series. A series is a policy and a value of
// each dimension except that of the x axis.
func (p *Plan) Chart(file, y string, rows []SweepRow) *chart.Chart {
	x := &p.dimensions[p.x]
	if y == "" {
		y = "makespan"
		// Over shares the papers draw speedups [DHFS13, Fig. 6].
		if x.share {
			y = "speedup"
		}
	}
	speedups := p.speedups(rows)
	names := map[string]string{"makespan": "makespan (s)", "speedup": "speedup against " + p.against() + " (%)", "utilisation": "slot utilisation (%)", "moves": "moves (grants)"}
	c := &chart.Chart{Title: filepath.Base(file), XName: x.unit, YName: names[y]}
	// of maps the name of a series to its index. The series keep the order of the rows.
	of := map[string]int{}
	for i := range rows {
		r := &rows[i]
		name := p.series(r)
		at, known := of[name]
		if !known {
			at = len(c.Series)
			of[name] = at
			c.Series = append(c.Series, chart.Series{Name: name})
		}
		v := map[string]float64{"makespan": r.MakespanSeconds, "speedup": 100 * speedups[i], "utilisation": 100 * r.Utilisation, "moves": float64(r.Moves)}[y]
		c.Series[at].Points = append(c.Series[at].Points, chart.Point{X: x.number(*x.at(&r.Configuration)), Y: v})
	}
	return c
}

// series names the series of a row by what differs between series. A sweep over one dimension
// has only the policy left.
func (p *Plan) series(r *SweepRow) string {
	var parts []string
	if len(p.policies) > 1 || len(p.dimensions) == 1 {
		parts = append(parts, r.Policy)
	}
	for i := range p.dimensions {
		if d := &p.dimensions[i]; i != p.x {
			parts = append(parts, d.flag+" "+d.word(*d.at(&r.Configuration)))
		}
	}
	return strings.Join(parts, ", ")
}
