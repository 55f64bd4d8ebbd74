package bench

// ReadOnce is for the tests in the package bench_test.
var ReadOnce = readOnce
