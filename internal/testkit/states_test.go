package testkit

import (
	"slices"
	"testing"

	"mrlocal/internal/invariant"
)

// light is a State for the test. It goes to either of two states.
type light uint8

func (l light) String() string { return [...]string{"red", "green", "off"}[l] }

func (l light) Next() []light { return [...][]light{{1, 2}, nil, nil}[l] }

func TestATransitionThatNoTestMakesIsNamed(t *testing.T) {
	var l light
	invariant.Move(&l, 1)
	want := []string{"testkit.light never goes from red to off"}
	if !invariant.Enabled {
		want = append([]string{"testkit.light never goes from red to green"}, want...)
	}
	if got := neverMade(light(2)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
