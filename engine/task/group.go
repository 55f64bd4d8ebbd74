package task

import (
	"bytes"

	"mrlocal/jobs"
	"mrlocal/spill/runs"
)

// groups is what a reduce reads: a merge, or keys of a merge joined to groups.
type groups interface {
	NextGroup() bool
	Key() []byte
	Values() *jobs.Values
}

// prefixGroups makes one group of all keys of a merge that have the same prefix
// (jobs.Job.GroupBytes). It supplies the values of one key after the other.
//
// Other jobs read the merge itself, so they pay nothing for this.
type prefixGroups struct {
	m      *runs.Merge
	prefix func(key []byte) int
	first  []byte // the first key of the group, copied because m moves on
	length int    // of its prefix
	begun  bool
	within bool // m stands at a key of the group
	more   bool // m stands at a key
	values jobs.Values
}

// NextGroup moves to the next group, and passes over what is left of the last one.
func (g *prefixGroups) NextGroup() bool {
	if !g.begun {
		g.begun = true
		g.more = g.m.NextGroup()
	}
	for g.within {
		g.step()
	}
	if !g.more {
		return false
	}
	g.first = append(g.first[:0], g.m.Key()...)
	g.length, g.within = g.prefix(g.first), true
	g.values.Reset(g)
	return true
}

// Key returns the first key of the group, borrowed until the next group.
func (g *prefixGroups) Key() []byte { return g.first }

// Values returns the values of the group.
func (g *prefixGroups) Values() *jobs.Values { return &g.values }

// Refill implements jobs.Refiller. A window has values of one key.
func (g *prefixGroups) Refill(vs *jobs.Values) bool {
	for g.within {
		if g.m.Refill(vs) {
			vs.SetKey(g.m.Key())
			return true
		}
		g.step()
	}
	return false
}

// step moves to the next key, which may begin another group.
func (g *prefixGroups) step() {
	if g.more = g.m.NextGroup(); !g.more {
		g.within = false
		return
	}
	key := g.m.Key()
	g.within = bytes.Equal(key[:g.prefix(key)], g.first[:g.length])
}
