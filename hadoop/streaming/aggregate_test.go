package streaming

import "testing"

// Hadoop takes kinds in any case of letters, and leaves the kind out of the result's key.
func TestAggregationsIgnoreCase(t *testing.T) {
	s, got := sums{}, ""
	emit := func(key, value []byte) { got += string(key) + "=" + string(value) + " " }
	for _, r := range [][2]string{{"longvaluesum:a", "2"}, {"longvaluesum:a", "3"}, {"UNIQVALUECOUNT:b", "x"}, {"UNIQVALUECOUNT:b", "x"}} {
		if err := s.add([]byte(r[0]), []byte(r[1]), emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.end(emit); err != nil || got != "a=5 b=1 " {
		t.Errorf("%q, %v", got, err)
	}
	if err := (&sums{}).add([]byte("NoSuchKind:a"), []byte("1"), emit); err == nil {
		t.Error("an unknown kind is taken")
	}
}
