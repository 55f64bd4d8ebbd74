package feed

import (
	"fmt"

	"mrlocal/input"
	"mrlocal/output"
)

// Part is the part of the output that one task of the job before in a chain has written. The spool
// belongs to the sink of that job (output.Spools).
type Part struct {
	Name  string // of the job before
	File  int32  // its place in the input order
	Spool *output.Spool
	Delim byte // ends a record

	RecordBytes int // of binary records, which have no delimiter; else 0
}

// StoredBytes returns the length of the text.
func (s Part) StoredBytes() int64 { return s.Spool.Bytes() }

// NextAttempt returns the same part.
func (s Part) NextAttempt() (Source, error) { return s, nil }

// Open begins to read.
func (s Part) Open(mem Memory) (Blocks, error) {
	bytes := s.Spool.Bytes()
	if r := int64(s.RecordBytes); r > 0 && bytes%r != 0 {
		return nil, fmt.Errorf("%s: %d bytes are not a whole number of records of %d bytes", s.Name, bytes, r)
	}
	return input.OpenText(s.Name, s.File, s.Spool.NewReader(), bytes, input.Options{Delim: s.Delim, RecordBytes: s.RecordBytes}, mem), nil
}
