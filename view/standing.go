package view

import (
	"cmp"
	"slices"
	"time"

	"mrlocal/slots"
	"mrlocal/trace"
)

// Standing is what a pool uses and wants at a moment, in slots, by kind of task, and its fair shares.
type Standing struct {
	Use, Demand [trace.Kinds]int32   // running attempts; running attempts, and tasks that may start
	Share       float64              // fair share of slots of both kinds
	ShareOf     [trace.Kinds]float64 // fair share by kind, with slots.PerKind
}

// Yardstick returns slots.Together if the policies of runs define fair shares in different ways. What shows such
// runs together measures all of them by this definition, so that they can be compared. Otherwise Yardstick returns
// slots.NoShares, and each run has the definition of its policy.
func Yardstick(runs []Named) slots.Sharing {
	one := slots.NoShares
	for _, r := range runs {
		own := r.Model.Sharing
		if own != slots.NoShares && one != slots.NoShares && own != one {
			return slots.Together
		}
		one = cmp.Or(own, one)
	}
	return slots.NoShares
}

// EachStanding calls yield each time the use, demand or fair share of a pool changes, in the order of time. now is by
// pool, and valid during the call. lent is the number of lent slots, by home kind. Shares are by the definition
// sharing. A call takes time in proportion to the rows, and for each moment to the pools.
func (m *Model) EachStanding(sharing slots.Sharing, yield func(at time.Duration, now []Standing, lent [trace.Kinds]int32)) {
	s := newSweep(m, &Curves{Step: 1})
	var before []Standing
	var lentBefore [trace.Kinds]int32
	settle := func() {
		now, lent := s.standings(sharing), [trace.Kinds]int32{s.lent[trace.Map].now, s.lent[trace.Reduce].now}
		if !slices.Equal(now, before) || lent != lentBefore {
			yield(s.now, now, lent)
			before, lentBefore = append(before[:0], now...), lent
		}
	}
	s.pass(func(at time.Duration) {
		if at > s.now {
			settle() // all rows of the moment before are in the state
			s.now = at
		}
	})
	settle()
}

// ManyShares reports whether it would take seconds to compute the fair shares of all pools at all moments.
func (m *Model) ManyShares() bool {
	return int64(len(m.Pools))*int64(len(m.Bars)+len(m.changes)) > 20_000_000
}

// Shortfall is a time in which a pool with more demand had fewer slots than its fair share.
type Shortfall struct {
	Pool     int32
	From, To time.Duration
	Slots    float64 // by how many at most
}

// Shortfalls lists the times in which pools were below their fair shares by a slot or more, the largest first: at
// most 100. Times that are less than 1 % of the run apart count as one. Those in which a pool was below its share for
// less than 1 % of the run are left out. Policies without fair shares have none. large reports that the run is too
// large to compute them.
func (m *Model) Shortfalls(sharing slots.Sharing) (all []Shortfall, large bool) {
	if sharing == slots.NoShares || m.ManyShares() {
		return nil, m.ManyShares()
	}
	least, open := m.Last/100, make([]Shortfall, len(m.Pools)) // Slots 0: the pool has none so far
	below := make([]time.Duration, len(m.Pools))               // time of each Shortfall in open, without the gaps
	keep := func(p int) {
		if open[p].Slots > 0 && below[p] >= least {
			all = append(all, open[p])
		}
		open[p], below[p] = Shortfall{}, 0
	}
	before, since := make([]float64, len(m.Pools)), time.Duration(0) // what each pool lacks, since when
	until := func(at time.Duration) {
		for p, lacks := range before {
			s := &open[p]
			if lacks < 1 || at <= since {
				continue
			}
			if s.Slots > 0 && since-s.To >= max(1, least) {
				keep(p)
			}
			if s.Slots == 0 {
				*s = Shortfall{Pool: int32(p), From: since}
			}
			s.To, s.Slots = at, max(s.Slots, lacks)
			below[p] += at - since
		}
		since = at
	}
	m.EachStanding(sharing, func(at time.Duration, now []Standing, _ [trace.Kinds]int32) {
		until(at)
		for p := range now {
			before[p] = now[p].lacks(sharing)
		}
	})
	until(m.Last)
	for p := range open {
		keep(p)
	}
	slices.SortFunc(all, func(a, b Shortfall) int {
		return cmp.Or(cmp.Compare(b.Slots*b.length(), a.Slots*a.length()), cmp.Compare(a.From, b.From), cmp.Compare(a.Pool, b.Pool))
	})
	return all[:min(len(all), mostShortfalls)], false
}

const mostShortfalls = 100

func (s *Shortfall) length() float64 { return float64(s.To - s.From) }

// lacks returns how many slots the pool has less than its fair share, which is at most its demand.
func (s *Standing) lacks(sharing slots.Sharing) float64 {
	if sharing == slots.PerKind {
		lacks := 0.0
		for k := range trace.Kinds {
			lacks += max(0, s.ShareOf[k]-float64(s.Use[k]))
		}
		return lacks
	}
	return max(0, s.Share-float64(s.Use[trace.Map]+s.Use[trace.Reduce]))
}
