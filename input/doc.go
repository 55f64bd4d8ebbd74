// Package input finds the input files of a run, divides them into splits, and
// reads splits as blocks of whole records.
//
//	paths ──NewPlan──► Files ──► Splits ──Open──► Reader ──► Block, Block, …
//	                     └─────► Streams ──OpenStream──► Stream ──► Block, …
//
// NewPlan does all checks before any work starts: it finds every file, takes its
// size and identity, and makes sure that it can be read and decoded. Up to 1,024
// small files are opened for that; of larger trees, only files whose names
// suggest an archive. A plan of 100,000 files takes a few megabytes.
//
// A record belongs to the split in which its first byte lies (Hadoop 0.20,
// LineRecordReader). So each split finds its records without the others:
//
//	split     │          A          │          B          │
//	records   aaaa⏎bbbb⏎cccccccccccccccc⏎dddd⏎eeee⏎ffffffffff…
//	of A      aaaa⏎bbbb⏎cccccccccccccccc⏎
//	of B                                 dddd⏎eeee⏎ffffffffff…
//
// Files are read with pread. They are never mapped into memory, because a file
// that another process truncates would then kill this one.
//
// A file must give exactly the bytes that the plan saw. If it ends earlier, has
// grown, was written to or was replaced, reading ends with ErrChanged. Later
// attributes are no excuse: on a network file system they may lag. There are two
// exceptions. A small file is read by one call, so that only a change of its
// length is noticed, unless the split is read again (docs/adr/0009). Sizes that
// mean nothing are ignored: 0 in /proc, one page in /sys.
//
// Compressed files are recognised by their first bytes (package input/codec). A
// small one is decoded by the map that reads it. A large one cannot be divided,
// so it is a Stream: one decoder reads it, and its blocks feed many maps. FIFOs
// and standard input are streams too, unless standard input is a regular file.
//
// Memory: a record takes three steps from its file to the kvbuffer.
//
//	file ──read or decode──► chunk ──Mapper.Map──► kvbuffer
//
// The bytes of a block lie in one chunk of the caller's Memory. The mapper works
// on them in place; the kvbuffer copies records, or takes the chunk over and
// refers to them. membudget.Loan alone says who owns the chunk: the reader lends
// it with each block, and gets it back at the next call of Next or Close unless
// the borrower took it over. A record longer than a chunk gets a chunk of its own
// size. A reader holds no other memory of the caller between two calls.
//
// Neighbours: package jobs defines Block; internal/membudget has chunks and
// loans; package engine opens the readers; internal/paths asks a Plan whether an
// output would overwrite an input.
package input
