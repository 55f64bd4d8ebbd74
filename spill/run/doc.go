// Package run is sorted runs of records: how records are indexed and sorted in
// memory, written to disk as segments, and merged again, wherever they are.
//
//	Arena, Entry   where records lie, and the 16 bytes that stand for one
//	Sorter, Table  bring entries into order; combine records by key
//	Sum            what is to be added for a short key, many at once
//	Writer         sorted records -> segment, block by block with checksums
//	Cursor, Tree   one run, in memory or on disk -> the least of many
//	Merger         records or groups of a Tree
//
// Who owns memory: nothing here leases any but for records longer than a block
// (DiskCursor); chunks belong to who calls, which is package spill, and must
// outlive the entries that refer to them. Keys and values are borrowed until
// the next step of what returned them.
//
// Sums are packed, prefetched and added in assembly for amd64, unless the tag
// safe is set; the twins in plain Go (sums.go) serve everything else.
//
// The format on disk stands in docs/formats.md.
package run
