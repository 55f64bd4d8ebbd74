package main

import (
	"os"
	"strings"
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/policytest"
)

func TestScripts(t *testing.T) {
	policytest.Scripts(t, "testdata/*.txt", func(policy.Options) slots.Policy { return &shortest{} })
}

func TestSuite(t *testing.T) {
	policytest.Run(t, func() slots.Policy { return &shortest{} }, policytest.Claims{Idle: policytest.TypedIdle})
}

func TestRun(t *testing.T) {
	os.Args = []string{"policy", "../../bench/workloads/table1-5.yaml"}
	main()
}

func TestTheExampleIsShort(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if lines := strings.Count(string(text), "\n"); err != nil || lines > 60 {
		t.Errorf("main.go has %d lines, at most 60; %v", lines, err)
	}
}
