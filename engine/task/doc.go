// Package task is what an attempt does on the thread of its slot. A map attempt
// reads a source into a kvbuffer or, in a map-only job, writes its part. A
// reduce attempt copies map outputs, merges them, reduces, and writes its part.
//
// The package decides nothing. Package engine starts and kills attempts and
// books how they end. An attempt sees that it is killed between blocks, in the
// kvbuffer and between values. Pace slows attempts down where the options ask
// for that.
//
// Memory: an attempt leases its floor before it does anything else, and holds
// nothing while it waits for that. It gives everything back when it ends; a map
// output has a lease of its own.
//
// An attempt reads an engine/source, uses shuffle and spill, and writes to a
// Sink.
package task
