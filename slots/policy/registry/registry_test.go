package registry_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
)

// TestEveryPaperHasAPage: the key of a policy is that of a page in docs/papers.
func TestEveryPaperHasAPage(t *testing.T) {
	for _, e := range registry.All() {
		if e.Key == "" {
			continue
		}
		page, err := os.ReadFile("../../../docs/papers/" + strings.ToLower(e.Key) + ".md")
		if err != nil || !strings.Contains(string(page), "["+e.Key+"]") {
			t.Errorf("%s: no page for [%s]: %v", e.Name, e.Key, err)
		}
	}
}

// TestEveryPolicyWordsItsRules: as the end of a sentence, without a full stop.
func TestEveryPolicyWordsItsRules(t *testing.T) {
	for _, e := range registry.All() {
		rules := e.New(policy.DefaultOptions()).Traits().Rules
		if len(rules) == 0 {
			t.Errorf("%s words no rule", e.Name)
		}
		for rule, words := range rules {
			if words == "" || strings.HasSuffix(words, ".") {
				t.Errorf("%s, %v: %q", e.Name, rule, words)
			}
		}
	}
}

func TestListsOfPoliciesAreTakenFromTheTable(t *testing.T) {
	if got := registry.Openers(); !slices.Equal(got, []string{"dynamicmr", "ras", "dynsplit"}) {
		t.Errorf("policies that open slots: %v", got)
	}
	if mustNew(t, registry.Baseline, policy.DefaultOptions()).Traits().Lends {
		t.Errorf("the baseline %s lends slots", registry.Baseline)
	}
}

func mustNew(t testing.TB, name string, o policy.Options) slots.Policy {
	t.Helper()
	p, err := registry.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
