package jobs

// Column says which half of a record an Identity reducer lets through.
type Column uint8

const (
	Both        Column = iota
	KeyColumn          // (key, nil), once per value
	ValueColumn        // (nil, value)
)

// Identity emits what it is given, in order. The engine knows it by type and
// runs a bulk loop in its place.
type Identity struct {
	Out    Column
	Unique bool // the first value of a group only
}

func (r Identity) Reduce(key []byte, vs *Values, out Emitter) error {
	for vs.Next() {
		switch r.Out {
		case KeyColumn:
			out.Emit(key, nil)
		case ValueColumn:
			out.Emit(nil, vs.Value())
		default:
			out.Emit(key, vs.Value())
		}
		if r.Unique {
			break
		}
	}
	return nil
}
