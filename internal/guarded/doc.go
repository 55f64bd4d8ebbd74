// Package guarded places the data of tests in front of memory that must not be
// read, for loops in assembly, of which no bounds are checked.
//
// The memory is the test's and goes with it. Users: the tests of
// mrlocal/internal/scan, mrlocal/jobs/grep/dfa and mrlocal/spill.
package guarded
