//go:build invariants || race

package invariant

// Enabled says that this build checks.
const Enabled = true
