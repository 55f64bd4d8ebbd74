package registry_test

import (
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/policy/settings"
)

func mustNew(t testing.TB, name string, o settings.Options) slots.Policy {
	t.Helper()
	p, err := registry.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
