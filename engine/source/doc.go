// Package source is what map tasks read: splits of files, decoded pieces of
// streams, the parts that the job before in a chain has written, and nothing
// at all. It also samples an input for the cut points of a total order, and
// runs user code so that its panics are errors (Guard).
//
// Memory: blocks lie in chunks of the reading attempt's lease (Memory), or,
// of a stream, in the lease of the piece that a Feeder has decoded ahead. How
// many such pieces exist, of all feeders together, is bounded by Pieces.
//
// Neighbours: input finds and reads files; package engine decides which
// attempt reads what, and owns the goroutine that a Feeder runs on.
package source
