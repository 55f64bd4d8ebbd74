// Package bench measures whole runs. Its benchmarks run the real engine under the
// policies (`go test -bench . ./bench`). BenchmarkMachine measures what the hardware
// can do, for comparison.
//
// The scripts beside it compare mrlocal with its peers (peers.sh), measure time
// against input and cores (scaling.sh), check the memory bound (memory.sh) and run
// the micro-benchmarks of all hot loops (loops.sh), which live in the packages that
// they measure. expected.tsv holds the ratios of the present state on small data;
// .ci/run compares with them. paste.sh puts the scripts' tables into README.md and
// docs/performance.md.
//
// The package also embeds the papers' workload files (Workloads, LoadWorkload), whose
// experiments bench/reproduce runs.
//
// Each benchmark makes its inputs from a seed, in a temporary directory that it
// removes. It keeps no memory between runs.
package bench
