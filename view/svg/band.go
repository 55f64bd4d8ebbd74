package svg

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"mrlocal/trace"
	"mrlocal/view"
)

// layer is the part of a band that tasks of one group and kind take, on their own slots or on lent ones.
type layer struct {
	group int32
	kind  trace.Kind
	lent  bool
}

// These groups are no job or pool: all but the largest ones together, and the slots of lost trackers.
const (
	others = math.MaxInt32 - 1
	lost   = math.MaxInt32
)

// merge notes which groups are drawn as others, because bands of many thin layers show nothing.
func (p *picture) merge() {
	busy := map[int32]time.Duration{}
	for _, r := range p.runs {
		for i := range r.Model.Bars {
			b := &r.Model.Bars[i]
			busy[r.Model.Group(b.Job, p.Pools)] += r.Model.Until(b) - b.From
		}
	}
	order := slices.SortedFunc(maps.Keys(busy), func(a, b int32) int { return cmp.Or(cmp.Compare(busy[b], busy[a]), cmp.Compare(a, b)) })
	p.rest = map[int32]bool{}
	for _, group := range order[min(len(order), mostGroups):] {
		p.rest[group] = true
	}
}

// band draws slots as one row: the busy slots by group, kind and loan on top of each other, in columns of a pixel, and
// the lost ones above them.
func (p *block) band(lanes []view.Lane, y float64) {
	sums := map[layer][]float64{}
	put := func(l layer, from, to time.Duration) {
		if sums[l] == nil {
			sums[l] = make([]float64, int(p.plot))
		}
		x0, x1 := p.x(from)-p.x(0), p.x(to)-p.x(0)
		for i := int(x0); i < len(sums[l]) && float64(i) < x1; i++ {
			sums[l][i] += min(float64(i+1), x1) - max(float64(i), x0)
		}
	}
	for _, l := range lanes {
		for _, i := range p.bars[l.Slot] {
			b := &p.m.Bars[i]
			group := p.m.Group(b.Job, p.Pools)
			if p.rest[group] {
				group = others
			}
			put(layer{group, b.Kind, b.Lent}, b.From, p.m.Until(b))
		}
		for _, loss := range p.m.Losses {
			if loss.Tracker == l.Tracker {
				put(layer{group: lost}, loss.At, p.last)
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(sums), func(a, b layer) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.kind, b.kind), int(view.Bit(a.lent)-view.Bit(b.lent)))
	})
	at := func(v float64) float64 { return y + p.canvas.height*(1-min(1, v/float64(len(lanes)))) }
	low := make([]float64, int(p.plot))
	under, letters := low, "" // the lower edge of the group, and the letters, which lie above all layers
	for i, l := range order {
		if i == 0 || order[i-1].group != l.group {
			under = low
		}
		high := slices.Clone(low)
		for x, v := range sums[l] {
			high[x] += v
		}
		hue := view.HueIndex(l.group)
		if l.group == others {
			hue = view.HueCount // grey
		}
		class := fmt.Sprintf("layer h%d%s", hue, view.SignOf([]view.SignID{view.SignCompute, view.SignReduce}[l.kind]).Name)
		if l.group == lost {
			class = string(view.SignOf(view.SignLost).Mark)
		}
		area := p.area(low, high, at)
		fmt.Fprintf(p.w, `<path class="%s" d="%s"/>`, class, area)
		if l.lent {
			fmt.Fprintf(p.w, `<path class="%s" d="%s"/>`, view.SignOf(view.LentSign(l.kind)).Mark, area)
		}
		if low = high; l.group < others && (i == len(order)-1 || order[i+1].group != l.group) {
			letters += p.widest(l.group, under, high, at)
		}
	}
	p.w.WriteString(letters + "\n")
}

// area returns the data of a path around the columns between low and high, without columns of no height at both ends.
// at returns the place of a value.
func (p *block) area(low, high []float64, at func(v float64) float64) string {
	first, end := 0, len(low)
	for ; first < end-1 && low[first] == high[first]; first++ {
	}
	for ; first < end-1 && low[end-1] == high[end-1]; end-- {
	}
	x := func(i int) string { return num(p.x(0) + float64(i)) }
	var there, back []string // steps along high, and along low in the other direction
	for i := first; i < end; i++ {
		if i == first || high[i] != high[i-1] {
			there = append(there, "H"+x(i)+"V"+num(at(high[i])))
		}
		if i == first || low[i] != low[i-1] {
			back = append(back, "V"+num(at(low[i]))+"H"+x(i))
		}
	}
	slices.Reverse(back)
	return "M" + x(first) + " " + num(at(low[first])) + strings.Join(there, "") + "H" + x(end) + strings.Join(back, "") + "Z"
}

// widest returns the letter of a group as SVG, at the place where the area between low and high is highest. It
// returns "" if the area is too small for it.
func (p *block) widest(group int32, low, high []float64, at func(v float64) float64) string {
	const half = 8
	best, from, to := 2.0*half, 0, 0 // the middle of equally high places
	for i := half; i+half < len(low); i++ {
		least := math.Inf(1)
		for _, k := range []int{i - half, i, i + half} {
			least = min(least, at(low[k])-at(high[k]))
		}
		switch {
		case least > best:
			best, from, to = least, i, i
		case least == best && to == i-1:
			to = i
		}
	}
	if to == 0 {
		return ""
	}
	x := (from + to) / 2
	return fmt.Sprintf(`<text class="letter" x="%s" y="%s" text-anchor="middle">%c</text>`, num(p.x(0)+float64(x)), num((at(low[x])+at(high[x]))/2+5), trace.Letter(group, false))
}
