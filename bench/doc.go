// Package bench measures whole runs: benchmarks of the real engine under the
// policies (`go test -bench . ./bench`), and scripts beside them that compare
// mrlocal with its peers (peers.sh), see how time grows with input and cores
// (scaling.sh) and hold it to its memory bound (memory.sh). BenchmarkMachine is
// what the hardware gives, for comparison. expected.tsv holds the ratios of the
// state at hand on small data, against which .ci/run compares.
//
// Inputs are made by package workload, by seed, in a temporary directory that
// the benchmark removes. Neighbours: the micro-benchmarks of hot loops live in
// the packages they measure; loops.sh runs them all. paste.sh puts the scripts'
// tables into README.md and docs/performance.md.
package bench
