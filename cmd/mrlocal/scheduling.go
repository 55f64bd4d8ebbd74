package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mrlocal"
	"mrlocal/internal/errs"
	"mrlocal/internal/setting"
	"mrlocal/slots"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// Scheduling has the slots, the placement, and the options of policies. Runs, batches and simulations take
// the same ones. A flag that is not given is 0 or nil in Config, and has its default in PolicyOptions.
type Scheduling struct {
	setup.Config
	PolicyOptions policy.Options
	Names         []string // of --sched
}

// NewScheduling returns the settings of a command before it has read its line.
func NewScheduling() Scheduling {
	return Scheduling{PolicyOptions: policy.DefaultOptions(), Names: []string{mrlocal.DefaultPolicy}}
}

// Settings returns the settings that say which task may run where: --sched and those of the policies and
// of setup.Config. b has the bounds. With several, --sched takes several policies. Done must follow
// when the line is read.
func (s *Scheduling) Settings(b setup.Bounds, several bool) []setting.Setting {
	sched := setting.Of("sched", "Policy", "slot policy `NAME`; mrlocal policies lists them", mrlocal.DefaultPolicy,
		setting.Value{Words: registry.Names(), Set: func(text string) error { return s.readPolicies(text, several) }})
	if several {
		sched.Help = "slot policies `NAME[,NAME]`, one run each, or all; see mrlocal policies"
	}
	all := append(setting.In("POLICIES", []setting.Setting{sched}), s.Config.Fields(b)...)
	if m := setting.Named(all, "max-slots"); m != nil {
		m.Help += "; " + strings.Join(registry.Openers(), ", ") + " can open extra ones"
	}
	if m := setting.Named(all, "slowstart"); m != nil {
		m.Help += "; " + strings.Join(registry.OwnSlowstart(), ", ") + " have their own"
	}
	return append(all, s.PolicyOptions.Fields()...)
}

// Done copies the delay from the options of policies to Config, because the cluster needs it too.
func (s *Scheduling) Done() { s.LocalityDelay = s.PolicyOptions.LocalityDelay }

// readPolicies reads names of policies with commas between, or all. A single run takes one name.
func (s *Scheduling) readPolicies(text string, several bool) error {
	known := registry.Names()
	if text == "all" && several { // the registry has the order of mrlocal policies: simplest first
		s.Names = known
		return nil
	}
	names := []string{text}
	if several {
		names = strings.Split(text, ",")
	}
	for i, name := range names {
		switch {
		case name == "all":
			return errors.New("all stands alone, in sim, batch and sweep; run takes one policy")
		// Each policy writes files with its name at the end.
		case slices.Contains(names[:i], name):
			return fmt.Errorf("%s is given twice", errs.Quote(name))
		case !slices.Contains(known, name):
			return fmt.Errorf("%s: no such policy%s", errs.Quote(name), errs.Suggest(name, known))
		}
	}
	s.Names = names
	return nil
}

// Complete takes the slot weights from the file if no flag sets them.
func (s *Scheduling) Complete(f *workload.File) {
	if !s.PolicyOptions.SlotWeights.Bound() {
		s.PolicyOptions.SlotWeights = f.SlotWeights()
	}
}

// NewPolicy makes a policy of that name with the options of s. A policy serves one run only. The
// call fails if the name is unknown, or if the policy refuses its options.
func (s *Scheduling) NewPolicy(name string) (slots.Policy, error) {
	return registry.New(name, s.PolicyOptions)
}
