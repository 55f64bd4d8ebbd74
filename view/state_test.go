package view

import (
	"os"
	"testing"

	"mrlocal/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Transitions{M: m}.Run()) }

func TestStatesAreOrdered(t *testing.T) { testkit.CheckStates(t, jobEnded) }

// SetMostRows changes the bound on the rows of m.
func (m *Model) SetMostRows(n int) { m.mostRows = n }
