//go:build !invariants && !race

package invariant

// Enabled reports whether this build has checks.
const Enabled = false
