package view

import (
	"os"
	"testing"
	"time"

	"mrlocal/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Transitions{M: m}.Run()) }

func TestStatesAreOrdered(t *testing.T) { testkit.CheckStates(t, jobEnded) }

// SetMostRows changes the bound on the rows of m.
func (m *Model) SetMostRows(n int) { m.mostRows = n }

// Booked returns the sum of all items of the account of m.
func Booked(m *Model) time.Duration { return time.Duration(accountOf(m, nil).open) }
