// Package record is about records in memory: where they lie, the entries that
// stand for them, and how entries are brought into order.
//
//	Arena    addresses of the chunks that records lie in
//	Entry    16 bytes for one record: a prefix of its key and a reference
//	Sorter   sorts entries by key
//	Slice    sorted entries, divided by partition
//	Divider  divides entries by partition without sorting them
//	Gather   copies divided entries of many runs together, to be sorted at once
//
// # Dividing now and sorting later
//
//	map 0   [ 0 | 1 | 2 ][ 0 | 1 | 2 ]      an index chunk at a time
//	map 1   [ 0 | 1 | 2 ]                   --reduce 1-->   [ 1 1 1 ] sorted
//	map 2   [ 0 | 1 | 2 ][ 0 | 1 | 2 ]
//
// If a whole job fits in memory, its maps only divide entries by partition and
// each reduce sorts its partition once. Sorting costs the reduce what it would
// cost the maps, and no merge is needed, which for text costs more than sorting
// (docs/adr/0010). A run that has to leave memory after all, or that is merged
// with runs on disk, is sorted then, partition by partition.
//
// A Divider works while the records are in the cache. So it also skips what all
// keys between two cuts have in common, such as the blanks that lines begin
// with: the prefixes then hold the 8 bytes behind that. These mostly decide a
// comparison, and the record itself need not be read.
//
// # Memory
//
// This package owns none. Entries are moved within the memory that the caller
// gives, and chunks must outlive the entries that refer to them. Keys and values
// are parts of the chunks, never copies. Neighbours: packages spill and runs.
package record
