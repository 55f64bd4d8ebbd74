package jobs

// Column says which half of each record an Identity emits.
type Column uint8

const (
	Both        Column = iota // key and value
	KeyColumn                 // the key, once for each value
	ValueColumn               // the value
)

// Identity is a Reducer that emits the records that it gets, in order. The
// engine knows the type and copies records in bulk instead of calling Reduce; a
// type that embeds Identity is not known, and slower.
type Identity struct {
	Out    Column
	Unique bool // emit only the first value of each group
}

// Reduce emits the group.
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
