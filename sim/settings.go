package sim

import (
	"slices"

	"mrlocal/internal/setting"
	"mrlocal/slots/policy"
	"mrlocal/slots/policy/registry"
	"mrlocal/slots/setup"
	"mrlocal/workload"
)

// Settings are what a user sets by name for a simulation: the cluster, the simulator and the policies.
// Experiments, the page and lessons read them from texts.
type Settings struct {
	Options  // without Policy
	Policies policy.Options
}

// NewSettings returns the settings of a user who has set none.
func NewSettings() Settings { return Settings{Policies: policy.DefaultOptions()} }

// Fields returns all settings. They have the names of the flags of mrlocal sim.
func (s *Settings) Fields() []setting.Setting {
	return slices.Concat(s.Config.Fields(setup.Simulated()), s.Options.Fields(), s.Policies.Fields())
}

// For returns the options of a run of f under a new policy of that name. It fails if there is no such
// policy, or if the policy refuses its options.
func (s Settings) For(f *workload.File, name string) (o Options, err error) {
	if !s.Policies.SlotWeights.Bound() {
		s.Policies.SlotWeights = f.SlotWeights()
	}
	s.LocalityDelay = s.Policies.LocalityDelay // both need it
	s.Policy, err = registry.New(name, s.Policies)
	return s.Options, err
}
