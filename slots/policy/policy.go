// Package policy holds what slot policies share; each policy has a package below.
//
// A policy is a pure function of the View that the Ledger (package slots)
// shows it, plus orderings it keeps of what changed. Each rule of a paper, and
// of Hadoop, is a function that names its source; docs/papers lists them.
//
// Neighbours: slots defines the interface; slots/policy/registry is the table of
// names, slots/policy/settings the options, slots/policy/policytest the suite that
// every policy passes.
package policy
