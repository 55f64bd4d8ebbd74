// Package input turns the paths a user named into splits, and splits into
// record-aligned Blocks.
//
//	paths ──NewPlan──► Files ──► Splits ──Open──► Reader ──► Block, Block, …
//	                     └─────► Streams ──OpenStream──► Stream ──► Block, …
//
// A Plan is made before any work starts: every input has been found, statted
// and checked for access, so wrong input is known while nothing runs. A plan
// of 100,000 files is a few megabytes and needs no file opened.
//
// A record belongs to the split in which its first byte lies (Hadoop 0.20;
// SPEC 2.1), so every split finds its records alone:
//
//	split     │          A          │          B          │
//	records   aaaa⏎bbbb⏎cccccccccccccccc⏎dddd⏎eeee⏎ffffffffff…
//	of A      aaaa⏎bbbb⏎cccccccccccccccc⏎
//	of B                                 dddd⏎eeee⏎ffffffffff…
//
// Files are read by pread, never mapped: a file that is truncated under a
// mapping kills the process. A file that is not what it was when the plan was
// made ends the reading with an error; of a small one, which is read by one
// call, only another length is noticed, unless the split is read again
// (docs/adr/0009). Every file must give exactly the bytes that the plan saw,
// whatever its attributes say later. Only sizes that mean nothing are not held
// to: 0 in /proc, a page in /sys.
//
// Compressed input (gzip, bzip2, zstd, s2, xz, lz4, with several members or
// frames) is known by its first bytes. Archives that are not decoded are refused
// by name, brotli by its suffix, before any work starts; only in a tree of more
// than 1,024 files they may be found later, when they are read. Small ones are decoded inside their map. A large
// one has no places to start at, so it is a Stream: one decoder, whose blocks
// feed many maps. FIFOs and standard input are streams too, unless standard
// input is a regular file.
//
// Memory: blocks lie in chunks taken from the caller's Memory. A block is
// valid until the next call of Next, unless the caller keeps its chunk; then
// the chunk is the caller's. A record longer than a chunk gets one of its own
// size. Between two calls of Next nothing else of Memory is held.
//
// Neighbours: jobs (Block), internal/membudget (Chunk); engine opens the
// readers and output asks a Plan whether it would overwrite an input.
package input
