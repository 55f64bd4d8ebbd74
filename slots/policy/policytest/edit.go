package policytest

import (
	"bytes"
	"io"
	"testing"

	"mrlocal/trace"
)

// Edit decodes an event file, lets change have its way with the events, and
// returns a file whose numbers and hash are right again: one that a replay finds
// wrong by its decisions, or by the digests of its facts, alone.
func Edit(t testing.TB, file []byte, change func(events []trace.Event) []trace.Event) []byte {
	t.Helper()
	d, err := trace.NewDecoder(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	s := trace.NewStream()
	var out bytes.Buffer
	s.Attach(trace.NewJSONL(&out))
	s.Open(*d.Header())
	var events []trace.Event
	for {
		e, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Ref != 0 {
			e.Ref = s.Refer(d.Texts(e.Ref)...)
		}
		events = append(events, e)
	}
	for _, e := range change(events) {
		s.Append(e)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
