// Package membudget is the memory of a run: every large buffer is a chunk
// leased from one Budget, so that the sum of them keeps to --memory.
//
// Three kinds of memory. A *floor* is reserved before a task
// starts, is waited for and never revoked. *Growth* is what a lease gets
// beyond it: refusable, never waited for, never at the cost of others. What is
// finished but not read yet is *evictable*: its owner registers it, and who
// waits for a floor makes it write itself to disk.
//
// Memory cannot deadlock because only who holds nothing waits: whoever holds a
// lease runs on and gives it back.
//
//	region, one anonymous mapping          own mappings
//	+-------+-------+-------+-- - - --+    +----------------+
//	| chunk | chunk | pieces|  ...    |    | Big            |
//	+-------+-------+-------+-- - - --+    +----------------+
//	 256 KiB each, lowest address first     for what is longer
//
// The region is never walked by the garbage collector. Memory touched in the
// region stays resident when it is freed and is used again first; it goes back
// to the system, chunk by chunk or page by page, when the room is needed, so
// that what is resident of region and Bigs together keeps to the limit. Bigs
// that were freed are kept for the next ones in the same way.
//
// A Chunk belongs to the lease it was taken from until Free, Transfer or the
// lease's Close; nobody may look at Data afterwards. All methods may be called
// from several goroutines. It is used by input, spill, shuffle and output, and
// knows none of them.
package membudget
