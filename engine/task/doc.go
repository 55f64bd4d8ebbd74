// Package task is what an attempt does, on its slot's thread: a map attempt
// reads a source into a kvbuffer (or, of a map-only job, straight to its
// part), a reduce attempt copies, merges, reduces and writes its part.
//
// It decides nothing: package engine starts attempts, kills them and books how
// they ended. A kill is a flag that is seen between blocks, in the kvbuffer and
// between values. Pace slows attempts down where that was asked for.
//
// Memory: an attempt leases its floor before it does anything else, and holds
// nothing while it waits for that. Neighbours: engine/source is read, shuffle
// and spill are in the middle, Sink is written to.
package task
