// Package source is what map tasks read: splits of files, decoded pieces of
// streams, the parts that the job before in a chain has written, or nothing. It
// also samples an input for the cut points of a total order, and runs user code
// so that a panic becomes an error (Guard).
//
// Memory: a block lies in a chunk of the reading attempt's lease (Memory) or, of
// a stream, in the lease of a piece that a Feeder has decoded ahead. A
// membudget.Loan says who owns the chunk. Pieces bounds how many pieces exist, of
// all feeders of a run together.
//
// Package input finds and reads files. Package engine decides which attempt reads
// what, and owns the goroutine of a Feeder.
package source
