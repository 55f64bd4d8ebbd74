// Package membudget divides the memory of a run. Every large buffer is a chunk that is leased from
// one Budget, so that all of them together keep to --memory.
//
// A lease gets memory in two ways, and finished work gives it back:
//
//   - A floor is reserved before a task starts. The task waits for it, and it is never revoked.
//   - Growth is what a lease gets beyond its floor. It is refused at once where there is no room,
//     and never takes memory from others.
//   - Finished work that was not read yet, such as a map output, is evictable: its owner registers
//     it, and a task that waits for a floor makes it write itself to disk.
//
// Memory cannot deadlock, because only a task that holds nothing waits. A task that holds a lease
// runs on, and gives the lease back.
//
//	region, one anonymous mapping          own mappings
//	+-------+-------+-------+-- - - --+    +----------------+
//	| chunk | chunk | pieces|  ...    |    | Big            |
//	+-------+-------+-------+-- - - --+    +----------------+
//	 256 KiB each, lowest address first     for what is longer
//
// The garbage collector never walks the region (docs/adr/0014). Memory of the
// region that was touched stays resident when it is freed, and is used again first. It goes back to
// the system, chunk by chunk or page by page, when the room is needed. Invariant: what is resident of
// the region and of all Bigs together is at most the limit. Bigs that were freed are kept for later
// ones in the same way.
//
// A Chunk belongs to the lease that it was taken from, until Free, Transfer or the Close of the
// lease. Nobody may use its Data afterwards. All methods of a Budget and a Lease may be called from
// several goroutines. Packages input, spill, output and engine use membudget; it knows none of them.
package membudget
