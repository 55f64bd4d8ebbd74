package trace

import (
	"bytes"
	"encoding/json"
	"flag"
	"testing"

	"mrlocal/internal/testkit"
)

// draws is the number of damaged copies of an event file.
var draws = flag.Int("draws", 1500, "damaged copies of an event file")

// An event file is damaged in many ways. No error shows words of Go.
func TestDamagedEventsAreNamedInOurWords(t *testing.T) {
	s := NewStream()
	var file bytes.Buffer
	s.Attach(NewJSONL(&file))
	s.Open(Header{Policy: "fair", Config: json.RawMessage(`{"x":1}`), Slots: []Slot{{}}})
	for op := OpSubmit; op < numOps; op++ {
		s.Append(Event{Op: op, Ref: s.Refer("a", "b", "c")})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.Mutants(file.String(), *draws, 1, func(damaged string) {
		d, err := NewDecoder(bytes.NewReader([]byte(damaged)))
		for err == nil {
			_, err = d.Next()
		}
		if raw := testkit.RawGo(err.Error()); raw != "" && err.Error() != "EOF" || len(err.Error()) > 400 {
			t.Errorf("%q in %.500s", raw, err)
		}
	})
}
