package ras_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy/policytest"
	"mrlocal/slots/policy/ras"
	"mrlocal/slots/policy/settings"
)

func newRAS(o settings.Options) slots.Policy { return ras.New(o) }

func TestScripts(t *testing.T) { policytest.Scripts(t, "testdata/*.txt", newRAS) }

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return newRAS(settings.Defaults()) }, policytest.Claims{})
}
