package jobs

// Values iterates over the values of one group. It is a concrete type so that
// Next and Value are inlined: the merge refills it with windows of values
// that lie in one buffer, so the common step touches no interface.
//
//	for vs.Next() {
//		use(vs.Value())
//	}
//
// Only a merge makes one; user code ranges over it.
type Values struct {
	base  []byte
	spans []Span
	i     int
	more  Refiller
}

// Refiller supplies the next window of a group's values by calling
// Values.Window, and reports false at the group's end.
type Refiller interface {
	Refill(vs *Values) bool
}

// Next moves to the next value and reports whether there is one.
func (v *Values) Next() bool {
	v.i++
	if v.i < len(v.spans) {
		return true
	}
	return v.refill()
}

// Value is the current value, borrowed until the next call of Next.
func (v *Values) Value() []byte {
	s := v.spans[v.i]
	return v.base[s.Off : uint64(s.Off)+uint64(s.Len) : uint64(s.Off)+uint64(s.Len)]
}

func (v *Values) refill() bool {
	v.spans, v.i = v.spans[:0], 0
	if v.more == nil || !v.more.Refill(v) {
		v.i = -1
		return false
	}
	return true
}

// Reset points v at the first window of a new group; r supplies the rest and
// may be nil.
func (v *Values) Reset(r Refiller) { v.base, v.spans, v.i, v.more = nil, v.spans[:0], -1, r }

// Window replaces the values at hand. base and spans are borrowed until the
// next Refill; spans must not be empty.
func (v *Values) Window(base []byte, spans []Span) { v.base, v.spans, v.i = base, spans, 0 }
