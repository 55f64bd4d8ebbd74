// Package spill is the kvbuffer: it collects the records that one map attempt
// emits, sorts or combines them, and spills what does not fit in its memory.
// What it leaves is a runs.MapOutput.
//
//	Emit, EmitSpans, Take -> Buffer -> (segment on disk)* -> runs.MapOutput
//
// A Buffer collects in one of two ways:
//
//   - Sorting: it appends records to chunks, or refers to blocks that it was
//     given whole, and keeps an entry of 16 bytes for each record. It sorts the
//     entries, not the records. If all outputs of the job are likely to fit in
//     memory, it only divides the entries by partition, and the reduces sort
//     them (docs/adr/0010).
//   - Hash-combining: it folds each value into the accumulator of its key, and
//     sorts only the distinct keys.
//
// Either way a Buffer starts small and may grow by the rule of Dynamic Split
// [Split11]. Otherwise it spills at its mark, and goes on collecting meanwhile.
// What it holds at the end stays in memory, where merges read it, until the
// memory budget evicts it.
//
// # Memory
//
// All memory is chunks of the lease that a Buffer is given. The Buffer keeps
// two of them for its whole life, to sort and to write with. The other chunks
// belong to a load:
//
//	Buffer ── load ── chunks   records, blocks taken, the table; the arena numbers them
//	             └─── index    entries, 16,384 to a chunk
//	rotate: the load goes to a spill, which frees it; a new, empty load follows
//	Close:  the load goes to the MapOutput, under a lease of the MapOutput's own
//
// Neighbours: package record holds records in memory and sorts their entries;
// package runs writes, keeps and merges sorted runs; shuffle passes MapOutputs
// to reduces; engine/task drives.
package spill
