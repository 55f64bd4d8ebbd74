// Package guarded places test data directly before memory that must not be
// touched. Loops in assembly have no bounds checks; with such data, a read or a
// write beyond the end crashes the test.
//
// Memory: a copy belongs to the test, and is freed at its end.
//
// Neighbours: the tests of internal/scan, jobs/grep/dfa and spill use it.
package guarded
