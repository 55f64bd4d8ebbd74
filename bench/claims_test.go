package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/workload"
)

// claim is a claim of a paper, with the figures that show it: those with its name, or the figures of
// one experiment without a name, under the title of the experiment.
type claim struct {
	paper, name string
	held        int     // figures that hold, and were not fitted, and had nothing withdrawn
	open        []*Line // figures that do not hold
}

// holding says how much of a claim holds.
type holding uint8

// These are the values. A claim is apart if it holds, but only by figures that show no more than that
// the model can produce them.
const (
	holds holding = iota
	inPart
	never
	apart
)

// claimsOf returns the claims of the papers in the order of the experiments. Checks show no claim.
func claimsOf(all []*Result) (claims []*claim) {
	for _, p := range byPaper(all) {
		for _, r := range p.of {
			for i := range r.Lines {
				l := &r.Lines[i]
				if l.Check != "" {
					continue
				}
				name := cmp.Or(l.Claim, r.Title)
				at := slices.IndexFunc(claims, func(c *claim) bool { return c.paper == p.key && c.name == name })
				if at < 0 {
					at = len(claims)
					claims = append(claims, &claim{paper: p.key, name: name})
				}
				claims[at].add(l)
			}
		}
	}
	return claims
}

// add counts a figure.
func (c *claim) add(l *Line) {
	switch {
	case l.Open():
		c.open = append(c.open, l)
	case !l.Fitted && l.Withdrawn == "":
		c.held++
	}
}

// holds says how much of the claim holds.
func (c *claim) holds() holding {
	switch {
	case len(c.open) == 0 && c.held > 0:
		return holds
	case len(c.open) == 0:
		return apart
	case c.held > 0:
		return inPart
	}
	return never
}

// said returns the words of the table for how much of the claim holds.
func (c *claim) said() string {
	return [...]string{
		holds: "held", inPart: fmt.Sprintf("%d of %d", c.held, c.held+len(c.open)), never: "not held", apart: "fitted only",
	}[c.holds()]
}

// why returns the first figure that does not hold, with its reason, and the number of the others.
func (c *claim) why() string {
	if len(c.open) == 0 {
		return ""
	}
	l := c.open[0]
	said := strings.TrimSpace(fmt.Sprintf("%s: %s, ours %s. %s", l.What, l.Paper, l.Shown, l.Because))
	said = strings.Replace(said, "ours not built. "+workload.NotBuilt, workload.NotBuilt, 1)
	if n := len(c.open) - 1; n > 0 {
		said += " And " + errs.Counted(n, "other") + "."
	}
	return said
}

// claimTables writes the counts of claims by paper, and a row for each claim.
func claimTables(b *bytes.Buffer, all []*Result) {
	claims := claimsOf(all)
	b.WriteString("| paper | claims | held | in part | not held | fitted only |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, p := range byPaper(all) {
		var counts [apart + 1]int
		n := 0
		for _, c := range claims {
			if c.paper == p.key {
				counts[c.holds()]++
				n++
			}
		}
		row(b, paperName(p.key), strconv.Itoa(n), strconv.Itoa(counts[holds]), strconv.Itoa(counts[inPart]), strconv.Itoa(counts[never]), strconv.Itoa(counts[apart]))
	}
	b.WriteString("\n| paper | claim | held | what does not hold, and why |\n| --- | --- | --- | --- |\n")
	for _, c := range claims {
		row(b, paperName(c.paper), c.name, c.said(), c.why())
	}
}
